"""Lasso over a Gram matrix in NumPy, with the signature of the compiled one: where that is not built.

Accelerated proximal gradient steps for all targets of a dictionary at once; every 25 steps those whose support is
settled are finished by one exact solve over it. Slower than the compiled solver, the same answers.
"""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array

_CHECK = 25


def lasso(
    gram: Array, real: Array, which: Array, b: Array, energy: Array, lam: Array, x: Array, tol: float, max_iter: int
) -> tuple[Array, Array]:
    """min ½‖y − Dx‖² + λ‖x‖₁ for every row of b; x (B, K) is the start and is overwritten.

    Returns (objective, gap, ‖y − Dx‖², yᵀ(y − Dx), max|Dᵀ(y − Dx)|) (B, 5) and the rounds of 25 steps (B,).
    """
    facts, rounds = np.empty((len(b), 5)), np.empty(len(b), np.int64)
    for d in np.unique(which):
        rows = np.flatnonzero(which == d)
        H = gram[d].astype(np.float64)
        part = b[rows] * (real[d] != 0)
        x[rows], facts[rows], rounds[rows] = _one_dictionary(H, part, energy[rows], lam[rows], x[rows], tol, max_iter)
    return facts, rounds


def _one_dictionary(
    H: Array, b: Array, energy: Array, lam: Array, x: Array, tol: float, max_iter: int
) -> tuple[Array, Array, Array]:
    b = b.astype(np.float64)
    step = 1.0 / max(float(np.linalg.eigvalsh(H)[-1]), np.finfo(float).tiny) if len(H) else 1.0
    facts = _facts(H, b, energy, lam, x)
    rounds = np.zeros(len(b), np.int64)
    rows = np.flatnonzero(facts[:, 1] > tol * facts[:, 0])
    ahead, momentum = x.copy(), np.ones(len(b))
    for _ in range(40 * max_iter):  # a round here does far less than one of the compiled solver
        if not len(rows):
            break
        threshold = (step * lam[rows])[:, None]
        for _ in range(_CHECK):
            h = ahead[rows] + step * (b[rows] - ahead[rows] @ H)
            new = np.sign(h) * np.maximum(np.abs(h) - threshold, 0.0)
            # Momentum starts again wherever it points uphill.
            uphill = np.einsum("bk,bk->b", ahead[rows] - new, new - x[rows]) > 0
            before = np.where(uphill, 1.0, momentum[rows])
            momentum[rows] = (1 + np.sqrt(1 + 4 * before**2)) / 2
            ahead[rows] = new + ((before - 1) / momentum[rows])[:, None] * (new - x[rows])
            x[rows] = new
        for i in rows:
            exact = _on_support(H, b[i], lam[i], x[i])
            if exact is not None:
                x[i] = ahead[i] = exact
        facts[rows] = _facts(H, b[rows], energy[rows], lam[rows], x[rows])
        rounds[rows] += 1
        rows = rows[facts[rows, 1] > tol * facts[rows, 0]]
    return x, facts, rounds


def _on_support(H: Array, b: Array, lam: float, x: Array) -> Array | None:
    """The exact solution with the support and signs of x; None where it loses the signs or is no better."""
    support = np.flatnonzero(x)
    sign = np.sign(x[support])
    # The shortest solution where atoms of the support depend on each other (duplicates share evenly).
    values = np.linalg.lstsq(H[np.ix_(support, support)], b[support] - lam * sign, rcond=None)[0]
    if not (values * sign > 0).all():
        return None
    exact = np.zeros_like(x)
    exact[support] = values
    better = _objective(H, b, lam, exact) <= _objective(H, b, lam, x)
    return exact if better else None


def _objective(H: Array, b: Array, lam: float, x: Array) -> float:
    return float(0.5 * x @ H @ x - b @ x + lam * np.abs(x).sum())


def _facts(H: Array, b: Array, energy: Array, lam: Array, x: Array) -> Array:
    g = b - x @ H
    bx, gx = np.einsum("bk,bk->b", b, x), np.einsum("bk,bk->b", g, x)
    norm1, steepest = np.abs(x).sum(axis=1), np.abs(g).max(axis=1, initial=0.0)
    r2, yr = np.maximum(energy - bx - gx, 0.0), energy - bx
    limit = np.where(steepest > lam, lam / np.maximum(steepest, np.finfo(float).tiny), 1.0)
    alpha = np.clip(np.divide(yr, r2, out=limit.copy(), where=r2 > 0), -limit, limit)
    gap = lam * norm1 - gx + (1 - alpha) * yr - 0.5 * (1 - alpha**2) * r2
    return np.stack([0.5 * r2 + lam * norm1, gap, r2, yr, steepest], axis=1)
