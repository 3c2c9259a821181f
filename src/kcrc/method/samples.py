"""What one sample looks like, and whether given samples look so."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from kcrc._base import validation
from kcrc._base.arrays import Array
from kcrc._base.views import Layout, are_views
from kcrc._base.views import join_views as joined_views
from kcrc.errors import DataError

FLOATS = (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16))


@dataclass(frozen=True)
class SampleForm:
    """What one sample looks like: its shape, where its views stand, the names of its features."""

    shape: tuple[int, ...]
    views: Layout
    feature_names: Array | None = None

    @property
    def width(self) -> int:
        """How many features scikit-learn counts: the first side of a sample."""
        return self.shape[0]

    def is_plain(self, X: Any) -> bool:
        """Whether X is what most callers give, an array (n, d) of the right type and width: it is taken as it is."""
        return (
            type(X) is np.ndarray
            and X.dtype in FLOATS
            and X.ndim == 2
            and len(X) > 0
            and X.shape[1:] == self.shape
            and X.flags.c_contiguous
            and X.flags.aligned
            and not self.views
            and self.feature_names is None
        )

    def side_by_side(self, X: Any) -> Any:
        """Views as one array; anything else as it is."""
        if not are_views(X):
            return X
        if not self.views:
            raise DataError("X is a dict of views, but the stored examples are plain arrays.")
        return joined_views(X, self.views)

    def flat(self, X: Array) -> Array:
        """(n, d) from samples (n, …): in C order, and aligned in memory."""
        if X.shape[1:] != self.shape and X.ndim > 2:
            raise DataError(f"Samples have shape {X.shape[1:]}, the stored examples {self.shape}.")
        return np.require(np.ascontiguousarray(X.reshape(len(X), -1)), requirements="A")

    def rows(self, X: Any) -> Array:
        """(n, d), a floating type, of samples that come as arrays, lists or views: one sample, or n of them."""
        if self.is_plain(X):
            return np.asarray(X)
        X = np.asarray(self.side_by_side(X))
        if X.shape == self.shape:
            X = X[None]
        if X.dtype.kind not in "biuf" or X.ndim < 2 or not len(X):
            raise DataError(f"Samples are numbers with one sample a row; got shape {X.shape}, type {X.dtype}.")
        flat = self.flat(X if X.dtype in FLOATS else X.astype(np.float64))
        if flat.shape[1] != prod(self.shape):
            raise DataError(f"Samples have {flat.shape[1]} numbers, the stored examples {prod(self.shape)}.")
        return flat


def check_samples(X: Array, precision: np.dtype[Any]) -> Array:
    """X (n, d) in the working type, or an error where a value is no number or beyond what it can be computed with."""
    if not validation.are_in_range(X, precision):
        validation.check(X, precision, or_else=or_wider(precision))
    return X.astype(precision, copy=False)


def or_wider(precision: np.dtype[Any]) -> str:
    """What else helps where samples are too large or small for the examples' precision."""
    return ", or fit with float64" if precision == np.float32 else ""
