"""Dot products in double precision, in the geometry without an example: what small penalties need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kcrc.arrays import Array
from kcrc.left_out.rewhitening import lengthened


@dataclass(eq=False)
class DoubleProducts:
    """Of vectors Z (n, d), from whose metric example i takes away ``directions[i]`` by ``strength[i]`` (None: nothing);
    ``unit``: lengths are taken anew. ``kept``: all pairs are few enough to be kept."""

    Z: Array
    directions: Array | None
    strength: Array | None
    unit: bool
    kept: bool

    def among(self, i: int, rows: Array) -> Array:
        """(K, K) of the examples ``rows`` in the geometry without example i."""
        u, strength = None, 0.0
        if self.directions is not None and self.strength is not None:
            u, strength = self.directions[i], float(self.strength[i])
        if not self.kept:
            z = lengthened(self.Z[rows], u, strength, unit=self.unit)
            return np.asarray(z @ z.T)
        among = self._all[rows[:, None], rows]
        if u is not None:
            along = self.Z[rows].astype(np.float64) @ u.astype(np.float64)
            among += strength * along[:, None] * along
        if self.unit:
            length = np.sqrt(np.diagonal(among))
            length = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
            among *= length[:, None] * length
        return np.asarray(among)

    @cached_property
    def _all(self) -> Array:
        """(n, n), made once: every trial would make its own again, of vectors as long as they are."""
        Z = self.Z.astype(np.float64)
        return np.asarray(Z @ Z.T)
