"""Left-out answers over a global dictionary, from one inverse: those of a classifier that never saw the example."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from kcrc import decisions
from kcrc.left_out.answers import answers_without
from kcrc.left_out.exclusion import Exclusion
from kcrc.left_out.whole import whole_ridge
from problems import given, problem


def left_out(clf):
    model = clf.model_
    parts = answers_without(model, Exclusion.of(model), np.arange(len(model)), lambda evidence, _: evidence)
    return [one for part in parts for one in part]


@pytest.mark.parametrize("decision", decisions.names())
@pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
def test_each_is_answered_as_by_a_classifier_without_it(decision, kernel):
    X, y, _ = problem(2, n=40)
    options = {"decision": decision, "kernel": kernel, "form": "rkhs", "mu": 0.05, "gamma": 0.2}
    clf = given(None, **options).fit(X, y)
    assert whole_ridge(clf.model_) == (decision != "croc")
    for i, one in enumerate(left_out(clf)):
        rest = np.arange(len(X)) != i
        due = given(None, **options).fit(X[rest], y[rest]).explain(X[i : i + 1])
        rows = np.flatnonzero(rest)[due.rows[0]]
        np.testing.assert_array_equal(one.rows[0], rows)
        np.testing.assert_allclose(one.residuals, due.residuals, rtol=1e-6)
        np.testing.assert_allclose(one.contributions, due.contributions, atol=1e-8)
        np.testing.assert_allclose(one.coefficients, due.coefficients, atol=1e-8)
        assert one.winner[0] == due.winner[0]


def test_with_the_sum_rule_it_is_the_closed_form_of_kernel_ridge():
    X, y, _ = problem(5, n=36)
    clf = given(None, decision="sum", form="rkhs", gamma=0.3, mu=0.1).fit(X, y)
    found = left_out(clf)
    assert len(found) == len(X)
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        ridge = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.3).fit(X[rest], y[rest, None] == clf.classes_)
        np.testing.assert_allclose(-np.log(found[i].residuals[0]), ridge.predict(X[i : i + 1])[0], atol=1e-6)


def test_examples_that_leave_together_are_asked_one_by_one():
    X, y, _ = problem(6, n=40)
    X[1], y[1] = X[0], y[0]  # equal examples leave together
    clf = given(None, form="rkhs", gamma=0.2, mu=0.05).fit(X, y)
    rest = np.arange(len(X)) > 1
    due = given(None, form="rkhs", gamma=0.2, mu=0.05).fit(X[rest], y[rest]).explain(X[:1])
    np.testing.assert_allclose(left_out(clf)[0].residuals, due.residuals, rtol=1e-6)
