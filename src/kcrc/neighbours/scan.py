"""Exact Euclidean search at the speed of a matrix product, and past it where leading components can rule examples out.

Every example gets scan coordinates whose distance to the query's never exceeds the true one: all of its centred
coordinates, or (basis V, orthonormal columns, z = x − centre)

    a = [Vᵀz, √(‖z‖² − ‖Vᵀz‖²)] / scale,        ‖a − b‖ ≤ ‖x − y‖ / scale

since the rests of two vectors are at least as far apart as their lengths differ. The compiled scan goes over the
scan coordinates in single precision and measures by plain differences, in double precision, every example that this
lower bound cannot rule out. With u = 2⁻²⁴, R the longest scan vector and depth its width, rounding moves

    a query's or example's coordinates by   ≤ (8u + 2√(8 d ε)) (R + ‖q‖)   together    "slack" on the distance
    the product a·q − ‖a‖²/2          by   ≤ (depth + 8) u (R‖q‖ + R²)               "rounding" on the product

(ε = 2⁻⁵²; the root stems from the rest, a difference of squares), and an example is let go only beyond both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from kcrc._fused.native import native as _native
from kcrc.arrays import Array
from kcrc.distances.base import Distance
from kcrc.neighbours.base import Neighbourhood, NeighbourIndex
from kcrc.neighbours.exact import ExactIndex
from kcrc.prepared import Prepared

native: Any = _native  # None where the compiled module is not built; index_for then never comes here

ROWS_AT_ONCE = 4096
SAMPLE = 2048  # examples that the basis and the choice of its width are drawn from
PRUNING_PAYS_FROM = 4_000_000  # stored values; below it, a basis costs more than it saves
TYPICAL_K = 50
WIDTHS = (12, 16, 24, 32, 48, 64, 96, 128, 192)
MEASURING = 12.0  # cost of one exact value against one of the scan, from memory; measured in docs/performance.md
FARTHEST = 1e15  # length of scan coordinates whose products, and the sums of those, are numbers in single precision
SINGLE, DOUBLE = float(np.finfo(np.float32).eps) / 2, float(np.finfo(np.float64).eps)


def index_for(distance: Distance, atoms: Prepared, *, budget: int) -> NeighbourIndex:
    """The quickest exact index for a distance; ``budget`` bounds what it may keep beyond the examples, in bytes."""
    if native is None or not distance.orders_like_euclid or not len(atoms) or len(distance.astray(atoms)):
        return ExactIndex(distance, atoms)
    scan = Scan.over(atoms["vectors"], budget=budget)
    return ExactIndex(distance, atoms) if scan is None else ScanIndex(distance, atoms, scan)


@dataclass(frozen=True, eq=False)
class ScanIndex(NeighbourIndex):
    """The compiled search, for distances that order like the Euclidean distance of the prepared vectors."""

    distance: Distance
    atoms: Prepared
    scan: Scan
    compiled: ClassVar[bool] = True

    def query(self, queries: Prepared, k: int) -> Neighbourhood:
        rows, squared = self.squared(queries["vectors"], k)
        distances = self.distance.of_squared(squared)
        lost = self.distance.astray(queries)
        if len(lost):
            found = ExactIndex(self.distance, self.atoms).query(queries.take(lost), k)
            rows[lost], distances[lost] = found.rows, found.distances
        return Neighbourhood(rows, distances)

    def squared(self, queries: Array, k: int) -> tuple[Array, Array]:
        """Rows and squared Euclidean distances (B, k), float64."""
        return self.scan.nearest(self.atoms["vectors"], np.ascontiguousarray(queries), min(k, len(self.atoms)))

    def appended(self, atoms: Prepared) -> NeighbourIndex:
        new = slice(len(self.atoms), None)
        if len(self.distance.astray(atoms.take(new))):
            return ExactIndex(self.distance, atoms)
        scan = self.scan.appended(atoms["vectors"][new])
        return ExactIndex(self.distance, atoms) if scan is None else ScanIndex(self.distance, atoms, scan)

    def kept(self, atoms: Prepared, keep: Array) -> NeighbourIndex:
        return ScanIndex(self.distance, atoms, self.scan.kept(keep))


class _Panels:
    """Scan coordinates in the order the compiled scan reads them, with room to grow; ``used`` slots are taken.

    coordinates  (panels, depth, rows a panel) float32
    halves       (slots,) ‖a‖²/2, ∞ where a slot is free
    rows         (slots,) int32, the example in each slot
    """

    __slots__ = ("coordinates", "halves", "rows", "used")

    def __init__(self, capacity: int, depth: int) -> None:
        self.coordinates = np.zeros((-(-capacity // native.scan_rows), depth, native.scan_rows), np.float32)
        self.halves = np.full(len(self.coordinates) * native.scan_rows, np.inf, np.float32)
        self.rows = np.zeros(len(self.halves), np.int32)
        self.used = 0

    def append(self, coordinates: Array, rows: Array) -> None:
        slots = np.arange(self.used, self.used + len(rows))
        self.coordinates[slots // native.scan_rows, :, slots % native.scan_rows] = coordinates
        self.halves[slots] = 0.5 * np.einsum("ij,ij->i", coordinates, coordinates, dtype=np.float64)
        self.rows[slots] = rows
        self.used += len(rows)

    def read(self, slots: Array) -> Array:
        return np.asarray(self.coordinates[slots // native.scan_rows, :, slots % native.scan_rows])


@dataclass(frozen=True, eq=False)
class Scan:
    """Where the scan coordinates come from, and (with a basis) those of the examples.

    centre (d,) float64; basis (d, p) float64 or None for all coordinates; scale, longest: units of length.
    """

    centre: Array
    basis: Array | None
    scale: float
    longest: float
    panels: _Panels | None
    count: int

    @classmethod
    def over(cls, vectors: Array, *, budget: int) -> Scan | None:
        """For the examples (n, d): with a basis where it is likely to pay and its coordinates fit the budget.

        None where the values are so large or small that their squares leave the range of a double.
        """
        n, width = vectors.shape
        rng = np.random.default_rng(0)
        sample = vectors[np.sort(rng.permutation(n)[:SAMPLE])].astype(np.float64)
        if float(np.abs(sample).max(initial=0.0)) > 1e30:
            return None
        centre = sample.mean(axis=0).astype(np.float32).astype(np.float64)  # the scan subtracts it in single precision
        bare = cls(centre, None, 1.0, 0.0, None, n)
        longest = bare._longest(vectors)
        if longest > 1e30 or 0.0 < longest < 1e-30:
            return None
        scale = float(2.0 ** np.ceil(np.log2(longest))) if longest > 0 else 1.0
        bare = replace(bare, scale=scale, longest=longest / scale)
        basis = None
        if n * width >= PRUNING_PAYS_FROM:
            affordable = budget // (5 * n) - 1
            basis = _basis((sample - centre) / scale, n, [p for p in WIDTHS if p < min(affordable, width)], rng)
        if basis is None:
            return bare
        empty = replace(bare, basis=basis, panels=_Panels(n, basis.shape[1] + 1), count=0)
        # A fixed shuffle: examples sorted by class would keep a query waiting for its own.
        return empty._filled(vectors, rng.permutation(n))

    def _longest(self, vectors: Array) -> float:
        largest = 0.0
        for start in range(0, len(vectors), ROWS_AT_ONCE):
            z = vectors[start : start + ROWS_AT_ONCE] - self.centre
            largest = max(largest, float(np.einsum("ij,ij->i", z, z).max()))
        return float(np.sqrt(largest))

    def coordinates(self, vectors: Array) -> Array:
        """Scan coordinates (B, depth), float32."""
        z = (vectors - self.centre) / self.scale
        if self.basis is None:
            return z.astype(np.float32)
        leading = z @ self.basis
        rest = np.einsum("ij,ij->i", z, z) - np.einsum("ij,ij->i", leading, leading)
        return np.column_stack([leading, np.sqrt(np.maximum(rest, 0.0))]).astype(np.float32)

    def _filled(self, vectors: Array, order: Array) -> Scan:
        """With the rows ``order`` of ``vectors`` behind those there are, numbered on from them."""
        assert self.panels is not None
        longest = self.longest
        for start in range(0, len(order), ROWS_AT_ONCE):
            rows = order[start : start + ROWS_AT_ONCE]
            coordinates = self.coordinates(vectors[rows])
            self.panels.append(coordinates, rows + self.count)
            longest = max(longest, float(np.linalg.norm(coordinates, axis=1).max()))
        return replace(self, longest=longest, count=self.count + len(order))

    def nearest(self, vectors: Array, queries: Array, k: int) -> tuple[Array, Array]:
        """Rows and squared distances (B, k): ascending, ties by row."""
        with np.errstate(over="ignore"):
            coordinates = self.coordinates(queries)
        square = np.einsum("ij,ij->i", coordinates, coordinates, dtype=np.float64)
        if not (square[0] if len(square) == 1 else square.max(initial=0.0)) <= FARTHEST**2:
            near = square <= FARTHEST**2
            far = ~near  # their coordinates are no numbers to go by: every example is measured for them
            rows, squared = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
            rows[far], squared[far] = native.nearest_measured(vectors=vectors, queries=queries[far], k=k)
            if near.any():
                rows[near], squared[near] = self.nearest(vectors, queries[near], k)
            return rows, squared
        options: dict[str, Any] = {}
        if self.panels is not None:
            panels = self.panels
            options = {"panels": panels.coordinates, "slots": panels.rows, "halves": self._halves(panels)}
        else:
            options = {"centre": self.centre if vectors.dtype == np.float64 else self._single_centre}
        length, bounds = np.sqrt(square), self._bounds
        rows, squared = native.nearest(
            vectors=vectors,
            queries=queries,
            k=k,
            coordinates=coordinates,
            square=square,
            rounding=bounds["rounding"] * (length + bounds["reach"]),
            slack=bounds["slack"] * (length + bounds["reach"]),
            scale=self.scale,
            **options,
        )
        return rows, squared

    @cached_property
    def _bounds(self) -> dict[str, float]:
        """What rounding can do to a query, a unit of ‖q‖ + reach."""
        reach = self.longest * (1.0 + 1e-6)
        depth = len(self.centre) if self.basis is None else self.basis.shape[1] + 1
        slack = 8 * SINGLE + 2 * sqrt(8 * len(self.centre) * DOUBLE)
        return {"reach": reach, "rounding": (depth + 8) * SINGLE * reach, "slack": slack}

    @property
    def prepared(self) -> dict[str, Any]:
        """What the compiled answer to a single query is given of it; without panels every example is measured."""
        panels = self.panels
        if panels is None:
            return {}
        halves = panels.halves.copy()
        halves[self.count :] = np.inf  # whatever a later scan puts there, at whatever moment
        return {
            "panels": panels.coordinates,
            "halves": halves,
            "slots": panels.rows,
            "centre": self.centre,
            "basis": self.basis,
            "scale": self.scale,
            "farthest": FARTHEST,
            **self._bounds,
        }

    @cached_property
    def _single_centre(self) -> Array:
        return self.centre.astype(np.float32)

    def _halves(self, panels: _Panels) -> Array:
        """‖a‖²/2 with ∞ where the slots of this scan end, though a later one may have filled them."""
        if panels.used == self.count:
            return panels.halves
        halves = panels.halves.copy()
        halves[self.count :] = np.inf
        return halves

    def appended(self, new: Array) -> Scan | None:
        """With examples behind the old, which are not looked at again; this scan stays what it was.

        None where a new example is too far from the others for coordinates in their unit.
        """
        largest = self._longest(new) / self.scale if len(new) else 0.0
        if not largest <= FARTHEST:
            return None
        if self.panels is None:
            return replace(self, longest=max(self.longest, largest), count=self.count + len(new))
        panels = self.panels
        if panels.used != self.count or self.count + len(new) > len(panels.halves):
            panels = self._moved(np.arange(self.count), self.count + len(new) + (self.count + len(new)) // 8)
        return replace(self, panels=panels)._filled(new, np.arange(len(new)))

    def kept(self, keep: Array) -> Scan:
        """Without the examples where ``keep`` is false; those that stay are renumbered in their order."""
        left = int(keep.sum())
        if self.panels is None:
            return replace(self, count=left)
        slots = np.flatnonzero(keep[self.panels.rows[: self.count]])
        panels = self._moved(slots, left)
        panels.rows[:left] = (np.cumsum(keep) - 1)[panels.rows[:left]]
        return replace(self, panels=panels, count=left)

    def _moved(self, slots: Array, capacity: int) -> _Panels:
        assert self.panels is not None
        moved = _Panels(capacity, self.panels.coordinates.shape[1])
        for start in range(0, len(slots), ROWS_AT_ONCE):
            some = slots[start : start + ROWS_AT_ONCE]
            moved.append(self.panels.read(some), self.panels.rows[some])
        return moved


def _basis(sample: Array, n: int, widths: list[int], rng: np.random.Generator) -> Array | None:
    """Leading directions of the sample (rows, centred), as many as make a search over n examples quickest; or None.

    The directions come from a randomised range finder: any orthonormal basis gives a valid bound, a good one a tight.
    """
    size, width = sample.shape
    widths = [p for p in widths if p < size // 2]
    if not widths:
        return None
    sketch = sample.T @ rng.standard_normal((size, min(width, widths[-1] + 16)))
    for _ in range(2):
        sketch = sample.T @ (sample @ np.linalg.qr(sketch)[0])
    directions = np.linalg.qr(sketch)[0]
    inside = sample @ directions
    _, turn = np.linalg.eigh(inside.T @ inside)
    directions = directions @ turn[:, ::-1]
    # Sample queries against the sample: how many examples would a bound of p components leave to measure?
    inside = sample @ directions
    whole = np.einsum("ij,ij->i", sample, sample)
    queries = np.arange(0, size, max(1, size // 64))
    true = whole[queries, None] + whole - 2.0 * sample[queries] @ sample.T
    rank = min(size - 1, max(1, round(TYPICAL_K * size / n)))
    reach = np.partition(true, rank, axis=1)[:, rank]  # place 0 is the query itself
    best, chosen = 0.7 * width, None  # the scan without a basis needs nothing stored
    for p in widths:
        part = inside[:, :p]
        squares = np.einsum("ij,ij->i", part, part)
        rest = np.sqrt(np.maximum(whole - squares, 0.0))
        bound = squares[queries, None] + squares - 2.0 * part[queries] @ part.T + (rest[queries, None] - rest) ** 2
        cost = p + 1 + MEASURING * width * float(np.mean(bound <= reach[:, None]))
        if cost < best:
            best, chosen = cost, p
    return None if chosen is None else np.ascontiguousarray(directions[:, :chosen])
