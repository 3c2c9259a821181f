"""Which metrics go with which distances."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from kcrc import KCRCClassifier, distances, scaling
from kcrc.method.distances import Unified


def loud(seed=0, n=120):
    """Two classes in two features, among six that are noise and a hundred times as loud."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return np.column_stack([y[:, None] + 0.2 * rng.normal(size=(n, 2)), 100.0 * rng.normal(size=(n, 6))]), y


def stretched(seed=0, n=160, d=10):
    """Four classes that vary far along some directions, other than those their means differ in."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 4
    turned = np.linalg.qr(rng.normal(size=(d, d)))[0]
    spread = np.r_[np.full(d - 3, 8.0), np.full(3, 0.6)]
    X = rng.normal(size=(n, d)) * spread
    X[:, -3:] += 2.0 * np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]])[y]
    return X @ turned, y


@pytest.mark.parametrize("distance", ["manhattan", "chessboard", Unified(["euclidean", "manhattan"])])
def test_a_distance_of_vectors_chooses_a_metric(distance):
    X, y = loud()
    Q, truth = loud(1)
    chosen = KCRCClassifier(distance=distance, tuning_seconds=2).fit(X, y)
    assert isinstance(chosen.model_.method.scaling, scaling.Standard)
    plain = KCRCClassifier(distance=distance, scaling="plain", tuning_seconds=2).fit(X, y)
    assert chosen.score(Q, truth) > plain.score(Q, truth) + 0.1
    assert {s.geometry for s in plain.tuning_.scores}.isdisjoint({"unit", "standard"})


def test_the_members_of_a_unified_distance_are_scaled_under_the_metric():
    X, y = loud()
    method = KCRCClassifier(distance=Unified(["euclidean", "manhattan"]), tuning_seconds=2).fit(X, y).model_.method
    anew = Unified(["euclidean", "manhattan"]).fit(method.scaling.transform(X), y, sample_shape=(8,))
    np.testing.assert_allclose(method.distance.scales, anew.scales)


@pytest.mark.parametrize("distance", ["chi2", Unified({"a": "euclidean", "b": "chi2"}), "mahalanobis"])
def test_other_distances_see_samples_as_they_are(distance):
    X, y = loud()
    found = KCRCClassifier(distance=distance, n_neighbors=5, tuning_seconds=1).fit(np.abs(X), y)
    assert isinstance(found.model_.method.scaling, scaling.Plain)


def test_learned_weights_do_not_end_below_the_euclidean_member_and_its_metrics(tmp_path):
    X, y = stretched()
    Q, truth = stretched(0, n=480)
    Q, truth = Q[160:], truth[160:]
    members = ["manhattan", "euclidean", "chessboard"]
    learned = KCRCClassifier(distance=Unified(members, weights="auto"), tuning_seconds=4).fit(X, y)
    assert isinstance(learned.model_.method.scaling, scaling.Within)
    assert learned.tuning_.weights == {"manhattan": 0.0, "euclidean": 1.0, "chessboard": 0.0}
    assert isinstance(learned.model_.method.distance, distances.pixel.SquaredEuclidean)
    equal = KCRCClassifier(distance=Unified(members), tuning_seconds=4).fit(X, y)
    assert learned.tuning_.accuracy > equal.tuning_.accuracy + 0.05
    assert learned.score(Q, truth) > equal.score(Q, truth) + 0.05
    learned.save(tmp_path / "learned.kcrc")
    np.testing.assert_array_equal(KCRCClassifier.load(tmp_path / "learned.kcrc").predict(Q), learned.predict(Q))


def test_learned_weights_come_with_a_metric():
    X, y = loud()
    learned = KCRCClassifier(distance=Unified(["manhattan", "chessboard"], weights="auto"), tuning_seconds=4).fit(X, y)
    assert isinstance(learned.model_.method.scaling, scaling.Standard)
    assert isinstance(learned.model_.method.distance, Unified)
    assert learned.tuning_.weights == learned.model_.method.distance.weights_
    assert learned.score(*loud(1)) > 0.9


@pytest.mark.parametrize("weights", [None, "auto"])
def test_with_nothing_to_ask_samples_stay_as_they_are(weights):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 12))
    one = KCRCClassifier(distance=Unified(["manhattan", "euclidean"], weights=weights)).fit(X, np.arange(5))
    assert one.tuning_ is None
    assert isinstance(one.model_.method.scaling, scaling.Plain)
    assert one.model_.method.distance.weights_ == {"manhattan": 0.5, "euclidean": 0.5}
    np.testing.assert_array_equal(one.predict(X + 0.01 * rng.normal(size=X.shape)), np.arange(5))


def test_examples_that_differ_in_length_alone_are_still_asked():
    """Under unit length they are copies of each other; who is a duplicate was decided before."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(16, 5)), 4, axis=0) * 2.0 ** np.tile([0, 3, 6, 9], 16)[:, None]
    y = np.repeat(np.arange(16), 4)
    found = KCRCClassifier(distance=Unified(["manhattan", "chessboard"], weights="auto"), tuning_seconds=2).fit(X, y)
    assert found.tuning_.accuracy > 0.9
    assert {"unit", "learned weights"} & {s.geometry for s in found.tuning_.scores}
    assert found.score(3.0 * X, y) > 0.9


@dataclass(frozen=True)
class Learning(distances.pixel.Manhattan):
    """Manhattan over the largest coordinate it has seen."""

    largest: float = 1.0

    def fit(self, X, y, *, sample_shape):
        return replace(self, largest=float(np.abs(X).max()))


def test_a_distance_learns_under_the_metric_that_was_chosen():
    X, y = loud()
    method = KCRCClassifier(distance=Learning(), tuning_seconds=2).fit(X, y).model_.method
    assert isinstance(method.scaling, scaling.Standard)
    assert method.distance.largest == pytest.approx(np.abs(method.scaling.transform(X)).max(), rel=1e-5)


def test_the_table_of_learned_weights_holds_both_searches():
    X, y = stretched(2, n=80)
    tuning = KCRCClassifier(distance=Unified(["manhattan", "euclidean"], weights="auto"), tuning_seconds=2).fit(X, y)
    names = {s.geometry for s in tuning.tuning_.scores}
    assert {"plain", "within 0.5", "equal weights", "manhattan alone"} <= names
