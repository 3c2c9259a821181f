"""Small random problems that many tests share."""

from __future__ import annotations

from typing import Any

import numpy as np

from kcrc import KCRCClassifier

GIVEN: dict[str, Any] = {
    "n_neighbors": 50,
    "metric": "plain",
    "kernel": "rbf",
    "gamma": "scale",
    "mu": 0.01,
    "form": "rkhs",
    "decision": "ratio",
    "locality": "atoms",
}


def given(n_neighbors: Any = 50, **options: Any) -> KCRCClassifier:
    """A classifier with nothing left to be chosen."""
    return KCRCClassifier(**{**GIVEN, "n_neighbors": n_neighbors, **options})


def problem(seed: int, n: int = 40, d: int = 6, classes: int = 4, queries: int = 7):
    """A random classification problem with overlapping classes: X, y, Xq."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(classes, d))
    y = np.arange(n) % classes
    X = centres[y] + rng.normal(size=(n, d))
    Xq = centres[rng.integers(classes, size=queries)] + rng.normal(size=(queries, d))
    return X, y, Xq
