"""Dot products inside the dictionaries of left-out examples, as they are after each example has left the metric too."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kcrc._base.arrays import Array
from kcrc.native import native
from kcrc.tuning.left_out.exclusion import lengthen


def products_among(
    rows: Array,
    *,
    vectors: Array | None = None,
    products: Array | None = None,
    along: Array | None = None,
    strength: Array | None = None,
    scale: Array | None = None,
) -> Array:
    """(B, W, W) among the examples ``rows`` (B, W), from ``vectors`` (n, d) or the ``products`` (n, n) of all pairs.

    ``strength`` (B,) times the outer product of ``along`` (B, W) is added where an example left the metric (see
    ``leverage``); then rows and columns are multiplied by ``scale`` (B, W).
    """
    values = vectors if products is None else products
    assert values is not None
    if native is not None:
        made = native.left_out_products(values, products is not None, rows, along, strength, scale)
        return np.asarray(made)
    if products is None:
        atoms = values[rows]
        among = atoms @ atoms.transpose(0, 2, 1)
    else:
        among = values[rows[:, :, None], rows[:, None, :]]
    if along is not None and strength is not None:
        among += strength[:, None, None] * along[:, :, None] * along[:, None, :]
    if scale is not None:
        among *= scale[:, :, None] * scale[:, None, :]
    return np.asarray(among)


# Dot products in double precision, in the geometry without an example: what small penalties need.


@dataclass(eq=False)
class DoubleProducts:
    """Of vectors Z (n, d), from whose metric example i takes away ``directions[i]`` by ``strength[i]`` (None: nothing);
    ``unit``: lengths are scaled to 1 again. ``kept``: all pairs are few enough to be kept."""

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
        z = lengthen(self.Z[rows], u, strength, unit=self.unit)
        return np.asarray(z @ z.T)

    @cached_property
    def _all(self) -> Array:
        """(n, n), made once: every trial would make its own again, of vectors as long as they are."""
        Z = self.Z.astype(np.float64)
        return np.asarray(Z @ Z.T)
