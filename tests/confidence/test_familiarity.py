"""Answers that are equally clear are told apart by how near the query is, and the promises stay as they were."""

from __future__ import annotations

import numpy as np
import pytest
from problems import given
from sklearn.datasets import load_digits

from kcrc.confidence.calibration import Calibration, Familiarity
from kcrc.method.evidence import log_distance


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return given(25, decision="residual", random_state=0).fit(X[:900], y[:900]), X[900:1400], y[900:1400]


def test_no_two_answers_share_a_probability(digits):
    clf, Q, _ = digits
    assert (clf.explain(Q).how == 1).mean() > 0.3  # those shared one before
    assert len(np.unique(clf.predict_proba(Q).max(axis=1))) == len(Q)


def test_it_is_as_well_calibrated_as_without(digits):
    clf, Q, y = digits
    evidence = clf.explain(Q)
    calibration = clf.confidence_.calibration
    assert calibration.familiarity.slope > 0
    p = calibration.probabilities(evidence.residuals, log_distance(evidence))
    plain = calibration.probabilities(evidence.residuals)
    np.testing.assert_array_equal(p, clf.predict_proba(Q))
    right = p.argmax(axis=1) == y
    for one in (p, plain):
        assert abs(one.max(axis=1).mean() - right.mean()) < 0.015
    loss, before = (-np.log(one[np.arange(len(y)), y]).mean() for one in (p, plain))
    assert loss < before + 0.003


def test_doubt_grows_with_distance_and_is_one_in_the_mean():
    far = np.random.default_rng(0).normal(3.0, 2.0, 500)
    for known in Familiarity.candidates(far):
        factor = known.factor(far)
        assert factor.mean() == pytest.approx(1.0)
        assert (np.diff(factor[np.argsort(far)]) > 0).all()
    assert Familiarity.candidates(np.ones(20)) == []
    assert Familiarity.candidates(np.full(20, np.nan)) == []
    np.testing.assert_array_equal(known.factor(np.array([np.nan, np.inf])), [1.0, 1.0])


def test_classes_rank_as_before_and_rows_sum_to_one():
    rng = np.random.default_rng(1)
    residuals = rng.lognormal(size=(200, 6))
    residuals[rng.random(residuals.shape) < 0.5] = np.inf
    residuals[:, 0] = rng.lognormal(size=200)
    far = rng.normal(size=200)
    fitted = Calibration.fit(residuals, rng.integers(6, size=200), far)
    p = fitted.probabilities(residuals, far)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert (p > 0).all()
    order = np.argsort(residuals, axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(p, order, 1), axis=1) <= 1e-12).all()


def test_two_classes_grow_with_the_decision_function_also_where_neighbours_agree():
    rng = np.random.default_rng(2)
    y = np.arange(200) % 2
    X = np.where(y == 1, 2.0, -2.0)[:, None] + rng.normal(size=(200, 3))
    clf = given(10, random_state=0).fit(X[:120], y[:120])
    score, p = clf.decision_function(X[120:]), clf.predict_proba(X[120:])[:, 1]
    assert (np.abs(score) > 1).sum() > 20
    assert np.abs(score).max() <= 2
    assert (np.diff(p[np.argsort(score, kind="stable")]) >= -1e-12).all()
    np.testing.assert_array_equal(score > 0, clf.predict(X[120:]) == 1)


def test_a_global_dictionary_says_the_same_with_and_without_evidence():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    clf = given(None, random_state=0).fit(X, y)
    p = clf.confidence_.probabilities(clf.explain(X[:5]))
    np.testing.assert_allclose(clf.predict_proba(X[:5]), p, rtol=1e-9)
