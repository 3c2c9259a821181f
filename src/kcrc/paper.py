"""The paper's algorithms for ONE query, as it writes them, with the slips corrected: the oracle of everything faster.

Liu, Yu, Lu, Wen, Li, Zou: "KCRC-LCD: Discriminative Kernel Collaborative Representation with Locality Constrained
Dictionary for Visual Categorization". Symbols: D dictionary (atoms as columns), y query, G kernel Gram matrix of the
atoms, k kernel of the atoms with the query, Ψ (``Psi``) pseudo-transformation, x coefficients, mu the penalty.

Corrected: the polarisation rule holds for squared distances (the paper defines Dist as ‖·‖₂ just before); the
second "2." of Algorithm 4 is its step 3. Left open by the paper and fixed here: equal residuals go to the class
that sorts first, equal distances to the example that came first, a class whose coefficients are all 0 has residual
∞, and where all are 0 the nearest example answers.

What the functions take: ``labels`` (K,) whole numbers, the classes of the atoms; ``mu`` the penalty; ``normalize``
scales atoms to unit length (step 1); ``ratio`` divides residuals by ‖xᵢ‖₂, as the paper does; ``form`` is "gram"
(Algorithm 1) or "rkhs"; ``kernel``, ``dist``, ``coarse`` and ``fine`` are functions of two samples.

>>> G, k = np.array([[1.0, 0.2], [0.2, 1.0]]), np.array([0.9, 0.1])
>>> x, residuals = kcrc_rls(G, k, np.array([0, 1]), mu=0.01)
>>> min(residuals, key=residuals.get)
0
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kcrc._base.arrays import Array


def kcrc_rls(
    G: Array,
    k: Array,
    labels: Array,
    mu: float,
    Psi: Array | None = None,
    *,
    normalize: bool = True,
    ratio: bool = True,
) -> tuple[Array, dict[int, float]]:
    """Algorithm 1, KCRC-RLS: coefficients x, and the regularised residual rᵢ of every class.

    G (K, K), k (K,), labels (K,); Psi (K, c), None for the identity.
    """
    Psi = np.eye(len(G)) if Psi is None else Psi
    return crc_rls(Psi.T @ G, Psi.T @ k, labels, mu, normalize=normalize, ratio=ratio)


def crc_rls(
    D: Array, y: Array, labels: Array, mu: float, *, normalize: bool = True, ratio: bool = True
) -> tuple[Array, dict[int, float]]:
    """The steps of Algorithm 1 over a dictionary D (c, K) and a query y (c,): with the examples themselves, CRC-RLS.

    Beside the paper: columns as they are without ``normalize``, residuals not over ‖xᵢ‖₂ without ``ratio``.
    """
    # 1. Normalize the columns of D' = ΨᵀG to unit l2-norm.
    if normalize:
        norms = np.linalg.norm(D, axis=0)
        D = np.divide(D, norms, out=np.zeros_like(D), where=norms > 0)
    # 2. Represent y' = Ψᵀ K(D, y) over D' by x = P'y', P' = (D'ᵀD' + μI)⁻¹ D'ᵀ.
    P = np.linalg.solve(D.T @ D + mu * np.eye(D.shape[1]), D.T)
    x = P @ y
    # 3. Obtain the regularized residuals rᵢ = ‖y' − D'ᵢxᵢ‖₂ / ‖xᵢ‖₂.
    return x, _residuals(D, y, x, labels, ratio=ratio)


def kcrc_rkhs(
    G: Array, k: Array, kyy: float, labels: Array, mu: float, *, normalize: bool = True, ratio: bool = True
) -> tuple[Array, dict[int, float]]:
    """The same model solved in the kernel's own space (Ψ absent): x = (G + μI)⁻¹ k and

    rᵢ² = k(y,y) − 2xᵢᵀkᵢ + xᵢᵀGᵢᵢxᵢ over ‖xᵢ‖², atoms scaled to unit length, √G_jj = 1.
    """
    if normalize:
        norms = np.sqrt(np.diag(G))
        scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        G, k = G * np.outer(scale, scale), k * scale
    x = np.linalg.solve(G + mu * np.eye(len(G)), k)
    residuals = {}
    for i in np.unique(labels):
        of_i = labels == i
        squared = max(0.0, kyy) - 2 * x[of_i] @ k[of_i] + x[of_i] @ G[np.ix_(of_i, of_i)] @ x[of_i]
        residuals[int(i)] = _over_length(float(np.sqrt(max(0.0, squared))), x[of_i], ratio=ratio)
    return x, residuals


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
    return x, _residuals(D, y, x, labels)


def _residuals(D: Array, y: Array, x: Array, labels: Array, *, ratio: bool = True) -> dict[int, float]:
    """rᵢ = ‖y − Dᵢxᵢ‖₂ / ‖xᵢ‖₂ of every class i."""
    return {
        int(i): _over_length(float(np.linalg.norm(y - D[:, labels == i] @ x[labels == i])), x[labels == i], ratio=ratio)
        for i in np.unique(labels)
    }


def _over_length(residual: float, x_i: Array, *, ratio: bool) -> float:
    length = float(np.linalg.norm(x_i))
    return np.inf if length == 0 else residual / length if ratio else residual


Kernel = Callable[[Array, Array], float]
Dist = Callable[[Array, Array], float]


def kcrc(atoms: Array, labels: Array, y: Array, kernel: Kernel, mu: float, form: str = "gram") -> int:
    """Algorithm 1 (or its rkhs form) over all of ``atoms`` (n, d): the class of y."""
    G = np.array([[kernel(a, b) for b in atoms] for a in atoms])
    k = np.array([kernel(a, y) for a in atoms])
    if form == "gram":
        _, residuals = kcrc_rls(G, k, labels, mu)
    else:
        _, residuals = kcrc_rkhs(G, k, kernel(y, y), labels, mu)
    # 4. Output the identity of y' as arg minᵢ rᵢ.
    return min(residuals, key=lambda i: (residuals[i], i))


def naive_kcrc_lcd(
    atoms: Array, labels: Array, y: Array, dist: Dist, K: int, kernel: Kernel, mu: float, form: str = "gram"
) -> int:
    """Algorithm 3, naive KCRC-LCD."""
    # 1. Compute the distances to all training samples, and pick the nearest K neighbours.
    near = sorted(range(len(atoms)), key=lambda j: (dist(atoms[j], y), j))[:K]
    return _from_neighbours(near, atoms, labels, y, kernel, mu, form)


def practical_kcrc_lcd(
    atoms: Array,
    labels: Array,
    y: Array,
    coarse: Dist,
    K_c: int,
    fine: Dist,
    K_f: int,
    kernel: Kernel,
    mu: float,
    form: str = "gram",
) -> int:
    """Algorithm 4, practical KCRC-LCD: coarse to fine, K_c ≥ K_f."""
    # 1. Compute the coarse distances to all training samples, and pick the nearest K_c neighbours.
    candidates = sorted(range(len(atoms)), key=lambda j: (coarse(atoms[j], y), j))[:K_c]
    # 2. Compute the fine distances to those, and pick the nearest K_f neighbours.
    near = sorted(candidates, key=lambda j: (fine(atoms[j], y), j))[:K_f]
    return _from_neighbours(near, atoms, labels, y, kernel, mu, form)


def _from_neighbours(
    near: list[int], atoms: Array, labels: Array, y: Array, kernel: Kernel, mu: float, form: str
) -> int:
    # 2./3. If the K neighbours have the same label, the query is labelled and exit;
    if len({int(labels[j]) for j in near}) == 1:
        return int(labels[near[0]])
    # 3./4. else convert the distances into a kernel matrix, KCRC with D_lc instead of the global dictionary.
    rows = np.array(near)
    G = np.array([[kernel(a, b) for b in atoms[rows]] for a in atoms[rows]])
    k = np.array([kernel(a, y) for a in atoms[rows]])
    if form == "gram":
        _, residuals = kcrc_rls(G, k, labels[rows], mu)
    else:
        _, residuals = kcrc_rkhs(G, k, kernel(y, y), labels[rows], mu)
    if min(residuals.values()) == np.inf:
        return int(labels[near[0]])
    return min(residuals, key=lambda i: (residuals[i], i))


def rbf(beta: float) -> Kernel:
    """K(a, b) = exp(−β‖a − b‖²)."""
    return lambda a, b: float(np.exp(-beta * np.sum((a - b) ** 2)))


def linear(a: Array, b: Array) -> float:
    """K(a, b) = ⟨a, b⟩."""
    return float(a @ b)


def from_distance(dist: Dist, beta: float) -> Kernel:
    """K(a, b) = exp(−Dist(a, b)/β²)."""
    return lambda a, b: float(np.exp(-dist(a, b) / beta**2))


def polarisation(squared: Dist) -> Kernel:
    """K(a, b) = ½(Dist(a,0) + Dist(b,0) − Dist(a,b)); corrected: Dist is the squared distance."""
    return lambda a, b: 0.5 * (squared(a, 0 * a) + squared(b, 0 * b) - squared(a, b))
