"""Self-tuning from outside: what "auto" does, keeps, refuses, and costs."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from problems import given, problem
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from kcrc import KCRCClassifier
from kcrc.errors import ParameterError, StateError
from kcrc.method.projections.spectral import KPCA
from kcrc.tuning.candidates import stratify


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, train_size=300, random_state=0, stratify=y)


@pytest.fixture(scope="module")
def tuned(digits):
    X, _, y, _ = digits
    return KCRCClassifier(tuning_seconds=20).fit(X, y)


def test_no_arguments_beat_the_nearest_neighbour(digits, tuned):
    X, Xq, y, yq = digits
    ours = np.mean(tuned.predict(Xq) == yq)
    assert ours > np.mean(KNeighborsClassifier(1).fit(X, y).predict(Xq) == yq)


def test_the_table_holds_all_that_was_tried(tuned):
    tuning = tuned.tuning_
    assert tuning.best in tuning.scores
    best = tuning.scores[tuning.best]
    compared = [t for t in tuning.scores.values() if t.trials == best.trials and t.share == 1.0]
    top = max(compared, key=lambda t: t.accuracy)
    assert best.accuracy >= top.accuracy - max(1.01 / top.trials, top.error)
    dominating = [t for t in compared if t.accuracy >= best.accuracy and t.loss <= best.loss and t.price < best.price]
    assert all(1.25 * t.price >= best.price for t in dominating)  # prices that near count as the same
    assert len(tuning.table) == len(tuning.scores) > 100
    shown = {"geometry", "n_neighbors", "gamma", "mu", "form", "decision", "locality", "accuracy", "trials", "price"}
    assert shown <= set(tuning.table[0])
    assert "leave-one-out accuracy" in repr(tuning)
    assert f"; {len(tuning.scores)} settings in " in repr(tuning)
    assert "; 1 setting in " in repr(replace(tuning, scores={tuning.best: tuning.scores[tuning.best]}))
    assert tuning.trials == tuning.scores[tuning.best].trials == 300  # few enough to ask them all
    assert tuning.accuracy == tuning.scores[tuning.best].right / tuning.trials
    pytest.importorskip("pandas")
    assert len(tuning.to_frame()) == len(tuning.scores)


def test_the_walk_asks_hard_examples_and_the_finalists_all(tuned):
    """Whoever was asked about hard examples alone says so by how many those were and what share of all they are."""
    scores = tuned.tuning_.scores.values()
    walked = [t for t in scores if t.share < 1.0]
    assert len(walked) > 50
    assert {t.trials for t in walked} <= set(range(1, 151))
    for t in walked:
        assert t.accuracy == pytest.approx(1.0 - t.share * (t.trials - t.right) / t.trials)
        assert t.error < 0.5 * t.share
    assert 2 <= sum(t.trials == 300 for t in scores) < 40


def test_the_frontier_rises_with_the_price_and_a_cheaper_setting_can_be_had(digits, tuned):
    X, Xq, y, yq = digits
    tuning = tuned.tuning_
    frontier = tuning.frontier
    assert frontier
    for less, more in itertools.pairwise(frontier):
        assert less["price"] < more["price"]
        assert less["accuracy"] < more["accuracy"]
    assert {row["trials"] for row in frontier} == {300}
    cheap = tuning.cheaper(within=0.05)
    price = {(s.n_neighbors, s.mu, s.form, s.decision, s.locality, s.kernel): t.price for s, t in tuning.scores.items()}
    key = tuple(cheap[name] for name in ("n_neighbors", "mu", "form", "decision", "locality", "kernel"))
    assert price[key] <= tuning.scores[tuning.best].price
    assert np.mean(KCRCClassifier(**cheap).fit(X, y).predict(Xq) == yq) > np.mean(tuned.predict(Xq) == yq) - 0.05
    with pytest.raises(ParameterError, match="within is a loss of accuracy"):
        tuning.cheaper(within=1.0)


def test_what_is_given_stays_out_of_what_is_cheaper():
    X, y = load_iris(return_X_y=True)
    manhattan = KCRCClassifier(distance="manhattan", scaling="plain", tuning_seconds=2).fit(X, y).tuning_.cheaper()
    assert "scaling" not in manhattan
    assert manhattan["kernel"] == "exp"
    fixed = KCRCClassifier(kernel="polynomial", tuning_seconds=2).fit(X, y).tuning_.cheaper()
    assert {"kernel", "gamma"}.isdisjoint(fixed)


def test_the_table_as_a_picture(tuned, tmp_path):
    pytest.importorskip("matplotlib")
    figure = tuned.plot_tuning(tmp_path / "tuning.png")
    assert (tmp_path / "tuning.png").stat().st_size > 5000
    assert len(figure.axes) == 6


def test_what_is_given_is_kept(digits):
    X, _, y, _ = digits
    clf = KCRCClassifier(7, scaling="unit", kernel="rbf", gamma=2.0, mu=0.3, form="gram", decision="ratio").fit(X, y)
    method = clf.model_.method
    assert (method.n_neighbors, method.coder.mu, method.kernel.gamma, method.decision) == (7, 0.3, 2.0, "ratio")
    assert type(method.space).__name__ == "Gram"
    assert type(method.scaling).__name__ == "Unit"
    assert {s.n_neighbors for s in clf.tuning_.scores} == {7}
    nothing = given().fit(X, y)
    assert nothing.tuning_ is None
    with pytest.raises(StateError, match="auto"):
        nothing.plot_tuning()


@pytest.mark.parametrize(
    "options",
    [
        {"distance": "manhattan"},
        {"distance": "manhattan", "kernel": "rbf"},
        {"kernel": "polynomial"},
        {"kernel": lambda A, B: np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(-1))},
        {"n_neighbors": None},
        {"n_neighbors": None, "form": "gram"},
        {"form": "raw"},
        {"kernel": "exp"},
        {"distance": "manhattan", "n_candidates": 40},
        {"locality": "classes"},
        {"scaling": "within"},
    ],
)
def test_auto_works_with_anything_given(options):
    X, y = load_iris(return_X_y=True)
    clf = KCRCClassifier(tuning_seconds=3, **options).fit(X[::2], y[::2])
    assert clf.tuning_ is not None
    assert np.mean(clf.predict(X[1::2]) == y[1::2]) > 0.85


def test_auto_with_precomputed_matrices():
    X, y = load_iris(return_X_y=True)
    D = ((X[:, None] - X[None]) ** 2).sum(-1)
    clf = KCRCClassifier(distance="precomputed", tuning_seconds=3).fit(D[::2, ::2], y[::2])
    assert np.mean(clf.predict(D[1::2, ::2]) == y[1::2]) > 0.85
    G = np.exp(-D)
    clf = KCRCClassifier(kernel="precomputed", tuning_seconds=3).fit(G[::2, ::2], y[::2])
    assert np.mean(clf.predict(G[1::2, ::2]) == y[1::2]) > 0.85


def test_duplicates_do_not_vouch_for_each_other():
    """Random labels, every example twice: leaving one copy in would look like knowledge."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(40, 5)), 2, axis=0)
    y = np.repeat(rng.integers(2, size=40), 2)
    assert KCRCClassifier(tuning_seconds=3).fit(X, y).tuning_.accuracy < 0.8
    noisy = X + 1e-3 * rng.normal(size=X.shape)
    assert KCRCClassifier(tuning_seconds=3).fit(noisy, y, groups=None).tuning_.accuracy > 0.95
    assert KCRCClassifier(tuning_seconds=3).fit(noisy, y).tuning_.accuracy < 0.8
    grouped = KCRCClassifier(tuning_seconds=3).fit(noisy, y, groups=np.repeat(np.arange(40), 2))
    assert grouped.tuning_.accuracy < 0.8


def test_parameters_stay_until_retune(digits):
    X, Xq, y, yq = digits
    clf = KCRCClassifier(tuning_seconds=3).fit(X[:100], y[:100])
    tuning = clf.tuning_
    clf.partial_fit(X[100:105], y[100:105])
    assert clf.tuning_ is tuning
    assert clf.retune_due_ is None
    clf.partial_fit(X[105:], y[105:])
    assert clf.tuning_ is tuning
    assert "retune()" in clf.retune_due_
    rows = clf.model_.ids.copy()
    clf.forget([3])
    clf.retune()
    assert clf.tuning_ is not tuning
    assert clf.retune_due_ is None
    assert set(clf.model_.ids) == set(rows) - {3}
    assert np.mean(clf.predict(Xq) == yq) > 0.9


def test_an_interrupt_leaves_the_classifier_as_it_was(digits, monkeypatch):
    X, Xq, y, _ = digits
    clf = KCRCClassifier(tuning_seconds=2).fit(X[:100], y[:100])
    before, tuning = clf.predict(Xq[:20]), clf.tuning_

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("kcrc.tuning.search.CandidateEvaluator.evaluate", stop)
    for call in (lambda: clf.fit(X[:, :5], y), clf.retune):
        with pytest.raises(KeyboardInterrupt):
            call()
        np.testing.assert_array_equal(clf.predict(Xq[:20]), before)
        assert clf.tuning_ is tuning


def test_too_little_to_try_falls_back_to_safe_values():
    X, _, Xq = problem(1)
    for y in (np.arange(len(X)), np.zeros(len(X))):  # every class once; one class
        clf = KCRCClassifier().fit(X, y)
        assert clf.predict(Xq).shape == (len(Xq),)
    assert KCRCClassifier().fit(X[:1], ["a"]).predict(Xq[:1]) == ["a"]
    assert KCRCClassifier().fit(X[:2], ["a", "b"]).tuning_ is None


def test_with_one_example_a_class_directions_count_among_many_features_and_lengths_among_few():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 40)) * np.arange(1, 7)[:, None]  # the classes differ in direction; length means nothing
    asked = np.repeat(X, 20, axis=0) * rng.uniform(0.2, 5.0, size=(120, 1)) + 0.5 * rng.normal(size=(120, 40))
    few = KCRCClassifier().fit(X, range(6))
    assert few.tuning_ is None
    assert np.mean(few.predict(asked) == np.repeat(range(6), 20)) > 0.9
    line = KCRCClassifier().fit([[1.0], [2.0], [4.0]], ["short", "middle", "long"])
    assert line.predict([[1.1], [2.2], [3.9]]).tolist() == ["short", "middle", "long"]


def test_bad_budget_is_named():
    X, y, _ = problem(2)
    with pytest.raises(ParameterError, match="tuning_seconds is a number above 0"):
        KCRCClassifier(tuning_seconds=0).fit(X, y)


def test_every_beginning_of_the_order_is_stratified():
    y = np.repeat([0, 1, 2], [600, 300, 100])
    order = stratify(y, np.random.default_rng(0), np.ones(1000, bool))
    assert sorted(order) == list(range(1000))
    for count in (100, 400):
        np.testing.assert_allclose(np.bincount(y[order[:count]]) / count, [0.6, 0.3, 0.1], atol=0.03)


def test_the_same_seed_gives_the_same_choice(digits):
    X, _, y, _ = digits
    options = {"kernel": "rbf", "form": "rkhs", "scaling": "plain", "locality": "atoms", "tuning_seconds": 300}
    a = KCRCClassifier(**options).fit(X[:80], y[:80]).tuning_.best
    assert KCRCClassifier(**options).fit(X[:80], y[:80]).tuning_.best == a


def test_a_given_number_of_neighbours_counts_examples(digits):
    X, _, y, _ = digits
    tried = KCRCClassifier(7, scaling="plain", kernel="linear").fit(X, y).tuning_.scores
    assert {s.locality for s in tried} == {"atoms"}
    tried = KCRCClassifier(3, locality="classes", scaling="plain", kernel="linear").fit(X, y).tuning_.scores
    assert {(s.locality, s.n_neighbors) for s in tried} == {("classes", 3)}


def test_the_dimension_after_a_named_projection_is_chosen_and_one_given_is_kept():
    X, y, _ = problem(5, n=60, d=8, classes=3)
    for K in (None, 12):
        model = given(K, form="gram", gamma=0.2, projection="kpca", tuning_seconds=1.0).fit(X, y)
        best = model.tuning_.best
        assert model.model_.method.projection.n_components == best.share
        assert 0 < best.share <= 1
        assert len({row["share"] for row in model.tuning_.table}) > 1
        assert f"c = {best.share:g} of the most" in repr(model.tuning_)
    kept = given(12, form="gram", gamma=0.2, mu="auto", projection=KPCA(n_components=3), tuning_seconds=1.0).fit(X, y)
    assert kept.model_.method.projection.n_components == 3
    assert kept.tuning_.best.share is None


def test_what_cannot_work_together_is_said_before_any_search(monkeypatch):
    monkeypatch.setattr("kcrc.classifier.incremental.tune", lambda *_: pytest.fail("searched"))
    X, y, _ = problem(5, n=30)
    with pytest.raises(ParameterError, match='projection works with form="gram"'):
        KCRCClassifier(form="rkhs", projection="kpca").fit(X, y)
    with pytest.raises(ParameterError, match="judges the entries"):
        KCRCClassifier(form="rkhs", coder="robust").fit(X, y)


def test_a_matrix_of_distances_stays_square_where_only_some_examples_are_tried(monkeypatch):
    monkeypatch.setattr("kcrc.tuning.constants.GLOBAL_EXAMPLES", 30)
    rng = np.random.default_rng(0)
    y = np.arange(48) % 3
    X = 3.0 * np.eye(3)[y] + rng.normal(size=(48, 3))
    far = np.linalg.norm(X[:, None] - X[None], axis=2)
    found = KCRCClassifier(n_neighbors=None, distance="precomputed", tuning_seconds=1).fit(far, y)
    assert found.tuning_.accuracy > 0.7
