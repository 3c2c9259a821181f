"""The interior-point method for a misfit in absolute values: what is exact where alternating steps would crawl.

    min over x of  ‖y − Dx‖₁ + λ‖x‖₁ + μ‖x‖²

is a linear (μ = 0) or quadratic programme. Written as one misfit ‖t − Ax‖₁ + μ‖x‖² with A = [D; λI], t = [y; 0] and
t − Ax = u − v (u, v ≥ 0), its dual variable z lies in the box [−1, 1] and Mehrotra's predictor and corrector walk to
the optimum in some 10 to 20 steps, whatever the conditioning; each is one Cholesky of size min(c, K).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from kcrc._base.arrays import Array


@dataclass(frozen=True, eq=False)
class Optimum:
    """x (K,); the relative duality gap it was left with; the steps taken."""

    x: Array
    gap: float
    n_iter: int


def duality_gap(D: Array, y: Array, x: Array, z: Array, *, mu: float = 0.0, lam: float = 0.0) -> float:
    """(P − d) / P for any x (K,) and any z (c,) with |z| ≤ 1: an upper bound of how far P is above the optimum.

    P = ‖y − Dx‖₁ + λ‖x‖₁ + μ‖x‖²,   d = zᵀy − Σⱼ (|Dᵀz|ⱼ − λ)₊² / 4μ;
    where μ = 0, z is first shortened so that |Dᵀz| ≤ λ.
    """
    return _gap(y, D @ x, x, z, z @ D, mu, lam)


def _gap(y: Array, Dx: Array, x: Array, z: Array, Dtz: Array, mu: float, lam: float) -> float:
    primal = float(np.abs(y - Dx).sum() + mu * (x @ x))
    if lam > 0:
        primal += lam * float(np.abs(x).sum())
    if mu > 0:
        over = np.maximum(np.abs(Dtz) - lam, 0.0) if lam > 0 else Dtz
        dual = float(z @ y - over @ over / (4 * mu))
    else:
        dual = float(z @ y) / max(1.0, float(np.abs(Dtz).max(initial=0.0)) / lam)
    # x = 0 is a solution wherever y = 0: nothing to represent, nothing to gain.
    return max(primal - dual, 0.0) / primal if primal > 0 else 0.0


def minimise(
    D: Array,
    y: Array,
    *,
    mu: float = 0.0,
    lam: float = 0.0,
    tol: float = 1e-6,
    max_iter: int = 60,
    outer: Array | None = None,
) -> Optimum:
    """argmin ‖y − Dx‖₁ + λ‖x‖₁ + μ‖x‖² for one target, to a relative duality gap of ``tol``; μ > 0 or λ > 0.

    D (c, K), y (c,), both float64; ``outer`` DDᵀ (c, c) saves its product where μ alone is given and c < K.
    """
    c, K = D.shape
    t = np.concatenate([y, np.zeros(K)]) if lam > 0 else y
    x, z = np.zeros(K), np.zeros(len(t))
    if not y.any() or K == 0:
        return Optimum(x, 0.0, 0)
    if lam == 0 and c <= K and outer is None:
        outer = D @ D.T
    sign = np.array([[1.0], [-1.0]])
    # parts = [u; v] and room = [1 − z; 1 + z]: at the optimum their product is 0.
    parts = np.maximum(sign * t, 0) + np.abs(t).mean()
    Ax, Atz = np.zeros_like(t), np.zeros(K)
    best, best_z, best_gap = x, z[:c], 1.0
    n_iter = 0
    while n_iter < max_iter and best_gap > tol:
        n_iter += 1
        room = 1.0 - sign * z
        if not room.all():  # rounding has put z on its bound: there is no way on
            break
        system = _Newton(D, 1.0 / (parts / room).sum(axis=0), mu, lam, outer)
        primal, dual = t - Ax - parts[0] + parts[1], Atz - 2 * mu * x

        def step(products: Array | float) -> tuple[Array, Array, Array]:
            """Newton's direction that takes parts · room to ``products`` (second order terms already in it)."""
            shift = products / room - parts  # noqa: B023
            dx, dz = system.solve(primal - shift[0] + shift[1], dual)  # noqa: B023
            return dx, dz, shift + sign * (parts * dz) / room  # noqa: B023

        _, dz, change = step(np.zeros((2, 1)))
        narrowing = -sign * dz
        gap = np.vdot(parts, room)
        after = np.vdot(parts + _longest(parts, change) * change, room + _longest(room, narrowing) * narrowing)
        centre = (after / gap) ** 3 * gap / (2 * len(t))
        dx, dz, change = step(centre - change * narrowing)
        along, across = _longest(parts, change), _longest(room, -sign * dz)
        if mu > 0:  # it couples the two sides: one length for both
            along = across = min(along, across)
        x, parts, z = x + along * dx, parts + along * change, z + across * dz
        Ax, Atz = _apply(D, lam, x), _apply_transposed(D, lam, z)
        left = _gap(y, Ax[:c], x, z[:c], Atz - lam * z[c:] if lam > 0 else Atz, mu, lam)
        if not np.isfinite(left):
            break
        if left < best_gap:
            best, best_z, best_gap = x, z[:c], left
    x, best_gap = polish(D, y, best, best_z, best_gap, mu=mu, lam=lam, outer=outer)
    return Optimum(x, best_gap, n_iter)


def polish(
    D: Array, y: Array, x: Array, z: Array, gap: float, *, mu: float = 0.0, lam: float = 0.0, outer: Array | None = None
) -> tuple[Array, float]:
    """x to rounding, from an x and z (c,) near enough to the optimum to tell which entries of y − Dx are 0 there (and
    for λ, of x): with those fixed, the conditions of the optimum are linear. With the gap; the old x where it is not
    the better one."""
    r = y - D @ x
    free = np.abs(r) < (1.0 - np.abs(z)) * np.abs(y).mean()
    sign = np.where(free, 0.0, np.sign(r))
    pull = sign @ D
    try:
        if mu > 0:
            F = D[free]
            square = F @ F.T if outer is None else outer[np.ix_(free, free)]
            if not len(F):
                return x, gap
            _, inner, info = lapack.dposv(square.T, 2 * mu * y[free] - F @ pull, lower=1)
            if info:
                return x, gap
            new = (inner @ F + pull) / (2 * mu)
        else:
            used = np.abs(x) > (1.0 - np.abs(z @ D) / lam) * np.abs(x).mean()
            if used.sum() != free.sum():
                return x, gap
            F = D[np.ix_(free, used)]
            new = np.zeros_like(x)
            new[used] = np.linalg.solve(F, y[free])
            inner = np.linalg.solve(F.T, lam * np.sign(new[used]) - pull[used])
    except np.linalg.LinAlgError:
        return x, gap
    z = sign.copy()
    z[free] = np.clip(inner, -1.0, 1.0)
    left = duality_gap(D, y, new, z, mu=mu, lam=lam)
    return (new, left) if left <= gap else (x, gap)


class _Newton:
    """Solves dz = q(ρ − A dx), 2μ dx − Aᵀdz = g through a matrix of size min(c, K)."""

    def __init__(self, D: Array, q: Array, mu: float, lam: float, outer: Array | None) -> None:
        c, K = D.shape
        self.D, self.q, self.lam = D, q, lam
        self.over_x = 2 * mu + (lam * lam * q[c:] if lam > 0 else np.zeros(K))
        self.tall = c > K
        if self.tall:
            half = D * np.sqrt(q[:c, None])
            matrix = half.T @ half
            diagonal = self.over_x
        else:
            known = outer is not None and lam == 0
            half = D if known else D / np.sqrt(self.over_x)
            matrix = outer / (2 * mu) if known else half @ half.T  # type: ignore[operator]
            diagonal = 1.0 / q[:c]
        matrix.ravel()[:: len(matrix) + 1] += diagonal
        # The transpose of a C-ordered symmetric matrix is itself, in the order LAPACK wants: no copy.
        self.factor, info = lapack.dpotrf(matrix.T, lower=1, clean=0)
        jitter = 0.0
        while info != 0 and np.isfinite(jitter):
            jitter = 100 * jitter + np.finfo(float).eps * float(np.diagonal(matrix).max())
            matrix.ravel()[:: len(matrix) + 1] += jitter
            self.factor, info = lapack.dpotrf(matrix.T, lower=1, clean=0)

    def solve(self, rho: Array, g: Array) -> tuple[Array, Array]:
        D, q, lam = self.D, self.q, self.lam
        c = len(D)
        g = g + lam * (q[c:] * rho[c:]) if lam > 0 else g
        if self.tall:
            dx = lapack.dpotrs(self.factor, (q[:c] * rho[:c]) @ D + g, lower=1)[0]
            return dx, q * (rho - _apply(D, lam, dx))
        dz = lapack.dpotrs(self.factor, rho[:c] - D @ (g / self.over_x), lower=1)[0]
        dx = (dz @ D + g) / self.over_x
        return dx, np.concatenate([dz, q[c:] * (rho[c:] - lam * dx)]) if lam > 0 else dz


def _apply(D: Array, lam: float, x: Array) -> Array:
    return np.asarray(np.concatenate([D @ x, lam * x]) if lam > 0 else D @ x)


def _apply_transposed(D: Array, lam: float, z: Array) -> Array:
    c = len(D)
    return np.asarray(z[:c] @ D + lam * z[c:] if lam > 0 else z @ D)


def _longest(a: Array, da: Array) -> float:
    """A step of at most 1 that keeps a + s·da (a > 0) a little above 0."""
    fastest = -float((da / a).min())
    return min(0.9995 / fastest, 1.0) if fastest > 0 else 1.0
