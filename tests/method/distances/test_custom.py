"""Functions as distances: Python ones are warned about, Numba ones run compiled, matrices are looked up."""

from __future__ import annotations

import numpy as np
import pytest

from kcrc import distances
from kcrc.errors import DataError, ParameterError
from kcrc.method.distances.custom import CallableDistance, CompiledDistance, SlowDistanceWarning
from kcrc.method.preparation import Samples


def canberra(u, v):
    total = 0.0
    for p, q in zip(u, v):  # noqa: B905  (Numba knows no strict=)
        if p != q:
            total += abs(p - q) / (abs(p) + abs(q))
    return total


def test_a_python_function_is_warned_about_at_fit(rng):
    X = rng.random((5, 3))
    distance = distances.resolve(canberra)
    assert isinstance(distance, CallableDistance)
    with pytest.warns(SlowDistanceWarning, match=r"once for every pair.*numba\.njit"):
        fitted = distance.fit(X, np.zeros(5), sample_shape=(3,))
    kept = fitted.prepare(X)
    assert fitted.pairwise(kept, kept)[1, 2] == canberra(X[1], X[2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_numba_function_runs_compiled_and_unwarned(rng, dtype):
    numba = pytest.importorskip("numba")
    compiled = distances.resolve(numba.njit(canberra))
    assert isinstance(compiled, CompiledDistance)
    X, Q = rng.normal(size=(30, 7)).astype(dtype), rng.normal(size=(4, 7)).astype(dtype)
    compiled = compiled.fit(X, np.zeros(30), sample_shape=(7,))
    slow = CallableDistance(canberra)
    a, b = compiled.prepare(Q), compiled.prepare(X)
    rows = rng.integers(0, 30, (4, 5))
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    for method, given in (("pairwise", (a, b)), ("rowwise", (a, b, rows)), ("within", (b, rows))):
        np.testing.assert_allclose(
            getattr(compiled, method)(*given), getattr(slow, method)(*given), rtol=tolerance, err_msg=method
        )


def test_a_numba_function_that_is_no_distance_is_named(rng):
    numba = pytest.importorskip("numba")
    X = rng.random((3, 2))
    negative = distances.resolve(numba.njit(lambda u, v: -1.0))
    with pytest.raises(DataError, match="negative"):
        negative.pairwise(negative.prepare(X), negative.prepare(X))
    vector = distances.resolve(numba.njit(lambda u, v: u - v))
    with pytest.raises(ParameterError, match="returns a number"):
        vector.pairwise(vector.prepare(X), vector.prepare(X))


def test_precomputed_distances_are_looked_up(rng):
    D = rng.random((8, 8))
    D = D + D.T
    distance = distances.make("precomputed").fit(D, np.zeros(8), sample_shape=(8,))
    examples = Samples(D, columns=np.arange(8)).of(distance).take(np.array([0, 2, 3, 5, 7]))  # some were forgotten
    queries = rng.random((3, 8))
    a = distance.prepare(queries)
    rows = np.array([[0, 4], [1, 1], [3, 2]])
    columns = np.array([0, 2, 3, 5, 7])
    np.testing.assert_array_equal(distance.pairwise(a, examples), queries[:, columns])
    np.testing.assert_array_equal(distance.rowwise(a, examples, rows), np.take_along_axis(queries[:, columns], rows, 1))
    kept = D[np.ix_(columns, columns)]
    np.testing.assert_array_equal(distance.within(examples, rows), kept[rows[:, :, None], rows[:, None, :]])
    with pytest.raises(DataError, match="negative"):
        distance.prepare(-queries)
