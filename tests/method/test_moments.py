"""Every feature by itself: its place, its spread, and whether it varies."""

from __future__ import annotations

import numpy as np
import pytest

from kcrc.method.scaling import moments, units_differ, varying


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_values_do_not_vary_and_neither_does_their_rounding(dtype):
    assert not varying(np.zeros((3, 1), dtype)).any()
    for value in (0.1, -1e9, 3e-20, 1e30):
        X = np.full((1001, 2), value, dtype)
        X[::2, 1] = np.nextafter(X[::2, 1], dtype(np.inf))  # one unit in the last place
        assert not varying(X).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_signal_far_from_zero_varies_where_the_type_holds_it(dtype, rng):
    step = 8 * 1e9 * np.finfo(dtype).eps
    X = (1e9 + step * rng.integers(0, 4, size=(50, 1))).astype(dtype)
    assert varying(X).all()
    mean, deviation = moments(X)
    signal = X.astype(np.float64) - 1e9  # exactly
    np.testing.assert_allclose(mean, 1e9 + signal.mean(axis=0), rtol=1e-15)
    np.testing.assert_allclose(deviation, signal.std(axis=0), rtol=1e-12)


def test_a_small_signal_keeps_its_size_among_many_examples(rng):
    """Summing 200,000 numbers near 1e9 loses more than the signal."""
    signal = rng.normal(size=(200_000, 1))
    X = 1e9 + 1e-5 * signal
    held = X - 1e9  # what rounding left of it, exactly
    np.testing.assert_allclose(moments(X)[1], held.std(axis=0), rtol=1e-9)


def test_moments_are_those_of_each_feature_in_any_unit(rng):
    X = rng.normal(size=(40, 150)) + 3.0
    units = 2.0 ** rng.integers(-900, 900, size=150)
    mean, deviation = moments(X * units)
    np.testing.assert_allclose(mean, X.mean(axis=0) * units, rtol=1e-13)
    np.testing.assert_allclose(deviation, X.std(axis=0) * units, rtol=1e-13)
    assert varying(X * units).all()


def test_what_few_examples_showed_faintly_is_no_other_unit(rng):
    """Of a thousand features that are mostly 0, some are faint by chance in each of the few examples that have them."""
    X = rng.uniform(0.1, 1.0, size=(20, 6))
    X[:, 5] = 0.0
    X[:5, 5] = 1e-3 * rng.random(5)
    assert not units_differ(X)
    X[:, 5] = 1e-3 * rng.random(20)  # all have it: that is a unit
    assert units_differ(X)
    assert units_differ(X[:4])


@pytest.mark.parametrize("count", range(2, 11))
def test_few_examples_that_are_alike_in_some_of_many_features_show_no_other_unit(rng, count):
    """As a network's answers are: half of them nearly 0, the rest of any size."""
    for _ in range(5):
        X = rng.exponential(size=(count, 1280)) * np.where(rng.random((count, 1280)) < 0.4, 1e-3, 1.0)
        assert not units_differ(X)
    assert units_differ(np.column_stack([rng.random((4, 3)), 1e-6 * rng.random(4)]))


def test_units_differ_where_ranges_do_and_not_where_a_pixel_is_seldom_lit(rng):
    X = rng.normal(size=(60, 5))
    assert not units_differ(X)
    assert units_differ(X * [1, 1, 1, 1, 1e9])
    assert units_differ(X * [1e-4, 1, 1, 1, 1])
    assert not units_differ(np.column_stack([X, np.full(60, 1e9)]))  # a constant has no unit
    assert not units_differ(np.zeros((4, 3)))
    seldom = np.zeros((5000, 2))
    seldom[:, 0], seldom[0, 1] = rng.integers(0, 256, size=5000), 1.0
    assert not units_differ(seldom)
    assert units_differ(np.array([[-1.7e308, 0.0], [1.7e308, 1.0]]))


def test_a_feature_that_was_seen_once_and_faintly_is_in_no_unit_of_its_own():
    """A network's feature that is 0 for 19 of 20 photographs: its range is luck."""
    X = np.random.default_rng(0).random((20, 5))
    X[:, 2] = 0.0
    X[7, 2] = 1e-4
    assert not units_differ(X)
    X[:, 2] = 1e-4 * X[:, 3]
    assert units_differ(X)
