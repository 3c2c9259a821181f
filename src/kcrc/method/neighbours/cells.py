"""Exact search that rules out whole cells: for examples of a few coordinates, or that lie in tight groups.

Examples are halved at the median of their widest coordinate until a cell has few enough, and each cell knows the box
its examples are in. An example is at least as far from a query as its box is,

    ‖q − a‖² ≥ Σ max(low − q, q − high, 0)²

so once k examples of the nearest cells are measured, a cell whose box is farther than the farthest of them is let go;
all others are measured. With ε = 2⁻⁵² and d coordinates either side of that comparison is off by less than a share of
(d + 8) ε, and "farther" means by more than both. Where cells rule out too little, the query goes the way of the scan:
in hundreds of coordinates a box rules out next to nothing. Stored examples tell beforehand whether most queries will.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from kcrc._base.arrays import Array, widen
from kcrc.method.distances.base import Distance
from kcrc.method.neighbours.base import Neighbourhood, NeighbourIndex
from kcrc.method.neighbours.exact import ExactIndex
from kcrc.method.neighbours.scan import ScanIndex
from kcrc.method.preparation import Prepared
from kcrc.native import native as _native

native: Any = _native  # None where the compiled module is not built; there is no ScanIndex then

LARGEST = 256  # examples of a cell
MOST_LEFT = 1 / 16  # of the examples that may be measured one by one; where more are left the scan is quicker
LATE = 1 / 8  # of the examples that may have come since the cells were made
ASKED = 16  # examples that tell whether cells pay
PAY_FROM, PAY_TO = 400_000, 4  # examples, and their coordinates, between which they are tried unasked
DOUBLE = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Cells:
    """rows (n,) by cell; starts (C + 1,) where each begins; low, high (C, d), float64: the boxes. The last cell is that
    of examples that came later; ``late`` of them."""

    rows: Array
    starts: Array
    low: Array
    high: Array
    late: int = 0

    @classmethod
    def over(cls, vectors: Array) -> Cells:
        parts = [np.arange(len(vectors))]
        small: list[Array] = []
        while parts:
            part = parts.pop()
            if len(part) <= LARGEST:
                small.append(part)
                continue
            values = vectors[part]
            widest = values[:, int((values.max(axis=0).astype(np.float64) - values.min(axis=0)).argmax())]
            order = np.argpartition(widest, len(part) // 2)
            parts += [part[order[: len(part) // 2]], part[order[len(part) // 2 :]]]
        low, high = (np.array([end(vectors[part], axis=0) for part in small], np.float64) for end in (np.min, np.max))
        starts = np.cumsum([0, *map(len, small), 0])
        nowhere = np.full((1, vectors.shape[1]), np.inf)
        return cls(np.concatenate(small), starts, np.vstack([low, nowhere]), np.vstack([high, -nowhere]))

    def bounds(self, query: Array) -> Array:
        """(C,) what the squared distance of a query (d,), float64, to any example of each cell is at least; ∞ for an
        empty one."""
        gap = np.maximum(np.maximum(self.low - query, query - self.high), 0.0)
        return np.asarray(np.einsum("ij,ij->i", gap, gap))

    def of(self, cells: Array) -> Array:
        """The examples of some cells, rising."""
        return np.sort(np.concatenate([self.rows[self.starts[c] : self.starts[c + 1]] for c in cells]))

    def append(self, new: Array) -> Cells:
        """With examples behind the others, in the cell of those that came later."""
        starts, low, high = self.starts.copy(), self.low.copy(), self.high.copy()
        starts[-1] += len(new)
        low[-1] = np.minimum(low[-1], new.min(axis=0, initial=np.inf))
        high[-1] = np.maximum(high[-1], new.max(axis=0, initial=-np.inf))
        rows = np.concatenate([self.rows, np.arange(len(self.rows), len(self.rows) + len(new))])
        return replace(self, rows=rows, starts=starts, low=low, high=high, late=self.late + len(new))

    def keep(self, keep: Array) -> Cells:
        stays = keep[self.rows]
        starts = np.concatenate([[0], np.cumsum(stays)])[self.starts]
        return replace(self, rows=(np.cumsum(keep) - 1)[self.rows[stays]], starts=starts)


@dataclass(frozen=True, eq=False)
class CellsIndex(NeighbourIndex):
    """For distances that order like the Euclidean; ``scan`` has the examples, and answers where cells do not help."""

    scan: ScanIndex
    cells: Cells
    compiled: ClassVar[bool] = True

    @classmethod
    def over(cls, scan: ScanIndex) -> CellsIndex:
        return cls(scan, Cells.over(scan.atoms["vectors"]))

    @classmethod
    def where_it_pays(cls, scan: ScanIndex, k: int) -> NeighbourIndex:
        """Cells over the examples of a scan, or the scan itself where they would rule out too little."""
        made = cls.over(scan)
        return made if made._pays(k) else scan

    def _pays(self, k: int) -> bool:
        """Whether most of some stored examples find their k nearest in a few cells."""
        vectors = self.atoms["vectors"]
        some = widen(vectors[np.random.default_rng(0).permutation(len(vectors))[:ASKED]])
        k = min(k, len(vectors))
        settled = [self._among_cells(some[i : i + 1], k) is not None for i in range(len(some))]
        return 2 * sum(settled) > len(settled)

    @property
    def alone(self) -> bool:
        return self.scan.alone

    @property
    def distance(self) -> Distance:
        return self.scan.distance

    @property
    def atoms(self) -> Prepared:
        return self.scan.atoms

    def query(self, queries: Prepared, k: int) -> Neighbourhood:
        vectors, k = np.ascontiguousarray(queries["vectors"]), min(k, len(self.atoms))
        rows, squared = np.empty((len(vectors), k), np.int64), np.empty((len(vectors), k))
        unsettled = np.zeros(len(vectors), bool)
        for i in range(len(vectors)):
            found = self._among_cells(vectors[i : i + 1], k)
            unsettled[i] = found is None
            if found is not None:
                rows[i], squared[i] = found
        if unsettled.any():
            rows[unsettled], squared[unsettled] = self.scan.query_squared(vectors[unsettled], k)
        distances, lost = self.distance.of_squared(squared), self.distance.astray(queries)
        if len(lost):
            readable = ExactIndex(self.distance, self.atoms).query(queries.take(lost), k)
            rows[lost], distances[lost] = readable.rows, readable.distances
        return Neighbourhood(rows, distances)

    def _among_cells(self, query: Array, k: int) -> tuple[Array, Array] | None:
        """Rows and squared distances (k,) of the nearest; None where cells rule out too little."""
        cells = self.cells
        with np.errstate(over="ignore", invalid="ignore"):
            bounds = cells.bounds(query[0].astype(np.float64))
        sizes = np.diff(cells.starts)
        nearest_first = np.argsort(bounds, kind="stable")
        first = nearest_first[: int(np.searchsorted(np.cumsum(sizes[nearest_first]), k)) + 1]
        reach = self._measure(query, cells.of(first), k)[1][-1]
        slack = 2 * (query.shape[1] + 8) * DOUBLE
        left = np.flatnonzero((bounds * (1.0 - slack) <= reach * (1.0 + slack)) & (sizes > 0))
        if not np.isfinite(reach) or sizes[left].sum() > max(MOST_LEFT * len(cells.rows), 2 * k + LARGEST):
            return None
        return self._measure(query, cells.of(left), k)

    def _measure(self, query: Array, rows: Array, k: int) -> tuple[Array, Array]:
        some = np.ascontiguousarray(self.atoms["vectors"][rows])
        places, squared = native.nearest_measured(vectors=some, queries=query, k=k)
        return rows[places[0]], squared[0]

    def append(self, atoms: Prepared) -> NeighbourIndex:
        scan = self.scan.append(atoms)
        if not isinstance(scan, ScanIndex):  # a new example is where no coordinates are
            return scan
        cells = self.cells.append(widen(atoms["vectors"][len(self.atoms) :]).astype(np.float64))
        late = cells.late > max(LARGEST, LATE * len(atoms))
        return CellsIndex.over(scan) if late else CellsIndex(scan, cells)

    def keep(self, atoms: Prepared, keep: Array) -> NeighbourIndex:
        scan = self.scan.keep(atoms, keep)
        assert isinstance(scan, ScanIndex)
        return CellsIndex(scan, self.cells.keep(keep))
