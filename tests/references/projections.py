"""Slow formulas of the projections: f(gram, labels, options) -> Ψ of one Gram matrix.

They are compared by ΨΨᵀ, which does not depend on the signs of eigenvectors.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import linalg


def identity(gram, labels, options):
    return np.eye(len(gram))


def kpca(gram, labels, options):
    values, vectors = linalg.eigh(gram)
    return vectors[:, ::-1] / np.sqrt(values[::-1] / len(gram))


def kfda(gram, labels, options):
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


def graph(gram, labels, options):
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


def random(gram, labels, options):
    """N(0, 1/c), c half of the atoms: the numbers that a generator of seed 0 gives, row by row."""
    rng, c = np.random.default_rng(0), math.ceil(len(gram) / 2)
    return np.array([[rng.standard_normal() / math.sqrt(c) for _ in range(c)] for _ in range(len(gram))])
