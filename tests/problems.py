"""Small random problems that many tests share."""

from __future__ import annotations

import numpy as np


def problem(seed: int, n: int = 40, d: int = 6, classes: int = 4, queries: int = 7):
    """A random classification problem with overlapping classes: X, y, Xq."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(classes, d))
    y = np.arange(n) % classes
    X = centres[y] + rng.normal(size=(n, d))
    Xq = centres[rng.integers(classes, size=queries)] + rng.normal(size=(queries, d))
    return X, y, Xq
