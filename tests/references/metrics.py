"""Slow formulas of the metrics: f(X, y, Q) -> the dot products (len(Q), len(Q)) of the queries under the metric.

Dot products do not depend on the axes that a metric happens to choose.
"""

from __future__ import annotations

import math

import numpy as np


def plain(X, y, Q):
    return np.array([[math.fsum(a * b) for b in Q] for a in Q])


def unit(X, y, Q):
    return plain(X, y, np.array([q / math.sqrt(math.fsum(q * q)) for q in Q]))


def standard(X, y, Q):
    columns = []
    for feature, asked in zip(X.T, Q.T, strict=True):
        mean = math.fsum(feature) / len(feature)
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in feature) / len(feature))
        columns.append([(value - mean) / deviation for value in asked])
    return plain(X, y, np.array(columns).T)


def within(X, y, Q):
    """aᵀ S⁻¹ b over the lengths, for S = 0.8 C + 0.2 v I of the deviations from class means."""
    d = X.shape[1]
    C = np.zeros((d, d))
    for label in np.unique(y):
        members = X[y == label]
        for row in members:
            C += np.outer(row - members.mean(axis=0), row - members.mean(axis=0))
    C /= len(X) - len(np.unique(y))
    inverse = np.linalg.inv(0.8 * C + 0.2 * np.trace(C) / d * np.eye(d))
    centred = Q - X.mean(axis=0)
    products = np.array([[a @ inverse @ b for b in centred] for a in centred])
    return products / np.sqrt(np.outer(np.diag(products), np.diag(products)))
