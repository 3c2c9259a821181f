"""All distances between examples, measured at once: for who asks for the same ones again and again.

It is read like the cache of a costly distance (``kcrc.method.distances.pair_cache.PairCache``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.parallel import over_chunks
from kcrc.method.distances.base import Distance
from kcrc.method.preparation import Prepared

_ROWS = 64


@dataclass(frozen=True, eq=False)
class PairTable:
    """``values`` (n, n), in single precision."""

    values: Array

    @classmethod
    def of(cls, distance: Distance, atoms: Prepared, n_jobs: int | None = None) -> PairTable:
        """Of all examples with all."""

        def measured(part: slice) -> Array:
            return np.asarray(distance.pairwise(atoms.take(part), atoms), np.float32)

        return cls(np.concatenate(over_chunks(measured, len(atoms), _ROWS, n_jobs)))

    @property
    def missing(self) -> int:
        """How many pairs are still to be measured."""
        return 0

    def selected(self, distance: Distance, atoms: Prepared, which: Array, rows: Array) -> Array:
        """Distances (B, K) of examples ``which`` to ``rows``; anything where a row is −1."""
        return np.asarray(self.values[which[:, None], np.maximum(rows, 0)])

    def within(self, distance: Distance, atoms: Prepared, rows: Array) -> Array:
        """Distances (B, K, K) among the examples ``rows[i]``; anything where a row is −1."""
        near = np.maximum(rows, 0)
        return np.asarray(self.values[near[:, :, None], near[:, None, :]])
