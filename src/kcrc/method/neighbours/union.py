"""Search by several distances at once: the union of the K nearest examples of each (paper, "Unified Similarity")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.distances.base import Distance
from kcrc.method.neighbours.base import EXACT, Neighbourhood, NeighbourIndex, nearest
from kcrc.method.neighbours.refine import union_of
from kcrc.method.preparation import Prepared


@dataclass(frozen=True, eq=False)
class UnionIndex(NeighbourIndex):
    """One index for each component of ``distance``; neighbours are ordered by ``distance`` itself."""

    distance: Distance
    atoms: Prepared
    members: Mapping[str, NeighbourIndex]

    @classmethod
    def over(
        cls, distance: Distance, atoms: Prepared, index: Callable[[Distance, Prepared], NeighbourIndex]
    ) -> UnionIndex:
        """``index`` makes the search of one component."""
        parts = distance.components.items()
        return cls(distance, atoms, {name: index(part, distance.part(atoms, name)) for name, part in parts})

    @property
    def alone(self) -> bool:
        return all(index.alone for index in self.members.values())

    @property
    def search(self) -> str:
        ways = [f"{name}: {index.search}" for name, index in self.members.items() if index.search != EXACT]
        return "; ".join(ways) or EXACT

    def query(self, queries: Prepared, k: int) -> Neighbourhood:
        found = [index.query(self.distance.part(queries, name), k) for name, index in self.members.items()]
        rows = union_of([near.rows for near in found])
        far = self.distance.selected(queries, self.atoms, np.maximum(rows, 0))
        return nearest(np.where(rows >= 0, far, np.inf), rows, rows.shape[1])

    def appended(self, atoms: Prepared) -> UnionIndex:
        part = self.distance.part
        return UnionIndex(
            self.distance, atoms, {name: index.appended(part(atoms, name)) for name, index in self.members.items()}
        )

    def kept(self, atoms: Prepared, keep: Array) -> UnionIndex:
        part = self.distance.part
        return UnionIndex(
            self.distance, atoms, {name: index.kept(part(atoms, name), keep) for name, index in self.members.items()}
        )
