"""Independent slow formulas: one row for every entry of every registry. A registry entry without a row here fails.

A distance row is ``f(a, b, X) -> float`` for two samples and the examples the distance was fitted on.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial import distance as scipy_distance


def _mahalanobis(a, b, X):
    covariance = np.cov(X, rowvar=False, ddof=1)
    return scipy_distance.mahalanobis(a, b, np.linalg.inv(np.atleast_2d(covariance)))


DISTANCES = {
    "euclidean": lambda a, b, X: math.sqrt(math.fsum((float(p) - float(q)) ** 2 for p, q in zip(a, b, strict=True))),
    "sqeuclidean": lambda a, b, X: math.fsum((float(p) - float(q)) ** 2 for p, q in zip(a, b, strict=True)),
    "manhattan": lambda a, b, X: math.fsum(abs(float(p) - float(q)) for p, q in zip(a, b, strict=True)),
    "chessboard": lambda a, b, X: max(abs(float(p) - float(q)) for p, q in zip(a, b, strict=True)),
    "cosine": lambda a, b, X: scipy_distance.cosine(a, b),
    "correlation": lambda a, b, X: scipy_distance.correlation(a, b),
    "mahalanobis": _mahalanobis,
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


CODERS = {"ridge": _ridge}

PROJECTIONS = {"identity": lambda gram, labels, options: np.eye(len(gram))}
