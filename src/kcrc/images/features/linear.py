"""Pixels, and the two linear features of the paper's face experiments: random faces and eigenfaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.validation import check_seed
from kcrc.errors import DataError, ParameterError
from kcrc.images.decoding.resizing import Fit, View
from kcrc.images.features.base import Feature, Images, Pictures, checked_array, register, stack_pictures

_BLOCK = 1 << 22  # values converted to float64 at a time: the rows may be many gigabytes in float32


def principal_axes(X: Array, n: int) -> tuple[Array, Array]:
    """Return the mean (d,) and the first principal axes (m, d) of the rows of ``X``, m = min(n, rank).

    They are computed from the smaller of the products X Xᵀ and XᵀX of the centred rows, in float64, because the last of
    a few hundred axes have a millionth of the variance of the first. Axes without variance are left out. The largest
    entry of an axis is positive, so that signs are the same on every machine.
    """
    from scipy.linalg import eigh

    mean = X.mean(axis=0, dtype=np.float64)
    wide = X.shape[1] > len(X)
    size = min(X.shape)
    product = np.zeros((size, size))
    for part in _centred_blocks(X, mean, wide):
        product += part @ part.T
    m = min(n, size)
    values, vectors = eigh(product, subset_by_index=(size - m, size - 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    vectors = vectors[:, values > max(values[0], 0.0) * size * np.finfo(np.float64).eps]
    axes = vectors.T
    if wide and vectors.size:
        axes = np.concatenate([vectors.T @ part for part in _centred_blocks(X, mean, wide)], axis=1)
        axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    if len(axes):
        largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
        axes = axes * np.sign(largest)
    return mean.astype(np.float32), np.ascontiguousarray(axes, np.float32)


def _centred_blocks(X: Array, mean: Array, wide: bool) -> Iterator[Array]:
    """Yield the centred rows in float64, cut along their longer axis, that axis last."""
    step = max(1, _BLOCK // min(X.shape))
    for start in range(0, max(X.shape), step):
        cut = slice(start, start + step)
        yield X[:, cut] - mean[cut] if wide else (X[cut] - mean).T


Size = tuple[int, int] | None
_LARGEST = 1 << 29  # numbers in the matrix of random faces


class _Flat(Feature):
    """A feature of the flattened pixels of pictures with one shape."""

    takes_rows: ClassVar[bool] = True

    size: Size
    colour: bool
    fit_to: Fit

    @property
    def view(self) -> View:
        return View(self.size, self.colour, self.fit_to)

    def _check(self) -> None:
        _ = self.view
        if self.fit_to == "inside":
            raise ParameterError(
                f"The feature '{self.kind}' needs one shape: fit_to must be 'stretch', 'crop' or 'cut'; got 'inside'."
            )

    def _rows(self, batch: Pictures) -> Array:
        pixels = stack_pictures(batch, self.kind)
        return pixels.reshape(len(pixels), -1)

    def _flat_images(self, images: Images) -> Array:
        rows = [self._rows(batch) for batch in self.batches(images)]
        widths = {r.shape[1] for r in rows}
        if len(widths) > 1:
            raise DataError(
                f"The feature '{self.kind}' needs images of one shape; got several. Set size=(height, width)."
            )
        return np.concatenate(rows)


@register("pixels")
class Pixels(_Flat):
    """The pixels at a small size: x = (grey values) / 255.

    With ``size`` None pictures are not resized; they must then have one shape.
    """

    kind: ClassVar[str] = "pixels"

    def __init__(self, *, size: Size = (32, 32), colour: bool = False, fit_to: Fit = "stretch") -> None:
        self.size = size
        self.colour = colour
        self.fit_to = fit_to

    @property
    def dim(self) -> int:
        if self.size is None:
            raise ParameterError(
                "With size=None the length of a vector depends on the pictures. Set size=(height, width)."
            )
        return self.size[0] * self.size[1] * (3 if self.colour else 1)

    def transform(self, images: Images) -> Array:
        if self.size is None and len(images) == 0:
            return np.empty((0, 0), np.float32)
        return super().transform(images)

    def _vectors(self, batch: Pictures) -> Array:
        return self._rows(batch)


class _Projected(_Flat):
    """z = A (x − mean); ``fit`` determines the number of pixels."""

    learns: ClassVar[bool] = True
    n_components: int

    def _check(self) -> None:
        super()._check()
        if self.n_components < 1:
            raise ParameterError(f"n_components must be at least 1; got {self.n_components!r}.")

    def _check_width(self, rows: Array, width: int) -> None:
        if rows.shape[1] != width:
            raise DataError(
                f"The feature '{self.kind}' was fitted on images of {width} values; got {rows.shape[1]}. "
                "Set size=(height, width) to bring all to one shape."
            )


@register("random-faces")
class RandomFaces(_Projected):
    """z = R x with R (504, d) of Gaussian rows scaled to unit length (Wright et al. 2009; 504 as in the paper).

    R is drawn from ``seed`` by NumPy's RandomState, whose stream never changes, so only the seed is stored. ``fit``
    learns nothing but the number of pixels.
    """

    kind: ClassVar[str] = "random-faces"
    fitted_arrays: ClassVar[tuple[str, ...]] = ("n_pixels_",)

    def __init__(
        self,
        *,
        n_components: int = 504,
        seed: int = 0,
        size: Size = None,
        colour: bool = False,
        fit_to: Fit = "stretch",
    ) -> None:
        self.n_components = n_components
        self.seed = seed
        self.size = size
        self.colour = colour
        self.fit_to = fit_to

    @property
    def dim(self) -> int:
        return self.n_components

    def _check(self) -> None:
        super()._check()
        check_seed(self.seed)

    def _learn(self, images: Images, labels: Any) -> None:
        first = next(iter(self.batches(images[:1])))
        self._draw(self._rows(first).shape[1])

    def _draw(self, width: int) -> None:
        if self.n_components * width > _LARGEST:
            raise ParameterError(
                f"n_components times the values of an image must be at most {_LARGEST}; got {self.n_components} times "
                f"{width}. Set a smaller size or fewer components."
            )
        self.n_pixels_ = np.int64(width)
        rng = np.random.RandomState(self.seed)  # its stream is promised never to change
        matrix = rng.standard_normal((self.n_components, width))
        self._matrix = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)

    def _vectors(self, batch: Pictures) -> Array:
        rows = self._rows(batch)
        self._check_width(rows, int(self.n_pixels_))
        return np.asarray(rows @ self._matrix.T)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "n_pixels_": int(self.n_pixels_)}

    def _check_state(self) -> None:
        width = self.n_pixels_
        if not isinstance(width, int | np.integer) or not 0 < int(width) * self.n_components <= _LARGEST:
            raise DataError(
                f"The state of 'random-faces' is damaged: n_pixels_ is {width!r} for {self.n_components} components."
            )
        self._draw(int(width))


@register("eigenfaces")
class Eigenfaces(_Projected):
    """z = A (x − mean), A the first ``n_components`` principal axes of the training images (Turk, Pentland 1991).

    There are at most as many as the training images have directions of variance.
    """

    kind: ClassVar[str] = "eigenfaces"
    fitted_arrays: ClassVar[tuple[str, ...]] = ("mean_", "axes_")

    def __init__(
        self,
        *,
        n_components: int = 504,
        size: Size = None,
        colour: bool = False,
        fit_to: Fit = "stretch",
    ) -> None:
        self.n_components = n_components
        self.size = size
        self.colour = colour
        self.fit_to = fit_to

    @property
    def dim(self) -> int:
        self._ensure_fitted()
        return len(self.axes_)

    def _learn(self, images: Images, labels: Any) -> None:
        self.mean_, self.axes_ = principal_axes(self._flat_images(images), self.n_components)
        if not len(self.axes_):
            raise DataError("Eigenfaces need at least two different training images.")

    def _vectors(self, batch: Pictures) -> Array:
        rows = self._rows(batch)
        self._check_width(rows, len(self.mean_))
        return (rows - self.mean_) @ self.axes_.T

    def _check_state(self) -> None:
        checked_array("mean_", self.mean_, (None,), self.kind)
        checked_array("axes_", self.axes_, (None, len(self.mean_)), self.kind)
