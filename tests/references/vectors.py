"""Slow formulas of the distances and kernels of vectors: f(a, b, known) -> float, term by term."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.spatial import distance as scipy_distance


def sqeuclidean(a, b, known=None):
    return math.fsum((float(p) - float(q)) ** 2 for p, q in zip(a, b, strict=True))


def euclidean(a, b, known=None):
    return math.sqrt(sqeuclidean(a, b))


def manhattan(a, b, known=None):
    return math.fsum(abs(float(p) - float(q)) for p, q in zip(a, b, strict=True))


def chessboard(a, b, known=None):
    return max(abs(float(p) - float(q)) for p, q in zip(a, b, strict=True))


def cosine(a, b, known=None):
    return scipy_distance.cosine(a, b)


def correlation(a, b, known=None):
    return scipy_distance.correlation(a, b)


def mahalanobis(a, b, known):
    covariance = np.cov(known.X, rowvar=False, ddof=1)
    return scipy_distance.mahalanobis(a, b, np.linalg.inv(np.atleast_2d(covariance)))


UNIFIED = ((euclidean, 2), (manhattan, 1), (correlation, 1))  # the members and their powers


@cache
def _scales(blob, shape, labels):
    """How far an example is from the nearest other of its class, on average, by each member."""
    X = np.frombuffer(blob).reshape(shape)
    found = []
    for member, power in UNIFIED:
        nearest = [
            min(member(x, other) ** power for j, other in enumerate(X) if labels[j] == labels[i] and j != i)
            for i, x in enumerate(X)
        ]
        found.append(math.fsum(nearest) / len(nearest))
    return found


def unified(a, b, known):
    """Equal weights of the three, each over its scale."""
    scales = _scales(np.ascontiguousarray(known.X).tobytes(), known.X.shape, tuple(known.y))
    return math.fsum(
        member(a, b) ** power / scale / 3.0 for (member, power), scale in zip(UNIFIED, scales, strict=True)
    )


def given(a, b, known):
    """Of matrices: the number that a has with the example whose row is b."""
    (place,) = (j for j, row in enumerate(known.X) if np.array_equal(row, b))
    return float(a[place])


def linear(a, b, known):
    return math.fsum(p * q for p, q in zip(a, b, strict=True))


def rbf(a, b, known):
    return math.exp(-known.options.gamma * sqeuclidean(a, b))


def polynomial(a, b, known):
    options = known.options
    return (options.gamma * linear(a, b, known) + options.coef0) ** options.degree


def exp(a, b, known):
    """Of the Manhattan distance, which the rule takes as it is (power 1)."""
    return math.exp(-known.options.gamma * manhattan(a, b))


def polarisation(a, b, known):
    """Of the Manhattan distance, as above."""
    none = [0.0] * len(a)
    return 0.5 * (manhattan(a, none) + manhattan(b, none) - manhattan(a, b))
