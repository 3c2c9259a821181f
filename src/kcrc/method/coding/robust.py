"""p = 2, q = 1: the coder of RCRC and KRCRC (paper, Algorithm 2), for occlusion and gross corruption."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import lapack

from kcrc._base.arrays import Array
from kcrc.method.coding import interior
from kcrc.method.coding.base import Code, Coder, Dictionary, Target, at_least, count, register

_CHECK = 5  # steps between two looks at the duality gap
_RELAX = 1.6  # over-relaxation of Dx: the same fixed point, about a third fewer steps


@dataclass(frozen=True, eq=False)
class _Spectral:
    """One dictionary for all targets: an eigendecomposition, after which each σ costs one pass over its values.

    tall (c ≥ K)  DᵀD = V diag(values) Vᵀ:  W = DV, back = V,   weight = 1
    wide (c < K)  DDᵀ = U diag(values) Uᵀ:  W = U,  back = DᵀU, weight = values
    Then (DᵀD + τI)⁻¹Dᵀw = back a and Dx = W (weight·a) with a = Wᵀw / (values + τ).
    """

    D: Array
    outer: Array | None
    values: Array
    W: Array
    back: Array
    weight: Array


@dataclass(frozen=True, eq=False)
class _Dictionaries:
    """D and DᵀD (1|B). A dictionary used for one target does without the eigendecomposition, which is some thirty
    times the work of a Cholesky factor."""

    columns: Array
    gram: Array

    @cached_property
    def spectral(self) -> _Spectral:
        """Of the one dictionary that all targets share; made when first needed."""
        D = self.columns[0]
        wide = D.shape[0] < D.shape[1]
        square = D @ D.T if wide else D.T @ D
        values, vectors = np.linalg.eigh(square)
        values = np.maximum(values, 0.0)
        if wide:
            return _Spectral(D, square, values, vectors, D.T @ vectors, values)
        outer = D @ D.T if D.shape[0] == D.shape[1] else None
        return _Spectral(D, outer, values, D @ vectors, vectors, np.ones_like(values))


@register("robust")
@dataclass(frozen=True)
class Robust(Coder):
    """x = argmin ‖y − Dx‖₁ + μ‖x‖₂²   by the augmented Lagrangian (paper, Algorithm 2):

    x ← (DᵀD + (2μ/σ)I)⁻¹Dᵀ(y − e + z/σ),   e ← S_{1/σ}(y − Dx + z/σ),   z ← z + σ(y − Dx − e).

    Corrections to the paper: the quadratic term of the Lagrangian is (σ/2)‖y − Dx − e‖², the shrinkage is h + α for
    h ≤ −α, and the penalty is the squared norm (that is what its P''ₖ solves). z stays within [−1, 1], so it bounds
    the optimum from below: a target has converged when its objective is within ``tol`` (relative) of that bound, not
    when the steps become short, which a σ that grows fast does anywhere.

    Where ``max_iter`` steps are not enough (ill-conditioned D and small μ want thousands), ``finish`` ends by an
    interior-point method with the same model and the same test, and brings those that did converge to rounding by one
    linear solve where it can. A dictionary used for one target only goes straight to it: what the steps need first,
    P''ₖ, already costs as much as they could save. ``finish=False`` is Algorithm 2 and nothing else.
    σ = ``sigma`` / mean|y|, times ``growth`` every 5 steps.
    """

    mu: float = 0.01
    tol: float = 1e-6
    max_iter: int = 60
    sigma: float = 100.0
    growth: float = 1.0
    finish: bool = True
    certifies: ClassVar[bool] = True
    needs_columns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least("mu", self.mu, 0, strict=True)
        at_least("tol", self.tol, 0, strict=True)
        at_least("sigma", self.sigma, 0, strict=True)
        at_least("growth", self.growth, 1)
        count("max_iter", self.max_iter, 0)

    def factorise(self, dictionary: Dictionary) -> _Dictionaries:
        assert dictionary.columns is not None
        columns = dictionary.columns.astype(np.float64, copy=False)
        if not dictionary.real.all():
            columns = np.where(dictionary.real[:, None, :], columns, 0.0)
        return _Dictionaries(columns, dictionary.gram.astype(np.float64, copy=False))

    def solve(self, state: _Dictionaries, target: Target) -> Code:
        assert target.vector is not None
        Y = target.vector.astype(np.float64, copy=False)
        shared = len(state.columns) == 1
        outer = None
        if shared and (len(Y) > 2 or "spectral" in vars(state)):
            x, z, gap, n_iter = self._alternate_shared(state.spectral, Y)
            outer = state.spectral.outer
        else:
            x, z = np.zeros(target.correlation.shape), np.zeros_like(Y)
            gap, n_iter = np.where(Y.any(axis=1), 1.0, 0.0), np.zeros(len(Y), np.intp)
            for i, y in enumerate(Y) if not self.finish else ():
                own = 0 if shared else i
                x[i], z[i], gap[i], n_iter[i] = self._alternate_own(state.columns[own], state.gram[own], y)
        for i in np.flatnonzero(gap > 0).tolist() if self.finish else ():
            D = state.columns[0 if shared else i]
            if gap[i] <= self.tol:
                x[i], gap[i] = interior.polish(D, Y[i], x[i], z[i], gap[i], mu=self.mu, outer=outer)
                continue
            optimum = interior.minimise(D, Y[i], mu=self.mu, tol=self.tol, outer=outer)
            n_iter[i] += optimum.n_iter
            if optimum.gap < gap[i]:
                x[i], gap[i] = optimum.x, optimum.gap
        dtype = target.correlation.dtype
        return Code(x.astype(dtype, copy=False), gap <= self.tol, n_iter, gap)

    def _penalty(self, Y: Array) -> Array:
        """σ of each target, in the unit of its entries."""
        size = np.abs(Y).mean(axis=-1, keepdims=True)
        return np.asarray(self.sigma / np.where(size > 0, size, 1.0))

    def _hopeless(self, before: Any, now: Any, step: int) -> Any:
        """Whether the gap falls too slowly to reach ``tol`` in max_iter steps, so that the finish may start now."""
        if not self.finish or step < 2 * _CHECK:
            return now < 0
        rounds_left = (self.max_iter - step) // _CHECK
        return np.log(now / self.tol) > rounds_left * np.log(np.maximum(before / now, 1.0))

    def _alternate_shared(self, state: _Spectral, Y: Array) -> tuple[Array, Array, Array, Array]:
        """Algorithm 2 for all targets at once; those that have converged leave."""
        best, best_z = np.zeros((len(Y), len(state.values))), np.zeros_like(Y)
        gap = np.where(Y.any(axis=1), 1.0, 0.0)
        n_iter = np.zeros(len(Y), np.intp)
        rows = np.flatnonzero(gap > self.tol)
        y, sigma = Y[rows], self._penalty(Y[rows])
        e, z = np.zeros_like(y), np.zeros_like(y)
        for step in range(1, self.max_iter + 1):
            if not len(rows):
                break
            a = ((y - e + z / sigma) @ state.W) / (state.values + 2 * self.mu / sigma)
            Dx = (a * state.weight) @ state.W.T
            h = y - _RELAX * Dx - (1 - _RELAX) * (y - e) + z / sigma
            z = np.clip(sigma * h, -1.0, 1.0)  # = z + σ(y − Dx − e) with e = S_{1/σ}(h)
            e = h - z / sigma
            if step % _CHECK and step != self.max_iter:
                continue
            n_iter[rows] = step
            Dtz = z @ state.W
            length = np.einsum("bk,k,bk->b", Dtz, state.weight, Dtz)
            primal = np.abs(y - Dx).sum(axis=1) + self.mu * np.einsum("bk,k,bk->b", a, state.weight, a)
            dual = np.einsum("bc,bc->b", z, y) - length / (4 * self.mu)
            now = np.maximum(primal - dual, 0.0) / primal
            better, before = now < gap[rows], gap[rows]
            best[rows[better]], best_z[rows[better]], gap[rows[better]] = a[better], z[better], now[better]
            left = (now > self.tol) & ~self._hopeless(before, now, step)
            rows, y, e, z, sigma = rows[left], y[left], e[left], z[left], sigma[left] * self.growth
        return best @ state.back.T, best_z, gap, n_iter

    def _alternate_own(self, D: Array, H: Array, y: Array) -> tuple[Array, Array, float, int]:
        """Algorithm 2 for one target over its own dictionary."""
        best, best_z = np.zeros(D.shape[1]), np.zeros_like(y)
        if not y.any():
            return best, best_z, 0.0, 0
        gap, e, z = 1.0, np.zeros_like(y), np.zeros_like(y)
        sigma = float(self._penalty(y)[0])
        factor = None
        for step in range(1, self.max_iter + 1):
            if factor is None:
                factor = _factor(H, 2 * self.mu / sigma)
            x = lapack.dpotrs(factor, (y - e + z / sigma) @ D, lower=1)[0]
            Dx = D @ x
            h = y - _RELAX * Dx - (1 - _RELAX) * (y - e) + z / sigma
            z = np.clip(sigma * h, -1.0, 1.0)
            e = h - z / sigma
            if step % _CHECK and step != self.max_iter:
                continue
            before, now = gap, interior.duality_gap(D, y, x, z, mu=self.mu)
            if now < gap:
                best, best_z, gap = x, z, now
            if now <= self.tol or self._hopeless(before, now, step):
                return best, best_z, gap, step
            if self.growth > 1:
                sigma, factor = sigma * self.growth, None
        return best, best_z, gap, self.max_iter


def _factor(H: Array, tau: float) -> Array:
    """The Cholesky factor of DᵀD + τI; where rounding leaves none, of a little more."""
    info = 1
    while info:
        shifted = H.copy()
        shifted.ravel()[:: len(H) + 1] += tau
        factor, info = lapack.dpotrf(shifted.T, lower=1, overwrite_a=1, clean=0)
        tau = 10 * tau + len(H) * np.finfo(float).eps * float(np.diagonal(H).max())
    return np.asarray(factor)
