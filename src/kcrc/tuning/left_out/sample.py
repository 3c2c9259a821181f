"""Which examples are asked as if they were not stored, where not all can be."""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array


def stratified_by_row(labels: Array, ids: Array, *, seed: int, eligible: Array) -> Array:
    """The eligible positions in an order of which every beginning holds the classes in their own shares.

    An example's place within its class goes by its row number, so that one more or one less example moves few others
    into or out of a beginning: what was asked of them stays of use.
    """
    rows = np.flatnonzero(eligible)
    draw = chance(ids[rows], seed)
    order = np.lexsort((draw, labels[rows]))
    sizes = np.bincount(labels[rows])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    within = labels[rows][order]
    place = np.empty(len(rows))
    place[order] = (np.arange(len(rows)) - starts[within] + draw[order]) / sizes[within]
    return rows[np.argsort(place, kind="stable")]


def chance(ids: Array, seed: int) -> Array:
    """A number in [0, 1) for each row number, the same wherever the row stands (the mixing of splitmix64)."""
    start = (seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) % 2**64
    with np.errstate(over="ignore"):
        mixed = ids.astype(np.uint64) * np.uint64(0xD1B54A32D192ED03) + np.uint64(start)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return np.asarray((mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53)
