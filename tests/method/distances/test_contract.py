"""Contracts of every registered distance, against the slow formulas."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from problems import problem

import references
from kcrc import distances
from kcrc.errors import DataError, ParameterError, UnknownName
from kcrc.method.distances.base import _HOMES, Distance
from kcrc.method.neighbours import ExactIndex
from kcrc.method.preparation import Samples

# Those of any vectors, with which more can be done than with what they are given in their rows.
NAMED = [name for name, row in references.DISTANCES.items() if row.samples is references.points]


def fitted(name, X, **options):
    return distances.make(name, **options).fit(X, np.zeros(len(X), int), sample_shape=X.shape[1:])


def sampled(name):
    """The distance fitted on the samples of its row, what is known of it then, and queries and examples prepared."""
    X, y, Q, shape = references.DISTANCES[name].samples()
    distance = distances.make(name).fit(X, y, sample_shape=shape)
    known = references.Known(X, y, shape, SimpleNamespace(**vars(distance)))
    return distance, known, Q, distance.prepare(Q), Samples(X, columns=np.arange(len(X))).of(distance)


def test_the_rows_are_those_of_the_registry():
    assert set(references.DISTANCES) == set(distances.names()) == set(_HOMES)
    assert {"euclidean", "cosine"} <= set(NAMED)


@pytest.mark.parametrize("name", distances.names())
def test_pairwise_equals_the_slow_formula(name):
    distance, known, Q, a, b = sampled(name)
    if len(known.shape) == 2:  # of images few, by formulas that look at every pixel
        Q, some = Q[:1], known.X[:2]
    else:
        some = known.X
    slow = np.array([[references.DISTANCES[name].formula(q, x, known) for x in some] for q in Q])
    assert len(np.unique(slow)) > slow.size // 2
    np.testing.assert_allclose(distance.pairwise(a, b)[: len(Q), : len(some)], slow, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", distances.names())
def test_rowwise_and_within_are_parts_of_pairwise(name):
    distance, known, Q, a, b = sampled(name)
    rows = np.random.default_rng(0).integers(len(known.X), size=(len(Q), 9))
    everything = distance.pairwise(a, b)
    np.testing.assert_allclose(distance.rowwise(a, b, rows), np.take_along_axis(everything, rows, 1), atol=1e-10)
    among = distance.pairwise(b, b)
    # Euclidean takes its local Gram from products, where a square root turns 1e-15 into 1e-7 near 0.
    np.testing.assert_allclose(
        distance.within(b, rows) ** 2, among[rows[:, :, None], rows[:, None, :]] ** 2, atol=1e-10
    )


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_prepared_of_a_sample_does_not_depend_on_the_others(name, dtype, rng):
    """Not by the last bit: a matrix product of more rows may take its sums in another order."""
    X = np.abs(rng.normal(size=(60, 33))).astype(dtype)
    distance = fitted(name, X)
    every = distance.prepare(X)
    for some in (slice(0, 1), slice(0, 3), slice(0, 4), slice(7, 20)):
        few = distance.prepare(X[some])
        assert few.parts.keys() == every.parts.keys() != set()
        assert all(np.array_equal(values, every[part][some]) for part, values in few.parts.items())


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_zero_rows_and_constant_rows_are_defined(name, dtype):
    X, _, _ = problem(3)
    X = X.astype(dtype)
    distance = fitted(name, X)
    odd = np.stack([X[0], X[0], np.zeros(6), np.zeros(6), np.full(6, 2.0)]).astype(dtype)
    kept = distance.prepare(odd)
    got = distance.pairwise(kept, kept)
    assert np.isfinite(got).all()
    assert (got >= 0).all()
    np.testing.assert_allclose(np.diag(got), 0.0, atol=1e-6)
    np.testing.assert_allclose(got[0, 1], 0.0, atol=1e-6)
    np.testing.assert_allclose(got[2, 3], 0.0, atol=1e-6)
    np.testing.assert_allclose(got, got.T, atol=1e-6)


@pytest.mark.parametrize("name", [n for n in NAMED if type(distances.make(n)).screen is not Distance.screen])
def test_screen_errs_no_more_than_it_says(name):
    X, _, Q = problem(4, n=200, d=30)
    distance = fitted(name, X)
    a, b = distance.prepare(Q.astype(np.float32)), distance.prepare(X.astype(np.float32))
    values, error = distance.screen(a, b)
    exact = distance.pairwise(distance.prepare(Q), distance.prepare(X))
    order = np.argsort(exact, axis=1)
    screened = np.take_along_axis(values, order, 1)
    # Increasing with the distance, to within the error on either side.
    running = np.maximum.accumulate(screened, axis=1)
    assert (running - screened <= 2 * error[:, None] + 1e-6).all()


_row = arrays(np.float64, 5, elements=st.floats(-100, 100, allow_subnormal=False))


@pytest.mark.parametrize("name", [n for n in NAMED if distances.make(n).metric])
@settings(max_examples=40, deadline=None)
@given(a=_row, b=_row, c=_row)
def test_metrics_are_metrics(name, a, b, c):
    X, _, _ = problem(5, d=5)
    distance = fitted(name, X)
    kept = distance.prepare(np.stack([a, b, c]))
    D = distance.pairwise(kept, kept)
    np.testing.assert_allclose(D, D.T, rtol=1e-9, atol=1e-9)
    assert np.allclose(np.diag(D), 0.0)
    assert D[0, 2] <= D[0, 1] + D[1, 2] + 1e-9 * (1 + D.max())


@pytest.mark.parametrize("name", NAMED)
def test_search_finds_the_nearest_with_ties_by_row(name):
    X, _, Q = problem(6, n=90)
    X = np.concatenate([X, X[:30], X[:30]])  # every tie there can be
    distance = fitted(name, X)
    a, b = distance.prepare(Q), distance.prepare(X)
    exact = distance.pairwise(a, b)
    for k in (1, 7, 40, len(X), len(X) + 5):
        near = ExactIndex(distance, b).query(a, k)
        order = np.argsort(exact, axis=1, kind="stable")[:, : min(k, len(X))]
        np.testing.assert_array_equal(near.rows, order)


def test_mahalanobis_shrinks_when_it_must_and_says_when_it_may_not(rng):
    X = rng.normal(size=(5, 8))  # fewer examples than dimensions: singular
    distance = fitted("mahalanobis", X)
    kept = distance.prepare(X)
    assert np.isfinite(distance.pairwise(kept, kept)).all()
    with pytest.raises(ParameterError, match="singular"):
        fitted("mahalanobis", X, shrinkage=0.0)
    with pytest.raises(ParameterError, match="between 0 and 1"):
        distances.make("mahalanobis", shrinkage=2.0)
    diagonal = fitted("mahalanobis", rng.normal(size=(50, 3)) * [1, 10, 100], diagonal=True)
    kept = diagonal.prepare(np.array([[0.0, 0, 0], [1, 10, 100]]))
    assert 1.0 < diagonal.pairwise(kept, kept)[0, 1] < 2.5


def test_names_objects_and_functions_are_all_distances():
    X, _, Q = problem(7)
    by_name = distances.resolve("manhattan")
    by_object = distances.resolve(by_name)
    by_function = distances.resolve(lambda u, v: float(np.abs(u - v).sum()))
    results = [d.pairwise(d.prepare(Q), d.prepare(X)) for d in (by_name, by_object, by_function)]
    np.testing.assert_allclose(results[0], results[1])
    np.testing.assert_allclose(results[0], results[2])
    with pytest.raises(UnknownName, match="Did you mean 'manhattan'"):
        distances.resolve("manhatan")
    with pytest.raises(ParameterError, match="It takes"):
        distances.make("mahalanobis", shrink=1)
    with pytest.raises(ParameterError, match="name, a Distance or a function"):
        distances.resolve(3)
    negative = distances.resolve(lambda u, v: -1.0)
    with pytest.raises(DataError, match="negative"):
        negative.pairwise(negative.prepare(Q), negative.prepare(X))
