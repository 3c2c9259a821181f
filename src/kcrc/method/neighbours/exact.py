"""Exact search by blocks: screen all examples quickly, then measure the few that can matter exactly.

Where a distance can be screened (Euclidean as one matrix product) the screen is off by no more than a known error,
so the true k nearest are among the examples within twice that error of the k-th screened value. Those are measured
by the distance's own exact formula, which is why an answer does not depend on the batch it was asked in. Where examples
differ so much in size that the error rules hardly any of them out, all are measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.distances.base import Distance
from kcrc.method.neighbours.base import Neighbourhood, NeighbourIndex, nearest
from kcrc.method.preparation import Prepared

BLOCK = 8192  # examples screened at a time: no queries × examples matrix is ever held
WIDEST = 2 * BLOCK  # candidates of a query, beyond the k wanted, that a screen may leave


@dataclass(frozen=True, eq=False)
class ExactIndex(NeighbourIndex):
    """The readable search, for any distance."""

    distance: Distance
    atoms: Prepared

    def query(self, queries: Prepared, k: int) -> Neighbourhood:
        k = min(k, len(self.atoms))
        rows = self._screen(queries, k)
        if rows is None:
            return self._measure(queries, k)
        return nearest(self.distance.rowwise(queries, self.atoms, rows), rows, k)

    def _screen(self, queries: Prepared, k: int) -> Array | None:
        """Rows (B, M) among which the k nearest are; None where screening does not help."""
        batch = len(queries)
        values, rows, error = np.empty((batch, 0)), np.empty((batch, 0), np.intp), np.zeros(batch)
        for start in range(0, len(self.atoms), BLOCK):
            if values.shape[1] > k + WIDEST:
                return None
            screen = self.distance.screen(queries, self.atoms.take(slice(start, start + BLOCK)))
            if screen is None:
                return None
            new, error = screen[0], np.maximum(error, screen[1])
            values, rows = _within_reach(*_join(values, rows, new, start), k, error)
        return rows

    def _measure(self, queries: Prepared, k: int) -> Neighbourhood:
        batch = len(queries)
        values, rows = np.empty((batch, 0)), np.empty((batch, 0), np.intp)
        for start in range(0, len(self.atoms), BLOCK):
            new = self.distance.pairwise(queries, self.atoms.take(slice(start, start + BLOCK)))
            values, rows = _within_reach(*_join(values, rows, new, start), k, np.zeros(batch))
            if values.shape[1] > k + WIDEST:  # so many are equally far
                found = nearest(values, rows, k)
                values, rows = found.distances, found.rows
        return nearest(values, rows, k)

    def append(self, atoms: Prepared) -> ExactIndex:
        return ExactIndex(self.distance, atoms)

    def keep(self, atoms: Prepared, keep: Array) -> ExactIndex:
        return ExactIndex(self.distance, atoms)


def _join(values: Array, rows: Array, new: Array, start: int) -> tuple[Array, Array]:
    """Candidates and their values with those of the block that begins at row ``start`` behind them."""
    here = np.broadcast_to(np.arange(start, start + new.shape[1]), new.shape)
    return np.concatenate([values, new], axis=1), np.concatenate([rows, here], axis=1)


def _within_reach(values: Array, rows: Array, k: int, error: Array) -> tuple[Array, Array]:
    """Those of each line that may be among its k smallest when every value is off by up to ``error``."""
    if values.shape[1] <= k:
        return values, rows
    kth = np.partition(values, k - 1, axis=1)[:, k - 1]
    reach = values <= (kth + 2.0 * error)[:, None]
    width = int(reach.sum(axis=1).max())
    if width >= values.shape[1]:
        return values, rows
    chosen = np.argpartition(values, width - 1, axis=1)[:, :width]
    return np.take_along_axis(values, chosen, 1), np.take_along_axis(rows, chosen, 1)
