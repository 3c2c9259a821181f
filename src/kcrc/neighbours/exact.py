"""Exact search by blocks: screen all examples quickly, then measure the few that can matter exactly.

Where a distance can be screened (Euclidean as one matrix product) the screen is off by no more than a known error,
so the true k nearest are among the examples within twice that error of the k-th screened value. Those are measured
by the distance's own exact formula, which is why an answer does not depend on the batch it was asked in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kcrc.distances.base import Distance
from kcrc.neighbours.base import Neighbourhood, NeighbourIndex, nearest
from kcrc.prepared import Array, Prepared

BLOCK = 8192  # examples screened at a time: no queries × examples matrix is ever held


@dataclass(frozen=True, eq=False)
class ExactIndex(NeighbourIndex):
    """The readable search, for any distance."""

    distance: Distance
    atoms: Prepared

    def query(self, queries: Prepared, k: int) -> Neighbourhood:
        n, batch = len(self.atoms), len(queries)
        k = min(k, n)
        values = np.empty((batch, 0))
        rows = np.empty((batch, 0), np.intp)
        screened = False
        for start in range(0, n, BLOCK):
            block = self.atoms.take(slice(start, start + BLOCK))
            screen = self.distance.screen(queries, block)
            if screen is None:
                new, error = self.distance.pairwise(queries, block), np.zeros(batch)
            else:
                (new, error), screened = screen, True
            here = np.broadcast_to(np.arange(start, start + len(block)), new.shape)
            values, rows = _within_reach(
                np.concatenate([values, new], axis=1), np.concatenate([rows, here], axis=1), k, error
            )
        if screened:
            values = self.distance.selected(queries, self.atoms, rows)
        return nearest(values, rows, k)

    def appended(self, atoms: Prepared) -> ExactIndex:
        return ExactIndex(self.distance, atoms)

    def kept(self, atoms: Prepared, keep: Array) -> ExactIndex:
        return ExactIndex(self.distance, atoms)


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
