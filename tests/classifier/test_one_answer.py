"""Labels, probabilities, their logarithms and scores name the same class, however alike the classes are."""

from __future__ import annotations

import numpy as np
import pytest
from problems import given

from kcrc import decisions, projections
from kcrc.confidence.calibration import Calibration, Familiarity
from kcrc.method.evidence import leading

KINDS = pytest.mark.parametrize("kind", [np.float32, np.float64])


def check_one_answer(classifier, X):
    """What scikit-learn's checks ask for, of any queries."""
    labels, classes = classifier.predict(X), classifier.classes_
    p, logs, scores = classifier.predict_proba(X), classifier.predict_log_proba(X), classifier.decision_function(X)
    np.testing.assert_array_equal(classes[p.argmax(axis=1)], labels)
    np.testing.assert_array_equal(np.argsort(logs, axis=1, kind="stable"), np.argsort(p, axis=1, kind="stable"))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-6 if p.dtype == np.float32 else 1e-12)
    named = (scores > 0).astype(int) if len(classes) == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(classes[named], labels)


OPTIONS = {
    "local": {"n_neighbors": 9},
    "nearest": {"n_neighbors": 1},
    "global": {"n_neighbors": None},
    "gram": {"n_neighbors": 9, "form": "gram"},
    "raw": {"n_neighbors": 9, "form": "raw", "kernel": "linear"},
    "classes": {"n_neighbors": 2, "locality": "classes"},
    "sparse": {"n_neighbors": 9, "coder": "lasso"},
    **{f"by {name}": {"n_neighbors": 9, "decision": name} for name in decisions.names()},
    **{
        name: {"n_neighbors": None, "form": "gram", "projection": projections.make(name, n_components=0.5)}
        for name in ("kpca", "kfda", "random")
    },
}


@KINDS
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", OPTIONS)
def test_where_classes_cannot_be_told_apart(name, n_classes, kind):
    """Every example stands in every class: what decides between them is rounding, or nothing."""
    X = np.repeat(np.random.default_rng(1).normal(size=(9, 3)), n_classes, axis=0)
    classifier = given(**{"gamma": 0.3, **OPTIONS[name]}).fit(X, np.tile(np.arange(n_classes), 9))
    queries = np.concatenate([X[::n_classes], np.random.default_rng(2).normal(size=(60, 3))]).astype(kind)
    check_one_answer(classifier, queries)
    for query in queries[:9]:
        check_one_answer(classifier, query[None])


@KINDS
@pytest.mark.parametrize("name", ["kpca", "kfda", "random"])
def test_where_residuals_are_nearly_alike(name, kind):
    """Half the directions of a projection reach some queries hardly at all."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    X = np.array([[1.0, 4.3], [2.0, 0.9], [-1.6, 2.9]])[y] + rng.normal(size=(120, 2))
    classifier = given(**OPTIONS[name], scaling="unit", gamma="scale").fit(X, y)
    check_one_answer(classifier, X.astype(kind))


@KINDS
@pytest.mark.parametrize("power", [0, 1, 2, -1])
def test_residuals_a_few_units_in_the_last_place_apart(power, kind):
    rng = np.random.default_rng(0)
    size = 14 if power == 0 else 1  # gaps of powers grow with the residuals
    residuals = 10.0 ** rng.uniform(-size, size, (500, 1)) * (1.0 + 2.0**-52 * rng.integers(0, 4, (500, 6)))
    winner = residuals.argmin(axis=1)
    calibration = Calibration(0.5, 0.01, 0.3, 0.01, power, 100, Familiarity(), 0.02)
    p = calibration.probabilities(residuals)
    np.testing.assert_array_equal(p.argmax(axis=1), winner)
    assert ((p == p.max(axis=1, keepdims=True)).sum(axis=1) == 1).all()
    np.testing.assert_array_equal(np.argsort(np.log(p), axis=1, kind="stable"), np.argsort(p, axis=1, kind="stable"))
    np.testing.assert_allclose(p, 1 / 6, rtol=1e-12)  # nobody is far ahead of what cannot be told apart
    for values in (p, 1.0 / (1.0 + residuals)):
        led = leading(values.astype(kind), winner)
        assert led.dtype == kind
        np.testing.assert_array_equal(led.argmax(axis=1), winner)
        np.testing.assert_allclose(led, values, rtol=1e-6)


def test_values_that_vanish_still_have_a_leader():
    led = leading(np.zeros((2, 3), np.float32), np.array([2, 0]))
    np.testing.assert_array_equal(led.argmax(axis=1), [2, 0])
    assert (led >= 0).all()


def test_what_leads_already_is_left_as_it_is():
    values = np.random.default_rng(3).random((5, 4))
    assert leading(values, values.argmax(axis=1)) is values
    alone = np.ones((3, 1))
    assert leading(alone, np.zeros(3, int)) is alone
