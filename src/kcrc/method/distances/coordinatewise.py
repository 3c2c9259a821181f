"""Measures that are a sum or a maximum over coordinates: compiled where the module is built, NumPy otherwise.

``measure`` is one of MEASURES. A pair is summed on its own: its value does not depend on the batch it is in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import DTypeLike

from kcrc._base.arrays import Array
from kcrc.method.preparation import Prepared
from kcrc.native import native

_HALVES_AT_ONCE = 8192
_BLOCK_VALUES = 1 << 20  # differences the NumPy way holds at once


def _manhattan(left: Array, right: Array) -> Array:
    difference = left - right
    return np.asarray(np.abs(difference, out=difference).sum(axis=-1))


def _chessboard(left: Array, right: Array) -> Array:
    difference = left - right
    return np.asarray(np.abs(difference, out=difference).max(axis=-1, initial=0.0))


def _squared_euclidean(left: Array, right: Array) -> Array:
    difference = left - right  # not a product of the two: equal rows are at exactly 0
    return np.asarray(np.einsum("...d,...d->...", difference, difference))


def _chi_square(left: Array, right: Array) -> Array:
    difference, total = left - right, left + right
    difference *= difference
    np.divide(difference, total, out=difference, where=total > 0)  # 0/0 counts 0: it is 0 already
    return np.asarray(difference.sum(axis=-1))


def _common_mass(left: Array, right: Array) -> Array:
    return np.asarray(np.minimum(left, right).sum(axis=-1))


MEASURES: dict[str, Callable[[Array, Array], Array]] = {
    "manhattan": _manhattan,
    "chessboard": _chessboard,
    "sqeuclidean": _squared_euclidean,
    "chi2": _chi_square,
    "common_mass": _common_mass,
}


def _floating(*arrays: Array) -> list[Array]:
    """The arrays in one floating type the compiled module takes, rows contiguous."""
    wide: DTypeLike = np.result_type(np.float32, *(array.dtype for array in arrays))
    return [np.ascontiguousarray(array, wide) for array in arrays]


def _take_rows(vectors: Array, rows: Array) -> tuple[Array, Array]:
    """Of halves only the rows asked for, so that no others are widened; anything else as it is."""
    if vectors.dtype != np.float16:
        return vectors, rows
    wanted, places = np.unique(rows, return_inverse=True)
    return vectors[wanted], places.reshape(rows.shape)


def pairwise(measure: str, left: Array, right: Array) -> Array:
    """All pairs: (len(left), len(right))."""
    if right.dtype == np.float16 and len(right) > _HALVES_AT_ONCE:  # never all of them in single precision at once
        whole = np.empty((len(left), len(right)), np.result_type(np.float32, left.dtype))
        for start in range(0, len(right), _HALVES_AT_ONCE):
            block = slice(start, start + _HALVES_AT_ONCE)
            whole[:, block] = pairwise(measure, left, right[block])
        return whole
    left, right = _floating(left, right)
    if native is not None:
        return np.asarray(native.distances_pairwise(measure, left, right))
    out = np.empty((len(left), len(right)), left.dtype)
    step = max(1, _BLOCK_VALUES // max(1, right.size))
    for start in range(0, len(left), step):
        out[start : start + step] = MEASURES[measure](left[start : start + step, None], right[None])
    return out


def rowwise(measure: str, left: Array, right: Array, rows: Array) -> Array:
    """Row i of ``left`` with the rows ``rows[i]`` of ``right``: (B, K)."""
    right, rows = _take_rows(right, rows)
    left, right = _floating(left, right)
    if native is not None:
        return np.asarray(native.distances_selected(measure, left, right, np.ascontiguousarray(rows, np.int64)))
    out = np.empty(rows.shape, left.dtype)
    step = max(1, _BLOCK_VALUES // max(1, rows.shape[1] * left.shape[1]))
    for start in range(0, len(left), step):
        part = slice(start, start + step)
        out[part] = MEASURES[measure](left[part, None], right[rows[part]])
    return out


def within(measure: str, right: Array, rows: Array) -> Array:
    """The rows ``rows[i]`` of ``right`` among themselves: (B, K, K)."""
    right, rows = _take_rows(right, rows)
    (right,) = _floating(right)
    if native is not None:
        return np.asarray(native.distances_within(measure, right, np.ascontiguousarray(rows, np.int64)))
    out = np.empty((*rows.shape, rows.shape[1]), right.dtype)
    for i, wanted in enumerate(rows):
        out[i] = pairwise(measure, right[wanted], right[wanted])
    return out


class Coordinatewise:
    """The part of a distance that measures prepared ``vectors`` by one of MEASURES."""

    measure: ClassVar[str]

    def pairwise(self, a: Prepared, b: Prepared) -> Array:
        return pairwise(self.measure, a["vectors"], b["vectors"])

    def rowwise(self, a: Prepared, b: Prepared, rows: Array) -> Array:
        return rowwise(self.measure, a["vectors"], b["vectors"], rows)

    def within(self, b: Prepared, rows: Array) -> Array:
        return within(self.measure, b["vectors"], rows)
