"""What a loader returns: one value with the samples, their labels, the split and where it all came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kcrc.arrays import Array
from kcrc.errors import DataError

TRAIN, TEST = 0, 1


@dataclass(frozen=True)
class Provenance:
    """Where samples came from.

    Attributes
    ----------
    source : str
        The file that was read.
    owner : str
        Who publishes the set.
    terms : str
        On what terms.
    note : str
        What else to know.
    """

    source: str
    owner: str = ""
    terms: str = ""
    note: str = ""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with labels. Exactly one of ``X``, ``images`` and ``paths`` is there.

    Attributes
    ----------
    name : str
        Of the set.
    labels : ndarray of int of shape (n,)
        Class numbers: places in ``classes``.
    classes : tuple of str
        The class names.
    X : ndarray of shape (n, d), or None
        Vectors.
    images : ndarray of shape (n, h, w) or (n, h, w, 3), or None
        Images.
    paths : tuple of Path, or None
        Image files.
    split : ndarray of shape (n,), or None
        0 for training and 1 for test, where the set has a split of its own.
    extras : dict of str to ndarray
        What else the set says.
    provenance : Provenance
        Where it came from.
    named : ndarray of shape (n,)
        The labels as class names.
    train, test : ndarray of int
        The training and test rows of the set's own split.
    """

    name: str
    labels: Array
    classes: tuple[str, ...]
    X: Array | None = None
    images: Array | None = None
    paths: tuple[Path, ...] | None = None
    split: Array | None = None
    extras: Mapping[str, Array] = field(default_factory=dict)
    provenance: Provenance = field(default_factory=lambda: Provenance(source=""))

    def __post_init__(self) -> None:
        held = [part for part in (self.X, self.images, self.paths) if part is not None]
        if len(held) != 1:
            raise DataError(f"The data set '{self.name}' must hold vectors, images or paths; it holds {len(held)}.")
        if self.labels.ndim != 1 or len(held[0]) != len(self.labels):
            raise DataError(
                f"The data set '{self.name}' has {len(held[0])} samples, labels of shape {self.labels.shape}."
            )
        if len(self.labels) and not (self.labels.min() >= 0 and self.labels.max() < len(self.classes)):
            raise DataError(
                f"The labels of '{self.name}' run from {self.labels.min()} to {self.labels.max()}, "
                f"but it has {len(self.classes)} classes."
            )
        if self.split is not None and self.split.shape != self.labels.shape:
            raise DataError(f"The split of '{self.name}' has shape {self.split.shape}, not {self.labels.shape}.")

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        what = "vectors" if self.X is not None else "images" if self.images is not None else "files"
        return f"Dataset({self.name!r}, {len(self)} {what}, {len(self.classes)} classes)"

    @property
    def named(self) -> Array:
        """The labels as class names (n,)."""
        return np.asarray(self.classes)[self.labels]

    @property
    def train(self) -> Array:
        """The training rows of the set's own split."""
        return self._rows(TRAIN)

    @property
    def test(self) -> Array:
        """The test rows of the set's own split."""
        return self._rows(TEST)

    def _rows(self, side: int) -> Array:
        if self.split is None:
            raise DataError(
                f"The data set '{self.name}' has no split of its own. "
                "Use kcrc.datasets.split_per_class(labels, n_train, seed=...)."
            )
        return np.flatnonzero(self.split == side)

    def vectors(self, rows: Any = slice(None)) -> Array:
        """Float32 vectors (n, d) of the samples at ``rows``: images are flattened, 8 bits become 0…1."""
        if self.X is not None:
            return np.asarray(self.X[rows], np.float32)
        if self.images is None:
            raise DataError(f"The data set '{self.name}' is a list of image files. Vectors come with kcrc.features.")
        images = self.images[rows]
        flat: Array = images.reshape(len(images), -1).astype(np.float32)
        if images.dtype == np.uint8:
            flat /= 255.0
        return flat

    def take(self, rows: Any) -> Dataset:
        """The samples at ``rows`` (an index array, a slice or a mask); per-sample extras go along."""
        index = np.arange(len(self))[rows]
        per_sample = {k: v[index] for k, v in self.extras.items() if len(v) == len(self)}
        return replace(
            self,
            labels=self.labels[index],
            X=None if self.X is None else self.X[index],
            images=None if self.images is None else self.images[index],
            paths=None if self.paths is None else tuple(self.paths[i] for i in index),
            split=None if self.split is None else self.split[index],
            extras=per_sample,
        )
