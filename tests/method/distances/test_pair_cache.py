"""Distances between stored examples: measured at most once, never without need, and the same as if measured anew."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import dataclass
from threading import Barrier, Thread
from typing import ClassVar

import numpy as np
import pytest
from problems import Costly, Counting, given, problem

from kcrc.method.distances import pair_cache
from kcrc.method.distances.pair_cache import PairCache, PairTable
from kcrc.method.distances.pixel import Euclidean, Manhattan


@dataclass(frozen=True)
class OneSided(Costly):
    """Not symmetric: the first sample counts double."""

    symmetric: ClassVar[bool] = False

    def pairwise(self, a, b):
        return super().pairwise(a, b) + 0.1 * np.abs(a["vectors"]).sum(axis=1)[:, None]

    def rowwise(self, a, b, rows):
        return np.stack([self.pairwise(a.take([i]), b.take(line))[0] for i, line in enumerate(rows)])


BUDGETS = {"all pairs": 1 << 20, "few pairs": 2000}


def made(distance, n, budget):
    return PairCache(n, symmetric=distance.symmetric, dtype=np.float64, budget=budget)


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
@pytest.mark.parametrize("distance", [Costly(), OneSided()], ids=["symmetric", "one-sided"])
def test_what_is_found_is_what_would_be_measured(rng, distance, budget):
    X = rng.normal(size=(50, 4))
    kept = distance.prepare(X)
    table = made(distance, 50, budget)
    assert table.complete == (budget > 20000)
    full = distance.pairwise(kept, kept)
    np.fill_diagonal(full, 0.0)
    for _ in range(3):
        rows = np.stack([rng.permutation(50)[:9] for _ in range(20)])
        np.testing.assert_allclose(table.within(distance, kept, rows), full[rows[:, :, None], rows[:, None, :]])
        which = rng.integers(50, size=20)
        np.testing.assert_allclose(table.rowwise(distance, kept, which, rows), full[which[:, None], rows])
    assert table.nbytes <= budget
    assert table.counts.found > 0


def test_a_pair_is_measured_once_and_padding_never():
    Counting.seen.clear()
    distance = Counting()
    X = np.arange(30.0)[:, None] + np.zeros(3)
    kept = distance.prepare(X)
    table = made(distance, 30, 1 << 20)
    rows = np.array([[3, 1, 2, -1], [5, 2, 3, 7]])
    got = table.within(distance, kept, rows)
    assert not got[0, 3].any()
    assert not got[0, :, 3].any()
    wanted = {(3, 1), (3, 2), (2, 1), (5, 2), (5, 3), (7, 5), (7, 2), (7, 3)}
    assert Counter(Counting.seen) == Counter({(float(i), float(j)): 1 for i, j in wanted})
    assert (table.counts.evaluated, table.counts.found) == (8, 1)  # 2 and 3 are in both dictionaries
    table.within(distance, kept, rows)
    assert len(Counting.seen) == 8
    assert (table.counts.evaluated, table.counts.found) == (8, 10)


def test_filling_measures_what_is_not_known():
    Counting.seen.clear()
    distance = Counting()
    kept = distance.prepare(np.arange(80.0)[:, None] + np.zeros(2))
    table = made(distance, 80, 1 << 20)
    table.within(distance, kept, np.array([[4, 70, 9]]))
    table.fill(distance, kept, 1)
    assert len(Counting.seen) == len(set(Counting.seen)) == 80 * 79 // 2 == table.counts.evaluated


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
@pytest.mark.parametrize("distance", [Costly(), OneSided()], ids=["symmetric", "one-sided"])
def test_growing_and_forgetting_keep_what_is_known(rng, distance, budget):
    X, other = rng.normal(size=(40, 3)), rng.normal(size=(40, 3))
    other[:20] = X[:20]
    table = made(distance, 20, budget)
    kept = distance.prepare(X[:20])
    table.within(distance, kept, np.arange(20)[None])
    one, two = table.append(20), table.append(20)  # two futures of one past
    for grown, all_of in ((one, X), (two, other), (one, X)):
        everything = distance.prepare(all_of)
        full = distance.pairwise(everything, everything)
        np.fill_diagonal(full, 0.0)
        np.testing.assert_allclose(grown.within(distance, everything, np.arange(40)[None])[0], full)
    keep = rng.random(40) < 0.6
    left = distance.prepare(X[keep])
    fewer = one.keep(keep)
    full = distance.pairwise(left, left)
    np.fill_diagonal(full, 0.0)
    before = fewer.counts.evaluated
    np.testing.assert_allclose(fewer.within(distance, left, np.arange(len(left))[None])[0], full)
    if one.complete:
        assert fewer.counts.evaluated == before  # all were known


def test_threads_may_ask_at_once(rng):
    distance = Costly()
    kept = distance.prepare(rng.normal(size=(60, 3)))
    full = Manhattan().pairwise(kept, kept)
    table = made(distance, 60, 3000)
    wrong = []

    def ask(seed):
        rows = np.random.default_rng(seed).permuted(np.tile(np.arange(60), (40, 1)), axis=1)[:, :8]
        if not np.allclose(table.within(distance, kept, rows), full[rows[:, :, None], rows[:, None, :]]):
            wrong.append(seed)

    threads = [Thread(target=ask, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_cache_is_pickled_with_what_it_knows(rng):
    distance = Costly()
    kept = distance.prepare(rng.normal(size=(12, 3)))
    table = made(distance, 12, 1 << 20)
    table.fill(distance, kept, 1)
    again = pickle.loads(pickle.dumps(table))
    again.within(distance, kept, np.arange(12)[None])
    assert again.counts.evaluated == 66


# In the classifier --------------------------------------------------------------------------------------------------


def numbered(seed, n=60, queries=9):
    """A problem whose first feature tells the samples apart: examples 0, 1e-9, …; queries from 1 on."""
    X, y, Q = problem(seed, n=n, queries=queries)
    X[:, 0], Q[:, 0] = 1e-9 * np.arange(n), 1.0 + 1e-9 * np.arange(queries)
    return X, y, Q


def test_coarse_to_fine_measures_candidates_and_dictionaries_and_nothing_else(monkeypatch):
    monkeypatch.setattr("kcrc.method.fitted_model.FILL_SECONDS", 0.0)
    X, y, Q = numbered(1)
    classifier = given(6, n_candidates=15, distance=Counting(), kernel="exp", gamma=0.1, n_jobs=1).fit(X, y)
    Counting.seen.clear()
    evidence = classifier.explain(Q)
    asked = [(i, j) for i, j in Counting.seen if i >= 1.0]
    among = [(i, j) for i, j in Counting.seen if i < 1.0]
    assert len(asked) == len(set(asked)) == 9 * 15  # each candidate once, for the search and for the kernel
    coded = evidence.rows[evidence.coefficients.any(axis=1)]
    needed = {frozenset((int(i), int(j))) for rows in coded for i in rows for j in rows if i != j}
    measured = [frozenset((round(i * 1e9), round(j * 1e9))) for i, j in among]
    assert len(measured) == len(set(measured))
    assert set(measured) == needed  # the fit has measured none
    counts = classifier.pair_counts_
    assert counts.asked == 135
    assert counts.evaluated >= len(needed)
    Counting.seen.clear()
    classifier.predict(Q)
    assert all(i >= 1.0 for i, _ in Counting.seen)  # the second time, all pairs of examples are found
    assert classifier.pair_counts_.found >= len(needed)


def test_small_problems_are_measured_whole_by_the_first_query():
    X, y, Q = numbered(2)
    classifier = given(6, n_candidates=15, distance=Counting(), kernel="exp", gamma=0.1).fit(X, y)
    assert classifier.pair_counts_.evaluated == 0  # as the index, which the first query builds too
    classifier.predict(Q[:1])
    assert classifier.pair_counts_.evaluated == 60 * 59 // 2
    Counting.seen.clear()
    classifier.predict(Q)
    assert all(i >= 1.0 for i, _ in Counting.seen)


@pytest.mark.parametrize("budget", ["512MB", "1.1MB"])
def test_answers_do_not_depend_on_the_cache(monkeypatch, budget):
    monkeypatch.setattr(pair_cache, "COSTLY", 1.0)
    X, y, Q = problem(3, n=120)
    plain = given(12, distance="manhattan", kernel="exp").fit(X, y)
    cached = given(12, distance=Costly(), kernel="exp", memory_budget=budget).fit(X, y)
    assert cached.model_.pairs
    assert not plain.model_.pairs
    for _ in range(2):
        np.testing.assert_allclose(cached.explain(Q).residuals, plain.explain(Q).residuals, rtol=1e-9)
    for each in (plain, cached):
        each.partial_fit(Q, y[: len(Q)]).forget([3, 50, 121])
    np.testing.assert_allclose(cached.explain(X[:9]).residuals, plain.explain(X[:9]).residuals, rtol=1e-9, atol=1e-12)


def test_tuning_hands_on_what_it_measured(monkeypatch):
    monkeypatch.setattr("kcrc.method.fitted_model.FILL_SECONDS", 0.0)
    X, y, Q = numbered(4)
    from kcrc import KCRCClassifier

    Counting.seen.clear()
    classifier = KCRCClassifier(n_candidates=20, distance=Counting(), tuning_seconds=1.0, n_jobs=1).fit(X, y)
    kept = [pair for pair in Counting.seen if pair[0] != pair[1]]
    once = {frozenset(pair) for pair in kept}
    assert classifier.tuning_ is not None
    assert classifier.pair_counts_.evaluated <= len(once) <= 60 * 59 // 2
    assert len(kept) <= len(once) + 3 * 64 * 64  # besides, the few samples that set the scale of the kernel
    Counting.seen.clear()
    classifier.predict(Q)
    repeated = {frozenset(pair) for pair in Counting.seen if pair[0] < 1.0} & once
    assert not repeated


def test_a_table_is_read_like_a_cache():
    X, _, _ = problem(3, n=150)
    for distance in (Manhattan(), Euclidean()):
        atoms = distance.prepare(X)
        table = PairTable.of(distance, atoms, n_jobs=2)
        rows = np.random.default_rng(0).integers(150, size=(4, 9))
        which = np.array([3, 149, 0, 77])
        np.testing.assert_allclose(table.within(distance, atoms, rows), distance.within(atoms, rows), rtol=1e-6)
        want = distance.rowwise(atoms.take(which), atoms, rows)
        np.testing.assert_allclose(table.rowwise(distance, atoms, which, rows), want, rtol=1e-6)
        assert table.missing == 0


def test_a_pair_two_threads_measure_at_once_counts_once():
    """What a search may still spend rests on this count: it must not depend on which thread came first."""
    met = Barrier(2, timeout=30)

    class Meeting(Costly):
        def rowwise(self, a, b, rows):
            met.wait()
            return super().rowwise(a, b, rows)

    distance = Meeting()
    kept = distance.prepare(problem(4)[0])
    table = made(distance, 40, 1 << 20)
    pair = np.array([3]), np.array([17])
    threads = [Thread(target=table.between, args=(distance, kept, *pair)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (table.counts.evaluated, table.counts.found) == (1, 1)
    assert table.missing == 40 * 39 // 2 - 1
    assert made(distance, 40, 2000).missing == 40 * 39 // 2
