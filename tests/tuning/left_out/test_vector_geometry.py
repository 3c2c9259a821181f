"""Leave-one-out trials are what a refit without the example would see."""

from __future__ import annotations

import numpy as np
import pytest
from problems import problem
from scipy.linalg import cholesky, solve_triangular

from kcrc import distances, kernels, scaling
from kcrc.tuning.left_out.distance_geometry import DistanceGeometry, KernelGeometry
from kcrc.tuning.left_out.sample import duplicate_groups
from kcrc.tuning.left_out.vector_geometry import VectorGeometry
from kcrc.tuning.scoring import squared_among


def alone(n):
    return np.arange(n)


@pytest.mark.parametrize("name", ["plain", "unit", "standard"])
def test_trials_are_distances_to_the_nearest_others(name):
    X, y, _ = problem(1, n=30)
    metric = scaling.make(name).fit(X, y)
    Z = metric.transform(X)
    trials = VectorGeometry(metric, X, y, alone(30)).trials(np.array([0, 7, 29]), 10)
    for at, i in enumerate((0, 7, 29)):
        squared = ((Z - Z[i]) ** 2).sum(axis=1)
        squared[i] = np.inf
        rows = np.argsort(squared, kind="stable")[:10]
        np.testing.assert_allclose(trials.cross[at], squared[rows], atol=1e-9)
        np.testing.assert_array_equal(trials.labels[at], y[rows])
        among = ((Z[rows][:, None] - Z[rows][None]) ** 2).sum(axis=-1)
        np.testing.assert_allclose(squared_among(trials)[at], among, atol=1e-9)
        np.testing.assert_allclose(trials.dots[at], Z[rows] @ Z[rows].T, atol=1e-9)


def without(X, y, out, shrinkage):
    """The whitening whose covariance never saw the examples ``out``, by the definition."""
    keep = np.setdiff1d(np.arange(len(X)), out)
    full = scaling.within_covariance(X, y)
    freedom = len(X) - len(np.unique(y))
    scatter = np.zeros_like(full)
    for c in np.unique(y):
        members = keep[y[keep] == c]
        deviations = X[members] - X[members].mean(axis=0)
        scatter += deviations.T @ deviations
    variance = np.trace(full) / len(full)
    S = (1 - shrinkage) * scatter / freedom + shrinkage * variance * np.eye(len(full))
    return solve_triangular(cholesky(S, lower=True), np.eye(len(full)), lower=True).T


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("shrinkage", [0.05, 0.5])
def test_an_example_leaves_the_covariance_too(unit, scaled, shrinkage):
    X, y, _ = problem(2, n=40, d=7)
    metric = scaling.Within(shrinkage, unit=unit, scaled=scaled).fit(X, y)
    geometry = VectorGeometry(metric, X, y, alone(40))
    if scaled:
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
        alike = scaling.Within(shrinkage, unit=unit).fit(X, y)
        np.testing.assert_allclose(metric.transform(3.0 * X), alike.transform(X), atol=1e-12)
    for i in (0, 13, 39):
        Z = (X - X.mean(axis=0)) @ without(X, y, [i], shrinkage)
        if unit:
            Z /= np.linalg.norm(Z, axis=1, keepdims=True)
        squared = ((Z - Z[i]) ** 2).sum(axis=1)
        squared[i] = np.inf
        rows = np.argsort(squared, kind="stable")[:12]
        trials = geometry.trials(np.array([i]), 12)
        np.testing.assert_array_equal(trials.labels[0], y[rows])
        np.testing.assert_allclose(trials.cross[0], squared[rows], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(trials.dots[0], Z[rows] @ Z[rows].T, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_example_leaves_the_covariance_where_features_are_many(dtype):
    """More features than examples: nearly all of an example's own direction goes with it."""
    rng = np.random.default_rng(5)
    y = np.arange(24) % 3
    X = (np.eye(3)[y] @ rng.normal(size=(3, 60)) + rng.normal(size=(24, 60))).astype(dtype)
    geometry = VectorGeometry(scaling.Within(0.05, unit=False).fit(X, y), X, y, alone(24))
    for i in (0, 11):
        Z = (X - X.mean(axis=0)) @ without(X.astype(np.float64), y, [i], 0.05)
        squared = ((Z - Z[i]) ** 2).sum(axis=1)
        squared[i] = np.inf
        found = geometry.trials(np.array([i]), 23).cross[0]
        np.testing.assert_allclose(found, np.sort(squared)[:23], rtol=1e-6 if dtype == np.float64 else 0.02)


def test_exact_duplicates_leave_together():
    X, y, _ = problem(3, n=40, d=5)
    X[20], y[20] = X[4], y[4]
    groups = duplicate_groups(X, None)
    assert groups[20] == groups[4]
    assert len(np.unique(groups)) == 39
    metric = scaling.Within(0.2, unit=False).fit(X, y)
    trials = VectorGeometry(metric, X, y, groups).trials(np.array([4]), 38)
    Z = (X - X.mean(axis=0)) @ without(X, y, [4, 20], 0.2)
    squared = ((Z - Z[4]) ** 2).sum(axis=1)
    squared[[4, 20]] = np.inf
    np.testing.assert_allclose(trials.cross[0], np.sort(squared)[:38], rtol=1e-7)


def test_labels_without_meaning_look_like_that():
    """High dimension and random labels: a metric that saw an example's own label would seem to know it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 60)), np.arange(120) % 2
    metric = scaling.Within(0.05).fit(X, y)
    trials = VectorGeometry(metric, X, y, alone(120)).trials(np.arange(120), 20)
    honest = np.mean(trials.labels[:, 0] == trials.truth)
    Z = metric.transform(X)
    squared = ((Z[:, None] - Z[None]) ** 2).sum(axis=-1)
    np.fill_diagonal(squared, np.inf)
    leaking = np.mean(y[squared.argmin(axis=1)] == y)
    assert abs(honest - 0.5) < 0.15
    assert leaking > honest


def test_whole_classes_are_ranked_without_the_example():
    X, y, _ = problem(4, n=50, classes=5)
    trials = VectorGeometry(scaling.Plain(), X, y, alone(50)).class_trials(np.arange(50), 3)
    for i in range(50):
        keep = np.arange(50) != i
        means = np.array([X[keep & (y == c)].mean(axis=0) for c in range(5)])
        nearest = np.argsort(((means - X[i]) ** 2).sum(axis=1), kind="stable")[:3]
        expected = {(c, r) for r, c in enumerate(nearest)}
        real = trials.labels[i] >= 0
        assert set(zip(trials.labels[i][real].tolist(), trials.rank[i][real].tolist(), strict=True)) == {
            (int(c), int(r)) for c, r in expected
        }
        assert real.sum() == sum((keep & (y == c)).sum() for c in nearest)


def test_groups_join_what_duplicates_and_the_caller_join():
    X = np.array([[0.0], [0.0], [1.0], [2.0], [3.0]])
    groups = duplicate_groups(X, np.array(["a", "b", "b", "c", "d"]))
    assert groups[0] == groups[1] == groups[2]
    assert len(np.unique(groups)) == 3
    trials = VectorGeometry(scaling.Plain(), X, np.zeros(5, int), groups).trials(np.array([0]), 4)
    assert (trials.labels[0] >= 0).sum() == 2


def test_other_distances_and_given_kernels():
    X, y, _ = problem(5, n=30)
    manhattan = distances.make("manhattan")
    trials = DistanceGeometry(manhattan, X, y, alone(30)).trials(np.array([3]), 8)
    far = np.abs(X - X[3]).sum(axis=1)
    far[3] = np.inf
    np.testing.assert_allclose(trials.cross[0], np.sort(far)[:8], rtol=1e-6)
    kernel = kernels.RBF(0.3)
    trials = KernelGeometry(manhattan, kernel, X, y, alone(30)).trials(np.array([3]), 8)
    rows = np.argsort(far, kind="stable")[:8]
    np.testing.assert_allclose(trials.dot[0], np.exp(-0.3 * ((X[rows] - X[3]) ** 2).sum(axis=1)), rtol=1e-5)
    np.testing.assert_allclose(trials.self_dot, 1.0)


@pytest.mark.parametrize("name", ["plain", "within"])
def test_what_is_kept_and_what_is_looked_up_change_nothing(name, monkeypatch):
    """Asked again for fewer atoms or classes, and without the stored products: the same trials."""
    X, y, _ = problem(6, n=40, classes=4)
    metric = scaling.make(name).fit(X, y)
    which = np.array([3, 8, 21])
    kept = VectorGeometry(metric, X, y, alone(40))
    kept.trials(which[:2], 20)
    kept.class_trials(which[:2], 3)
    monkeypatch.setattr("kcrc.tuning.left_out.vector_geometry.STORED", 0)
    fresh = VectorGeometry(metric, X, y, alone(40))
    assert fresh.products is None
    assert kept.products is not None
    for one, other in (
        (kept.trials(which, 9), fresh.trials(which, 9)),
        (kept.class_trials(which, 2), fresh.class_trials(which, 2)),
    ):
        np.testing.assert_array_equal(one.labels, other.labels)
        for part in ("cross", "dot", "dots", "squares", "self_dot"):
            np.testing.assert_allclose(getattr(one, part), getattr(other, part), rtol=1e-9, atol=1e-12)
