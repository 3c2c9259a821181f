"""How vectors are scaled: every feature in its own unit, and nothing made of rounding."""

from __future__ import annotations

import numpy as np
import pytest
from problems import GIVEN, problem
from scipy.spatial.distance import pdist
from sklearn.preprocessing import StandardScaler

import references
from kcrc import KCRCClassifier, scaling


@pytest.mark.parametrize("name", scaling.names())
def test_dot_products_equal_the_slow_formula(name):
    assert set(references.METRICS) == set(scaling.names())
    X, y, Q = problem(0)
    moved = scaling.make(name).fit(X, y).transform(Q)
    np.testing.assert_allclose(moved @ moved.T, references.METRICS[name](X, y, Q), rtol=1e-10, atol=1e-12)


UNITS = 10.0 ** np.array([9, -6, 0, 3, -9, 5])


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-4), (np.float64, 1e-10)])
def test_standard_is_the_same_in_any_units(dtype, rtol):
    X, y, Q = problem(1)
    X, Q = (X * UNITS).astype(dtype), (Q * UNITS).astype(dtype)
    got = scaling.make("standard").fit(X, y).transform(Q)
    assert got.dtype == dtype
    wanted = StandardScaler().fit(X.astype(np.float64)).transform(Q.astype(np.float64))
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_standard_makes_zeros_of_constant_features_and_only_of_them(dtype):
    X, y, _ = problem(2)
    X[:, 0], X[:, 1], X[:, 2] = 0.1, 1e9, np.where(y == 1, 5.0, X[:, 2])  # the last is constant in one class alone
    moved = scaling.make("standard").fit(X.astype(dtype), y).transform(X.astype(dtype))
    np.testing.assert_array_equal(moved[:, :2], 0.0)
    np.testing.assert_allclose(moved[:, 2:].std(axis=0), 1.0, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_standard_lets_nothing_be_farther_out_than_an_example_can_be(rng, dtype):
    """A feature that one of 40 examples shows, faintly, is no measure for those that come."""
    X = rng.normal(size=(40, 3)).astype(dtype)
    X[:, 1] = 0.0
    X[7, 1] = 1e-3
    fitted = scaling.Standard(bounded=True).fit(X, np.zeros(40))
    exact = (X - X.mean(axis=0, dtype=np.float64)) / X.std(axis=0, dtype=np.float64)
    np.testing.assert_allclose(fitted.transform(X), exact, rtol=1e-4, atol=1e-6)  # no example is cut: one is √39 away
    far = fitted.transform(np.array([[0.0, 5.0, 0.0], [0.0, -5.0, 0.0]], dtype))
    np.testing.assert_allclose(far[:, 1], [np.sqrt(40), -np.sqrt(40)], rtol=2e-3)
    free = scaling.make("standard").fit(X, np.zeros(40))  # as it is where it is named, and in files from before
    assert free.farthest is None
    assert np.abs(free.transform(np.array([[0.0, 5.0, 0.0]], dtype))).max() > 1000


@pytest.mark.parametrize("size", [1e-42, 1e-320, 1e300])
def test_standard_stays_finite_at_the_ends_of_the_numbers(size):
    X = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 4.0]]) * [size, 1.0]
    for dtype in [np.float32, np.float64] if size < 1 else [np.float64]:
        given = X.astype(dtype)
        moved = scaling.make("standard").fit(given, np.arange(3)).transform(given)
        assert np.isfinite(moved).all()
        assert moved[:, 1].std() == pytest.approx(1.0)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_whitening_of_standardised_features_is_the_same_in_any_units(scaled, unit):
    X, y, Q = problem(3)
    within = scaling.Within(0.3, unit=unit, scaled=scaled, first=scaling.Standard())
    assert not within.is_fitted
    mixed = within.fit(X * UNITS, y).transform(Q * UNITS)
    np.testing.assert_allclose(mixed, within.fit(X, y).transform(Q), rtol=1e-8, atol=1e-10)
    first = StandardScaler().fit(X)
    alone = scaling.Within(0.3, unit=unit, scaled=scaled).fit(first.transform(X), y)
    np.testing.assert_allclose(mixed, alone.transform(first.transform(Q)), rtol=1e-8, atol=1e-10)


def test_directions_of_standardised_features_are_the_same_in_any_units():
    X, y, Q = problem(4)
    unit = scaling.Unit(scaling.Standard())
    assert not unit.is_fitted
    moved = unit.fit(X * UNITS, y).transform(Q * UNITS)
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), 1.0)
    standardised = scaling.Standard().fit(X, y).transform(Q)
    np.testing.assert_allclose(moved, standardised / np.linalg.norm(standardised, axis=1, keepdims=True), rtol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_summing_makes_of_equal_values_is_not_whitened(dtype):
    """0.1 in three examples has the mean 0.10000000000000002."""
    y = np.repeat([0, 1], 3)
    X = np.where(y[:, None] == 0, 0.1, 0.7).astype(dtype) * np.ones((6, 4), dtype)
    deviations, sizes = scaling.within_deviations(X, y)
    np.testing.assert_array_equal(deviations, 0.0)
    np.testing.assert_array_equal(sizes, 3)
    moved = scaling.Within(0.2, unit=False).fit(X, y).transform(X)
    np.testing.assert_allclose(pdist(moved), pdist(X) / np.sqrt(0.2), rtol=1e-5, atol=1e-12)  # v is 1: 0.2 I is left


@pytest.mark.parametrize("name", scaling.names())
def test_examples_that_are_all_the_same_have_an_answer(name):
    X, y = np.full((6, 3), 0.1), np.repeat(["a", "b"], 3)
    clf = KCRCClassifier(**{**GIVEN, "scaling": name}).fit(X, y)
    assert set(clf.predict(X)) <= {"a", "b"}


@pytest.mark.parametrize("metric", [scaling.Unit(scaling.Standard()), scaling.Within(first=scaling.Standard())])
def test_a_classifier_that_standardises_first_is_saved(metric, tmp_path):
    X, y, Q = problem(5)
    clf = KCRCClassifier(**{**GIVEN, "scaling": metric}).fit(X * UNITS, y)
    clf.save(tmp_path / "kept")
    loaded = KCRCClassifier.load(tmp_path / "kept")
    np.testing.assert_array_equal(loaded.decision_function(Q * UNITS), clf.decision_function(Q * UNITS))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [5, 64, 200, 513])
def test_a_row_is_whitened_as_if_it_were_alone(dtype, d):
    X = np.random.default_rng(d).normal(size=(150, d)).astype(dtype)
    metric = scaling.make("within").fit(X, np.arange(150) % 3)
    together = metric.transform(X)
    for size in (1, 2, 3, 8, 9, 40):
        apart = [metric.transform(X[at : at + size]) for at in range(0, 150, size)]
        np.testing.assert_array_equal(np.concatenate(apart), together)
    assert metric.transform(X[:0]).shape == (0, d)
