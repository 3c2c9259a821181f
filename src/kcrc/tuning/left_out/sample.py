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


# Examples that leave together: exact duplicates, and what the caller says belongs together.


def equal_rows(X: Array) -> Array:
    """Numbers (n,) that are equal where rows are, byte for byte; without a copy of X.

    Rows are told apart by a sum of their words times random odd numbers, and those with equal sums compared.
    """
    X = np.ascontiguousarray(X)
    row_bytes = X.dtype.itemsize * X.shape[1]
    word = next(size for size in (8, 4, 2, 1) if row_bytes % size == 0)
    words = X.view(f"u{word}").reshape(len(X), -1)
    factors = np.random.default_rng(0).integers(0, 1 << 63, words.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(
        1
    )
    sums = np.empty(len(X), np.uint64)
    step = max(1, (1 << 20) // max(1, row_bytes))
    for start in range(0, len(X), step):
        sums[start : start + step] = (words[start : start + step] * factors).sum(axis=1, dtype=np.uint64)
    _, first, number = np.unique(sums, return_index=True, return_inverse=True)
    number = number.ravel()
    again = np.flatnonzero(first[number] != np.arange(len(X)))
    for start in range(0, len(again), step):
        some = again[start : start + step]
        if not np.array_equal(words[some], words[first[number[some]]]):  # two sums agree by chance
            return np.asarray(np.unique(words, axis=0, return_inverse=True)[1].ravel())
    return np.asarray(number)


def duplicate_groups(X: Array, groups: Array | None) -> Array:
    """Group numbers (n,): exact duplicates share one, and so do examples that ``groups`` puts together."""
    number = equal_rows(X)
    if groups is None:
        return number
    _, given = np.unique(np.asarray(groups), return_inverse=True)
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n = len(X)  # examples, duplicates and given groups are one graph; its components are the groups
    links = coo_matrix(
        (np.ones(2 * n), (np.tile(np.arange(n), 2), np.concatenate([n + number, 2 * n + given.ravel()]))),
        shape=(3 * n, 3 * n),
    )
    return np.asarray(connected_components(links, directed=False)[1][:n])


def staying(labels: Array, groups: Array) -> Array:
    """(n,) how many others of its class stay when an example leaves with its group, a group counting once."""
    pairs = np.unique(np.stack([labels, groups], axis=1), axis=0)
    return np.asarray(np.bincount(pairs[:, 0])[labels] - 1)


def class_stays(labels: Array, groups: Array) -> Array:
    """(n,) bool: whether others of its class stay when an example leaves with its group."""
    return staying(labels, groups) > 0
