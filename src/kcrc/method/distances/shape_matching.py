"""One shape bent onto another, in NumPy: log-polar contexts, assignment with dummies, thin-plate splines.

This is the plain form of what ``native/shape_context.cpp`` does for many pairs; they agree to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from kcrc._base.arrays import Array

TIE_WEIGHT = 1e-6
"""Of equally good partners the nearer one is taken: this much of the squared distance is added to a cost."""

AFFINE_SLACK = 1e-11
"""Keeps the spline solvable when all matched points lie on one line."""


@dataclass(frozen=True)
class Matching:
    """How two shapes are matched; the fields are explained in ShapeContext."""

    n_radii: int
    n_angles: int
    inner: float
    outer: float
    iterations: int
    dummies: float
    dummy_cost: float
    stiffness: float


def contexts(points: Array, matching: Matching) -> Array:
    """Log-polar histograms (m, n_radii · n_angles) of where the others lie from each of ``points`` (m, 2).

    Distances are in units of their mean. A neighbour is shared by the two nearest of ``n_radii`` radii, spaced evenly
    in log r from ``inner`` to ``outer`` (nearer and farther ones count at the ends), and the two nearest angles.
    """
    m = len(points)
    bins = np.zeros((m, matching.n_radii, matching.n_angles))
    if m > 1:
        to, of = (~np.eye(m, dtype=bool)).nonzero()
        down, right = (points[of] - points[to]).T
        r = np.hypot(down, right)
        r = r / (r.mean() or 1.0)
        span = np.log(matching.outer / matching.inner)
        step = np.log(np.maximum(r, matching.inner) / matching.inner) / span * (matching.n_radii - 1)
        step = np.clip(step, 0, matching.n_radii - 1)
        ring = np.minimum(step.astype(int), max(0, matching.n_radii - 2))
        turn = np.arctan2(down, right) * (matching.n_angles / (2 * np.pi))
        sector = np.floor(turn).astype(int)
        out, on = step - ring, turn - sector
        for dr, wr in ((0, 1 - out), (1, out)):
            if ring.max() + dr < matching.n_radii:
                for da, wa in ((0, 1 - on), (1, on)):
                    np.add.at(bins, (to, ring + dr, (sector + da) % matching.n_angles), wr * wa)
        bins /= m - 1
    return bins.reshape(m, matching.n_radii * matching.n_angles)


def context_costs(left: Array, right: Array) -> Array:
    """½ Σ (g − h)² / (g + h) for all pairs of contexts: (n, m), from 0 to 1."""
    total = left[:, None] + right[None]
    squared = (left[:, None] - right[None]) ** 2
    return np.asarray(0.5 * np.divide(squared, total, out=np.zeros_like(total), where=total > 0).sum(axis=-1))


def assigned(costs: Array, matching: Matching) -> tuple[Array, Array]:
    """The rows and columns matched one to one at the least total cost; a point may go to a dummy instead."""
    n, m = costs.shape
    size = max(n, m) + round(matching.dummies * max(n, m))
    square = np.full((size, size), matching.dummy_cost)
    square[:n, :m] = costs
    rows, columns = linear_sum_assignment(square)
    real = (rows < n) & (columns < m)
    return rows[real], columns[real]


def thin_plate(source: Array, target: Array, moved: Array, stiffness: float) -> tuple[Array, float]:
    """``moved`` (n, 2) under the thin-plate spline that takes ``source`` (k, 2) near ``target``, and its energy.

    f(p) = A (1, p) + Σ wᵢ U(|p − sourceᵢ|), U(r) = r² log r², with (K + stiffness I) w + P A = target, Pᵀ w = 0;
    the bending energy is ½ tr(wᵀ K w).
    """
    k = len(source)
    K = _kernel(source, source)
    P = np.column_stack([np.ones(k), source])
    system = np.block([[K + stiffness * np.eye(k), P], [P.T, -AFFINE_SLACK * np.eye(3)]])
    solution = np.linalg.solve(system, np.vstack([target, np.zeros((3, 2))]))
    w, affine = solution[:k], solution[k:]
    warped = _kernel(moved, source) @ w + np.column_stack([np.ones(len(moved)), moved]) @ affine
    return warped, max(0.0, 0.5 * float(np.sum(w * (K @ w))))


def _kernel(a: Array, b: Array) -> Array:
    squared = np.sum((a[:, None] - b[None]) ** 2, axis=-1)
    return np.asarray(squared * np.log(np.where(squared > 0, squared, 1.0)))


def bent_onto(one: Mapping[str, Array], other: Mapping[str, Array], matching: Matching) -> tuple[float, float, float]:
    """Context cost, bending energy and appearance cost of one shape (points, contexts, patches) bent onto another."""
    a, b, contexts_b = one["points"], other["points"], other["contexts"]
    warped, bending = a, 0.0
    costs = context_costs(one["contexts"], contexts_b)
    for _ in range(matching.iterations):
        rows, columns = assigned(costs + TIE_WEIGHT * _squared(warped, b), matching)
        if len(rows) < 3:
            break
        warped, bending = thin_plate(a[rows], b[columns], a, matching.stiffness)
        costs = context_costs(contexts(warped, matching), contexts_b)
    partner = np.argmin(costs + TIE_WEIGHT * _squared(warped, b), axis=1)
    appearance = float(np.mean(np.sum((one["patches"] - other["patches"][partner]) ** 2, axis=1)))
    return 0.5 * float(costs.min(axis=1).mean() + costs.min(axis=0).mean()), bending, appearance


def _squared(a: Array, b: Array) -> Array:
    return np.asarray(np.sum((a[:, None] - b[None]) ** 2, axis=-1))
