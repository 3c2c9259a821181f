"""The compiled path against the staged one: the same evidence to rounding, for all it covers; and what it does not."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from problems import problem
from same_answers import DOUBLE, assert_same_evidence, assert_same_parts, within

from kcrc import KCRCClassifier
from kcrc.method import compiled_plan as planning
from kcrc.method import pipeline
from kcrc.method.compiled_plan import Stage, plan, why_not
from kcrc.method.evidence import Evidence

pytestmark = pytest.mark.skipif(planning.native is None, reason="the compiled module is not built")


def made(n_neighbors: int | None, **options: Any) -> KCRCClassifier:
    """A classifier with nothing left to choose."""
    fixed = {
        "scaling": "plain", "kernel": "rbf", "gamma": "scale", "mu": 0.05, "form": "rkhs", "decision": "ratio",
        "locality": "atoms",
    }  # fmt: skip
    return KCRCClassifier(n_neighbors, **{**fixed, **options})


@pytest.fixture
def staged(monkeypatch):
    """Evidence of the staged pipeline in float64, whatever the model's storage."""

    def run(clf: KCRCClassifier, X: np.ndarray, y: np.ndarray, Xq: np.ndarray) -> Evidence:
        with monkeypatch.context() as patch:
            patch.setattr(pipeline, "plan", lambda model: None)
            fresh = KCRCClassifier(**clf.get_params()).fit(X.astype(np.float64), y)
            return fresh.explain(Xq.astype(np.float64))

    return run


def agree(fast: Evidence, slow: Evidence, within: float = DOUBLE) -> None:
    np.testing.assert_allclose(fast.energy, slow.energy, rtol=within, atol=within)
    assert_same_evidence(fast, slow, within)


FORMS = [
    {"form": form, "kernel": kernel, "decision": decision, "normalize_columns": normalize}
    for form, kernel in (
        ("rkhs", "rbf"), ("rkhs", "linear"), ("rkhs", "polynomial"), ("rkhs", "exp"), ("gram", "rbf"),
        ("gram", "linear"), ("raw", "linear"),
    )
    for decision in ("ratio", "residual")
    for normalize in (True, False)
]  # fmt: skip


@pytest.mark.parametrize("options", FORMS, ids=lambda o: "-".join(str(v) for v in o.values()))
@pytest.mark.parametrize("K", [1, 9, 100])
def test_equals_the_staged_pipeline(options, K, staged):
    X, y, Xq = problem(3, n=240, d=12, classes=5, queries=40)
    clf = made(K, mu=0.1, gamma=0.05, **options).fit(X, y)
    assert why_not(clf.model_) is None
    agree(clf.explain(Xq), staged(clf, X, y, Xq), within(clf.model_))


@pytest.mark.parametrize("K", [9, 100])
def test_single_precision_is_close(K, staged):
    X, y, Xq = problem(4, n=240, d=12, classes=5, queries=40)
    X, Xq = X.astype(np.float32), Xq.astype(np.float32)
    clf = made(K, mu=0.1, gamma=0.05).fit(X, y)
    agree(clf.explain(Xq), staged(clf, X, y, Xq), within(clf.model_))


@pytest.mark.parametrize(
    "options",
    [
        {"n_candidates": 60, "distance": "manhattan"},
        {"distance": "cosine"},
        {"distance": "correlation", "kernel": "linear"},
        {"distance": "mahalanobis", "kernel": "exp"},
        {"distance": "sqeuclidean", "kernel": "exp"},
        {"distance": "chessboard"},
        {"locality": "classes", "n_neighbors": 3},
        {"scaling": "unit"},
    ],
    ids=str,
)
def test_any_neighbourhood(options, staged):
    X, y, Xq = problem(5, n=240, d=12, classes=6, queries=30)
    y[y == 5] = np.arange((y == 5).sum()) % 2  # classes of unequal size
    clf = made(**{"n_neighbors": 30, "mu": 0.1, "gamma": 0.05, **options}).fit(X, y)
    assert why_not(clf.model_) is None
    agree(clf.explain(Xq), staged(clf, X, y, Xq))


def test_a_given_kernel_matrix(staged):
    X, y, Xq = problem(6, n=120, d=8, classes=4, queries=20)

    def kernel(A, B):
        return np.exp(-0.1 * ((A[:, None] - B[None]) ** 2).sum(-1))

    clf = made(25, kernel="precomputed", mu=0.1).fit(kernel(X, X), y)
    assert why_not(clf.model_) is None
    agree(clf.explain(kernel(Xq, X)), staged(clf, kernel(X, X), y, kernel(Xq, X)))


def test_what_has_no_factor_goes_the_staged_way(staged):
    X, y, Xq = problem(7, n=60, d=5, classes=3, queries=12)
    X[30:] = X[:30]  # every example twice, no penalty: singular
    clf = made(20, kernel="linear", mu=0.0).fit(X, y)
    slow = staged(clf, X, y, Xq)
    fast = clf.explain(Xq)
    np.testing.assert_array_equal(fast.winner, slow.winner)
    np.testing.assert_array_equal(fast.how, slow.how)
    assert_same_parts(fast.coefficients, slow.coefficients)


def test_storing_the_matrix_changes_no_bit():
    X, y, Xq = problem(8, n=150, d=40, classes=4, queries=300)
    clf = made(30, mu=0.05, n_jobs=1).fit(X, y)
    stage = plan(clf.model_)
    assert isinstance(stage, Stage)
    assert stage._matrix is None
    before = clf.explain(Xq)
    for _ in range(40):
        clf.predict(Xq)
    assert stage._matrix is not None
    after = clf.explain(Xq)
    for f in fields(Evidence):
        np.testing.assert_array_equal(getattr(before, f.name), getattr(after, f.name))


def test_no_matrix_beyond_the_budget():
    X, y, Xq = problem(9, n=1000, d=40, classes=4, queries=200)
    clf = made(30, mu=0.05, memory_budget="4MB").fit(X, y)
    for _ in range(40):
        clf.predict(Xq)
    assert plan(clf.model_)._matrix is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("K", [20, 110])
def test_an_answer_does_not_depend_on_its_batch(K, dtype):
    X, y, Xq = problem(10, n=400, d=16, classes=5, queries=61)
    clf = made(K, mu=0.05).fit(X.astype(dtype), y)
    Xq = Xq.astype(dtype)
    together = clf.explain(Xq)
    names = [f.name for f in fields(Evidence) if f.name != "classes"]
    assert {"winner", "residuals", "rows", "coefficients"} <= set(names)
    for which in (slice(0, 1), slice(7, 24), slice(60, 61)):
        part = clf.explain(Xq[which])
        for name in names:
            np.testing.assert_array_equal(getattr(together[which], name), getattr(part, name))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"n_neighbors": None}, "global"),
        ({"form": "gram", "projection": "random"}, "projection"),
        ({"kernel": "exp", "distance": "manhattan"}, "kernel"),
        ({"kernel": lambda A, B: A @ B.T}, "kernel"),
    ],
)
def test_the_reason_is_told(options, reason):
    X, y, _ = problem(11)
    model = made(**{"n_neighbors": 10, **options}).fit(X, y).model_
    assert reason in why_not(model)
    assert plan(model) is None


def test_without_the_compiled_module(monkeypatch):
    X, y, Xq = problem(12)
    expected = made(10).fit(X, y).predict(Xq)
    monkeypatch.setattr(planning, "native", None)
    clf = made(10).fit(X, y)
    assert "not built" in why_not(clf.model_)
    np.testing.assert_array_equal(clf.predict(Xq), expected)


def test_ill_conditioned_problems_are_solved_in_double():
    X, y, _ = problem(13, n=200)
    easy = made(20, mu=0.1).fit(X.astype(np.float32), y)
    hard = made(100, mu=1e-5).fit(X.astype(np.float32), y)
    assert plan(easy.model_)._working == np.float32
    assert plan(hard.model_)._working == np.float64
