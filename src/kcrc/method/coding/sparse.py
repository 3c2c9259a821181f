"""p = 1: sparse coding, the coders of SRC and KSRC. Lasso and its constrained form need only H = DᵀD, b = Dᵀy and
‖y‖², so they serve every space; l1l1 (q = 1) judges the entries of y − Dx and needs the columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.coding import interior, proximal
from kcrc.method.coding.base import Code, Coder, Dictionary, Target, at_least, count, register
from kcrc.native import native


@dataclass(frozen=True, eq=False)
class _Gram:
    """H (1|B, K, K) and which atoms are real, laid out for the solver."""

    gram: Array
    real: Array

    @classmethod
    def of(cls, dictionary: Dictionary) -> _Gram:
        dtype = np.float32 if dictionary.gram.dtype == np.float32 else np.float64
        gram = np.ascontiguousarray(dictionary.gram, dtype)
        return cls(gram, np.ascontiguousarray(np.broadcast_to(dictionary.real, gram.shape[:2])))

    def lasso(self, target: Target, rows: Array, lam: Array, x: Array, tol: float, max_iter: int) -> LassoSolutions:
        """min ½‖y − Dx‖² + λ‖x‖₁ for the targets ``rows``, each with its own λ, from the start x (R, K)."""
        which = np.zeros(len(rows), np.int64) if len(self.gram) == 1 else rows.astype(np.int64)
        b = np.ascontiguousarray(target.correlation[rows] * self.real[which], self.gram.dtype)
        energy = np.maximum(target.energy[rows], 0).astype(np.float64)
        x = np.array(x, np.float64)
        arguments = (self.gram, self.real.view(np.uint8), which, b, energy, lam.astype(np.float64), x, tol, max_iter)
        facts, n_iter = proximal.lasso(*arguments) if native is None else native.lasso(*arguments)
        return LassoSolutions(x, n_iter, *facts.T)


@dataclass(frozen=True, eq=False)
class LassoSolutions:
    """Of R targets: x (R, K), rounds, objective, duality gap, ‖y − Dx‖², yᵀ(y − Dx), max|Dᵀ(y − Dx)| (R,)."""

    x: Array
    n_iter: Array
    objective: Array
    gap: Array
    squared_residual: Array
    with_residual: Array
    steepest: Array

    @property
    def relative_gap(self) -> Array:
        positive = self.objective > 0
        gap = np.divide(np.abs(self.gap), self.objective, out=np.zeros_like(self.gap), where=positive)
        return np.where(positive | (self.gap == 0), gap, np.inf)


@dataclass(frozen=True)
class _Sparse(Coder):
    """A coder with a penalty on ‖x‖₁: it iterates until the relative duality gap is ``tol``, or ``max_iter`` times."""

    mu: float = 0.01
    tol: float = 1e-6
    max_iter: int = 100

    def __post_init__(self) -> None:
        at_least("mu", self.mu, 0, strict=True)
        at_least("tol", self.tol, 0, strict=True)
        count("max_iter", self.max_iter, 1)


@register("lasso")
@dataclass(frozen=True)
class Lasso(_Sparse):
    """x = argmin ½‖y − Dx‖² + μ‖x‖₁   (p = 1, q = 2), from DᵀD and Dᵀy alone.

    The working set grows from the atoms most correlated with y; coordinate descent and Newton steps solve it; the
    duality gap over the objective, at most ``tol`` when converged, is reported as ``Code.gap``.
    """

    certifies: ClassVar[bool] = True

    def factorise(self, dictionary: Dictionary) -> _Gram:
        return _Gram.of(dictionary)

    def solve(self, state: _Gram, target: Target) -> Code:
        b = target.correlation
        done = state.lasso(
            target, np.arange(len(b)), np.full(len(b), float(self.mu)), np.zeros(b.shape), self.tol, self.max_iter
        )
        gap = done.relative_gap
        return Code(done.x.astype(b.dtype), gap <= self.tol, done.n_iter, gap)


@register("bpdn")
@dataclass(frozen=True)
class BasisPursuitDenoising(_Sparse):
    """x = argmin ‖x‖₁ subject to ‖y − Dx‖₂ ≤ μ‖y‖   (p = 1, q = 2, constrained; μ is the share of y left over).

    Its solution is the lasso's at one λ. Between two changes of the support ‖y − Dx‖² is a line in λ² and x one in λ,
    so Newton's method in λ² (kept in a bracket, each lasso started from where the line leads) finds λ in a few steps.
    Where D cannot come as close to y as asked, x is the lasso solution at a λ of a billionth of its largest, and
    ``converged`` is False.
    ``Code.gap`` is (‖x‖₁ − the dual bound)/‖x‖₁ of the constrained problem.
    """

    mu: float = 0.05
    max_iter: int = 60
    certifies: ClassVar[bool] = True

    def factorise(self, dictionary: Dictionary) -> _Gram:
        return _Gram.of(dictionary)

    def solve(self, state: _Gram, target: Target) -> Code:
        b = target.correlation
        B, K = b.shape
        energy = np.maximum(target.energy, 0).astype(np.float64)
        wanted = self.mu**2 * energy
        largest = np.abs(b).max(axis=1, initial=0.0).astype(np.float64)
        x, gap = np.zeros((B, K)), np.zeros(B)
        n_iter = np.zeros(B, np.intp)
        converged = wanted >= energy  # x = 0 does: nothing to represent, or all may be left over
        # A bracket in λ²: above ``high`` the residual is too large, below ``low`` smaller than need be.
        high, low = largest**2, np.zeros(B)
        squared_lam = high * min(self.mu, 0.5)
        rows = np.flatnonzero(~converged & (largest > 0))
        for _ in range(self.max_iter):
            if not len(rows):
                break
            done = state.lasso(target, rows, np.sqrt(squared_lam[rows]), x[rows], 0.1 * self.tol, 100)
            x[rows] = done.x
            n_iter[rows] += done.n_iter + 1
            excess = done.squared_residual - wanted[rows]
            norm1 = np.abs(done.x).sum(axis=1)
            bound = done.with_residual - self.mu * np.sqrt(energy[rows]) * np.sqrt(done.squared_residual)
            bound = np.divide(bound, done.steepest, out=np.zeros_like(bound), where=done.steepest > 0)
            gap[rows] = np.divide(np.abs(norm1 - bound), norm1, out=np.ones_like(bound), where=norm1 > 0)
            met = np.abs(excess) <= self.tol * wanted[rows]
            converged[rows] = met & (done.relative_gap <= self.tol)
            over = excess > 0
            high[rows[over]], low[rows[~over]] = squared_lam[rows[over]], squared_lam[rows[~over]]
            goes_on = ~met & (high[rows] > 1e-18 * largest[rows] ** 2) & (high[rows] - low[rows] > 1e-15 * high[rows])
            for i, r in zip(rows[goes_on].tolist(), excess[goes_on].tolist(), strict=True):
                H = state.gram[0 if len(state.gram) == 1 else i]
                x[i], squared_lam[i] = self._newton_step(
                    H, x[i], float(squared_lam[i]), r, float(low[i]), float(high[i])
                )
            rows = rows[goes_on]
        return Code(x.astype(b.dtype), converged, n_iter, gap)

    @staticmethod
    def _newton_step(
        H: Array, x: Array, squared_lam: float, excess: float, low: float, high: float
    ) -> tuple[Array, float]:
        """The next x and λ²: where the line of this support reaches the wanted residual, or the geometric middle of the
        bracket if that lies outside it."""
        middle = float(np.sqrt(high * max(low, 1e-4 * high)))
        support = np.flatnonzero(x)
        sign = np.sign(x[support])
        inner = H[np.ix_(support, support)].astype(np.float64)
        slope = np.linalg.lstsq(inner, sign, rcond=None)[0]  # −dx/dλ; atoms may be duplicates, hence not solve
        rise = float(sign @ slope)  # d‖y − Dx‖²/dλ²
        to = squared_lam - excess / rise if rise > 0 else -1.0
        if not low < to < high:
            return x, middle
        moved = x[support] + (np.sqrt(squared_lam) - np.sqrt(to)) * slope
        if (moved * sign > 0).all():
            x = x.copy()
            x[support] = moved
        return x, to


@dataclass(frozen=True, eq=False)
class _Columns:
    """D (1|B, c, K), padding set to 0."""

    columns: Array


@register("l1l1")
@dataclass(frozen=True)
class L1L1(_Sparse):
    """x = argmin ‖y − Dx‖₁ + μ‖x‖₁   (p = 1, q = 1: basis pursuit with an error term), a linear programme.

    Solved per target by an interior-point method; ``Code.gap`` is the relative duality gap, at most ``tol`` when
    converged. Every step of every target factorises a matrix of its own, A diag(q) Aᵀ of side min(c, K), so a batch has
    nothing to share: on 504 × 1216 a target takes some tenths of a second, on local dictionaries milliseconds.
    """

    mu: float = 0.1
    max_iter: int = 60
    certifies: ClassVar[bool] = True
    needs_columns: ClassVar[bool] = True

    def factorise(self, dictionary: Dictionary) -> _Columns:
        assert dictionary.columns is not None
        return _Columns(np.where(dictionary.real[:, None, :], dictionary.columns, 0.0).astype(np.float64, copy=False))

    def solve(self, state: _Columns, target: Target) -> Code:
        assert target.vector is not None
        Y = target.vector.astype(np.float64, copy=False)
        x, gap = np.zeros(target.correlation.shape), np.zeros(len(Y))
        n_iter = np.zeros(len(Y), np.intp)
        for i, y in enumerate(Y):
            D = state.columns[0 if len(state.columns) == 1 else i]
            used = D.any(axis=0)  # a column of zeros would leave its coefficient undetermined by rounding
            optimum = interior.minimise(D[:, used], y, lam=float(self.mu), tol=self.tol, max_iter=self.max_iter)
            x[i, used], gap[i], n_iter[i] = optimum.x, optimum.gap, optimum.n_iter
        return Code(x.astype(target.correlation.dtype), gap <= self.tol, n_iter, gap)
