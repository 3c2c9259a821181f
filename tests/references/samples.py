"""Samples that the distances and kernels of the contract are fitted on and asked about: examples X with labels y,
queries Q, and the shape of one sample before it was flattened."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Samples(NamedTuple):
    X: Any
    y: Any
    Q: Any
    shape: tuple[int, ...]


def vectors() -> Samples:
    """Classes of four: so few that whatever is drawn of a class is all of it."""
    rng = np.random.default_rng(1)
    y = np.arange(40) // 4
    X = rng.normal(size=(10, 6))[y] + rng.normal(size=(40, 6))
    return Samples(X, y, rng.normal(size=(7, 6)), (6,))


def histograms() -> Samples:
    """Nothing below 0, some bins empty, one histogram all empty."""
    rng = np.random.default_rng(2)
    X, Q = (rng.random((n, 23)) * (rng.random((n, 23)) < 0.6) for n in (40, 7))
    X[0] = 0.0
    return Samples(X, np.arange(40) // 4, Q, (23,))


def images() -> Samples:
    """Strokes, no two alike."""
    rng = np.random.default_rng(3)
    y, x = np.mgrid[:12, :12]
    drawn = np.zeros((6, 12, 12))
    for image in drawn:
        for _ in range(4):
            v, u = rng.uniform(2.4, 9.6, 2)
            angle, length = rng.uniform(0, np.pi), rng.uniform(1.5, 4)
            along = (y - v) * np.sin(angle) + (x - u) * np.cos(angle)
            across = (y - v) * np.cos(angle) - (x - u) * np.sin(angle)
            image += rng.uniform(0.5, 1) * np.exp(-((along / length) ** 2) - (across / 1.2) ** 2)
    flat = drawn.reshape(6, -1)
    return Samples(flat[:4], np.arange(4) // 2, flat[4:], (12, 12))


def matrices() -> Samples:
    """What the caller computed: any numbers of each sample with each example, with no symmetry to rely on."""
    rng = np.random.default_rng(4)
    X = rng.random((40, 40))
    np.fill_diagonal(X, 0.0)
    return Samples(X, np.arange(40) // 4, rng.random((7, 40)), (40,))
