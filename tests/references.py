"""Independent slow formulas: one row for every entry of every registry. A registry entry without a row here fails.

A distance row is ``f(a, b, X) -> float`` for two samples and the examples the distance was fitted on.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy import linalg, optimize
from scipy.spatial import distance as scipy_distance
from sklearn import linear_model

from kcrc.distances.unified import of_a_kind


def _mahalanobis(a, b, X):
    covariance = np.cov(X, rowvar=False, ddof=1)
    return scipy_distance.mahalanobis(a, b, np.linalg.inv(np.atleast_2d(covariance)))


@lru_cache(maxsize=8)
def _scales(blob, shape):
    """How far the examples that are asked are from the nearest of those they are compared with, on average."""
    X = np.frombuffer(blob).reshape(shape)
    asked, mates = of_a_kind(np.zeros(len(X)))
    return {
        name: np.mean(
            [min(DISTANCES[name](X[i], X[j], X) ** power for j in few) for i, few in zip(asked, mates, strict=True)]
        )
        for name, power in POWERS.items()
    }


def _unified(a, b, X):
    """Equal weights of the three pixel measures, each over its scale; the examples are all of one class."""
    scales = _scales(np.ascontiguousarray(X, np.float64).tobytes(), X.shape)
    return math.fsum(DISTANCES[name](a, b, X) ** power / scales[name] / 3.0 for name, power in POWERS.items())


POWERS = {"euclidean": 2, "manhattan": 1, "correlation": 1}
DISTANCES = {
    "euclidean": lambda a, b, X: math.sqrt(math.fsum((float(p) - float(q)) ** 2 for p, q in zip(a, b, strict=True))),
    "sqeuclidean": lambda a, b, X: math.fsum((float(p) - float(q)) ** 2 for p, q in zip(a, b, strict=True)),
    "manhattan": lambda a, b, X: math.fsum(abs(float(p) - float(q)) for p, q in zip(a, b, strict=True)),
    "chessboard": lambda a, b, X: max(abs(float(p) - float(q)) for p, q in zip(a, b, strict=True)),
    "cosine": lambda a, b, X: scipy_distance.cosine(a, b),
    "correlation": lambda a, b, X: scipy_distance.correlation(a, b),
    "mahalanobis": _mahalanobis,
    "unified": _unified,
    "precomputed": None,  # what is given is what comes back: tests/test_classifier.py
    # These look at images, not vectors: their formulas are in tests/distances/reference_shape.py.
    **dict.fromkeys(["lbp-chi2", "texton-chi2", "marginal", "sift", "shape-context", "geometric-blur"]),
    # These need samples without negative values, or images: tests/distances/reference_pixel.py.
    **dict.fromkeys(["chi2", "intersection", "tangent"]),
}


def _distance_kernel(rule):
    """The exp and polarisation rows use the Manhattan distance, which both take as it is (power 1)."""

    def value(a, b, options):
        if rule == "exp":
            return math.exp(-options["gamma"] * np.abs(a - b).sum())
        return 0.5 * (np.abs(a).sum() + np.abs(b).sum() - np.abs(a - b).sum())

    return value


KERNELS = {
    "linear": lambda a, b, options: math.fsum(p * q for p, q in zip(a, b, strict=True)),
    "rbf": lambda a, b, options: math.exp(
        -options["gamma"] * math.fsum((p - q) ** 2 for p, q in zip(a, b, strict=True))
    ),
    "polynomial": lambda a, b, options: (
        (options["gamma"] * math.fsum(p * q for p, q in zip(a, b, strict=True)) + options["coef0"]) ** options["degree"]
    ),
    "exp": _distance_kernel("exp"),
    "polarisation": _distance_kernel("polarisation"),
    "precomputed": None,
}


def _ridge(D, y, mu):
    """min ‖y − Dx‖² + μ‖x‖² as one least-squares problem with √μ I stacked below D."""
    stacked = np.vstack([D, math.sqrt(mu) * np.eye(D.shape[1])])
    return np.linalg.lstsq(stacked, np.concatenate([y, np.zeros(D.shape[1])]), rcond=None)[0]


def _programme(D, y, *, mu=0.0, lam=0.0):
    """min ‖y − Dx‖₁ + λ‖x‖₁ as a linear programme; with μ‖x‖² as a quadratic one over x and e ≥ |y − Dx|."""
    c, K = D.shape
    if mu == 0:
        matrix = np.hstack([D, -D, np.eye(c), -np.eye(c)])
        found = optimize.linprog(np.r_[np.full(2 * K, lam), np.ones(2 * c)], A_eq=matrix, b_eq=y)
        return found.x[:K] - found.x[K : 2 * K]
    both = np.vstack([np.hstack([D, np.eye(c)]), np.hstack([-D, np.eye(c)])])  # ±(y − Dx) ≤ e
    start = np.r_[np.zeros(K), np.abs(y) + 1.0]
    found = optimize.minimize(
        lambda v: mu * v[:K] @ v[:K] + v[K:].sum(),
        start,
        jac=lambda v: np.r_[2 * mu * v[:K], np.ones(c)],
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda v: both @ v - np.r_[y, -y], "jac": lambda v: both},
        options={"ftol": 1e-16, "maxiter": 1000},
    )
    return found.x[:K]


def _lasso(D, y, mu):
    """Coordinate descent by another library, to a tiny duality gap."""
    return linear_model.Lasso(mu / len(y), fit_intercept=False, tol=1e-14, max_iter=1_000_000).fit(D, y).coef_


def _constrained(D, y, mu):
    """min ‖x‖₁ with ‖y − Dx‖ ≤ μ‖y‖: the point of the whole lasso path (least angles) where the residual is that."""
    _, _, knots = linear_model.lars_path(D, y, method="lasso")
    off = [np.linalg.norm(y - D @ x) - mu * np.linalg.norm(y) for x in knots.T]
    if off[0] <= 0:
        return np.zeros(D.shape[1])
    at = next(i for i, value in enumerate(off) if value <= 0)
    between = lambda t: (1 - t) * knots[:, at - 1] + t * knots[:, at]  # noqa: E731
    t = optimize.brentq(lambda t: np.linalg.norm(y - D @ between(t)) - mu * np.linalg.norm(y), 0, 1, xtol=1e-15)
    return between(t)


CODERS = {
    "ridge": _ridge,
    "robust": lambda D, y, mu: _programme(D, y, mu=mu),
    "lasso": _lasso,
    "bpdn": _constrained,
    "l1l1": lambda D, y, mu: _programme(D, y, lam=mu),
}
# mu in the contract tests: to bpdn it is the share of y left over, which their dictionaries cannot make small.
CODER_MU = {"bpdn": 0.9}


def _kpca(gram, labels, options):
    values, vectors = linalg.eigh(gram)
    return vectors[:, ::-1] / np.sqrt(values[::-1] / len(gram))


def _kfda(gram, labels, options):
    mean = gram.mean(axis=1)
    between, within = np.zeros_like(gram), np.zeros_like(gram)
    for label in np.unique(labels):
        columns = gram[:, labels == label]
        off = columns.mean(axis=1) - mean
        between += columns.shape[1] * np.outer(off, off)
        for column in columns.T:
            within += np.outer(column - columns.mean(axis=1), column - columns.mean(axis=1))
    ridge = 1e-3 * np.trace(between + within) / len(gram)
    _, vectors = linalg.eigh(between, within + ridge * np.eye(len(gram)))
    return vectors[:, ::-1][:, : len(np.unique(labels)) - 1]


def _graph(gram, labels, options):
    n, k = len(gram), options.get("n_neighbors", 5)
    squares = np.array([[gram[i, i] + gram[j, j] - 2 * gram[i, j] for j in range(n)] for i in range(n)])
    joined = np.zeros((n, n), bool)
    for i in range(n):
        nearest = sorted((squares[i, j], j) for j in range(n) if j != i)[:k]
        for _, j in nearest:
            joined[i, j] = joined[j, i] = True
    W = np.where(joined, np.exp(-squares / squares[joined].mean()), 0.0)
    degrees = np.diag(W.sum(axis=1))
    _, vectors = linalg.eigh(degrees - W, degrees)
    return vectors[:, 1 : 1 + (n + 1) // 2]


# Ψ of one Gram matrix; compared by ΨΨᵀ, which does not depend on the signs of eigenvectors.
PROJECTIONS = {
    "identity": lambda gram, labels, options: np.eye(len(gram)),
    "kpca": _kpca,
    "kfda": _kfda,
    "graph": _graph,
    "random": None,  # random: what holds of it is in tests/projections/test_random.py
}
