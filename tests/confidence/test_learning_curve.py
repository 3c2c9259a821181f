"""Accuracy by number of examples, and what more are likely to bring."""

from __future__ import annotations

import numpy as np
import pytest
from problems import given

from kcrc import scaling
from kcrc.confidence.learning_curve import LearningCurve, Point, _fit_curves, _half, learning_curve


def blobs(seed, n, classes=5, d=8, spread=2.0):
    rng = np.random.default_rng(seed)
    centres = 2.0 * np.random.default_rng(7).normal(size=(classes, d))
    y = np.arange(n) % classes
    return centres[y] + spread * rng.normal(size=(n, d)), y


def curve_of(clf):
    return learning_curve(clf.model_, clf.confidence_.exclusion, clf.confidence_.left_out)


@pytest.mark.parametrize("metric", ["plain", "within"])
def test_sizes_double_and_accuracy_is_what_new_queries_get(metric):
    X, y = blobs(0, 160)
    clf = given(n_neighbors=12, scaling=metric).fit(X, y)
    curve = curve_of(clf)
    assert [point.examples for point in curve.points] == [20, 40, 80, 160]
    asked, truth = blobs(1, 1000)
    for point in curve.points:
        some = given(n_neighbors=12, scaling=metric).fit(X[: point.examples], y[: point.examples])
        assert abs(some.score(asked, truth) - point.accuracy) < 0.12  # 160 answers
        assert point.low < point.accuracy < point.high


def test_a_stored_half_keeps_groups_whole():
    X, y = blobs(2, 100)
    groups = np.arange(100) // 4
    clf = given(n_neighbors=8).fit(X, y, groups=groups)
    for seed in range(5):
        half = _half(clf.model_, clf.confidence_.exclusion, np.random.default_rng(seed))
        assert 40 <= half.sum() <= 60
        assert all(len(set(half[groups == g])) == 1 for g in range(25))


def test_classes_that_are_met_for_the_first_time_are_counted_apart():
    rng = np.random.default_rng(8)
    y = rng.integers(60, size=150)  # far apart, so that only a class that is not there is wrong
    X = 100.0 * rng.normal(size=(60, 6))[y] + rng.normal(size=(150, 6))
    curve = curve_of(given(n_neighbors=5).fit(X, y))
    now, before = curve.missing
    assert now == pytest.approx(np.mean(np.bincount(y)[y] == 1))
    assert before > 1.5 * now
    assert curve.points[-1].accuracy == pytest.approx(1.0 - now, abs=0.02)
    assert curve.gain(2.0).low < now * (1.0 - now / before) < curve.gain(2.0).high


@pytest.mark.parametrize("ratio", [0.5, 0.7, 0.9])
def test_a_curve_that_follows_the_formula_is_continued(ratio):
    rng = np.random.default_rng(3)
    errors = 0.1 + 0.05 * np.array([0.0, 1.0, 1.0 + 1 / ratio, 1.0 + 1 / ratio + 1 / ratio**2])
    right = (rng.random((1, 20000)) > errors[:, None]).astype(float)
    halvings = np.repeat(np.arange(4.0)[:, None], 20000, axis=1)
    fits = _fit_curves(right, halvings, 1000 / 2.0 ** np.arange(4), rng)
    all_alike = {"usual": 50.0, "sizes": np.array([50.0]), "shares": np.ones(1)}
    curve = LearningCurve((Point(1000, 0.9, 0.89, 0.91),), fits, **all_alike, missing=(0.0, 0.0), luck=0.0)
    said = curve.gain(2.0)
    assert said.low <= 0.05 * ratio <= said.high
    assert said.high - said.low < 0.04
    assert 0 < curve.gain(1.1).likely < said.likely < curve.gain(4.0).likely


def test_too_few_examples_to_halve_say_nothing():
    X, y = blobs(4, 12, classes=10)
    curve = curve_of(given(n_neighbors=3).fit(X, y))
    assert [point.examples for point in curve.points] == [12]
    assert curve.gain(2.0) is None


def test_a_metric_fitted_elsewhere_stays():
    X, y = blobs(5, 80)
    fixed = scaling.make("within").fit(*blobs(6, 200))
    clf = given(n_neighbors=8, scaling=fixed).fit(X, y)
    assert len(curve_of(clf).points) == 4
