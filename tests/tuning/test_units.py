"""Features in any units: what is left to choose finds the view of them that scaling first would have given."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from kcrc import KCRCClassifier, scaling
from kcrc.method.distances.pixel import Mahalanobis
from kcrc.tuning.geometries import narrow


def classes(seed, n=240, d=8):
    """Four classes that need several features to be told apart."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 4
    return 2.0 * rng.normal(size=(4, d))[y] + rng.normal(size=(n, d)), y, rng


def mixtures(X, rng):
    return {
        "one 1e9 times the others": X * np.r_[1e9, np.ones(X.shape[1] - 1)],
        "noise 1e9 times the others": np.column_stack([X, 1e9 * rng.normal(size=len(X))]),
        "units of their own": X * 10.0 ** rng.uniform(-6, 6, size=X.shape[1]),
        "far from zero too": (X + 1e3) * 10.0 ** rng.uniform(-4, 4, size=X.shape[1]),
    }


def scores(X, y, half, **options):
    """Accuracy as given, and after StandardScaler."""
    scaler = StandardScaler().fit(X[:half].astype(np.float64))
    views = X, scaler.transform(X.astype(np.float64))
    fitted = [KCRCClassifier(tuning_seconds=3, **options).fit(view[:half], y[:half]) for view in views]
    return [clf.score(view[half:], y[half:]) for clf, view in zip(fitted, views, strict=True)]


@pytest.mark.parametrize("mixture", mixtures(np.zeros((2, 2)), np.random.default_rng(0)))
def test_mixed_units_are_answered_as_after_scaling(mixture):
    X, y, rng = classes(1)
    dtype = np.float32 if mixture.startswith("noise") else np.float64
    given, scaled = scores(mixtures(X, rng)[mixture].astype(dtype), y, 120)
    assert scaled > 0.9
    assert given >= scaled - 0.02  # two or three of 120 queries


def test_digits_in_any_units_are_answered_as_after_scaling():
    rng = np.random.default_rng(0)
    X, y = load_digits(return_X_y=True)
    some = rng.permutation(len(y))[:800]
    given, scaled = scores(X[some] * 10.0 ** rng.uniform(-4, 4, size=64), y[some], 400)
    assert scaled > 0.93
    assert given >= scaled - 0.025  # ten of 400 queries: two standard errors of the difference


def test_features_in_one_unit_are_tried_as_before():
    X, y, _ = classes(2)
    tried = {s.geometry for s in KCRCClassifier(tuning_seconds=1).fit(X, y).tuning_.scores}
    assert tried == {
        *("plain", "unit", "standard", "within 0.05", "within 0.032", "within 0.5", "within 0.032, any length"),
        *("scaled, within 0.05", "scaled, within 0.032", "scaled, within 0.5"),
    }


def test_another_distance_sees_features_in_one_unit():
    X, y, rng = classes(3)
    given, scaled = scores(mixtures(X, rng)["one 1e9 times the others"], y, 120, distance="manhattan")
    assert given >= scaled - 0.02


def test_mahalanobis_distances_are_the_same_in_any_units():
    X, y, rng = classes(4)
    X = np.column_stack([X, np.full(len(X), 7.0)])  # singular: shrunk, but no feature drowns
    units = 10.0 ** rng.uniform(-6, 6, size=9)
    first = StandardScaler().fit_transform(X)

    def measured(vectors):
        distance = Mahalanobis().fit(vectors, y, sample_shape=(9,))
        kept = distance.prepare(vectors)
        return distance.pairwise(kept, kept)

    np.testing.assert_allclose(measured(X * units), measured(first), rtol=1e-4, atol=1e-5)


def test_with_nothing_to_ask_features_in_other_units_are_standardised():
    X, _, rng = classes(5, n=6)
    units = np.r_[1e6, np.ones(7)]
    clf = KCRCClassifier().fit(X * units, np.arange(6))
    assert clf.tuning_ is None
    assert isinstance(clf.model_.method.scaling, scaling.Standard)
    near = X + 0.1 * rng.normal(size=X.shape) * np.r_[3.0, np.ones(7)]
    np.testing.assert_array_equal(clf.predict(near * units), np.arange(6))


def test_the_search_keeps_double_precision_for_a_feature_that_needs_it():
    X, _, _ = classes(6)
    assert narrow(X).dtype == np.float32
    assert narrow(np.column_stack([X, np.full(len(X), 3.0)])).dtype == np.float32
    assert narrow(np.column_stack([1e9 * X[:, 0], 1e8 + X[:, 1]])).dtype == np.float64  # the second is not told apart
    assert narrow(np.column_stack([X, np.full(len(X), 1e9)])).dtype == np.float64
    assert narrow(1e30 * X).dtype == narrow(1e-30 * X).dtype == np.float64
