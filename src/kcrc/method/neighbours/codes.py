"""Scan coordinates in eight bits each: a quarter of the memory to read, and nothing lost.

An example's scan coordinates a are kept as scale · c + rest with whole numbers c from −127 to 127, a query's q as
scale' · c' + rest' with c' from −64 to 64. The lengths of the rests are known, so by Cauchy and Schwarz

    a·q − ‖a‖²/2  ≤  scale · scale' · (c·c') + ‖rest‖ ‖q‖ + ‖scale · c‖ ‖rest'‖ − ‖a‖²/2

and ‖a − q‖² = ‖q‖² − 2 (a·q − ‖a‖²/2) is at least what the right-hand side says. The sum of products c·c' is one of
whole numbers and exact; the few roundings of the rest are counted into what is kept of each example. Whoever this
cannot rule out is measured, as after any scan. The unit is an example's own, so a single one that is far away makes no
other coarser.
"""

from __future__ import annotations

import os
from math import sqrt
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.mapped import is_mapped, room
from kcrc.native import native as _native

native: Any = _native  # None where the compiled module is not built; nobody makes codes then

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

    __slots__ = ("codes", "depth", "facts", "process", "rows", "used")

    def __init__(self, capacity: int, depth: int, *, mapped: bool = False) -> None:
        panels, steps = -(-capacity // native.code_rows), -(-depth // native.code_step)
        self.depth, self.process = depth, os.getpid()
        self.codes = room((panels, steps, native.code_rows, native.code_step), np.uint8, mapped=mapped)
        self.facts = room((panels, native.code_facts, native.code_rows), np.float32, mapped=mapped)
        self.rows = np.zeros(panels * native.code_rows, np.int32)
        self.used = 0

    @property
    def nbytes(self) -> int:
        """In memory: those of mapped files are not."""
        return self.rows.nbytes + (0 if is_mapped(self.codes) else self.codes.nbytes + self.facts.nbytes)

    def has_room(self, used: int, more: int) -> bool:
        """Whether ``more`` can be put behind the first ``used`` slots, where nobody else has put any. A process that
        was forked shares no mapped file with its parent."""
        own = self.process == os.getpid() or not is_mapped(self.codes)
        return own and self.used == used and used + more <= len(self.rows)

    def append(self, coordinates: Array, rows: Array) -> None:
        """Scan coordinates (m, depth) float32 of the examples ``rows``."""
        native.encode_rows(coordinates=coordinates, first=self.used, codes=self.codes, facts=self.facts)
        self.rows[self.used : self.used + len(rows)] = rows
        self.used += len(rows)

    def moved(self, slots: Array, capacity: int) -> Codes:
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


def shuffled(n: int, rng: np.random.Generator, *, run: int) -> Array:
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
