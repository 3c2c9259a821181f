"""Exact Euclidean search, quicker than the matrix product over all examples where codes or leading components tell.

Every example gets scan coordinates whose distance to the query's never exceeds the true one: all of its centred
coordinates, or (basis V, orthonormal columns, z = x − centre)

    a = [Vᵀz, √(‖z‖² − ‖Vᵀz‖²)] / scale,        ‖a − b‖ ≤ ‖x − y‖ / scale

since the rests of two vectors are at least as far apart as their lengths differ. The compiled scan goes over the
scan coordinates, in single precision as it comes by or stored in eight bits (``codes.py``), and measures by plain
differences, in double precision, every example that this lower bound cannot rule out. Codes are stored where a sample
says that they pay: where there are many examples, and not most of them closer together than a code can tell. With
u = 2⁻²⁴, R the longest scan vector and depth its width, rounding moves

    a query's or example's coordinates by   ≤ (8u + 2√(8 d ε)) (R + ‖q‖)   together    "slack" on the distance
    the product a·q − ‖a‖²/2          by   ≤ (depth + 8) u (R‖q‖ + R²)               "rounding" on the product

(ε = 2⁻⁵²; the root stems from the rest, a difference of squares), and an example is let go only beyond both.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.mapped import allocate, is_mapped
from kcrc.method.distances.base import Distance
from kcrc.method.neighbours.base import Neighbourhood, NeighbourIndex
from kcrc.method.neighbours.exact import ExactIndex
from kcrc.method.preparation import Prepared
from kcrc.native import native as _native

# Scan coordinates in eight bits each: a quarter of the memory to read, and nothing lost.
#
# An example's scan coordinates a are kept as scale · c + rest with whole numbers c from −127 to 127, a query's q as
# scale' · c' + rest' with c' from −64 to 64. The lengths of the rests are known, so by Cauchy and Schwarz
#
#     a·q − ‖a‖²/2  ≤  scale · scale' · (c·c') + ‖rest‖ ‖q‖ + ‖scale · c‖ ‖rest'‖ − ‖a‖²/2
#
# and ‖a − q‖² = ‖q‖² − 2 (a·q − ‖a‖²/2) is at least what the right-hand side says. The sum of products c·c' is one of
# whole numbers and exact; the few roundings of the rest are counted into what is kept of each example. What this
# cannot rule out is measured, as after any scan. The unit is an example's own, so a single one that is far away makes
# no other coarser.

native: Any = _native  # None where the compiled module is not built; no codes are made then

ROWS_AT_ONCE = 4096
BESIDE = 20  # bytes kept of an example beside its codes: four facts and its row number
RUN = 64  # rows of a mapped file that are read together
EXAMPLE_MOST, QUERY_MOST = 127, 64  # the largest codes


class Codes:
    """Codes in the order the compiled scan reads them, with room to grow; ``used`` slots are taken.

    codes  (panels, steps, rows a panel, coordinates a step) uint8
    facts  (panels, 4, rows a panel) float32: scale, ‖rest‖, ‖scale · c‖, ‖a‖²/2
    rows   (slots,) int32, the example in each slot
    """

    __slots__ = ("_lock", "codes", "depth", "facts", "process", "rows", "used")

    def __init__(self, capacity: int, depth: int, *, mapped: bool = False) -> None:
        panels, steps = -(-capacity // native.code_rows), -(-depth // native.code_step)
        self.depth, self.process = depth, os.getpid()
        self.codes = allocate((panels, steps, native.code_rows, native.code_step), np.uint8, mapped=mapped)
        self.facts = allocate((panels, native.code_facts, native.code_rows), np.float32, mapped=mapped)
        self.rows = np.zeros(panels * native.code_rows, np.int32)
        self.used = 0
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """In memory: those of mapped files are not."""
        return self.rows.nbytes + (0 if is_mapped(self.codes) else self.codes.nbytes + self.facts.nbytes)

    def claim(self, used: int, more: int) -> bool:
        """Whether ``more`` slots behind the first ``used`` are now the caller's to fill: no other owner has them, in
        any thread. A process that was forked shares no mapped file with its parent."""
        if self.process != os.getpid() and is_mapped(self.codes):
            return False
        with self._lock:
            if self.used != used or used + more > len(self.rows):
                return False
            self.used += more
            return True

    def fill(self, first: int, coordinates: Array, rows: Array) -> None:
        """Put scan coordinates (m, depth) float32 of the examples ``rows`` into claimed slots, from ``first`` on."""
        native.encode_rows(coordinates=coordinates, first=first, codes=self.codes, facts=self.facts)
        self.rows[first : first + len(rows)] = rows

    def move(self, slots: Array, capacity: int) -> Codes:
        """Those in ``slots``, in a place of their own with room for ``capacity``."""
        moved = Codes(capacity, self.depth, mapped=is_mapped(self.codes))
        for start in range(0, len(slots), ROWS_AT_ONCE):
            old = slots[start : start + ROWS_AT_ONCE]
            new = np.arange(start, start + len(old))
            (p, r), (to_p, to_r) = divmod(old, native.code_rows), divmod(new, native.code_rows)
            moved.codes[to_p, :, to_r] = self.codes[p, :, r]
            moved.facts[to_p, :, to_r] = self.facts[p, :, r]
            moved.rows[new] = self.rows[old]
        moved.used = len(slots)
        return moved


def shuffle(n: int, rng: np.random.Generator, *, run: int) -> Array:
    """The order n examples are coded in, a fixed shuffle: sorted by class they would keep a query waiting for its own.
    A ``run`` of them stays together."""
    order = (run * rng.permutation(-(-n // run))[:, None] + np.arange(run)).ravel()
    return order[order < n]


def share_left(coordinates: Array, queries: Array, reach: Array) -> float:
    """About which share of examples with these scan coordinates (n, depth) codes leave to measure, where those at the
    places ``queries`` are asked and the squared distance ``reach`` to the farthest wanted is known of each."""
    squares = np.einsum("ij,ij->i", coordinates, coordinates)
    lengths, units = np.sqrt(squares), np.abs(coordinates).max(axis=1)
    rest = units * sqrt(coordinates.shape[1] / 12.0)  # of codes up to 1: evenly spread between −½ and ½ a coordinate
    off = lengths[queries, None] * rest / EXAMPLE_MOST + rest[queries, None] / QUERY_MOST * lengths
    score = coordinates[queries] @ coordinates.T - 0.5 * squares + off
    return float(np.mean(squares[queries, None] - 2.0 * score <= reach[:, None]))


SAMPLE = 2048  # examples that the basis and the choice of its width are drawn from
CODES_PAY_FROM = 500_000  # stored values; below it, codes cost more to make than they save
PRUNING_PAYS_FROM = 4_000_000  # the same of a basis
TYPICAL_K = 50
WIDTHS = (12, 16, 24, 32, 48, 64, 96, 128, 192)
MEASURING = 45.0  # cost of one exactly measured value against one of the scan, and
CHOOSING = 330  # values as long to measure as it takes to choose an example: docs/performance.md
CODED = 0.5  # cost of a coded value against one of the scan in single precision
FARTHEST = 1e15  # length of scan coordinates whose products, and the sums of those, are numbers in single precision
SINGLE, DOUBLE = float(np.finfo(np.float32).eps) / 2, float(np.finfo(np.float64).eps)


def index_for(distance: Distance, atoms: Prepared, *, budget: int) -> NeighbourIndex:
    """The quickest exact index for a distance; ``budget`` bounds what it may keep in memory beyond the examples, in
    bytes. Where the examples are in a mapped file, so is what is kept of each."""
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

    @property
    def alone(self) -> bool:
        codes = self.scan.codes
        return not self.scan.of_others and (codes is None or codes.used == self.scan.count)

    @property
    def for_one_query(self) -> dict[str, Any]:
        return {"vectors": self.atoms["vectors"], **self.scan.for_compiled}

    @property
    def nbytes(self) -> int:
        return 0 if self.scan.codes is None else self.scan.codes.nbytes

    def query(self, queries: Prepared, k: int) -> Neighbourhood:
        rows, squared = self.query_squared(queries["vectors"], k)
        distances = self.distance.of_squared(squared)
        lost = self.distance.astray(queries)
        if len(lost):
            found = ExactIndex(self.distance, self.atoms).query(queries.take(lost), k)
            rows[lost], distances[lost] = found.rows, found.distances
        return Neighbourhood(rows, distances)

    def query_squared(self, queries: Array, k: int) -> tuple[Array, Array]:
        """Rows and squared Euclidean distances (B, k), float64."""
        return self.scan.nearest(self.atoms["vectors"], np.ascontiguousarray(queries), min(k, len(self.atoms)))

    def append(self, atoms: Prepared) -> NeighbourIndex:
        new = slice(len(self.atoms), None)
        if len(self.distance.astray(atoms.take(new))):
            return ExactIndex(self.distance, atoms)
        scan = self.scan.append(atoms["vectors"][new])
        return ExactIndex(self.distance, atoms) if scan is None else ScanIndex(self.distance, atoms, scan)

    def keep(self, atoms: Prepared, keep: Array) -> NeighbourIndex:
        return ScanIndex(self.distance, atoms, self.scan.keep(keep))


@dataclass(frozen=True, eq=False)
class Scan:
    """Where the scan coordinates come from, and the codes of the examples', where they are kept.

    centre (d,) float64; basis (d, p) float64 or None for all coordinates; scale, longest: units of length; of_others:
    whether these were found with examples that are gone.
    """

    centre: Array
    basis: Array | None
    scale: float
    longest: float
    codes: Codes | None
    count: int
    of_others: bool = False

    @classmethod
    def over(cls, vectors: Array, *, budget: int) -> Scan | None:
        """For the examples (n, d): with codes, of all coordinates or of leading ones, where they are likely to pay and
        fit the budget.

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
        if n * width < CODES_PAY_FROM:
            return bare
        mapped = is_mapped(vectors)
        affordable = native.most_coded if mapped else min(4 * budget // (5 * n) - BESIDE, native.most_coded)
        widths = [p for p in WIDTHS if p < min(affordable, width)] if n * width >= PRUNING_PAYS_FROM else []
        coded, basis = _choice((sample - centre) / scale, n, widths, rng, all_too=width <= affordable)
        if not coded:
            return bare
        depth = width if basis is None else basis.shape[1] + 1
        codes = Codes(n, depth, mapped=mapped)
        codes.used = n
        empty = replace(bare, basis=basis, codes=codes, count=0)
        return empty._fill(vectors, shuffle(n, rng, run=RUN if mapped else 1))

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

    def _fill(self, vectors: Array, order: Array) -> Scan:
        """With the rows ``order`` of ``vectors`` behind those there are, numbered on from them."""
        assert self.codes is not None
        longest = self.longest
        for start in range(0, len(order), ROWS_AT_ONCE):
            rows = order[start : start + ROWS_AT_ONCE]
            coordinates = self.coordinates(vectors[rows])
            self.codes.fill(self.count + start, coordinates, rows + self.count)
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
        options: dict[str, Any]
        if self.codes is not None:
            options = {"codes": self.codes.codes, "facts": self.codes.facts, "slots": self.codes.rows}
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
        roundings = len(self.centre) + 8 if self.codes is None else 2  # codes count their own
        slack = 8 * SINGLE + 2 * sqrt(8 * len(self.centre) * DOUBLE)
        return {"reach": reach, "rounding": roundings * SINGLE * reach, "slack": slack}

    @property
    def for_compiled(self) -> dict[str, Any]:
        """What the compiled answer to a single query is given of it; without codes every example is measured."""
        if self.codes is None:
            return {}
        return {
            "codes": self.codes.codes,
            "facts": self.codes.facts,
            "slots": self.codes.rows,
            "centre": self.centre,
            "basis": self.basis,
            "scale": self.scale,
            "farthest": FARTHEST,
            **self._bounds,
        }

    @cached_property
    def _single_centre(self) -> Array:
        return self.centre.astype(np.float32)

    def append(self, new: Array) -> Scan | None:
        """With examples behind the old, which are not looked at again; this scan stays what it was.

        None where a new example is too far from the others for coordinates in their unit.
        """
        largest = self._longest(new) / self.scale if len(new) else 0.0
        if not largest <= FARTHEST:
            return None
        if self.codes is None:
            return replace(self, longest=max(self.longest, largest), count=self.count + len(new))
        codes = self.codes
        if not codes.claim(self.count, len(new)):
            codes = codes.move(np.arange(self.count), self.count + len(new) + (self.count + len(new)) // 8)
            codes.used = self.count + len(new)
        return replace(self, codes=codes)._fill(new, np.arange(len(new)))

    def keep(self, keep: Array) -> Scan:
        """Without the examples where ``keep`` is false; those that stay are renumbered in their order."""
        left = int(keep.sum())
        if self.codes is None:
            return replace(self, count=left, of_others=True)
        slots = np.flatnonzero(keep[self.codes.rows[: self.count]])
        codes = self.codes.move(slots, left)
        codes.rows[:left] = (np.cumsum(keep) - 1)[codes.rows[:left]]
        return replace(self, codes=codes, count=left, of_others=True)


def _choice(
    sample: Array, n: int, widths: list[int], rng: np.random.Generator, *, all_too: bool
) -> tuple[bool, Array | None]:
    """Whether codes make a search over n examples quickest, and the leading directions they are then codes in, or None
    for all coordinates (``all_too``: if they may be). ``sample`` holds rows, centred and scaled."""
    size, width = sample.shape
    whole = np.einsum("ij,ij->i", sample, sample)
    queries = np.arange(0, size, max(1, size // 64))
    # Sample queries against the sample: how many examples would a bound leave to measure?
    true = whole[queries, None] + whole - 2.0 * sample[queries] @ sample.T
    rank = min(size - 1, max(1, round(TYPICAL_K * size / n)))
    reach = np.partition(true, rank, axis=1)[:, rank]  # place 0 is the query itself
    measuring = MEASURING * (width + CHOOSING)
    # Without codes only the wanted are left, but a query alone measures every example: the scan is counted twice.
    best, coded, chosen = 2.0 * width + measuring * (rank + 1) / size, False, None
    if all_too:
        cost = CODED * width + measuring * share_left(sample, queries, reach)
        if cost < best:
            best, coded = cost, True
    widths = [p for p in widths if p < size // 2]
    if widths:
        directions = _directions(sample, min(width, widths[-1] + 16), rng)
        inside = sample @ directions
        for p in widths:
            leading = inside[:, :p]
            rest = np.sqrt(np.maximum(whole - np.einsum("ij,ij->i", leading, leading), 0.0))
            left = share_left(np.column_stack([leading, rest]), queries, reach)
            cost = CODED * (p + 1) + measuring * left
            if cost < best:
                best, coded, chosen = cost, True, p
    return coded, None if chosen is None else np.ascontiguousarray(directions[:, :chosen])


def _directions(sample: Array, count: int, rng: np.random.Generator) -> Array:
    """Leading directions (d, count) of the sample, by a randomised range finder: any orthonormal basis gives a valid
    bound, a good one a tight."""
    sketch = sample.T @ rng.standard_normal((len(sample), count))
    for _ in range(2):
        sketch = sample.T @ (sample @ np.linalg.qr(sketch)[0])
    directions = np.linalg.qr(sketch)[0]
    inside = sample @ directions
    _, turn = np.linalg.eigh(inside.T @ inside)
    return np.asarray(directions @ turn[:, ::-1])
