"""χ² and histogram intersection."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kcrc import distances, kernels
from kcrc.errors import DataError
from kcrc.method.distances import coordinatewise
from references.pixel import chi_square, intersection

REFERENCES = {"chi2": chi_square, "intersection": intersection}
NAMES = ["chi2", "intersection"]


def histograms(rng, n, d=23):
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.6)
    X[0] = 0.0
    return X


def fitted(name, X):
    return distances.make(name).fit(X, np.zeros(len(X)), sample_shape=X.shape[1:])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("compiled", [True, False])
def test_equals_the_slow_formula(monkeypatch, rng, name, compiled):
    if not compiled:
        monkeypatch.setattr(coordinatewise, "native", None)
    X, Q = histograms(rng, 12), histograms(rng, 5)
    distance = fitted(name, X)
    a, b = distance.prepare(Q), distance.prepare(X)
    slow = np.array([[REFERENCES[name](u, v) for v in X] for u in Q])
    np.testing.assert_allclose(distance.pairwise(a, b), slow, rtol=1e-10, atol=1e-12)
    rows = rng.integers(0, 12, (5, 4))
    np.testing.assert_allclose(distance.rowwise(a, b, rows), np.take_along_axis(slow, rows, 1), atol=1e-12)
    among = distance.pairwise(b, b)
    np.testing.assert_allclose(distance.within(b, rows), among[rows[:, :, None], rows[:, None, :]], atol=1e-12)
    origin = np.array([REFERENCES[name](u, np.zeros(23)) for u in Q])
    np.testing.assert_allclose(distance.to_origin(a), origin, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_equal_histograms_are_at_0_and_values_stay_float32(rng, name):
    X = histograms(rng, 9, 300).astype(np.float32)
    distance = fitted(name, X)
    kept = distance.prepare(X)
    got = distance.pairwise(kept, kept)
    assert got.dtype == np.float32
    assert (got >= 0).all()
    np.testing.assert_allclose(np.diag(got), 0.0, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_negative_value_is_refused_and_named(rng, name):
    X = histograms(rng, 4)
    X[2, 3] = -0.25
    with pytest.raises(DataError, match=r"0 or more; the smallest given is -0\.25"):
        distances.make(name).prepare(X)


_histogram = arrays(np.float64, 6, elements=st.floats(0, 1000, allow_subnormal=False))


@settings(max_examples=150, deadline=None)
@given(a=_histogram, b=_histogram, c=_histogram)
def test_intersection_and_the_root_of_chi_square_are_metrics(a, b, c):
    for name in NAMES:
        distance = distances.make(name)
        kept = distance.prepare(np.stack([a, b, c]))
        D = distance.pairwise(kept, kept)
        assert distance.metric == (name == "intersection")
        D = np.sqrt(D) if name == "chi2" else D
        np.testing.assert_array_equal(D, D.T)
        assert np.allclose(np.diag(D), 0.0, atol=1e-12)
        assert D[0, 2] <= D[0, 1] + D[1, 2] + 1e-9 * (1 + D.max())


def test_chi_square_itself_breaks_the_triangle():
    distance = distances.make("chi2")
    kept = distance.prepare(np.array([[0.0], [1.0], [4.0]]))
    D = distance.pairwise(kept, kept)
    kept = distance.prepare(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]))
    E = distance.pairwise(kept, kept)
    assert D[0, 2] > D[0, 1] + D[1, 2] or E[0, 2] > E[0, 1] + E[1, 2]


def test_chi_square_polarised_is_the_additive_kernel(rng):
    X = histograms(rng, 8) + 0.01
    kernel = kernels.Polarisation(distances.make("chi2"))
    kept = kernel.prepare(X)
    slow = (2 * X[:, None] * X[None] / (X[:, None] + X[None])).sum(axis=-1)
    np.testing.assert_allclose(kernel.gram(kept, kept), slow, rtol=1e-12)
