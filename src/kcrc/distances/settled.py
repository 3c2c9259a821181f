"""An option of a distance that the examples settle: the one with which their nearest neighbours are most often right.

Each of a sample of the examples is asked, itself and its exact copies left out, among its nearest by Euclidean
distance: a few pairs each, so it costs about a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from kcrc.distances.base import Distance
from kcrc.prepared import Array

AUTO = "auto"
ASKED, AMONG = 800, 100
_BLOCK = 100

D = TypeVar("D", bound=Distance)


def settled(options: Sequence[D], X: Array, y: Array) -> D:
    """The option (fitted distances, the first is preferred where others are no better) for examples (n, d)."""
    rng = np.random.default_rng(0)
    asked = np.sort(rng.permutation(len(X))[:ASKED])
    near, real = _candidates(X, asked)
    answerable = ((y[near] == y[asked][:, None]) & real).any(axis=1)
    asked, near, real = asked[answerable], near[answerable], real[answerable]
    if not len(asked) or len(np.unique(y[asked])) < 2:
        return options[0]
    right = [_right(option, X, y, asked, near, real) for option in options]
    return options[int(np.argmax(right))]


def _candidates(X: Array, asked: Array) -> tuple[Array, Array]:
    """Rows (B, AMONG) near each example by Euclidean distance, and which of them are not copies of it."""
    flat = X.astype(np.float64)
    squares = np.einsum("ij,ij->i", flat, flat)
    width = min(AMONG, len(X) - 1)
    rows, real = [], []
    for at in range(0, len(asked), _BLOCK):
        some = asked[at : at + _BLOCK]
        far = squares[some][:, None] + squares[None, :] - 2.0 * flat[some] @ flat.T
        far[np.arange(len(some)), some] = np.inf
        near = np.argpartition(far, width - 1, axis=1)[:, :width] if width else np.empty((len(some), 0), int)
        rows.append(near)
        real.append((X[near] != X[some][:, None]).any(axis=2))
    return np.concatenate(rows), np.concatenate(real)


def _right(distance: Distance, X: Array, y: Array, asked: Array, near: Array, real: Array) -> int:
    """How many of the asked have their own class nearest."""
    used = np.unique(np.concatenate([asked, near.ravel()]))
    kept = distance.prepare(X[used])
    far = distance.selected(kept.take(np.searchsorted(used, asked)), kept, np.searchsorted(used, near))
    nearest = np.where(real, far, np.inf).argmin(axis=1)
    return int((y[near[np.arange(len(asked)), nearest]] == y[asked]).sum())
