"""Dot products in double precision, in the geometry without an example: what small penalties need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kcrc._base.arrays import Array
from kcrc.tuning.left_out.products import products_among
from kcrc.tuning.left_out.rewhitening import lengthened


@dataclass(eq=False)
class DoubleProducts:
    """Of vectors Z (n, d), from whose metric example i takes away ``directions[i]`` by ``strength[i]`` (None: nothing);
    ``unit``: lengths are taken anew. ``kept``: all pairs are few enough to be kept."""

    Z: Array
    directions: Array | None
    strength: Array | None
    unit: bool
    kept: bool

    def among(self, which: Array, rows: Array) -> Array:
        """(B, K, K) of the examples ``rows`` (B, K), each in the geometry without the example of ``which`` (B,)."""
        if not self.kept:
            return np.stack([self._anew(int(i), line) for i, line in zip(which, rows, strict=True)])
        along = strength = scale = None
        if self.directions is not None and self.strength is not None:
            strength = self.strength[which].astype(np.float64)
            directions = self.directions[which].astype(np.float64)
            along = np.stack([self.Z[line].astype(np.float64) @ u for line, u in zip(rows, directions, strict=True)])
        if self.unit:
            squares = np.diagonal(self._all)[rows]
            if along is not None and strength is not None:
                squares = squares + strength[:, None] * along**2
            length = np.sqrt(squares)
            scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        return products_among(rows, products=self._all, along=along, strength=strength, scale=scale)

    def _anew(self, i: int, rows: Array) -> Array:
        u, strength = None, 0.0
        if self.directions is not None and self.strength is not None:
            u, strength = self.directions[i], float(self.strength[i])
        z = lengthened(self.Z[rows], u, strength, unit=self.unit)
        return np.asarray(z @ z.T)

    @cached_property
    def _all(self) -> Array:
        """(n, n), made once: every trial would make its own again, of vectors as long as they are."""
        Z = self.Z.astype(np.float64)
        return np.asarray(Z @ Z.T)
