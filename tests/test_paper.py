"""The three tiers agree: paper.py for one query, and the pipeline for a batch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import given as settled
from problems import problem
from same_answers import STOPPED, assert_same_parts, assert_same_residuals

from kcrc import coding, paper

GAMMA, MU = 0.2, 0.05


def euclidean(a, b):
    return float(np.sqrt(np.sum((a - b) ** 2)))


def manhattan(a, b):
    return float(np.abs(a - b).sum())


def agree(clf, X, y, Xq, kernel, form):
    """Coefficients and residuals of every coded query, recomputed by paper.py from its neighbours alone."""
    evidence = clf.explain(Xq)
    assert len(evidence.rows) == len(Xq) > 0
    coded = 0
    for i, q in enumerate(Xq):
        rows = evidence.rows[i][evidence.rows[i] >= 0]
        if evidence.how[i] != 0:
            assert len(set(y[rows])) == 1 or evidence.how[i] == 2
            assert evidence.labels[i] == y[rows[0]]
            continue
        coded += 1
        G = np.array([[kernel(a, b) for b in X[rows]] for a in X[rows]])
        k = np.array([kernel(a, q) for a in X[rows]])
        if form == "gram":
            x, residuals = paper.kcrc_rls(G, k, y[rows], MU)
        else:
            x, residuals = paper.kcrc_rkhs(G, k, kernel(q, q), y[rows], MU)
        assert_same_parts(evidence.coefficients[i : i + 1, : len(rows)], x[None])
        of_classes = np.searchsorted(clf.classes_, list(residuals))
        assert_same_residuals(evidence.residuals[i, of_classes], list(residuals.values()))
    return coded


@pytest.mark.parametrize("form", ["gram", "rkhs"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("K", [1, 2, 15, 40, None])
@pytest.mark.parametrize("seed", range(3))
def test_pipeline_equals_the_paper(form, kernel, K, seed):
    X, y, Xq = problem(seed)
    X[7] = X[3]  # a duplicate of another class
    X[11], y[11] = X[10], y[10]  # and one of the same
    y[0] = 9  # a class with one example
    Xq[0] = X[5]  # a query that is stored
    clf = settled(K, kernel=kernel, gamma=GAMMA, mu=MU, form=form).fit(X, y)
    function = paper.rbf(GAMMA) if kernel == "rbf" else paper.linear
    agree(clf, X, y, Xq, function, form)
    labels = [paper.naive_kcrc_lcd(X, y, q, euclidean, K or len(X), function, MU, form) for q in Xq]
    np.testing.assert_array_equal(clf.predict(Xq), labels)


@pytest.mark.parametrize("form", ["gram", "rkhs"])
def test_coarse_to_fine_and_both_distance_rules_equal_the_paper(form):
    X, y, Xq = problem(11)
    beta = 3.0
    clf = settled(10, n_candidates=25, distance="manhattan", kernel="exp", gamma=1 / beta**2, mu=MU, form=form).fit(
        X, y
    )
    kernel = paper.from_distance(manhattan, beta)
    assert agree(clf, X, y, Xq, kernel, form) > 0
    labels = [paper.practical_kcrc_lcd(X, y, q, euclidean, 25, manhattan, 10, kernel, MU, form) for q in Xq]
    np.testing.assert_array_equal(clf.predict(Xq), labels)
    clf = settled(12, kernel="polarisation", mu=MU, form=form).fit(X, y)
    kernel = paper.polarisation(lambda a, b: euclidean(a, b) ** 2)
    assert agree(clf, X, y, Xq, kernel, form) > 0


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 30),
    d=st.integers(1, 5),
    K=st.integers(1, 40),
    form=st.sampled_from(["gram", "rkhs"]),
    grid=st.booleans(),
)
def test_pipeline_equals_the_paper_on_any_problem(seed, n, d, K, form, grid):
    X, y, Xq = problem(seed, n=n, d=d, classes=min(3, n))
    if grid:  # small whole numbers: many exact ties and duplicates
        X, Xq = np.round(X), np.round(Xq)
    clf = settled(K, kernel="rbf", gamma=GAMMA, mu=MU, form=form).fit(X, y)
    agree(clf, X, y, Xq, paper.rbf(GAMMA), form)


def test_the_global_algorithm_is_the_local_one_with_all_neighbours():
    X, y, Xq = problem(12)
    for form in ("gram", "rkhs"):
        everywhere = [paper.kcrc(X, y, q, paper.rbf(GAMMA), MU, form) for q in Xq]
        clf = settled(None, gamma=GAMMA, mu=MU, form=form).fit(X, y)
        np.testing.assert_array_equal(clf.predict(Xq), everywhere)


def test_a_query_that_resembles_nothing_is_the_nearest_examples_class():
    X, y, _ = problem(13)
    far = np.full((1, 6), 1e3)
    nearest = y[np.argmin([euclidean(a, far[0]) for a in X])]
    for K in (20, None):
        clf = settled(K, gamma=1.0).fit(X, y)
        assert clf.predict(far)[0] == nearest
        assert clf.explain(far).to_dict()["how"] == "nearest"
    assert paper.naive_kcrc_lcd(X, y, far[0], euclidean, 20, paper.rbf(1.0), MU, "rkhs") == nearest


def test_predict_and_explain_agree_where_squares_vanish_in_single_precision():
    """Kernel values near 1e-25: their squares are 0 in single precision."""
    X, y, _ = problem(13, n=5, d=2)
    X = X.astype(np.float32)
    clf = settled(None, gamma=1.0, form="gram", mu=1.0).fit(X, y)
    far = X[:1] + np.linspace(2.0, 9.0, 40, dtype=np.float32)[:, None]
    evidence = clf.explain(far)
    np.testing.assert_array_equal(clf.predict(far), evidence.labels)
    nearest = y[((X[None] - far[:, None]) ** 2).sum(axis=2).argmin(axis=1)]
    np.testing.assert_array_equal(evidence.labels[evidence.how == 2], nearest[evidence.how == 2])
    assert (evidence.how == 2).any()


@pytest.mark.parametrize("K", [12, None])
def test_the_robust_pipeline_equals_algorithm_2(K):
    X, y, Xq = problem(4, n=30, queries=4)
    clf = settled(K, kernel="rbf", gamma=GAMMA, mu=MU, form="gram", coder=coding.make("robust", mu=MU, tol=1e-9))
    evidence = clf.fit(X, y).explain(Xq)
    kernel = paper.rbf(GAMMA)
    assert len(evidence.rows) == len(Xq) == 4
    for i, q in enumerate(Xq):
        rows = evidence.rows[i]
        G = np.array([[kernel(a, b) for b in X[rows]] for a in X[rows]])
        x, residuals = paper.krcrc(G, np.array([kernel(a, q) for a in X[rows]]), y[rows], MU)
        assert_same_parts(evidence.coefficients[i : i + 1], x[None], STOPPED)
        assert_same_residuals(evidence.residuals[i], [residuals.get(c, np.inf) for c in range(4)], STOPPED)
