"""What the features of vectors are by themselves: where each lies, how far it spreads, whether it varies at all.

Every feature is judged in its own unit. Metres beside micrometres are no reason to take the metres for constant.
"""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array

SEEN, SEEN_LEAST = 0.1, 10  # of the examples, and examples, that are not at one end of a range: else it was seen in too
# few to be known; half of them are always enough
OTHER_UNITS = 300  # times the range of another feature; that of pixels, which have 255 steps, differs by less
_COLUMNS = 64  # taken at once, so that the copy in double precision stays small


def _limits(X: Array) -> tuple[Array, Array]:
    return X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)


def varying(X: Array) -> Array:
    """(d,) whether a feature's values differ by more than rounding makes of equal ones: two units in the last place
    or three, of its own largest value."""
    low, high = _limits(X)
    largest = np.maximum(np.abs(low), np.abs(high))
    return np.asarray(0.5 * high - 0.5 * low > np.finfo(X.dtype).eps * largest)  # halves: the difference may overflow


def moments(X: Array) -> tuple[Array, Array]:
    """Mean and standard deviation (d,) of every feature, in double precision.

    Powers of two bring each near 1 first, which loses nothing, so that no square leaves the range of numbers; and what
    summing left of the mean is taken off, so that a small signal far from 0 keeps its size.
    """
    mean, deviation = np.empty(X.shape[1]), np.empty(X.shape[1])
    for start in range(0, X.shape[1], _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        block = X[:, columns].astype(np.float64)
        _, power = np.frexp(np.abs(block).max(axis=0))
        block = np.ldexp(block, -power)
        centre = block.mean(axis=0)
        block -= centre
        left = block.mean(axis=0)
        block -= left
        mean[columns] = np.ldexp(centre + left, power)
        deviation[columns] = np.ldexp(np.sqrt(np.einsum("ij,ij->j", block, block) / len(X)), power)
    return mean, deviation


def units_differ(X: Array) -> bool:
    """Whether some features vary so much more than others that they must be in other units.

    The range is compared, not the deviation: a pixel that is seldom lit deviates little, but in the same unit. One that
    was lit in a few may have been so faintly by chance: a small range counts where it was seen in enough examples. And
    few examples are alike in some of many features by chance: one that is nearly off in half of all pictures is so in n
    of them with 2⁻ⁿ, and more have to be than that brings about.
    """
    low, high = _limits(X)
    ranges, varies = 0.5 * high - 0.5 * low, varying(X)
    if not varies.any():
        return False
    small = np.flatnonzero(varies & (ranges < ranges[varies].max() / OTHER_UNITS))
    enough = min(len(X) / 2, max(SEEN * len(X), SEEN_LEAST))
    seen = sum(min(np.sum(X[:, i] != low[i]), np.sum(X[:, i] != high[i])) >= enough for i in small)
    return bool(seen > X.shape[1] * 0.5 ** len(X))
