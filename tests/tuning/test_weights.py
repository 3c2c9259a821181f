"""Learned weights of a unified distance, and self-tuning with unified and costly distances."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from problems import Costly, problem

from kcrc import KCRCClassifier
from kcrc.method.distances import Unified
from kcrc.method.distances.pair_cache import pair_caches
from kcrc.method.preparation import Samples
from kcrc.tuning.left_out.distance_geometry import DistanceGeometry
from kcrc.tuning.left_out.surroundings import Surroundings
from kcrc.tuning.scoring import MarginScorer, score_margins
from kcrc.tuning.weights import WeightSearch


def noisy(seed, n=150):
    """Views of which one tells the classes apart, one does so in part, and one is noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    clear = np.eye(3)[y] * 2.2 + rng.normal(size=(n, 3))
    partly = np.stack([(y == 0) * 2.5, np.zeros(n)], axis=1) + rng.normal(size=(n, 2))
    return {"clear": clear, "partly": partly, "noise": 10.0 * rng.normal(size=(n, 5))}, y


THREE = {"clear": "euclidean", "partly": "manhattan", "noise": "euclidean"}


def test_noise_gets_little_weight_and_the_best_member_is_never_beaten_by_itself_alone():
    X, y = noisy(0)
    classifier = KCRCClassifier(distance=Unified(THREE, weights="auto"), tuning_seconds=6, n_jobs=1).fit(X, y)
    weights = classifier.model_.method.distance.weights_
    assert sum(weights.values()) == pytest.approx(1.0)
    assert weights == classifier.tuning_.weights
    assert weights["noise"] < 0.34
    assert weights["clear"] == max(weights.values())
    assert not classifier.model_.method.distance.learns_weights
    table = classifier.tuning_.table
    chosen = classifier.tuning_.scores[classifier.tuning_.best]
    alone = [row for row in table if row["geometry"].endswith("alone") and row["trials"] == chosen.trials]
    assert {row["geometry"] for row in alone} == {f"{name} alone" for name in THREE}
    assert all(row["accuracy"] <= chosen.accuracy for row in alone)


def test_the_weight_search_ends_no_lower_than_any_single_member():
    for seed in range(3):
        X, y = noisy(seed, n=90)
        joined = np.concatenate(list(X.values()), axis=1)
        layout = {"clear": (0, 3, (3,)), "partly": (3, 5, (2,)), "noise": (5, 10, (5,))}
        distance = Unified(THREE, weights="auto").with_layout(layout).fit(joined, y, sample_shape=(10,))
        around = Surroundings(Samples(joined), y, np.arange(90))
        search = WeightSearch(distance, around, np.arange(90), MarginScorer(score_margins), seconds=5)
        learned = search.run()
        singles = [search.score({n: float(n == name) for n in THREE}) for name in THREE]
        assert search.score(learned).right >= max(one.right for one in singles)
        assert all(w >= 0 for w in learned.values())


def test_given_parameters_do_not_keep_weights_from_being_learned():
    from problems import GIVEN

    X, y = noisy(1)
    settled = {**GIVEN, "n_neighbors": 10, "kernel": "exp"}
    classifier = KCRCClassifier(**settled, distance=Unified(THREE, weights="auto"), tuning_seconds=3).fit(X, y)
    assert classifier.model_.method.n_neighbors == 10
    assert classifier.tuning_.weights["noise"] < 0.34
    lonely = KCRCClassifier(**settled, distance=Unified(["euclidean", "manhattan"], weights="auto"))
    lonely.fit(np.eye(3), [0, 1, 2])  # nothing to learn from: equal weights
    assert lonely.model_.method.distance.weights_ == {"euclidean": 0.5, "manhattan": 0.5}


def test_trials_of_a_union_are_the_classifiers_own_dictionaries():
    X, y, _ = problem(1, n=50)
    distance = Unified(["euclidean", "chessboard"]).fit(X, y, sample_shape=(6,))
    trials = DistanceGeometry(distance, X, y, np.arange(50)).trials(np.array([3, 20]), 12)
    for at, i in enumerate((3, 20)):
        others = np.delete(np.arange(50), i)
        far = [np.linalg.norm(X[others] - X[i], order, axis=1) for order in (2, np.inf)]
        for k in (1, 4, 12):
            union = set().union(*(others[np.argsort(one, kind="stable")[:k]] for one in far))
            assert (trials.rank[at] < k).sum() == len(union)
            assert sorted(trials.labels[at][trials.rank[at] < k]) == sorted(y[list(union)])
    for line, rank in zip(trials.cross, trials.rank, strict=True):
        assert (np.diff(line[rank < 12]) >= 0).all()  # nearest first


def test_trials_of_coarse_to_fine_stay_among_the_candidates():
    X, y, _ = problem(2, n=60)
    groups = np.arange(60) // 2
    distance, which = Costly(), np.array([0, 17, 44])
    pairs = pair_caches(distance, 60, dtype=np.float64, budget=1 << 20)
    around = Surroundings(Samples(X), y, groups, (Costly(), 15), pairs)
    coarse = Surroundings(Samples(X), y, groups, (Unified(["euclidean"]).fit(X, y, sample_shape=(6,)), 15), pairs)
    for each, order in ((around, 1), (coarse, 2)):
        trials = DistanceGeometry(distance, each, y, groups).trials(which, 7)
        for at, i in enumerate(which):
            others = np.flatnonzero(groups != groups[i])
            near = others[np.argsort(np.linalg.norm(X[others] - X[i], order, axis=1), kind="stable")[:15]]
            fine = np.sort(np.abs(X[near] - X[i]).sum(axis=1))[:7]
            np.testing.assert_allclose(trials.cross[at], fine, rtol=1e-6)
    assert pairs[""].counts.evaluated < 60 * 59 / 2


@pytest.mark.parametrize(
    "distance", ["manhattan", "mahalanobis", "lbp-chi2", "sift", "geometric-blur", "texton-chi2", "unified"]
)
def test_every_distance_can_be_tuned_with(distance):
    X, y, Q = problem(3, n=45, d=36, classes=3)
    options = {"n_candidates": 20} if distance == "geometric-blur" else {}
    classifier = KCRCClassifier(distance=distance, tuning_seconds=0.5, n_jobs=1, **options)
    classifier.fit(X.reshape(-1, 6, 6), y)
    assert classifier.tuning_ is not None
    assert classifier.tuning_.accuracy > 0.3
    assert set(classifier.predict(Q.reshape(-1, 6, 6))) <= {0, 1, 2}


def test_each_member_is_charged_for_what_it_looks_at():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4004))
    distance = Unified({"a": "manhattan", "b": "manhattan"}).with_layout({"a": (0, 4, (4,)), "b": (4, 4004, (4000,))})
    distance = distance.fit(X, np.arange(20) % 2, sample_shape=(4004,))
    around = Surroundings(Samples(X), np.arange(20) % 2, np.arange(20))
    small, large = (around.arithmetic(distance, name) for name in ("a", "b"))
    assert 500 < large / small < 1000  # a vector is kept with its squared length
    assert not around.with_tables(distance, 400 * large, 1).pairs
    assert set(around.with_tables(distance, 401 * large, 1).pairs) == {"a", "b"}


def test_the_clock_decides_nothing(monkeypatch):
    """On a machine on which every look at the clock finds an hour gone, the same weights and the same table."""
    X, y = noisy(2, n=90)
    options = {"distance": Unified(THREE, weights="auto"), "tuning_seconds": 4, "n_jobs": 1}
    idle = KCRCClassifier(**options).fit(X, y).tuning_
    hours = count()
    monkeypatch.setattr("time.perf_counter", lambda: 3600.0 * next(hours))
    busy = KCRCClassifier(**options).fit(X, y).tuning_
    assert busy.seconds >= 3600
    assert busy.weights == idle.weights
    assert busy.table == idle.table


def test_a_walk_without_a_budget_goes_nowhere():
    X, y = noisy(0, n=90)
    joined = np.concatenate(list(X.values()), axis=1)
    layout = {"clear": (0, 3, (3,)), "partly": (3, 5, (2,)), "noise": (5, 10, (5,))}
    distance = Unified(THREE, weights="auto").with_layout(layout).fit(joined, y, sample_shape=(10,))
    around = Surroundings(Samples(joined), y, np.arange(90))
    poor, rich, dear = (
        WeightSearch(distance, around, np.arange(90), MarginScorer(score_margins, effort), seconds=seconds)
        for seconds, effort in ((1e-9, 1.0), (5.0, 1.0), (5.0, 1e9))
    )
    for search in (poor, rich, dear):
        search.run()
    assert len(poor.tried) == len(dear.tried) == 4  # each member alone, and all alike
    assert len(rich.tried) > 4
