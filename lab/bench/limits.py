"""What the machine can do at best: one Cholesky factor of LAPACK, and the matrix product of a search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kcrc._base.arrays import Array


class Potrf:
    """Factorise a few matrices by LAPACK's potrf, called straight, one after another.

    As many as half a megabyte holds, so that LAPACK finds them in the cache as the local stage finds what it has just
    gathered; laid out anew before each turn, untimed.
    """

    def __init__(self, size: int, dtype: Any) -> None:
        from scipy.linalg import lapack

        self._routine = lapack.spotrf if dtype == np.float32 else lapack.dpotrf
        X = np.random.default_rng(0).standard_normal((size, size + 8))
        self._matrix = np.asarray(X @ X.T / size + 0.1 * np.eye(size), dtype)
        self.count = int(np.clip((1 << 19) // self._matrix.nbytes, 1, 64))
        self._work = np.empty((self.count, size, size), dtype)

    def prepare(self) -> None:
        self._work[:] = self._matrix

    def __call__(self) -> None:
        routine = self._routine
        for matrix in self._work:
            routine(matrix.T, lower=1, overwrite_a=1, clean=0)


def product(atoms: Array, queries: Array) -> Callable[[], None]:
    """The bare matrix product of a search, queries × examples, by blocks that stay in the cache."""
    step = max(64, (8 << 20) // (atoms.itemsize * max(1, len(queries))))
    out = np.empty((min(step, len(atoms)), len(queries)), np.result_type(atoms, queries))

    def multiply() -> None:
        for start in range(0, len(atoms), step):
            block = atoms[start : start + step]
            np.matmul(block, queries.T, out=out[: len(block)])

    return multiply
