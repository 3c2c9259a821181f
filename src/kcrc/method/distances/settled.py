"""An option of a distance that the examples settle: the one with which their nearest neighbours are most clearly right.

Each of a sample of the examples is asked, itself and its exact copies left out, among its nearest by Euclidean
distance: a few pairs each, so it costs about a second. With t = log(nearest of another class / nearest of its own) an
answer is right with probability 1/(1 + exp(−t/T)); an option is judged by the mean log-loss of these at its own best T.
Where nearly all answers are right, counting them would leave the choice to a few borderline examples; and without a T
of its own an option that only spreads the distances farther apart, as smoothing does, would pass for a better one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.distances.base import Distance

AUTO = "auto"
ASKED, AMONG = 800, 100
WIDTHS = np.geomspace(0.005, 10.0, 60)  # T
FARTHEST = 50.0  # |t|: past it nothing is left to tell
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
    return min(options, key=lambda option: _doubt(option, X, y, asked, near, real))


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


def _doubt(distance: Distance, X: Array, y: Array, asked: Array, near: Array, real: Array) -> float:
    """The mean log-loss of the nearest neighbours' answers to the asked, at the best T."""
    used = np.unique(np.concatenate([asked, near.ravel()]))
    kept = distance.prepare(X[used])
    far = distance.selected(kept.take(np.searchsorted(used, asked)), kept, np.searchsorted(used, near))
    far = np.where(real, np.maximum(far, np.finfo(np.float32).tiny), np.inf)
    own = y[near] == y[asked][:, None]
    nearest, other = (np.where(which, far, np.inf).min(axis=1) for which in (own, ~own))
    lead = np.minimum(np.log(other / nearest), FARTHEST)
    return min(float(np.mean(np.logaddexp(0.0, -lead / width))) for width in WIDTHS)
