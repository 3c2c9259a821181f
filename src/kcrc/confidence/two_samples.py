"""Were two samples drawn alike? Each test sets a distance of means beside its values when who is who is drawn by lot.

With x the rows of both samples, centred, and U the sum of x over the second sample,

    T² = Uᵀ (S + λI)⁻¹ U,    S the covariance of x,    p = (1 + draws with as large a T²) / (1 + draws).

``of_signs`` compares the ranks of few columns, λ = 0, and sees any shift of them. A few rows that are far out shift
ranks by little; so it also compares the mean of one number, how strange a row is, by its exponential scores
−log(1 − rank), in which they weigh most. The smaller of the two p-values counts, set beside the smaller of the two in
each draw: together they raise no more alarms than one alone.

``of_vectors`` compares wide vectors, λ the mean variance, inside strata: rows are centred, and the lots drawn, within
each, so that other shares of the strata are no difference.

``together`` makes one p-value of several tests of the same rows, however they depend on each other: the mean of
tan((½ − p)π), which has the Cauchy distribution where nothing differs (Liu and Xie 2020, "Cauchy combination test").
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kcrc._base.arrays import Array

DRAWS = 499
WIDE = 512  # numbers of a vector; more are brought down to so many
BLOCK = 1 << 22  # numbers drawn at once
NO_SIGN = 0.95  # p-values above count as this one: agreement in one respect takes nothing from another
EQUAL = 1.0 - 1e-6  # draws are as large from here on: the same lots summed in another order


@dataclass(frozen=True, eq=False)
class Comparison:
    """p_value; shift (columns,) of the second sample in standard deviations, where columns are few; pull (m,) how far
    each row of the second sample lies towards the difference; far_out: whether it is in the rows that are far out."""

    p_value: float
    shift: Array
    pull: Array
    far_out: bool = False


def ranks(values: Array) -> Array:
    """(N,) ranks between 0 and 1, ties alike; ½ where a value is NaN."""
    from scipy.stats import rankdata  # only where batches are compared: it takes a while to load

    out = np.full(len(values), 0.5)
    there = ~np.isnan(values)
    out[there] = (rankdata(values[there]) - 0.5) / max(1, there.sum())
    return out


def of_signs(columns: Array, strangeness: Array, second: Array, rng: np.random.Generator) -> Comparison:
    """Of columns (N, k) and how strange the rows are (N,), the rows ``second`` (N,) bool against the others."""
    centred = columns - columns.mean(axis=0)
    spread = centred.T @ centred / len(centred)
    inverse = np.linalg.pinv(spread, rcond=1e-6, hermitian=True)
    outlying = -np.log1p(-ranks(strangeness))
    outlying -= outlying.mean()
    values: list[Array] = []
    for lots in itertools.chain([second[None].astype(np.float64)], _lots(second, np.zeros(len(second), np.intp), rng)):
        drawn = lots @ centred
        values.append(np.column_stack([np.einsum("ij,jk,ik->i", drawn, inverse, drawn), lots @ outlying]))
    mean = centred[second].mean(axis=0)
    deviation = np.sqrt(np.diag(spread))
    shift = np.divide(mean, deviation, out=np.zeros_like(mean), where=deviation > 0)
    p_value, which = _more_unusual(np.concatenate(values))
    pull = outlying[second] if which else centred[second] @ inverse @ mean
    return Comparison(p_value, shift, pull, far_out=bool(which))


def _more_unusual(values: Array) -> tuple[float, int]:
    """The p-value of the first row of (1 + draws, 2) by whichever of its values is the more unusual, and which is."""
    about = (1.0 - EQUAL) * np.abs(values).max(axis=0)
    as_large = [np.searchsorted(np.sort(-x), near - x, side="right") for x, near in zip(values.T, about, strict=True)]
    smaller = np.minimum(*as_large)
    return float((smaller <= smaller[0]).mean()), int(as_large[1][0] < as_large[0][0])


def of_vectors(vectors: Array, second: Array, strata: Array, rng: np.random.Generator) -> Comparison:
    """Of vectors (N, d), the rows ``second`` against the others of the same stratum (N,)."""
    from scipy.linalg import cholesky, solve_triangular  # only where batches are compared: it takes a while to load

    _, strata = np.unique(strata, return_inverse=True)
    both = (np.bincount(strata, second) > 0) & (np.bincount(strata, ~second) > 0)
    kept = both[strata]
    pull = np.zeros(len(strata))
    if not kept.any():
        return Comparison(1.0, np.zeros(0), pull[second])
    _, within = np.unique(strata[kept], return_inverse=True)
    chosen = second[kept]
    x = _centred(vectors[kept].astype(np.float64), within)
    deviation = np.sqrt((x**2).mean(axis=0))
    x = np.divide(x, deviation, out=np.zeros_like(x), where=deviation > 0)  # units do not matter
    if x.shape[1] > WIDE:  # random directions keep lengths, and are the same for both samples
        x = x @ rng.normal(size=(x.shape[1], WIDE))
    lifted = x.T @ x
    lifted[np.diag_indices_from(lifted)] += float(np.trace(lifted)) / len(lifted) or 1.0
    white = np.asarray(solve_triangular(cholesky(lifted, lower=True), x.T, lower=True)).T
    total = white[chosen].sum(axis=0)
    towards, limit = white @ total, EQUAL * float(total @ total)
    as_large = 0
    for lots in _lots(chosen, within, rng):
        as_large += int((((lots @ white) ** 2).sum(axis=1) >= limit).sum())
    pull[kept] = towards
    return Comparison((1 + as_large) / (1 + DRAWS), np.zeros(0), pull[second])


def together(p_values: Sequence[float]) -> float:
    """One p-value for several."""
    at_most = np.minimum(p_values, NO_SIGN)
    return float(0.5 - np.arctan(np.tan((0.5 - at_most) * np.pi).mean()) / np.pi)


def _centred(x: Array, strata: Array) -> Array:
    """Rows x (N, d) less the mean of their stratum."""
    order = np.argsort(strata, kind="stable")
    sizes = np.bincount(strata)
    sums = np.add.reduceat(x[order], np.cumsum(sizes) - sizes, axis=0)
    return np.asarray(x - (sums / sizes[:, None])[strata])


def _lots(second: Array, strata: Array, rng: np.random.Generator) -> Iterator[Array]:
    """Draws of who is in the second sample, (some, N) of 0 and 1: as many of each stratum as there are."""
    total = len(second)
    in_order = np.argsort(strata, kind="stable")
    as_many = second[in_order].astype(np.float64)
    for start in range(0, DRAWS, step := max(1, BLOCK // total)):
        keys = strata[in_order] + rng.random((min(step, DRAWS - start), total))
        lots = np.zeros_like(keys)
        np.put_along_axis(lots, in_order[np.argsort(keys, axis=1)], as_many[None], axis=1)
        yield lots
