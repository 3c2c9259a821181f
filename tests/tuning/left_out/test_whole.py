"""Left-out answers over a global dictionary, from one inverse: those of a classifier that never saw the example."""

from __future__ import annotations

import numpy as np
import pytest
from problems import given, problem
from same_answers import assert_same_parts, assert_same_residuals
from sklearn.kernel_ridge import KernelRidge

from kcrc import decisions
from kcrc.method.coding.base import Coder
from kcrc.method.coding.ridge import Ridge
from kcrc.method.evidence import UNANIMOUS
from kcrc.method.kernels.definite import IndefiniteKernelWarning
from kcrc.tuning.left_out import answers
from kcrc.tuning.left_out.answers import answers_without
from kcrc.tuning.left_out.exclusion import Exclusion
from kcrc.tuning.left_out.whole import whole_ridge


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
        assert_same_residuals(one.residuals, due.residuals)
        assert_same_parts(one.contributions, due.contributions)
        assert_same_parts(one.coefficients, due.coefficients)
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


def test_equal_examples_leave_together():
    X, y, _ = problem(6, n=40)
    X[1], y[1] = X[0], y[0]  # equal examples leave together
    clf = given(None, form="rkhs", gamma=0.2, mu=0.05).fit(X, y)
    rest = np.arange(len(X)) > 1
    due = given(None, form="rkhs", gamma=0.2, mu=0.05).fit(X[rest], y[rest]).explain(X[:1])
    assert_same_residuals(left_out(clf)[0].residuals, due.residuals)


def asked_without(clf, exclusion):
    model = clf.model_
    parts = answers_without(model, exclusion, np.arange(len(model)), lambda evidence, _: evidence)
    return [one for part in parts for one in part]


@pytest.mark.parametrize("decision", ["ratio", "residual", "sum"])
@pytest.mark.parametrize("together", ["pairs", "classes", "all but one class"])
def test_groups_are_left_out_as_by_a_classifier_without_them(decision, together):
    X, y, _ = problem(9, n=40)
    groups = {"pairs": np.arange(40) // 2, "classes": y, "all but one class": np.where(y == 3, y, 0)}[together]
    X[5] = X[4]
    options = {"decision": decision, "form": "rkhs", "mu": 0.05, "gamma": 0.2}
    clf = given(None, **options).fit(X, y)
    model = clf.model_
    exclusion = Exclusion.of(model).with_groups(model, groups)
    found = asked_without(clf, exclusion)
    assert len(found) == 40
    for i, one in enumerate(found):
        rest = groups != groups[i]
        due = given(None, **options).fit(X[rest], y[rest]).explain(X[i : i + 1])
        assert one.labels[0] == due.labels[0]
        if len(np.unique(y[rest])) == 1:
            assert one.how[0] == UNANIMOUS
            continue
        real = one.rows[0] >= 0
        np.testing.assert_array_equal(one.rows[0][real], np.flatnonzero(rest)[due.rows[0]])
        of_classes = np.searchsorted(clf.classes_, due.classes)
        assert_same_residuals(one.residuals[:, of_classes], due.residuals)
        assert_same_parts(one.coefficients[:, real], due.coefficients)
        np.testing.assert_array_equal(one.coefficients[0][~real], 0.0)


@pytest.mark.parametrize("without_classes", [False, True])
def test_many_are_asked_only_where_no_trial_factorises(monkeypatch, without_classes):
    X, y, _ = problem(10, n=2 * answers.GLOBAL_TRIALS)
    X[1], y[1] = X[0], y[0]
    factorised = []
    original = Ridge.factorise
    monkeypatch.setattr(Ridge, "factorise", lambda self, one: factorised.append(len(one.gram)) or original(self, one))
    monkeypatch.setattr(Ridge, "code", Coder.code)
    for options, many in (({"form": "rkhs"}, True), ({"form": "gram"}, False), ({"form": "rkhs", "mu": 0.0}, False)):
        model = given(None, **{"gamma": 0.2, "mu": 0.05, "n_jobs": 1, **options}).fit(X, y).model_
        factorised.clear()
        left = answers.LeftOut.of(model, Exclusion.of(model), without_classes=without_classes)
        assert len(left) == len(X) if many else len(left) <= answers.GLOBAL_TRIALS
        assert bool(factorised) != many


def test_a_kernel_that_is_not_positive_keeps_the_bound():
    X, y, _ = problem(11, n=2 * answers.GLOBAL_TRIALS)
    with pytest.warns(IndefiniteKernelWarning):
        clf = given(None, form="rkhs", kernel=lambda A, B: np.tanh(A @ B.T + 1.0), mu=1e-6).fit(X, y)
    assert whole_ridge(clf.model_)
    assert answers.affordable_trials(clf.model_) <= answers.GLOBAL_TRIALS
