"""What every search promises, over all of them: true distances in order, values that stay, examples that come and go;
of an exact one the very rows of brute force, of an approximate one as many of them as it says."""

from __future__ import annotations

import copy
import pickle
import threading
from functools import cache

import numpy as np
import pytest

from kcrc.method.distances.base import prepare_vectors
from kcrc.method.distances.pixel import Cosine, Euclidean, SquaredEuclidean
from kcrc.method.neighbours.approximate import LIBRARIES
from kcrc.method.neighbours.approximate.approximate import ApproximateIndex
from kcrc.method.neighbours.base import Neighbourhood, NeighbourIndex
from kcrc.method.neighbours.scan import ScanIndex, native
from kcrc.method.neighbours.searches import SEARCHES, index_by

K = 10


def needed(search: str) -> list[pytest.MarkDecorator]:
    library = LIBRARIES.get(search)
    absent = library is not None and (not library.is_installed or native is None)
    return [pytest.mark.skipif(absent, reason=f"what search={search!r} needs is not installed")]


ALL = [pytest.param(search, marks=needed(search)) for search in SEARCHES]
EXACT = [one for one in ALL if one.values[0] not in LIBRARIES]
APPROXIMATE = [one for one in ALL if one.values[0] in LIBRARIES]


@cache
def data(n: int = 1500, d: int = 24, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Vectors around 20 centres, and queries like them."""
    rng = np.random.default_rng(seed)
    made = rng.normal(size=(n + 60, d)) + 2.0 * rng.normal(size=(20, d))[rng.integers(0, 20, n + 60)]
    return made[:n].astype(np.float32), made[n:].astype(np.float32)


def made(search: str, vectors: np.ndarray, distance=None, k: int = K) -> NeighbourIndex:
    distance = distance or Euclidean()
    return index_by(search, distance, distance.prepare(vectors), budget=10**8, k=k, n_jobs=1)


def asked(index: NeighbourIndex, queries: np.ndarray, k: int = K, distance=None) -> Neighbourhood:
    return index.query((distance or Euclidean()).prepare(queries), k)


def brute(vectors: np.ndarray, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    far = np.sqrt(((vectors[None].astype(float) - queries[:, None].astype(float)) ** 2).sum(-1))
    rows = np.lexsort((np.broadcast_to(np.arange(len(vectors)), far.shape), far), axis=-1)[:, :k]
    return rows, np.take_along_axis(far, rows, 1)


def check(search: str, found: Neighbourhood, vectors: np.ndarray, queries: np.ndarray, k: int, recall=0.9) -> None:
    """Distances are those of the rows, ascending, ties by row, no row twice; as many rows as can be."""
    k = min(k, len(vectors))
    assert found.rows.shape == found.distances.shape == (len(queries), k)
    true = np.sqrt(((vectors[found.rows].astype(float) - queries[:, None].astype(float)) ** 2).sum(-1))
    np.testing.assert_allclose(found.distances, true, rtol=1e-6, atol=1e-6)
    for rows, distances in zip(found.rows, found.distances, strict=True):
        assert len(set(rows.tolist())) == k
        np.testing.assert_array_equal(np.lexsort((rows, distances)), np.arange(k))
    rows, distances = brute(vectors, queries, k)
    if search in LIBRARIES:
        assert np.mean(found.distances <= distances[:, -1:] * (1 + 1e-6)) >= recall
    else:
        np.testing.assert_array_equal(found.rows, rows)


@pytest.mark.parametrize("search", ALL)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("batch", [1, 2, 60])
def test_the_nearest_are_found(search, dtype, batch):
    X, Q = data()
    X = X.astype(dtype)
    queries = Q[:batch].astype(np.promote_types(dtype, np.float32))
    check(search, asked(made(search, X), queries), X, queries, K)


@pytest.mark.parametrize("search", ALL)
@pytest.mark.parametrize("n", [1, 2, 7, 50])
def test_no_more_neighbours_than_examples(search, n):
    X, Q = data()
    index = made(search, X[:n])
    check(search, asked(index, Q, n + 5), X[:n], Q, n + 5, recall=1.0)


@pytest.mark.parametrize("search", ALL)
def test_identical_rows(search):
    """A graph in which copies know only each other leads nowhere: they are searched exactly."""
    X, Q = np.repeat(data()[0][:3], 400, axis=0), data()[1]
    index = made(search, X)
    assert index.search == "exact"
    check("exact", asked(index, Q, 30), X, Q, 30)
    pairs = np.repeat(data()[0][:500], 2, axis=0)
    index = made(search, pairs)
    assert (index.search == "exact") == (search not in LIBRARIES)
    check(search, asked(index, Q), pairs, Q, K)


@pytest.mark.parametrize("search", ALL)
@pytest.mark.parametrize("scale", [1e-20, 1e6, 1e18])
def test_the_unit_does_not_matter(search, scale):
    X, Q = (scale * part.astype(np.float64) + scale for part in data())
    found = asked(made(search, X), Q)
    rows, distances = brute(X / scale, Q / scale, K)
    assert np.mean(found.distances / scale <= distances[:, -1:] * (1 + 1e-6)) >= 0.9
    if search not in LIBRARIES:
        np.testing.assert_array_equal(found.rows, rows)


@pytest.mark.parametrize("search", ALL)
def test_a_query_that_is_far_beyond_all(search):
    X, Q = data(400)
    far = np.vstack([Q[:2].astype(np.float64), np.full((1, X.shape[1]), 1e25)])
    found = asked(made(search, X.astype(np.float64)), far)
    assert np.isfinite(found.distances).all()
    assert (found.rows >= 0).all()


@pytest.mark.parametrize("search", ALL)
@pytest.mark.parametrize("distance", [SquaredEuclidean(), Cosine()])
def test_distances_that_order_like_the_euclidean(search, distance):
    X, Q = data()
    found = asked(made(search, X, distance), Q, distance=distance)
    far = distance.pairwise(distance.prepare(Q), distance.prepare(X))
    np.testing.assert_allclose(found.distances, np.take_along_axis(far, found.rows, 1), rtol=1e-4, atol=1e-5)
    assert np.mean(found.distances <= np.sort(far, axis=1)[:, K - 1 : K] * (1 + 1e-4)) >= 0.9


@pytest.mark.parametrize("search", ALL)
def test_a_zero_vector_has_no_direction(search):
    """By the cosine it is as far from all: not where its vector is."""
    X, Q = (part.copy() for part in data(300))
    Q[1] = 0.0
    distance = Cosine()
    found = asked(made(search, X, distance), Q[:3], distance=distance)
    far = distance.pairwise(distance.prepare(Q[:3]), distance.prepare(X))
    np.testing.assert_allclose(found.distances, np.take_along_axis(far, found.rows, 1), rtol=1e-4, atol=1e-5)
    X[5] = 0.0
    assert made(search, X, distance).search == "exact"


@pytest.mark.parametrize("search", ALL)
def test_examples_come_and_go_and_the_index_before_stays(search):
    X, Q = data()
    first = made(search, X[:1000])
    before = asked(first, Q)
    grown = first.append(prepare_vectors(X))
    keep = np.random.default_rng(1).random(len(X)) < 0.6
    fewer = grown.keep(prepare_vectors(X[keep]), keep)
    other = first.append(prepare_vectors(np.vstack([X[:1000], Q])))
    check(search, asked(grown, Q), X, Q, K)
    check(search, asked(fewer, Q), X[keep], Q, K)
    check(search, asked(other, Q), np.vstack([X[:1000], Q]), Q, K)
    assert (asked(other, Q, 1).distances < 1e-3).all()
    check(search, asked(first, Q), X[:1000], Q, K)
    if search not in LIBRARIES:  # what was added may lead an approximate search elsewhere
        np.testing.assert_array_equal(asked(first, Q).rows, before.rows)


@pytest.mark.parametrize("search", ALL)
def test_one_after_the_other(search):
    X, Q = data(400)
    index = made(search, X[:300])
    for n in range(301, 341):
        index = index.append(prepare_vectors(X[:n]))
    check(search, asked(index, Q), X[:340], Q, K)
    there = X[:340]
    for _ in range(40):
        keep = np.arange(len(there)) != 7
        there = there[keep]
        index = index.keep(prepare_vectors(there), keep)
    check(search, asked(index, Q), there, Q, K)


@pytest.mark.parametrize("search", ALL)
def test_all_that_is_near_is_forgotten(search):
    """Those that left lie around the queries: as many that stayed have to be found behind them."""
    X, Q = data()
    near = np.unique(brute(X, Q[:5], 200)[0])
    keep = ~np.isin(np.arange(len(X)), near)
    check(search, asked(made(search, X).keep(prepare_vectors(X[keep]), keep), Q[:5]), X[keep], Q[:5], K)


@pytest.mark.parametrize("search", EXACT)
def test_added_then_forgotten_is_never_seen(search):
    X, Q = data()
    first = made(search, X[:1000])
    keep = np.arange(len(X)) < 1000
    again = first.append(prepare_vectors(X)).keep(prepare_vectors(X[:1000]), keep)
    for one in (asked(again, Q), asked(again, Q[:1])):
        never = asked(first, Q[: len(one.rows)])
        np.testing.assert_array_equal(one.rows, never.rows)
        np.testing.assert_array_equal(one.distances, never.distances)


@pytest.mark.parametrize("search", ALL)
def test_copies_search_alike(search):
    X, Q = data(600)
    index = made(search, X)
    for again in (copy.deepcopy(index), pickle.loads(pickle.dumps(index))):
        np.testing.assert_array_equal(asked(again, Q).rows, asked(index, Q).rows)
        assert again.search == index.search
        check(search, asked(again.append(prepare_vectors(np.vstack([X, Q]))), Q), np.vstack([X, Q]), Q, K)


@pytest.mark.parametrize("search", ALL)
def test_threads_search_while_another_adds(search):
    X, Q = data()
    first = made(search, X[:1000])
    before, wrong = asked(first, Q).rows, []

    def look() -> None:
        for _ in range(20):
            wrong.append(int((asked(first, Q).rows != before).any()))

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    index = first
    for n in range(1000, 1500, 50):
        index = index.append(prepare_vectors(X[: n + 50]))
    for thread in threads:
        thread.join()
    check(search, asked(index, Q), X, Q, K)
    assert len(wrong) == 40
    if search not in LIBRARIES:  # what was added may lead an approximate search elsewhere
        assert not any(wrong)


@pytest.mark.parametrize("search", APPROXIMATE)
@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_the_recall_is_what_is_said(search, spread):
    """On queries that were never stored, around centres and around none."""
    rng = np.random.default_rng(2)
    made_up = rng.normal(size=(2400, 32)) + spread * rng.normal(size=(40, 32))[rng.integers(0, 40, 2400)]
    X, Q = made_up[:2000].astype(np.float32), made_up[2000:].astype(np.float32)
    index = made(search, X, k=20)
    assert isinstance(index, ApproximateIndex)
    assert index.recall.asked == 500
    true = np.mean(asked(index, Q, 20).distances <= brute(X, Q, 20)[1][:, -1:] * (1 + 1e-6))
    assert index.recall.share == pytest.approx(true, abs=0.03)
    assert f"{int(1000 * index.recall.share) / 10:.1f} % of the nearest" in index.search
    assert "500 examples" in index.search
    assert index.search.startswith(search)


@pytest.mark.parametrize("search", APPROXIMATE)
def test_the_recall_is_estimated_anew_when_a_twentieth_came_or_went(search):
    X, _ = data()
    index = made(search, X[:1000])
    some = index.append(prepare_vectors(X[:1025]))
    assert isinstance(index, ApproximateIndex)
    assert isinstance(some, ApproximateIndex)
    assert (some.recall, some.changed) == (index.recall, 25)
    keep = np.arange(1025) >= 40
    assert some.keep(prepare_vectors(X[:1025][keep]), keep).changed == 0


@pytest.mark.parametrize("search", APPROXIMATE)
def test_a_new_one_is_made_where_most_slots_are_nobodys(search):
    X, Q = data()
    index = made(search, X)
    keep = np.arange(len(X)) % 4 == 0
    fewer = index.keep(prepare_vectors(X[keep]), keep)
    assert isinstance(index, ApproximateIndex)
    assert isinstance(fewer, ApproximateIndex)
    assert fewer.finder is not index.finder
    assert fewer.finder.slot_count == keep.sum()
    check(search, asked(fewer, Q), X[keep], Q, K)


@pytest.mark.parametrize("search", APPROXIMATE)
def test_a_library_that_finds_nothing_is_not_believed(search, monkeypatch):
    """Too few candidates: the exact search answers."""
    X, Q = data()
    index = made(search, X)
    assert isinstance(index, ApproximateIndex)
    monkeypatch.setattr(type(index.finder), "near", lambda *_: np.full((len(Q), 40), -1))
    np.testing.assert_array_equal(asked(index, Q).rows, brute(X, Q, K)[0])
    monkeypatch.setattr(type(index.finder), "near", lambda *_: np.full((len(Q), 40), 10**9))
    np.testing.assert_array_equal(asked(index, Q).rows, brute(X, Q, K)[0])


@pytest.mark.parametrize("search", APPROXIMATE)
def test_an_example_where_there_are_no_coordinates_is_searched_exactly(search):
    X, Q = (part.astype(np.float64) for part in data(300))
    grown = made(search, X).append(prepare_vectors(np.vstack([X, np.full((1, X.shape[1]), 1e25)])))
    assert grown.search == "exact"
    np.testing.assert_array_equal(asked(grown, Q).rows, brute(X, Q, K)[0])


@pytest.mark.parametrize("search", APPROXIMATE)
@pytest.mark.parametrize("far", [1e3, 1e5, 1e7])
def test_new_examples_far_from_all_others_are_found(search, far):
    """Too few to be in the estimate, and beyond what a library has numbers for in the unit of the others."""
    X, _ = data()
    new = (data(20, seed=5)[0] + far).astype(np.float32)
    there = np.vstack([X, new])
    grown = made(search, X).append(prepare_vectors(there))
    near = asked(grown, new).rows
    assert near.min() >= len(X)
    assert (near[:, 0] >= len(X)).all()


@pytest.mark.parametrize("search", APPROXIMATE)
def test_a_search_that_finds_hardly_any_is_not_taken(search):
    """Examples of very different size: most of them are one and the same to a library."""
    X, Q = (part.astype(np.float64) for part in data())
    sizes = 10.0 ** np.random.default_rng(3).integers(-12, 12, size=(len(X), 1))
    index = made(search, X * sizes)
    assert index.search == "exact"
    np.testing.assert_array_equal(asked(index, Q).rows, brute(X * sizes, Q, K)[0])


def test_exact_searches_say_so():
    X, _ = data(300)
    assert all(made(search, X).search == "exact" for search in ("auto", "exact", "cells"))
    assert isinstance(made("exact", X), ScanIndex) or native is None
