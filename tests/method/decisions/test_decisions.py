"""Every decision against what its formula says of plain vectors; shares that add up; the sum rule as kernel ridge."""

from __future__ import annotations

import numpy as np
import pytest
from problems import given, problem
from sklearn.kernel_ridge import KernelRidge

from kcrc import KCRCClassifier, decisions
from kcrc.errors import FileError
from kcrc.method.evidence import CODED


def nearest_subspace(D, y):
    return np.linalg.norm(y - D @ np.linalg.lstsq(D, y, rcond=None)[0]) ** 2


def of_class(D, y, x, mine):
    return D[:, mine] @ x[mine]


SLOW = {
    "residual": lambda D, y, x, mine: np.linalg.norm(y - of_class(D, y, x, mine)),
    "ratio": lambda D, y, x, mine: np.linalg.norm(y - of_class(D, y, x, mine)) / np.linalg.norm(x[mine]),
    "sum": lambda D, y, x, mine: np.exp(-x[mine].sum()),
    "joint": lambda D, y, x, mine: np.linalg.norm(D @ x - of_class(D, y, x, mine)),
    "croc": lambda D, y, x, mine: (
        np.sqrt(0.5 * nearest_subspace(D[:, mine], y) + 0.5 * np.linalg.norm(y - of_class(D, y, x, mine)) ** 2)
        / np.linalg.norm(x[mine])
    ),
}


def test_every_decision_has_a_formula():
    assert set(SLOW) == set(decisions.names())


@pytest.mark.parametrize("name", decisions.names())
@pytest.mark.parametrize("K", [9, None])
def test_residuals_equal_the_formula(name, K):
    X, y, Xq = problem(3, queries=20)
    clf = given(K, form="raw", kernel="linear", decision=name, mu=0.05).fit(X, y)
    evidence = clf.explain(Xq)
    coded = np.flatnonzero(evidence.how == CODED)
    assert len(coded) > 3
    for i in coded:
        real = evidence.rows[i] >= 0
        D = X[evidence.rows[i][real]].T
        D = D / np.linalg.norm(D, axis=0)
        x, labels = evidence.coefficients[i][real], evidence.neighbour_labels[i][real]
        for c in range(len(evidence.classes)):
            due = SLOW[name](D, Xq[i], x, labels == c) if (labels == c).any() else np.inf
            assert evidence.residuals[i, c] == pytest.approx(due, rel=1e-5, abs=1e-7)
    np.testing.assert_array_equal(clf.predict(Xq), evidence.labels)


@pytest.mark.parametrize("name", decisions.names())
@pytest.mark.parametrize("K", [9, None])
def test_shares_add_up_to_the_lead(name, K):
    X, y, Xq = problem(4, queries=20)
    evidence = given(K, decision=name, mu=0.05).fit(X, y).explain(Xq)
    shares = evidence.shares
    np.testing.assert_allclose(np.abs(shares).sum(axis=1), 1.0)
    against = (evidence.runner_up != evidence.winner) & (evidence.how == CODED)
    assert against.any()
    assert (shares[against].sum(axis=1) > 0).all()  # the winner is ahead


def test_the_sum_rule_over_all_examples_is_kernel_ridge():
    X, y, Xq = problem(7, queries=15)
    clf = given(None, kernel="rbf", gamma=0.3, form="rkhs", decision="sum", mu=0.2).fit(X, y)
    indicators = (y[:, None] == clf.classes_).astype(float)
    due = KernelRidge(alpha=0.2, kernel="rbf", gamma=0.3).fit(X, indicators).predict(Xq)
    np.testing.assert_allclose(-np.log(clf.explain(Xq).residuals), due, atol=1e-6)


@pytest.mark.parametrize("length", [1e-3, 1.0, 60.0, 1e4, 1e7])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_sum_rule_keeps_its_order_however_long_the_query_is(length, sign):
    """Codes are as long as queries, and so are their sums; with the sign turned all of them are below 0."""
    X, y, Xq = problem(12, n=60, queries=40)
    X, Xq = np.abs(X), sign * length * np.abs(Xq)
    options = {"kernel": "linear", "form": "rkhs", "scaling": "plain", "decision": "sum", "mu": 1.0}
    clf = given(None, **options).fit(X, y)
    D = X / np.linalg.norm(X, axis=1, keepdims=True)
    x = np.linalg.solve(D @ D.T + np.eye(len(D)), D @ Xq.T).T
    sums = np.stack([x[:, y == c].sum(axis=1) for c in clf.classes_], axis=1)
    due = sums.argmax(axis=1)
    np.testing.assert_array_equal(clf.predict(Xq), clf.classes_[due])
    np.testing.assert_array_equal(clf.decision_function(Xq).argmax(axis=1), due)
    np.testing.assert_array_equal(clf.predict_proba(Xq).argmax(axis=1), due)
    if length <= 1:
        np.testing.assert_allclose(-np.log(clf.explain(Xq).residuals), sums, atol=1e-6)


@pytest.mark.parametrize("name", [n for n in decisions.names() if not decisions.resolve(n).compiled])
def test_the_rest_is_chosen_for_a_decision_that_was_named(name, tmp_path):
    X, y, Xq = problem(8, n=60, queries=10)
    clf = KCRCClassifier(decision=name, tuning_seconds=0.2, n_jobs=1).fit(X, y)
    assert clf.tuning_.best.decision == name
    assert clf.tuning_.accuracy > 0.5
    clf.save(tmp_path / "a.kcrc")
    np.testing.assert_array_equal(KCRCClassifier.load(tmp_path / "a.kcrc").predict_proba(Xq), clf.predict_proba(Xq))


def test_an_unknown_decision_is_named_with_those_there_are():
    with pytest.raises(ValueError, match="Did you mean 'ratio'"):
        KCRCClassifier(decision="ratoi").fit(np.eye(4), [0, 1, 0, 1])


def test_a_decision_that_a_program_registers_is_known(tmp_path):
    @decisions.base.register("largest")
    class Largest(decisions.resolve("residual").__class__):
        """The class with the largest single coefficient."""

        compiled = False

        def residuals(self, energy, contributed, x, labels, n_classes, *, floor=0.0):
            labels = np.broadcast_to(labels, x.shape)
            of_class = np.stack([np.where(labels == c, x, -np.inf).max(axis=1) for c in range(n_classes)], axis=1)
            return np.exp(-of_class)

    try:
        X, y, Xq = problem(3, queries=20)
        evidence = given(9, decision="largest").fit(X, y).explain(Xq)
        coded = evidence.how == CODED
        largest = evidence.neighbour_labels[np.arange(20), evidence.coefficients.argmax(axis=1)]
        assert coded.any()
        np.testing.assert_array_equal(evidence.winner[coded], largest[coded])
        given(9, decision="largest").fit(X, y).save(tmp_path / "largest.npz")
        again = KCRCClassifier.load(tmp_path / "largest.npz")
        np.testing.assert_array_equal(again.explain(Xq).winner, evidence.winner)
    finally:
        del decisions.base.registry._makers["largest"]
    with pytest.raises(FileError, match="no decision 'largest'; where your program has it, register it"):
        KCRCClassifier.load(tmp_path / "largest.npz")
