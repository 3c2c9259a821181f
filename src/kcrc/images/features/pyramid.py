"""Spatial pyramid of visual words (Lazebnik et al. 2006, Yang et al. 2009, Wang et al. 2010)."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.parallel import one_blas_thread
from kcrc._base.validation import check_seed
from kcrc.errors import DataError, ParameterError
from kcrc.images.decoding.resizing import View
from kcrc.images.features.base import Feature, Images, Pictures, checked_array, register, unit_range
from kcrc.images.features.codebook import hard, learn_words, llc
from kcrc.images.features.dense_sift import LENGTH, dense_sift
from kcrc.images.features.linear import principal_axes

_MOST_PATCHES = 250_000  # of one image
_SAMPLE = 60_000  # descriptors from which the words are learned


@register("pyramid")
class Pyramid(Feature):
    """Dense SIFT, coded in visual words, pooled in 1 + 4 + 16 cells (``levels`` 3; 4 adds 64), then PCA.

    ``coding`` 'llc' with ``pooling`` 'max' is LLC; 'hard' with 'sum' is the histogram pyramid. Pooled vectors have unit
    length. PCA reduces them to ``n_components``, at most the rank of the training images; None leaves PCA out. Words
    and PCA are learned from the training images.
    """

    kind: ClassVar[str] = "pyramid"
    learns: ClassVar[bool] = True

    def __init__(
        self,
        *,
        n_words: int = 1024,
        coding: Literal["llc", "hard"] = "llc",
        pooling: Literal["max", "sum"] = "max",
        levels: int = 3,
        n_components: int | None = 3000,
        longest_side: int = 300,
        patch: int = 16,
        step: int = 6,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.n_words = n_words
        self.coding = coding
        self.pooling = pooling
        self.levels = levels
        self.n_components = n_components
        self.longest_side = longest_side
        self.patch = patch
        self.step = step
        self.seed = seed
        self.threads = threads

    @property
    def view(self) -> View:
        return View((self.longest_side, self.longest_side), colour=False, fit="inside")

    @property
    def fitted_arrays(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("words_",) if self.n_components is None else ("words_", "mean_", "axes_")

    @property
    def dim(self) -> int:
        if self.n_components is None:
            return self._pooled_length
        self._ensure_fitted()
        axes: Array = self.axes_
        return len(axes)

    @property
    def _pooled_length(self) -> int:
        return self.n_words * sum(1 << 2 * level for level in range(self.levels))

    def _check(self) -> None:
        if self.coding not in ("llc", "hard") or self.pooling not in ("max", "sum"):
            raise ParameterError(
                f"coding must be 'llc' or 'hard', and pooling 'max' or 'sum'; got {self.coding!r} and {self.pooling!r}."
            )
        check_seed(self.seed)
        if not 1 <= self.levels <= 5:
            raise ParameterError(f"levels must be 1 to 5; got {self.levels!r}.")
        if self.n_words < 8 or (self.n_components is not None and self.n_components < 1):
            raise ParameterError(
                f"n_words must be at least 8, and n_components at least 1 or None; got {self.n_words}, "
                f"{self.n_components}."
            )
        if self.patch < 4 or self.patch % 4 or self.step < 1 or self.longest_side < self.patch:
            raise ParameterError(
                f"patch must be a multiple of 4, step at least 1, longest_side at least patch; got {self.patch}, "
                f"{self.step}, {self.longest_side}."
            )
        if (self.longest_side // self.step) ** 2 > _MOST_PATCHES:
            raise ParameterError(
                f"step and longest_side must give at most {_MOST_PATCHES} patches per image; got step={self.step} and "
                f"longest_side={self.longest_side}."
            )

    def _learn(self, images: Images, labels: Any) -> None:
        share = -(-_SAMPLE // len(images))
        rng = np.random.default_rng(self.seed)
        sample = []
        for batch in self.batches(images):
            for descriptors, _ in self._on_threads(self._describe, batch):
                textured = descriptors[descriptors.any(axis=1)]
                sample.append(textured[np.sort(rng.permutation(len(textured))[:share])])
        self.words_ = learn_words(np.concatenate(sample), self.n_words, seed=self.seed)
        if self.n_components is not None:
            pooled = np.concatenate([self._pool_batch(batch) for batch in self.batches(images)])
            self.mean_, self.axes_ = principal_axes(pooled, self.n_components)
            if not len(self.axes_):
                raise DataError("The pyramid's PCA needs at least two different training images.")

    def _vectors(self, batch: Pictures) -> Array:
        pooled = self._pool_batch(batch)
        return pooled if self.n_components is None else (pooled - self.mean_) @ self.axes_.T

    def _pool_batch(self, batch: Pictures) -> Array:
        return np.stack(self._on_threads(self._pool_picture, batch))

    def _on_threads(self, function: Any, batch: Pictures) -> list[Any]:
        # One image per thread, with BLAS on one thread each, because the products of one image are small.
        with one_blas_thread(), ThreadPoolExecutor(self.threads or os.cpu_count() or 1) as pool:
            return list(pool.map(function, batch))

    def _describe(self, picture: Array) -> tuple[Array, Array]:
        image = unit_range(picture)
        missing = [max(0, self.patch - n) for n in image.shape]
        if any(missing):
            image = np.pad(image, [(m // 2, m - m // 2) for m in missing], mode="edge")
        return dense_sift(image, patch=self.patch, step=self.step)

    def _pool_picture(self, picture: Array) -> Array:
        descriptors, centres = self._describe(picture)
        near, weights = llc(descriptors, self.words_) if self.coding == "llc" else hard(descriptors, self.words_)
        pooled = pool(near, weights, centres, self.n_words, levels=self.levels, largest=self.pooling == "max")
        length = np.linalg.norm(pooled)
        return pooled / length if length > 0 else pooled

    def _check_state(self) -> None:
        checked_array("words_", self.words_, (self.n_words, LENGTH), self.kind)
        if self.n_components is not None:
            checked_array("mean_", self.mean_, (self._pooled_length,), self.kind)
            checked_array("axes_", self.axes_, (None, self._pooled_length), self.kind)


def pool(near: Array, weights: Array, centres: Array, n_words: int, *, levels: int, largest: bool) -> Array:
    """Pool codes in the cells of each level, coarse to fine: (n_words · (1 + 4 + … + 4^(levels−1)),).

    ``near`` and ``weights`` (n, k) are the words of each descriptor and their weights, ``centres`` (n, 2) fractions
    down and across. ``largest`` takes the maximum (an unused word counts 0), otherwise the sum. Coarser cells are
    pooled from the four finer ones inside them.
    """
    side = 2 ** (levels - 1)
    cell = np.minimum((centres * side).astype(np.intp), side - 1)
    finest = np.zeros((side * side, n_words), np.float32)
    at = (np.repeat(cell[:, 0] * side + cell[:, 1], near.shape[1]), near.ravel())
    (np.maximum if largest else np.add).at(finest, at, weights.ravel())
    grids = [finest.reshape(side, side, n_words)]
    while grids[0].shape[0] > 1:
        half = grids[0].shape[0] // 2
        quads = grids[0].reshape(half, 2, half, 2, n_words)
        grids.insert(0, quads.max(axis=(1, 3)) if largest else quads.sum(axis=(1, 3)))
    return np.concatenate([g.ravel() for g in grids])


# Pool the tokens (n, t, d) of a transformer, one for the whole picture and one per patch, into one vector per picture:
# "cls" is the first token, which represents the whole; "mean" the mean of all; "patches" the mean of all but the first;
# "both" the first and the mean of the others side by side. Many networks pool their tokens themselves. Which pooling
# is best depends on how a network was trained, so leave-one-out answers of the examples choose.

POOLINGS: dict[str, Callable[[Array], Array]] = {
    "cls": lambda tokens: tokens[:, 0],
    "mean": lambda tokens: tokens.mean(axis=1),
    "patches": lambda tokens: tokens[:, 1:].mean(axis=1) if tokens.shape[1] > 1 else tokens[:, 0],
    "both": lambda tokens: np.concatenate([tokens[:, 0], POOLINGS["patches"](tokens)], axis=1),
}
AS_ONE = "as one"  # for an output that is one vector per picture
SECONDS = 2.0  # of tuning for each pooling
Key = TypeVar("Key", bound=Hashable)


def pool_tokens(batches: Iterable[Array]) -> dict[str, Array]:
    """Return the vectors (n, d) of pictures by each pooling, given their tokens in batches.

    Batches are released one by one, because the tokens of a few hundred pictures would take gigabytes. The result has
    only AS_ONE if the network gives one vector per picture, and is empty if it gives neither.
    """
    parts: dict[str, list[Array]] = {}
    for result in batches:
        if result.dtype.kind not in "fiub":
            return {}
        if result.ndim >= 2 and all(side == 1 for side in result.shape[2:]):
            parts.setdefault(AS_ONE, []).append(result.reshape(len(result), -1).astype(np.float32))
        elif result.ndim == 3:
            for name, pool in POOLINGS.items():
                parts.setdefault(name, []).append(pool(result).astype(np.float32))
        else:
            return {}
    return {name: np.concatenate(vectors) for name, vectors in parts.items()}


def choose_pooling(vectors: Mapping[Key, Array], labels: Sequence[str]) -> Key:
    """Return the key with the best leave-one-out accuracy; the first of those within one standard error."""
    from kcrc.classifier.estimator import KCRCClassifier

    scores: dict[Key, tuple[float, float]] = {}
    for name, own in vectors.items():
        clf = KCRCClassifier(tuning_seconds=SECONDS, verbose=False, random_state=0)
        tuning = clf.fit(own, np.asarray(labels)).tuning_
        if tuning is None:  # too few examples to leave one out
            return next(iter(vectors))
        scores[name] = (float(tuning.accuracy), float(tuning.scores[tuning.best].error))
    best = max(scores, key=lambda name: scores[name][0])
    least = scores[best][0] - scores[best][1]
    return next(name for name, (accuracy, _) in scores.items() if accuracy >= least)
