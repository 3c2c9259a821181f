"""Algorithm 2 for ONE query, as the paper writes it, with its slips corrected."""

from __future__ import annotations

import numpy as np

from kcrc.prepared import Array


def robust_code(
    D: Array,
    y: Array,
    mu: float,
    *,
    sigma: float = 1.0,
    growth: float = 1.0,
    tau: float = 1e-8,
    max_iter: int = 100_000,
) -> tuple[Array, Array, bool]:
    """Steps 2 to 5 of Algorithm 2: x (K,), e (c,), and whether it stopped by its own test, for

    min ‖e‖₁ + μ‖x‖₂²  subject to  y = Dx + e,     D (c, K), y (c,).

    Corrected: the Lagrangian's quadratic term is (σ/2)‖y − Dx − e‖²; S_α(h) = h + α where h ≤ −α; the penalty is
    the squared norm. The paper asks for an increasing σ; one that grows fast freezes z and stops anywhere short
    (hence growth = 1 here), and for the same reason the test asks y = Dx + e to hold besides a short step of x.
    """

    def S(alpha: float, h: Array) -> Array:
        return np.where(h >= alpha, h - alpha, np.where(h <= -alpha, h + alpha, 0.0))

    x, e, z = np.zeros(D.shape[1]), np.zeros(len(y)), np.zeros(len(y))
    lam, V = np.linalg.eigh(D.T @ D)  # so that P''ₖ of every σₖ is one scaling away
    for _ in range(max_iter):
        x_before, e_before = x, e
        x = V @ ((V.T @ (D.T @ (y - e + z / sigma))) / (lam + 2 * mu / sigma))
        e = S(1 / sigma, y - D @ x + z / sigma)
        z = z + sigma * (y - D @ x - e)
        moved = float(np.linalg.norm(x - x_before) + np.linalg.norm(e - e_before))
        if moved <= tau * (1 + float(np.linalg.norm(x))) and float(np.linalg.norm(y - D @ x - e)) <= tau:
            return x, e, True
        sigma *= growth
    return x, e, False


def krcrc(G: Array, k: Array, labels: Array, mu: float, Psi: Array | None = None) -> tuple[Array, dict[int, float]]:
    """Algorithm 2, KRCRC: coefficients x, and the regularised residual rᵢ of every class.

    G (K, K), k (K,), labels (K,); Psi (K, c), None for the identity.
    """
    Psi = np.eye(len(G)) if Psi is None else Psi
    # 1. Normalize the columns of D'' = ΨᵀG to unit l2-norm.
    D = Psi.T @ G
    norms = np.linalg.norm(D, axis=0)
    D = np.divide(D, norms, out=np.zeros_like(D), where=norms > 0)
    # 2.-5. Represent y'' = Ψᵀ K(D, y) over D'' by the converged x.
    y = Psi.T @ k
    x, _, _ = robust_code(D, y, mu)
    # 6. Obtain the regularized residuals rᵢ = ‖y'' − D''ᵢxᵢ‖₂ / ‖xᵢ‖₂.
    residuals = {}
    for i in np.unique(labels):
        of_i = labels == i
        length = float(np.linalg.norm(x[of_i]))
        left = float(np.linalg.norm(y - D[:, of_i] @ x[of_i]))
        residuals[int(i)] = left / length if length > 0 else np.inf
    return x, residuals
