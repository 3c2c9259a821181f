"""From candidates to the local dictionary: coarse to fine (paper, Algorithm 4), unions, and whole classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.distances.base import Distance
from kcrc.method.neighbours.base import EXACT, Neighbourhood, NeighbourIndex, nearest
from kcrc.method.preparation import Prepared


def refine(coarse: Neighbourhood, queries: Prepared, atoms: Prepared, distance: Distance, k: int) -> Neighbourhood:
    """The k nearest by ``distance`` among the coarse candidates; no other pair is measured.

    Where the distance unifies others: the union of the k nearest by each, ordered by ``distance``, padded.
    """
    rows, real = np.maximum(coarse.rows, 0), coarse.real
    parts = [
        np.where(real, part.rowwise(distance.part(queries, name), distance.part(atoms, name), rows), np.inf)
        for name, part in distance.components.items()
    ]
    fine = distance.combine(parts)
    if len(parts) == 1:
        return nearest(fine, coarse.rows, k)
    among = (union_ranks(parts, coarse.rows) < k) & real
    width = max(1, int(among.sum(axis=1).max()))
    return nearest(np.where(among, fine, np.inf), np.where(among, coarse.rows, -1), width)


def union_ranks(parts: Sequence[Array], rows: Array) -> Array:
    """(B, C) the best place of each candidate in the orders of the ``parts`` (B, C): it is in the union of the k
    nearest of each when this is below k. Equal distances are ordered by row."""
    best = np.full(rows.shape, rows.shape[1], np.intp)
    place = np.empty_like(best)
    for distances in parts:
        order = np.lexsort((rows, distances), axis=-1)
        np.put_along_axis(place, order, np.broadcast_to(np.arange(rows.shape[1]), rows.shape), axis=1)
        np.minimum(best, place, out=best)
    return best


def union_of(found: Sequence[Array]) -> Array:
    """The rows (B, W) that are in any of ``found`` (each (B, K)), ascending, padded with −1 behind."""
    rows = np.sort(np.concatenate(found, axis=1), axis=1)
    new = rows >= 0
    new[:, 1:] &= rows[:, 1:] != rows[:, :-1]
    rows = np.where(new, rows, -1)
    order = np.argsort(~new, axis=1, kind="stable")[:, : max(1, int(new.sum(axis=1).max(initial=0)))]
    return np.take_along_axis(rows, order, 1)


def whole_classes(
    to_means: Array, labels: Array, queries: Prepared, atoms: Prepared, distance: Distance, n_classes: int
) -> Neighbourhood:
    """All examples of the ``n_classes`` classes whose mean is nearest; padded, as classes differ in size.

    to_means (B, C) distances to the class means, ∞ for a class without examples; labels (n,).
    """
    n_all = to_means.shape[1]
    near = np.argsort(to_means, axis=1, kind="stable")[:, : min(n_classes, n_all)]
    members = [np.flatnonzero(labels == c) for c in range(n_all)]
    chosen = [np.sort(np.concatenate([members[c] for c in line])) for line in near]
    width = max(len(rows) for rows in chosen)
    rows = np.full((len(near), width), -1, np.intp)
    for i, wanted in enumerate(chosen):
        rows[i, : len(wanted)] = wanted
    distances = np.where(rows >= 0, distance.rowwise(queries, atoms, np.maximum(rows, 0)), np.inf)
    return nearest(distances, rows, width)


# Search by several distances at once: the union of the K nearest examples of each (paper, "Unified Similarity").


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
        far = self.distance.rowwise(queries, self.atoms, np.maximum(rows, 0))
        return nearest(np.where(rows >= 0, far, np.inf), rows, rows.shape[1])

    def append(self, atoms: Prepared) -> UnionIndex:
        part = self.distance.part
        return UnionIndex(
            self.distance, atoms, {name: index.append(part(atoms, name)) for name, index in self.members.items()}
        )

    def keep(self, atoms: Prepared, keep: Array) -> UnionIndex:
        part = self.distance.part
        return UnionIndex(
            self.distance, atoms, {name: index.keep(part(atoms, name), keep) for name, index in self.members.items()}
        )
