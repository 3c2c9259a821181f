"""Which examples are left out, where not all can be, and which leave together with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from kcrc._base.arrays import Array, widen
from kcrc.errors import ParameterError
from kcrc.method.scaling import moments, units_differ


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
    words, sums, step = _words(X), digests(X), _rows_at_once(X)
    _, first, number = np.unique(sums, return_index=True, return_inverse=True)
    number = number.ravel()
    again = np.flatnonzero(first[number] != np.arange(len(X)))
    for start in range(0, len(again), step):
        some = again[start : start + step]
        if not np.array_equal(words[some], words[first[number[some]]]):  # two sums agree by chance
            return np.asarray(np.unique(words, axis=0, return_inverse=True)[1].ravel())
    return np.asarray(number)


def digests(X: Array) -> Array:
    """(n,) a number of each row's content, whatever its place: a sum of its words times random odd numbers."""
    X = np.ascontiguousarray(X)
    words, step = _words(X), _rows_at_once(X)
    draws = np.random.default_rng(0).integers(0, 1 << 63, words.shape[1], dtype=np.uint64)
    factors = draws * np.uint64(2) + np.uint64(1)
    sums = np.empty(len(X), np.uint64)
    for start in range(0, len(X), step):
        sums[start : start + step] = (words[start : start + step] * factors).sum(axis=1, dtype=np.uint64)
    return sums


def _words(X: Array) -> Array:
    row_bytes = X.dtype.itemsize * X.shape[1]
    word = next(size for size in (8, 4, 2, 1) if row_bytes % size == 0)
    return X.view(f"u{word}").reshape(len(X), -1)


def _rows_at_once(X: Array) -> int:
    return int(max(1, (1 << 20) // max(1, X.dtype.itemsize * X.shape[1])))


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


def same_groups(then_ids: Array, then: Array, ids: Array, now: Array) -> Array:
    """Row numbers of the examples whose group has the same members ``now`` (n,) as ``then`` (m,)."""

    def members(rows: Array, groups: Array) -> Array:  # a number of each one's group: the sum of its members' draws
        draws = np.round(2.0**40 * chance(rows, 0), 0)
        return np.asarray(np.bincount(groups, weights=draws)[groups])

    _, here, there = np.intersect1d(ids, then_ids, assume_unique=True, return_indices=True)
    return np.asarray(ids[here][members(ids, now)[here] == members(then_ids, then)[there]])


def staying(labels: Array, groups: Array) -> Array:
    """(n,) how many others of its class stay when an example leaves with its group, a group counting once."""
    pairs = np.unique(np.stack([labels, groups], axis=1), axis=0)
    return np.asarray(np.bincount(pairs[:, 0])[labels] - 1)


def class_stays(labels: Array, groups: Array) -> Array:
    """(n,) bool: whether others of its class stay when an example leaves with its group."""
    return staying(labels, groups) > 0


# Folds: who leaves together where classes are small.
#
# Left out alone, an example leaves a class that is one short beside others that are not. Of classes of two to ten that
# is half to a tenth of what is known of it, and each setting notices in its own way. So with one group of a small class
# leaves one of every other. What is learned with labels is to be learned again without the fold: a covariance that
# knows the others of a fold tells them from what is left of their classes (``lab.experiments.studies.announced``).

SMALL = 10  # groups of a typical class, up to which classes lose one group each at once


def folds_of_small_classes(labels: Array, groups: Array) -> Array:
    """Numbers (n,) of those who leave together: the ``groups`` where the typical class has more than SMALL of them,
    else folds of groups, in each of which every typical class loses one: the first of each class, the second, …"""
    pairs = np.unique(np.stack([labels, groups], axis=1), axis=0)
    sizes = np.bincount(pairs[:, 0])
    count = int(np.median(sizes[sizes > 0]))
    if count > SMALL or (sizes > 0).sum() < 2:
        return groups
    number, first = np.unique(groups, return_index=True)
    in_class = np.lexsort((first, labels[first]))  # a group of several classes counts where its first example is
    home = labels[first]
    starts = np.searchsorted(home[in_class], home[in_class])
    fold = np.empty(len(number), np.intp)
    fold[in_class] = (np.arange(len(number)) - starts) % max(2, count)
    return np.asarray(fold[np.searchsorted(number, groups)])


# Groups that the caller did not name: near copies, frames of one film, several recordings of one speaker.
#
# Independent examples of a class lie ever closer together, the more there are, but evenly: the next one is hardly
# farther away than the nearest. Examples that belong together are much nearer to each other than to the rest of their
# class. So single linkage makes groups inside a class, cut at CUTS times the median distance to the nearest example of
# another class, and a group counts if its members are GAP times as far from the rest of their class as from each other
# (medians of the distances to the nearest; PAIR_GAP times for a pair, which lies apart by chance more often), and more
# than they are across. A class whose examples only run into each other stays single, and so does its dense middle.
#
# Independent examples of few dimensions lie so by chance. Among those of D dimensions the distance to the (k+1)-th
# nearest of the class is r times that to the k-th, and k log r is 1/D in the mean, for every k and whatever their
# density (Facco et al. 2017); a share r^−D has the second nearest r times as far away as the nearest. Groups of s
# examples break this law: at k = s − 1 they seem to have far fewer dimensions than at another k. So what may be groups
# counts as groups if D at one k is UNEVEN times that at another, beyond what so few examples leave open, or else if
# hardly any of so many independent examples would have such a gap. Classes too small for k = 2 show groups of two by
# the spread of log r, which is 1/D too: theirs is far less than the mean.
# Measured by ``lab.experiments.studies.announced``.

CUTS = (0.55, 0.4, 0.28, 0.2, 0.14, 0.1, 0.07, 0.05)
GAP, PAIR_GAP = 2.0, 3.0
ACROSS = 1.3  # times the median distance of two members: so far away is the rest at least
MOST_OF_CLASS = 0.5  # a group that is more of its class is the class, and what is left of it the exception
MEDIAN_OF = 300  # examples of which the distance to another class is measured
CELL = 512  # examples of a class among which all distances are measured
LEAST_DISTANCE = 1e-3  # of the cut: of vectors in single precision, nearer ones are equal
RANKS = 5  # k up to which D is estimated, …
OF_CLASS = 3  # … in classes of so many times k + 1: farther away it is the class that ends
UNEVEN = 2.0
ERRORS = 1.5  # standard errors by which an estimate of D may be off
BY_CHANCE = 0.1  # examples expected to have the gap of a group, if D is even


AUTO = "auto"


def check_groups(groups: Any) -> Array | str | None:
    """Groups as ``fit`` takes them: "auto", None, or an array."""
    if isinstance(groups, str) and groups != AUTO:
        raise ParameterError(f'groups must be "auto", None, or the group of each example; got {groups!r}.')
    return groups if groups is None or isinstance(groups, str) else np.asarray(groups)


def resolve_groups(groups: Array | str | None, X: Array, labels: Array) -> Array | None:
    """The groups that were given, or those found among the examples X (n, d) where it is "auto"."""
    return find_groups(X, labels) if isinstance(groups, str) else groups


def find_groups(X: Array, labels: Array) -> Array:
    """Group numbers (n,) of examples X (n, d) that belong together by how they lie; every class of two or more
    different examples has at least two. They depend on which rows there are, not on their order."""
    X = widen(X)
    number = equal_rows(X)
    Z = _comparable(X)
    cut = None if Z is None else _distance_to_others(Z, labels, digests(X))
    if Z is None or cut is None:
        return number
    candidates: list[tuple[Array, float]] = []
    steps: list[list[Array]] = [[] for _ in range(RANKS)]
    for c in np.unique(labels):
        for rows in _cells(Z, np.flatnonzero(labels == c)):
            rows = rows[np.unique(number[rows], return_index=True)[1]]  # copies leave together anyway
            if len(rows) < 4:
                continue
            far = _distances(Z[rows], LEAST_DISTANCE * cut)
            candidates += [(rows[members], gap) for members, gap in _groups_among(far, cut)]
            for of_rank, step in zip(steps, _log_steps(far), strict=False):
                of_rank.append(step)
    group, following = np.arange(len(X)), len(X)
    for members in _beyond_chance(candidates, steps, int(number.max()) + 1):
        group[members] = following
        following += 1
    return duplicate_groups(X, group)


def _comparable(X: Array) -> Array | None:
    """X about its mean, in single precision: every feature in its own unit where units differ. None where nothing
    varies."""
    mean, deviation = moments(X)
    scale = deviation if units_differ(X) else np.full(len(deviation), deviation.max(initial=0.0))
    if not scale.max(initial=0.0) > 0:
        return None
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    Z = np.empty(X.shape, np.float32)
    step = max(1, (1 << 20) // max(1, X.shape[1]))
    for start in range(0, len(X), step):
        Z[start : start + step] = (X[start : start + step].astype(np.float64) - mean) * inverse
    return Z


def _distance_to_others(Z: Array, labels: Array, order: Array) -> float | None:
    """The median distance to the nearest example of another class, of some; None where there is none."""
    some = np.argsort(order, kind="stable")[:MEDIAN_OF]
    squares = np.einsum("ij,ij->i", Z, Z)
    near = np.empty(len(some))
    for at, row in enumerate(some):
        far = squares - 2.0 * (Z @ Z[row]) + squares[row]
        near[at] = far[labels != labels[row]].min(initial=np.inf)
    near = np.sqrt(np.maximum(near[np.isfinite(near)], 0.0))
    return float(np.median(near)) if len(near) and np.median(near) > 0 else None


def _cells(Z: Array, rows: Array) -> list[Array]:
    """``rows`` in cells of up to CELL, cut in halves along random directions."""
    if len(rows) <= CELL:
        return [rows]
    along = Z[rows] @ np.random.default_rng(len(rows)).standard_normal(Z.shape[1], dtype=np.float32)
    low = along < np.median(along)
    if not low.any():
        return []  # all equal in this direction
    return _cells(Z, rows[low]) + _cells(Z, rows[~low])


def _distances(Z: Array, least: float) -> Array:
    """(n, n) of different examples Z (n, d), none below ``least``; ∞ of each to itself."""
    Z = Z - Z.mean(axis=0)  # of what they share single precision would keep the less of their differences
    squares = np.einsum("ij,ij->i", Z, Z)
    far = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * (Z @ Z.T), least**2))
    np.fill_diagonal(far, np.inf)
    return np.asarray(far)


def _groups_among(far: Array, cut: float) -> list[tuple[Array, float]]:
    """What may be groups of two or more among the n examples of one class with distances (n, n): their places, and how
    many times farther the rest of the class is."""
    n = len(far)
    nearest = far.min(axis=1)
    taken, found = np.zeros(n, bool), []
    for share in CUTS:
        linked = far <= share * cut
        if not linked.any():
            break
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import connected_components

        number = connected_components(csr_matrix(linked), directed=False)[1]
        sizes = np.bincount(number)
        for one in np.flatnonzero((sizes > 1) & (sizes <= MOST_OF_CLASS * n)):
            members = np.flatnonzero(number == one)
            if taken[members].any():
                continue
            rest = float(np.median(np.where(number[None] == one, np.inf, far[members]).min(axis=1)))
            among = far[np.ix_(members, members)][np.triu_indices(len(members), 1)]
            gap = rest / float(np.median(nearest[members]))
            if gap >= (PAIR_GAP if len(members) == 2 else GAP) and rest >= ACROSS * np.median(among):
                taken[members] = True
                found.append((members, gap))
    return found


def _log_steps(far: Array) -> list[Array]:
    """k log r for k = 1, 2, …, each (n,), of n examples of one class with distances (n, n): 1 / D in the mean."""
    ranks = max(1, min(RANKS, len(far) // OF_CLASS - 1))
    near = np.log(np.sort(np.partition(far, ranks, axis=1)[:, : ranks + 1], axis=1))
    return [k * (near[:, k] - near[:, k - 1]) for k in range(1, ranks + 1)]


def _beyond_chance(candidates: list[tuple[Array, float]], steps: list[list[Array]], n_examples: int) -> list[Array]:
    """Return the candidate groups that independent examples would not form by chance, by their steps at each k."""
    pooled = [np.concatenate(of_rank) for of_rank in steps if of_rank]
    estimates = [(float(step.mean()), len(step)) for step in pooled if step.mean() > 0]
    if not candidates or not estimates:
        return []
    largest = max(np.exp(-ERRORS / np.sqrt(count)) / mean for mean, count in estimates)
    least = min(np.exp(ERRORS / np.sqrt(count)) / mean for mean, count in estimates)
    first = pooled[0]
    if first.std() > 0:  # the standard error of a spread is √2 times that of a mean, and pairs count each step twice
        largest = max(largest, float(np.exp(-2.0 * ERRORS / np.sqrt(len(first))) / first.std()))
    uneven = largest >= UNEVEN * least
    return [members for members, gap in candidates if uneven or n_examples * gap**-largest <= BY_CHANCE]
