"""Distances between stored examples, kept: they do not depend on the query, so each is measured at most once.

A pair is known by the positions of its examples. While the table of all pairs fits the budget, every pair has its own
place; beyond that a table of fixed size holds as many as it can, a newer pair taking the place of an older one. What
is returned does not depend on what was kept: only the time does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.parallel import over_chunks
from kcrc.method.distances.base import Distance
from kcrc.method.preparation import Prepared

COSTLY = 1.0  # µs a pair from which looking a distance up is quicker than measuring it
FILL_SECONDS = 2.0  # the first query measures all pairs if that takes no longer
_LINES = (256, 64, 16, 4, 1)  # pairs measured together that share their first example
_TOGETHER = 4096  # pairs measured in one call
_BLOCK_PAIRS = 1 << 20  # pairs looked up at a time
_HASH = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class PairCounts:
    """How often a costly distance was measured: ``pair_counts_``.

    Attributes
    ----------
    asked : int
        Pairs of a query and an example.
    evaluated : int
        Pairs of two examples that were measured.
    found : int
        Pairs of two examples that were looked up among those.
    """

    asked: int = 0
    evaluated: int = 0
    found: int = 0

    def __add__(self, other: PairCounts) -> PairCounts:
        return PairCounts(self.asked + other.asked, self.evaluated + other.evaluated, self.found + other.found)


class _Table:
    """Values, shared by the caches of models that grew out of each other; ``used`` examples are claimed by one."""

    __slots__ = ("counts", "first", "lock", "second", "used", "values")

    def __init__(self, used: int, values: Array, owners: tuple[Array, Array] | None) -> None:
        self.lock = Lock()
        self.counts = PairCounts()
        self.used = used
        self.values = values
        self.first: Array | None = None if owners is None else owners[0]
        self.second: Array | None = None if owners is None else owners[1]

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            fixed = isinstance(value, np.ndarray) and not value.flags.writeable  # mapped from a file by the loader
            setattr(self, name, value.copy() if fixed else value)
        self.lock = Lock()


def pair_count(n: int, *, symmetric: bool) -> int:
    """Places that all pairs of n examples need."""
    return n * (n - 1) // 2 if symmetric else n * n


class PairCache:
    """The distances among n examples that were needed so far. Like a tuple: ``append`` and ``keep`` give a new one,
    and what ``append`` gives shares the table. Threads may use it at once."""

    __slots__ = ("_table", "budget", "dtype", "n", "symmetric")

    def __init__(self, n: int, *, symmetric: bool, dtype: Any, budget: int, table: _Table | None = None) -> None:
        self.n, self.symmetric, self.dtype, self.budget = n, symmetric, np.dtype(dtype), budget
        self._table = self._empty(n) if table is None else table

    def _empty(self, n: int) -> _Table:
        wanted = pair_count(n, symmetric=self.symmetric)
        if wanted * self.dtype.itemsize <= self.budget:
            return _Table(n, np.full(wanted, np.nan, self.dtype), None)
        places = 1 << max(4, int(np.log2(max(1, self.budget // (self.dtype.itemsize + 8)))))
        owners = np.full(places, -1, np.int32), np.full(places, -1, np.int32)
        return _Table(n, np.full(places, np.nan, self.dtype), owners)

    @property
    def complete(self) -> bool:
        """Whether every pair has its own place."""
        return self._table.first is None

    @property
    def counts(self) -> PairCounts:
        return self._table.counts

    @property
    def missing(self) -> int:
        """How many pairs are still to be measured: all of them where a newer pair may take an older one's place, so
        that the number does not depend on which thread came first."""
        known = self.counts.evaluated if self.complete else 0
        return max(0, pair_count(self.n, symmetric=self.symmetric) - known)

    @property
    def nbytes(self) -> int:
        table = self._table
        return int(table.values.nbytes) + (0 if table.first is None else 2 * int(table.first.nbytes))

    def note_asked(self, count: int) -> None:
        """Count distances of queries to examples."""
        with self._table.lock:
            self._table.counts.asked += count

    # Places ---------------------------------------------------------------------------------------------------------

    def _number(self, i: Array, j: Array) -> Array:
        """A number for each pair that more examples do not change: pairs among the first m come before all others."""
        top = np.maximum(i, j)
        if self.symmetric:
            return np.asarray(top * (top - 1) // 2 + np.minimum(i, j))
        return np.asarray(top * top + np.where(i == top, j, top + 1 + i))

    def _slots(self, number: Array) -> Array:
        if self.complete:
            return number
        bits = np.uint64(64 - int(np.log2(len(self._table.values))))
        return ((number.astype(np.uint64) * _HASH) >> bits).astype(np.intp)

    def _looked_up(self, i: Array, j: Array, slots: Array) -> Array:
        """The values at ``slots``, NaN where the pair is not there. The lock is held."""
        table = self._table
        values = table.values[slots]
        if table.first is not None and table.second is not None:
            values[(table.first[slots] != i) | (table.second[slots] != j)] = np.nan
        return np.asarray(values)

    def _put(self, i: Array, j: Array, values: Array) -> int:
        """Returns how many of these pairs were not there: two threads may have measured the same one."""
        table = self._table
        slots = self._slots(self._number(i, j))
        with table.lock:
            new = int(np.isnan(self._looked_up(i, j, slots)).sum())
            table.values[slots] = values
            if table.first is not None and table.second is not None:
                table.first[slots], table.second[slots] = i, j
                # Two of these pairs may share a place, and NumPy does not say which of them wrote last in each array.
                lost = (table.first[slots] != i) | (table.second[slots] != j)
                table.values[slots[~lost]] = values[~lost]
        return new

    # Distances ------------------------------------------------------------------------------------------------------

    def between(self, distance: Distance, atoms: Prepared, i: Array, j: Array) -> Array:
        """Distances of examples ``i`` to ``j`` (arrays of one shape, no pair of an example with itself)."""
        if self.symmetric:
            i, j = np.maximum(i, j), np.minimum(i, j)
        number = self._number(i, j)
        slots = self._slots(number)
        with self._table.lock:
            values = self._looked_up(i, j, slots)
        missing, evaluated = np.flatnonzero(np.isnan(values)), 0
        if len(missing):
            _, first, back = np.unique(number[missing], return_index=True, return_inverse=True)
            at = missing[first]
            measured = _measure_lines(distance, atoms, i[at], j[at]).astype(self.dtype)
            evaluated = self._put(i[at], j[at], measured)
            values[missing] = measured[back.ravel()]
        with self._table.lock:
            self._table.counts.evaluated += evaluated
            self._table.counts.found += len(values) - evaluated
        return values

    def rowwise(self, distance: Distance, atoms: Prepared, which: Array, rows: Array) -> Array:
        """Distances (B, K) of examples ``which`` to ``rows``; 0 to itself and where a row is −1."""
        return self._measure_missing(distance, atoms, np.broadcast_to(which[:, None], rows.shape), rows)

    def within(self, distance: Distance, atoms: Prepared, rows: Array) -> Array:
        """Distances (B, K, K) among the examples ``rows[i]``; 0 where a row is −1."""
        batch, width = rows.shape
        out = np.zeros((batch, width, width), self.dtype)
        up, down = np.triu_indices(width, 1)
        if not self.symmetric:
            up, down = (np.concatenate(ends) for ends in ((up, down), (down, up)))
        step = max(1, _BLOCK_PAIRS // max(1, len(up)))
        for start in range(0, batch, step):
            block = rows[start : start + step]
            values = self._measure_missing(distance, atoms, block[:, up], block[:, down])
            out[start : start + step, up, down] = values
            if self.symmetric:
                out[start : start + step, down, up] = values
        return out

    def _measure_missing(self, distance: Distance, atoms: Prepared, i: Array, j: Array) -> Array:
        out = np.zeros(i.shape, self.dtype)
        needed = (i >= 0) & (j >= 0) & (i != j)
        out[needed] = self.between(distance, atoms, i[needed].astype(np.int64), j[needed].astype(np.int64))
        return out

    def fill(self, distance: Distance, atoms: Prepared, n_jobs: int | None) -> None:
        """Measure all pairs that are not known yet."""

        def rows(part: slice) -> None:
            i = np.arange(part.start, part.stop)[:, None]
            j = np.arange(part.stop if self.symmetric else self.n)[None, :]
            wanted = (j < i) if self.symmetric else (j != i)
            i, j = (np.broadcast_to(side, wanted.shape)[wanted] for side in (i, j))
            with self._table.lock:
                unknown = np.isnan(self._looked_up(i, j, self._slots(self._number(i, j))))
            i, j = i[unknown], j[unknown]
            evaluated = self._put(i, j, _measure_lines(distance, atoms, i, j).astype(self.dtype))
            with self._table.lock:
                self._table.counts.evaluated += evaluated

        over_chunks(rows, self.n, 64, n_jobs)

    # Growing and forgetting -------------------------------------------------------------------------------------------

    def append(self, count: int) -> PairCache:
        """For these examples and ``count`` new ones behind them."""
        n, table = self.n + count, self._table
        wanted = pair_count(n, symmetric=self.symmetric)
        with table.lock:
            claimed = table.used == self.n and (not self.complete or wanted <= len(table.values))
            if claimed:
                table.used = n
        if claimed:
            return self._over(n, table)
        if self.complete and wanted * self.dtype.itemsize <= self.budget:
            room = min(self.budget // self.dtype.itemsize, pair_count(n + n // 8 + 64, symmetric=self.symmetric))
            grown = _Table(n, np.full(room, np.nan, self.dtype), None)
            known = pair_count(self.n, symmetric=self.symmetric)
            grown.values[:known] = table.values[:known]
            grown.counts = table.counts
            return self._over(n, grown)
        fresh = self._over(n, self._empty(n))
        fresh._table.counts = table.counts
        return fresh._with(*self._entries())

    def keep(self, keep: Array) -> PairCache:
        """For the examples where ``keep`` is true."""
        place = np.where(keep, np.cumsum(keep) - 1, -1)
        left = int(keep.sum())
        i, j, values = self._entries()
        i, j = place[i], place[j]
        stays = (i >= 0) & (j >= 0)
        fresh = self._over(left, self._empty(left))
        fresh._table.counts = self._table.counts
        return fresh._with(i[stays], j[stays], values[stays])

    def _over(self, n: int, table: _Table) -> PairCache:
        return PairCache(n, symmetric=self.symmetric, dtype=self.dtype, budget=self.budget, table=table)

    def _entries(self) -> tuple[Array, Array, Array]:
        """All pairs that are known: i, j and their distance."""
        table = self._table
        with table.lock:
            if table.first is not None and table.second is not None:
                mine = (table.first >= 0) & (table.first < self.n) & (table.second < self.n)
                return table.first[mine].astype(np.int64), table.second[mine].astype(np.int64), table.values[mine]
            i, j = np.tril_indices(self.n, -1)
            if not self.symmetric:
                i, j = (np.concatenate(ends) for ends in ((i, j), (j, i)))
            values = table.values[self._number(i, j)]
        known = ~np.isnan(values)
        return i[known], j[known], values[known]

    def _with(self, i: Array, j: Array, values: Array) -> PairCache:
        self._put(i, j, values)
        return self


def _measure_lines(distance: Distance, atoms: Prepared, i: Array, j: Array) -> Array:
    """Distances of ``i`` to ``j`` by ``distance.rowwise``: lines of pairs that share i, and no pair besides."""
    order = np.argsort(i, kind="stable")
    i, j = i[order], j[order]
    _, start, left = np.unique(i, return_index=True, return_counts=True)
    values = np.empty(len(i))
    for length in _LINES:
        lines = left // length
        line_start = np.repeat(start, lines) + length * _count_up(lines)
        step = max(1, _TOGETHER // length)
        for at in range(0, len(line_start), step):
            places = line_start[at : at + step, None] + np.arange(length)
            values[places] = distance.rowwise(atoms.take(i[places[:, 0]]), atoms, j[places])
        start, left = start + lines * length, left - lines * length
    out = np.empty(len(i))
    out[order] = values
    return out


def _count_up(lines: Array) -> Array:
    """0 … lines[0]−1, 0 … lines[1]−1, …"""
    return np.asarray(np.arange(int(lines.sum())) - np.repeat(np.cumsum(lines) - lines, lines))


def pair_caches(distance: Distance, n: int, *, dtype: Any, budget: int) -> dict[str, PairCache]:
    """An empty cache for each costly component of a distance, by its name; they share ``budget`` bytes."""
    costly = {name: part for name, part in distance.components.items() if part.cost >= COSTLY}
    return {
        name: PairCache(n, symmetric=part.symmetric, dtype=dtype, budget=budget // len(costly))
        for name, part in costly.items()
    }


# An option of a distance that the examples settle: the one with which their nearest neighbours are most clearly right.
#
# Each of a sample of the examples is asked, itself and its exact copies left out, among its nearest by Euclidean
# distance: a few pairs each, so it costs about a second. With t = log(nearest of another class / nearest of its own)
# an answer is right with probability 1/(1 + exp(−t/T)); an option is judged by the mean log-loss of these at its own
# best T. Where nearly all answers are right, counting them would leave the choice to a few borderline examples; and
# without a T of its own an option that only spreads the distances farther apart, as smoothing does, would pass for a
# better one.

AUTO = "auto"
ASKED, AMONG = 800, 100
WIDTHS = np.geomspace(0.005, 10.0, 60)  # T
FARTHEST = 50.0  # |t|: past it nothing is left to tell
_BLOCK = 100

D = TypeVar("D", bound=Distance)


def clearest(options: Sequence[D], X: Array, y: Array) -> D:
    """The option (fitted distances, the first is preferred where others are no better) for examples (n, d)."""
    rng = np.random.default_rng(0)
    asked = np.sort(rng.permutation(len(X))[:ASKED])
    near, real = _candidates(X, asked)
    answerable = ((y[near] == y[asked][:, None]) & real).any(axis=1)
    asked, near, real = asked[answerable], near[answerable], real[answerable]
    if not len(asked) or len(np.unique(y[asked])) < 2:
        return options[0]
    return min(options, key=lambda option: _doubt(option, X, y, asked, near, real))


def _candidates(X: Array, asked: Array) -> tuple[Array, Array]:
    """Rows (B, AMONG) near each example by Euclidean distance, and which of them are not copies of it."""
    flat = X.astype(np.float64)
    squares = np.einsum("ij,ij->i", flat, flat)
    width = min(AMONG, len(X) - 1)
    rows, real = [], []
    for at in range(0, len(asked), _BLOCK):
        some = asked[at : at + _BLOCK]
        far = squares[some][:, None] + squares[None, :] - 2.0 * flat[some] @ flat.T
        far[np.arange(len(some)), some] = np.inf
        near = np.argpartition(far, width - 1, axis=1)[:, :width] if width else np.empty((len(some), 0), int)
        rows.append(near)
        real.append((X[near] != X[some][:, None]).any(axis=2))
    return np.concatenate(rows), np.concatenate(real)


def _doubt(distance: Distance, X: Array, y: Array, asked: Array, near: Array, real: Array) -> float:
    """The mean log-loss of the nearest neighbours' answers to the asked, at the best T."""
    used = np.unique(np.concatenate([asked, near.ravel()]))
    kept = distance.prepare(X[used])
    far = distance.rowwise(kept.take(np.searchsorted(used, asked)), kept, np.searchsorted(used, near))
    far = np.where(real, np.maximum(far, np.finfo(np.float32).tiny), np.inf)
    own = y[near] == y[asked][:, None]
    nearest, other = (np.where(which, far, np.inf).min(axis=1) for which in (own, ~own))
    lead = np.minimum(np.log(other / nearest), FARTHEST)
    return min(float(np.mean(np.logaddexp(0.0, -lead / width))) for width in WIDTHS)


# All distances between examples, measured at once: for who asks for the same ones again and again.
#
# It is read like the cache of a costly distance (``kcrc.method.distances.pair_cache.PairCache``).

_ROWS = 64


@dataclass(frozen=True, eq=False)
class PairTable:
    """``values`` (n, n), in single precision."""

    values: Array

    @classmethod
    def of(cls, distance: Distance, atoms: Prepared, n_jobs: int | None = None) -> PairTable:
        """Of all examples with all."""

        def measure(part: slice) -> Array:
            return np.asarray(distance.pairwise(atoms.take(part), atoms), np.float32)

        return cls(np.concatenate(over_chunks(measure, len(atoms), _ROWS, n_jobs)))

    @property
    def missing(self) -> int:
        """How many pairs are still to be measured."""
        return 0

    def rowwise(self, distance: Distance, atoms: Prepared, which: Array, rows: Array) -> Array:
        """Distances (B, K) of examples ``which`` to ``rows``; anything where a row is −1."""
        return np.asarray(self.values[which[:, None], np.maximum(rows, 0)])

    def within(self, distance: Distance, atoms: Prepared, rows: Array) -> Array:
        """Distances (B, K, K) among the examples ``rows[i]``; anything where a row is −1."""
        near = np.maximum(rows, 0)
        return np.asarray(self.values[near[:, :, None], near[:, None, :]])
