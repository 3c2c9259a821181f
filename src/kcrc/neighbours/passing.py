"""A search that passes over examples which are gone but still in the arrays: as many more are looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kcrc.arrays import Array
from kcrc.neighbours.base import Neighbourhood, NeighbourIndex
from kcrc.prepared import Prepared


@dataclass(frozen=True, eq=False)
class PassingIndex(NeighbourIndex):
    """``gone`` are positions, rising, of examples that no query finds; the ``index`` is a compiled one."""

    index: NeighbourIndex
    gone: Array
    compiled: ClassVar[bool] = True

    @property
    def alone(self) -> bool:
        return False

    @property
    def search(self) -> str:
        return self.index.search

    def query(self, queries: Prepared, k: int) -> Neighbourhood:
        found = self.index.query(queries, k + len(self.gone))
        stay = np.argsort(np.isin(found.rows, self.gone), axis=1, kind="stable")
        width = found.rows.shape[1] - len(self.gone)
        return Neighbourhood(*(np.take_along_axis(part, stay[:, :width], 1) for part in (found.rows, found.distances)))

    def appended(self, atoms: Prepared) -> PassingIndex:
        return PassingIndex(self.index.appended(atoms), self.gone)

    def kept(self, atoms: Prepared, keep: Array) -> PassingIndex:
        moved = (np.cumsum(keep) - 1)[self.gone[keep[self.gone]]]
        return PassingIndex(self.index.kept(atoms, keep), moved)
