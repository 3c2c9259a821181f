"""Probabilities, "unknown" and sets: what they promise, on data where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as generated
from hypothesis import settings, strategies
from problems import given
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, roc_auc_score

from kcrc import KCRCClassifier
from kcrc.confidence.calibration import Calibration, ConformalSets
from kcrc.confidence.open_set import mark_unknown
from kcrc.errors import ParameterError, StateError
from kcrc.method.evidence import contrast


def blobs(seed, n, classes=4, d=5, spread=1.0):
    rng = np.random.default_rng(seed)
    centres = 2.0 * np.random.default_rng(99).normal(size=(classes, d))
    y = rng.integers(classes, size=n)
    return centres[y] + spread * rng.normal(size=(n, d)), y


@pytest.fixture(scope="module")
def blob_classifier():
    X, y = blobs(0, 400, spread=1.6)
    return given(n_neighbors=30).fit(X, y)


def residuals_of(seed, batch, n_classes, absent=0.3):
    rng = np.random.default_rng(seed)
    residuals = rng.lognormal(size=(batch, n_classes))
    residuals[rng.random(residuals.shape) < absent] = np.inf
    residuals[np.arange(batch), rng.integers(n_classes, size=batch)] = rng.lognormal(size=batch)
    return residuals


# Probabilities ------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@generated(
    strategies.integers(0, 10**6),
    strategies.integers(2, 9),
    strategies.floats(0.01, 5),
    strategies.floats(1e-4, 0.5),
    strategies.floats(0, 1),
    strategies.sampled_from([-1, 0, 1, 2]),
)
def test_probabilities_sum_to_one_and_rank_as_residuals(seed, n_classes, temperature, doubt, growth, power):
    residuals = residuals_of(seed, 20, n_classes)
    p = Calibration(temperature, doubt, growth, doubt / 2, power).probabilities(residuals)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert (p > 0).all()
    order = np.argsort(residuals, axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(p, order, 1), axis=1) <= 1e-12).all()


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_temperature_that_made_the_answers_is_found(n_classes):
    rng = np.random.default_rng(1)
    residuals = rng.lognormal(size=(6000, n_classes))
    true = residuals ** (-1 / 0.4)
    true = 0.95 * true / true.sum(axis=1, keepdims=True) + 0.05 / n_classes
    truth = np.array([rng.choice(n_classes, p=p) for p in true])
    fitted = Calibration.fit(residuals, truth)
    assert fitted.power == 0
    assert fitted.temperature == pytest.approx(0.4, rel=0.15)
    np.testing.assert_allclose(fitted.probabilities(residuals), true, atol=0.04)
    assert log_loss(truth, fitted.probabilities(residuals)) <= log_loss(truth, true) + 0.002


def test_unanimous_answers_are_as_sure_as_they_were_right():
    truth = np.zeros(400, np.intp)
    truth[:20] = 1  # all neighbours say 0, one in twenty is not
    residuals = np.tile([0.0, np.inf, np.inf], (400, 1))
    p = Calibration.fit(residuals, truth).probabilities(residuals)
    assert p[0, 0] == pytest.approx(0.95, abs=0.01)
    coded = np.tile([0.5, 1.0, 2.0], (400, 1))
    both = Calibration.fit(np.concatenate([residuals, coded]), np.concatenate([truth * 0, truth * 0]))
    first = both.probabilities(residuals[:1])[0, 0]
    assert both.probabilities(coded[:1])[0, 0] <= first < 1.0


def test_all_right_is_not_certainty():
    residuals = np.tile([0.5, 1.0, 2.0], (10, 1))
    p = Calibration.fit(residuals, np.zeros(10, np.intp)).probabilities(residuals)
    assert 0.8 < p[0, 0] < 0.999


def test_probabilities_are_calibrated_on_new_data(blob_classifier):
    X, y = blobs(1, 1500, spread=1.6)
    p = blob_classifier.predict_proba(X)
    confidence, right = p.max(axis=1), p.argmax(axis=1) == y
    for low, high in ((0.3, 0.7), (0.7, 0.95), (0.95, 1.0)):
        some = (confidence >= low) & (confidence < high)
        assert some.sum() > 50
        assert abs(confidence[some].mean() - right[some].mean()) < 0.08
    np.testing.assert_array_equal(blob_classifier.classes_[p.argmax(axis=1)], blob_classifier.predict(X))
    scores = blob_classifier.decision_function(X)
    order = np.argsort(-scores, axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(p, order, 1), axis=1) <= 1e-12).all()


def test_two_classes_grow_with_the_decision_function():
    X, y = blobs(2, 200, classes=2, spread=2.5)
    clf = given(n_neighbors=20).fit(X[:120], y[:120])
    p, score = clf.predict_proba(X[120:])[:, 1], clf.decision_function(X[120:])
    order = np.argsort(score, kind="stable")
    assert (np.diff(p[order]) >= -1e-12).all()
    assert ((score > 0) == (clf.predict(X[120:]) == 1)).all()


def test_contrast():
    residuals = np.array([[1.0, 3.0], [3.0, 1.0], [0.0, np.inf], [np.inf, 0.0], [0.0, 0.0], [2.0, np.inf]])
    np.testing.assert_allclose(contrast(residuals), [-0.5, 0.5, -1.0, 1.0, 0.0, -1.0])


# Unknown ------------------------------------------------------------------------------------------------------------


def test_strangers_are_told_and_false_alarms_are_as_asked(blob_classifier):
    known, _ = blobs(3, 1500, spread=1.6)
    strange = 1.6 * np.random.default_rng(5).normal(size=(300, 5)) + 12.0
    score = blob_classifier.unknown_score(np.concatenate([known, strange]))
    assert roc_auc_score(np.repeat([0, 1], [1500, 300]), score) > 0.97
    for reject in (0.02, 0.1):
        answers = blob_classifier.predict(known, reject=reject)
        assert abs(np.mean(answers == -1) - reject) < 0.035
        assert (blob_classifier.predict(strange, reject=reject) == -1).mean() > 0.9
        kept = answers != -1
        np.testing.assert_array_equal(answers[kept], blob_classifier.predict(known)[kept])


def test_the_residual_counts_where_distance_says_nothing():
    rng = np.random.default_rng(0)
    planes = rng.normal(size=(6, 2, 30))  # classes are planes; a stranger is as near to examples as a member is
    y = np.arange(300) % 6
    X = np.einsum("nk,nkd->nd", rng.normal(size=(300, 2)), planes[y]) + 0.05 * rng.normal(size=(300, 30))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    stored, asked = np.flatnonzero((y < 5) & (np.arange(300) < 200)), np.arange(200, 300)
    clf = given(n_neighbors=40, kernel="linear", decision="residual").fit(X[stored], y[stored])
    assert roc_auc_score(y[asked] == 5, clf.unknown_score(X[asked])) > 0.95


@pytest.mark.parametrize(
    ("classes", "unknown", "mark", "kind"),
    [
        (np.array(["a", "bcd"]), None, "unknown", "U"),
        (np.array([0, 3]), None, -1, "i"),
        (np.array([0, 3], np.uint8), None, -1, "i"),
        (np.array([0, 3]), "none", "none", "O"),
        (np.array(["a", "b"], object), None, "unknown", "O"),
        (np.array([True, False]), None, "unknown", "O"),
        (np.array(["a", "b"]), "nothing like these", "nothing like these", "U"),
    ],
)
def test_the_mark_of_the_unknown(classes, unknown, mark, kind):
    got = mark_unknown(classes[[0, 1, 1]], np.array([False, True, False]), classes, unknown)
    assert got.dtype.kind == kind
    assert got.tolist() == [classes[0], mark, classes[1]]


def test_the_mark_among_floats_and_a_mark_that_is_a_class():
    got = mark_unknown(np.array([0.5, 1.5]), np.array([True, False]), np.array([0.5, 1.5]), None)
    assert np.isnan(got[0])
    assert got[1] == 1.5
    with pytest.raises(ParameterError, match="also a class"):
        mark_unknown(np.array([-1, 1]), np.array([True, False]), np.array([-1, 1]), None)


def test_what_is_refused(blob_classifier):
    X, _ = blobs(0, 3)
    for bad in (0, 1, -0.1, 1.5, True, "5%"):
        with pytest.raises(ParameterError, match="between 0 and 1"):
            blob_classifier.predict(X, reject=bad)
        with pytest.raises(ParameterError, match="between 0 and 1"):
            blob_classifier.predict_set(X, coverage=bad)
    few = given().fit(X, [0, 1, 1])
    assert few.predict_proba(X).shape == (3, 2)
    for verb in (lambda: few.predict(X, reject=0.1), lambda: few.predict_set(X), lambda: few.unknown_score(X)):
        with pytest.raises(StateError, match="8 or more"):
            verb()
    for name in ("predict_proba", "predict_set", "unknown_score"):
        with pytest.raises(NotFittedError):
            getattr(KCRCClassifier(), name)(X)


# Sets ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coverage", [0.8, 0.95])
@pytest.mark.parametrize("options", [{}, {"n_neighbors": 4}, {"scaling": "within"}])
def test_coverage_is_what_was_asked(coverage, options):
    X, y = blobs(0, 500, spread=1.6)
    clf = given(**options).fit(X, y)
    Xq, yq = blobs(7, 2000, spread=1.6)
    inside = clf.predict_set(Xq, coverage=coverage)
    assert inside.shape == (2000, 4)
    assert abs(inside[np.arange(2000), yq].mean() - coverage) < 0.035
    sure = clf.predict_set(Xq, coverage=coverage, allow_empty=False)
    assert sure.any(axis=1).all()
    assert (sure | ~inside).all()


def test_class_conditional_coverage():
    X, y = blobs(0, 900, spread=1.6)
    clf = given().fit(X, y)
    Xq, yq = blobs(8, 3000, spread=1.6)
    inside = clf.predict_set(Xq, coverage=0.9, class_conditional=True)
    for c in range(4):
        assert abs(inside[yq == c, c].mean() - 0.9) < 0.06


def test_a_class_too_small_to_promise_is_in_every_set():
    sets = ConformalSets(np.linspace(0, 1, 105), np.array(["many"] * 100 + ["few"] * 5))
    inside = sets.members(np.full((3, 2), 0.9), np.array(["few", "many"]), 0.9, True)
    assert inside[:, 0].all()
    assert sets.threshold(0.9, sets.names == "few") == np.inf


def test_sets_equal_those_of_mapie():
    mapie = pytest.importorskip("mapie.classification", reason="MAPIE is not installed")
    from sklearn.base import BaseEstimator, ClassifierMixin

    class AsGiven(ClassifierMixin, BaseEstimator):
        """Takes probabilities for its input."""

        def fit(self, X, y):
            self.classes_ = np.arange(X.shape[1])
            self.n_features_in_ = X.shape[1]
            return self

        def predict_proba(self, X):
            return np.asarray(X)

        def predict(self, X):
            return self.classes_[np.argmax(X, axis=1)]

    rng = np.random.default_rng(3)
    P, Q = rng.dirichlet(np.ones(5), size=(2, 300))
    truth = np.array([rng.choice(5, p=p) for p in P])
    for coverage in (0.8, 0.9, 0.95):
        oracle = mapie.SplitConformalClassifier(
            AsGiven().fit(P, truth), confidence_level=coverage, conformity_score="lac", prefit=True
        ).conformalize(P, truth)
        _, wanted = oracle.predict_set(Q)
        mine = ConformalSets(1.0 - P[np.arange(300), truth], truth)
        got = mine.members(1.0 - Q, np.arange(5), coverage, False)
        np.testing.assert_array_equal(got, wanted[:, :, 0])


def test_classes_that_come_and_go_keep_their_columns():
    X, y = blobs(0, 300)
    clf = given().fit(X, y).partial_fit(X[:3] + 30.0, [9, 9, 9]).forget_class(1)
    for answer in (clf.predict_proba(X), clf.predict_set(X), clf.predict_set(X, class_conditional=True)):
        assert answer.shape == (300, 4)
    assert clf.predict_proba(X[:1] + 30.0).argmax() == 3
    assert clf.predict_set(X, class_conditional=True)[:, 3].all()  # nothing is known of the new class
    assert len(clf.predict(X, reject=0.1)) == 300
    clf.retune()
    assert set(clf.confidence_.sets.names) == {0, 2, 3, 9}
