"""Small random problems that many tests share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kcrc import KCRCClassifier
from kcrc.method.distances.pixel import Manhattan

GIVEN: dict[str, Any] = {
    "n_neighbors": 50,
    "scaling": "plain",
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


@dataclass(frozen=True)
class Costly(Manhattan):
    """The Manhattan distance with a price: its distances between examples are kept."""

    cost: ClassVar[float] = 50.0


class Counting(Costly):
    """Notes every pair it measures, as values of the first feature (which tests make the row number)."""

    seen: ClassVar[list[tuple[float, float]]] = []

    def pairwise(self, a, b):
        self.seen.extend((float(i), float(j)) for i in a["vectors"][:, 0] for j in b["vectors"][:, 0])
        return super().pairwise(a, b)

    def rowwise(self, a, b, rows):
        of_row = b["vectors"][:, 0][rows]
        self.seen.extend((float(i), float(j)) for i, line in zip(a["vectors"][:, 0], of_row, strict=True) for j in line)
        return (
            np.stack([Manhattan().pairwise(a.take([i]), b.take(line))[0] for i, line in enumerate(rows)])
            if len(rows)
            else np.empty(rows.shape)
        )

    def within(self, b, rows):
        for line in rows:
            of_row = b["vectors"][line, 0]
            self.seen.extend((float(i), float(j)) for i in of_row for j in of_row)
        return np.stack([Manhattan().pairwise(b.take(line), b.take(line)) for line in rows])
