"""What is classified: digits that come with scikit-learn, made-up clusters of any size, and MNIST where it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from kcrc._base.arrays import Array
from kcrc.method.scaling import Unit
from lab import datasets as published


@dataclass(frozen=True, eq=False)
class Problem:
    """Examples (n, d) with labels (n,), and queries with theirs."""

    name: str
    atoms: Array
    labels: Array
    queries: Array
    truth: Array

    def part(self, atoms: int, queries: int) -> Problem:
        """The first of each (they come shuffled)."""
        return Problem(self.name, self.atoms[:atoms], self.labels[:atoms], self.queries[:queries], self.truth[:queries])


def digits() -> Problem:
    """Half of the digits that come with scikit-learn against the other half, as they are."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    atoms, queries, labels, truth = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    return Problem("digits", np.ascontiguousarray(atoms), labels, np.ascontiguousarray(queries), truth)


def clusters(
    n: int, width: int, queries: int, *, classes: int = 10, dtype: DTypeLike = np.float32, seed: int = 0
) -> Problem:
    """Unit rows near a few hundred centres, whose spread falls off as that of images does (variance ~ 1/rank).

    Centres belong to classes at random and each class has many, so neighbourhoods are of mixed classes.
    """
    rng = np.random.default_rng(seed)
    fall = 1.0 / np.sqrt(np.arange(1, width + 1))
    centres = rng.standard_normal((min(400, max(20, n // 10)), width)) * fall
    of_centre = rng.integers(0, classes, len(centres))
    whose = rng.integers(0, len(centres), n + queries)
    made = np.empty((n + queries, width), dtype)
    for start in range(0, len(made), 8192):
        rows = whose[start : start + 8192]
        piece = centres[rows] + 0.7 * rng.standard_normal((len(rows), width)) * fall
        made[start : start + 8192] = piece / np.linalg.norm(piece, axis=1, keepdims=True)
    labels = of_centre[whose]
    astray = rng.random(len(labels)) < 0.1
    labels[astray] = rng.integers(0, classes, int(astray.sum()))
    return Problem(f"clusters {n} x {width}", made[:n], labels[:n], made[n:], labels[n:])


def load(folder: Path, name: str) -> Problem | None:
    """A data set of ``folder`` as unit rows, its own split, both halves shuffled; None where it is not at hand."""
    if published.locate(name, folder) is None:
        return None
    found = published.load(name, folder)
    rng = np.random.default_rng(0)
    atoms, queries = (rng.permutation(rows) for rows in (found.train, found.test))
    return Problem(
        name,
        Unit().transform(found.vectors(atoms)),
        found.labels[atoms],
        Unit().transform(found.vectors(queries)),
        found.labels[queries],
    )
