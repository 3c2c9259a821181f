"""The samples of the studies: one way to read each set. How it is split is part of a study and stands there."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from kcrc._base.arrays import Array
from kcrc.images import datasets
from kcrc.report.terminal import note
from lab.experiments.loader import Loader


@functools.lru_cache(maxsize=1)  # a study takes one set after another, and each several times
def _loader(data: Path | None) -> Loader:
    return Loader(data)


def dataset(name: str, data: Path | None = None) -> datasets.Dataset:
    return _loader(data).dataset(name)


def at_hand(name: str, data: Path | None = None) -> bool:
    """Whether the set can be read; where not, a line says where it comes from and belongs."""
    if _loader(data).has(name):
        return True
    note(_loader(data).how_to_get(name))
    return False


def vectors(name: str, data: Path | None = None) -> tuple[Array, Array]:
    """Rows (n, d) and labels: digits 0 to 16 in double precision as scikit-learn has them, images of 8 bits 0 to 1."""
    found = dataset(name, data)
    X = found.vectors()
    return (16.0 * X.astype(np.float64) if name == "digits" else X), found.labels


def unit(X: Array) -> Array:
    """Rows (n, d) of length 1, in single precision."""
    X = X.reshape(len(X), -1).astype(np.float32)
    return np.asarray(X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12))


def per_class(y: Array, count: int, seed: int = 0) -> tuple[Array, Array]:
    """``count`` rows of each class, and all others."""
    rng = np.random.default_rng(seed)
    train = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:count] for c in np.unique(y)])
    return train, np.setdiff1d(np.arange(len(y)), train)
