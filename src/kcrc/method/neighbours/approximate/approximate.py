"""Approximate search that measures exactly: candidates by a library, distances and their order by the exact measure.

A library's index only grows, and any number of values share it: each knows which slots of it are its own examples, in
their order. Slots of examples that were forgotten, or that another value added, are passed over; where too few others
are left, more candidates are asked for, and in the end the exact search is. Where most of the slots are unused, or
new examples lie where a library has no numbers for them, a new one is made.

How many of the nearest it finds is estimated when it is made, and again whenever a twentieth of the examples came or
went.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.parallel import worker_count
from kcrc.method.distances.base import Distance
from kcrc.method.neighbours.approximate import cache
from kcrc.method.neighbours.approximate.base import Finder
from kcrc.method.neighbours.approximate.recall import UNKNOWN, Recall, least_effort
from kcrc.method.neighbours.base import Neighbourhood, NeighbourIndex
from kcrc.method.neighbours.scan import FARTHEST, Scan, ScanIndex, index_for
from kcrc.method.preparation import Prepared
from kcrc.native import native as _native

native: Any = _native  # None where the compiled module is not built; then there is no ScanIndex either

SPARE = 16  # candidates beyond those wanted
WIDER = 4  # times as many where they were too few
ENOUGH = 1024  # candidates that may always be asked for; beyond, no more than an eighth of all
UNUSED_SLOTS = 256  # so many slots without an example are too few to make a new index for
FARTHEST_NEW = 1024.0  # length of new coordinates, where the longest were 1: half precision ends at 65,504
STALE = 0.05  # share of the examples that may come or go before the recall is estimated again
SAMPLE = 40_960  # examples that a library learns from: 40 for each of its most centres, about
BLOCK = 1 << 22  # numbers handed over at a time


@dataclass(frozen=True, eq=False)
class ApproximateIndex(NeighbourIndex):
    """``exact`` measures, and answers where the library cannot; ``slots`` (n,), rising: where the examples are."""

    exact: ScanIndex
    finder: Finder
    slots: Array
    k: int
    n_jobs: int | None
    effort: int = 0
    recall: Recall = UNKNOWN
    changed: int = 0
    compiled: ClassVar[bool] = True

    @classmethod
    def over(cls, kind: type[Finder], exact: ScanIndex, *, k: int, n_jobs: int | None) -> NeighbourIndex:
        """``k`` neighbours are what is mostly asked for: the recall is of so many."""
        vectors, threads = exact.atoms["vectors"], worker_count(n_jobs)
        place = cache.place(kind, exact.scan, vectors)
        width = exact.scan.coordinates(vectors[:1]).shape[1]
        finder = None if place is None else cache.load_index(kind, place, len(vectors), width)
        if finder is None:
            some = np.sort(np.random.default_rng(0).permutation(len(vectors))[:SAMPLE])
            finder = kind.empty(exact.scan.coordinates(vectors[some]), len(vectors), threads=threads)
            finder.add(_blocks(exact.scan, vectors), threads=threads)
            if place is not None:
                cache.keep(finder, place)
        return cls(exact, finder, np.arange(len(vectors)), k, n_jobs)._with_recall()

    @property
    def alone(self) -> bool:
        return self.exact.alone and self.finder.slot_count == len(self.slots)

    @property
    def search(self) -> str:
        return f"{self.finder.name}, {self.recall.words}"

    @property
    def atoms(self) -> Prepared:
        return self.exact.atoms

    @property
    def distance(self) -> Distance:
        return self.exact.distance

    def query(self, queries: Prepared, k: int) -> Neighbourhood:
        rows, squared = self.query_squared(queries["vectors"], k, effort=self.effort)
        distances = self.distance.of_squared(squared)
        lost = self.distance.astray(queries)
        if len(lost):
            found = self.exact.query(queries.take(lost), k)
            rows[lost], distances[lost] = found.rows, found.distances
        return Neighbourhood(rows, distances)

    def query_squared(self, queries: Array, k: int, *, effort: int) -> tuple[Array, Array]:
        """Rows and squared Euclidean distances (B, k), float64."""
        queries, k = np.ascontiguousarray(queries), min(k, len(self.slots))
        with np.errstate(over="ignore"):
            coordinates = self.exact.scan.coordinates(queries)
        square = np.einsum("ij,ij->i", coordinates, coordinates, dtype=np.float64)
        rows, squared = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
        far = ~(square <= FARTHEST**2)  # beyond single precision
        left, used = np.flatnonzero(~far), self.finder.slot_count
        count = min(k + SPARE, used)
        most = max(count, ENOUGH, used // 8)
        while len(left) and count <= most:
            found = self.finder.near(coordinates[left], count, effort)
            enough = np.zeros(len(left), bool)
            for i, (asked, candidates) in enumerate(zip(left, found, strict=True)):
                mine = self._rows(candidates)
                enough[i] = len(mine) >= k
                if enough[i]:
                    rows[asked], squared[asked] = self._measure(queries[asked], mine, k)
            left, count, effort = left[~enough], WIDER * count, WIDER * effort
        far[left] = True
        if far.any():
            rows[far], squared[far] = self.exact.query_squared(queries[far], k)
        return rows, squared

    def _rows(self, candidates: Array) -> Array:
        """The examples that are in these slots, rising."""
        at = np.minimum(np.searchsorted(self.slots, candidates), len(self.slots) - 1)
        return np.unique(at[self.slots[at] == candidates])

    def _measure(self, query: Array, rows: Array, k: int) -> tuple[Array, Array]:
        """The k nearest among some examples, as the exact search measures them."""
        places, squared = native.nearest_measured(vectors=self.atoms["vectors"][rows], queries=query[None], k=k)
        return rows[places[0]], squared[0]

    def append(self, atoms: Prepared) -> NeighbourIndex:
        exact = cast(ScanIndex, self.exact.append(atoms))
        if not exact.compiled:  # a new example is where no coordinates are
            return exact
        if exact.scan.longest > FARTHEST_NEW:
            return self._anew(atoms)
        new = atoms["vectors"][len(self.slots) :]
        slots = self.finder.add(_blocks(exact.scan, new), threads=worker_count(self.n_jobs))
        return self._with(exact, np.concatenate([self.slots, np.array(slots, np.int64)]), len(new))

    def keep(self, atoms: Prepared, keep: Array) -> NeighbourIndex:
        return self._with(cast(ScanIndex, self.exact.keep(atoms, keep)), self.slots[keep], int((~keep).sum()))

    def _with(self, exact: ScanIndex, slots: Array, changed: int) -> NeighbourIndex:
        if self.finder.slot_count > 2 * len(slots) + UNUSED_SLOTS:
            return self._anew(exact.atoms)
        made = replace(self, exact=exact, slots=slots, changed=self.changed + changed)
        return made._with_recall() if made.changed > STALE * len(slots) else made

    def _anew(self, atoms: Prepared) -> NeighbourIndex:
        """An index of these examples alone, in their own unit."""
        exact = index_for(self.distance, atoms, budget=0)
        if not exact.compiled:
            return exact
        return ApproximateIndex.over(type(self.finder), cast(ScanIndex, exact), k=self.k, n_jobs=self.n_jobs)

    def _with_recall(self) -> NeighbourIndex:
        """With what is known of it now; the exact search where nothing can be."""
        by_effort: Any = lambda effort: partial(self.query_squared, effort=effort)  # noqa: E731 (one line, used once)
        vectors = self.atoms["vectors"]
        found = least_effort(vectors, self.k, self.exact.query_squared, by_effort, self.finder.efforts, self.n_jobs)
        if found is None:
            return self.exact
        effort, recall = found
        return replace(self, effort=effort, recall=recall, changed=0)


def _blocks(scan: Scan, vectors: Array) -> Iterator[Array]:
    """The coordinates of vectors that a library is given: centred, in their own unit, single precision."""
    step = max(1, BLOCK // vectors.shape[1])
    for start in range(0, len(vectors), step):
        yield scan.coordinates(vectors[start : start + step])
