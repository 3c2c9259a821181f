"""One query by the prepared call: to the last bit what the same query gets in a batch, and who does not take it."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from problems import given, problem

from kcrc import KCRCClassifier
from kcrc.errors import DataError
from kcrc.method import compiled_plan as preparing
from kcrc.method.compiled_plan import Single, Stage, plan, single
from kcrc.method.evidence import CODED, UNANIMOUS, Evidence
from kcrc.method.neighbours import scan

pytestmark = pytest.mark.skipif(preparing.native is None, reason="the compiled module is not built")
PER_QUERY = [field.name for field in fields(Evidence) if field.name not in ("classes", "decision", "search")]


def prepared(clf: KCRCClassifier) -> Single:
    found = single(clf.model_)
    assert found is not None
    return found


def asked(clf: KCRCClassifier, X: np.ndarray, **how: Any) -> list[Evidence]:
    """Each query in a call of its own, by the prepared call alone."""
    answerer, one = clf.answerer_, prepared(clf)
    found = [one(answerer.scale_queries(X[i : i + 1])) for i in range(len(X))]
    assert all(evidence is not None for evidence in found)
    return [answerer.read(X[i : i + 1], lambda evidence: evidence, explain=True, **how)[0] for i in range(len(X))]


def same_bits(alone: list[Evidence], together: Evidence) -> None:
    assert len(alone) == len(together)
    assert {one.search for one in alone} <= {together.search}
    for i, one in enumerate(alone):
        for name in PER_QUERY:
            mine, theirs = getattr(one, name), getattr(together, name)[i : i + 1]
            assert (mine.dtype, mine.shape, mine.tobytes()) == (theirs.dtype, theirs.shape, theirs.tobytes()), (i, name)


def in_a_batch(clf: KCRCClassifier, X: np.ndarray) -> Evidence:
    (found,) = clf.answerer_.read(X, lambda evidence: evidence, explain=True)
    return found


def mixed(n: int = 150, d: int = 21, queries: int = 23, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A problem with neighbourhoods of one class and of several, and queries that are examples."""
    X, y, Xq = problem(seed, n, d, 3, queries)
    X[y == 0] += 2.0
    Xq[:3] = X[:3]
    return X, y, Xq


@pytest.mark.parametrize("K", [1, 5, 50, 96, 97, 1000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"form": "gram", "decision": "residual"},
        {"kernel": "linear", "form": "raw"},
        {"kernel": "polynomial", "gamma": 0.1, "degree": 2, "normalize_columns": False},
        {"kernel": "exp", "distance": "sqeuclidean", "mu": 1.0},
    ],
)
def test_the_same_bits_alone_and_in_a_batch(K: int, dtype: type, options: dict[str, Any]) -> None:
    X, y, Xq = (part.astype(dtype) if part.dtype.kind == "f" else part for part in mixed())
    clf = given(K, n_jobs=1, **options).fit(X, y)
    together = in_a_batch(clf, Xq)
    same_bits(asked(clf, Xq), together)
    stage = plan(clf.model_)
    assert isinstance(stage, Stage)
    stage.store_matrix()
    same_bits(asked(clf, Xq), together)


def test_some_are_coded_and_some_are_not() -> None:
    X, y, Xq = mixed()
    assert set(in_a_batch(given(5, n_jobs=1).fit(X, y), Xq).how) == {CODED, UNANIMOUS}


@pytest.mark.parametrize("metric", ["unit", "standard", "within"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scaled_alike(metric: str, dtype: type) -> None:
    X, y, Xq = mixed()
    clf = given(12, scaling=metric, n_jobs=1).fit(X.astype(dtype), y)
    same_bits(asked(clf, Xq.astype(dtype)), in_a_batch(clf, Xq.astype(dtype)))


@pytest.fixture
def leading_components(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search by leading components, which so few examples would not get."""
    monkeypatch.setattr(scan, "CODES_PAY_FROM", 0)
    monkeypatch.setattr(scan, "PRUNING_PAYS_FROM", 0)
    monkeypatch.setattr(scan, "TYPICAL_K", 1)
    monkeypatch.setattr(scan, "MEASURING", 0.01)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.usefixtures("leading_components")
def test_a_search_by_leading_components(dtype: type) -> None:
    X, y, Xq = mixed(2000, 40)
    clf = given(30, n_jobs=1).fit(X.astype(dtype), y)
    assert clf.model_.index.scan.basis is not None
    Xq[-1] *= 1e9  # far outside
    same_bits(asked(clf, Xq.astype(dtype)), in_a_batch(clf, Xq.astype(dtype)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_search_by_codes_of_all_coordinates(dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "CODES_PAY_FROM", 0)
    monkeypatch.setattr(scan, "MEASURING", 0.01)
    X, y, Xq = mixed(2000, 40)
    clf = given(30, n_jobs=1).fit(X.astype(dtype), y)
    assert clf.model_.index.scan.codes is not None
    assert clf.model_.index.scan.basis is None
    Xq[-1] *= 1e9  # far outside
    same_bits(asked(clf, Xq.astype(dtype)), in_a_batch(clf, Xq.astype(dtype)))


@pytest.mark.usefixtures("leading_components")
def test_examples_that_come_later_change_no_answer_of_the_model_before() -> None:
    X, y, Xq = mixed(2000, 40)
    clf = given(30, n_jobs=1, gamma=0.05).fit(X, y)
    clf.predict(Xq[:1])
    clf.partial_fit(X[:30] + 0.1, y[:30])  # moves the codes to where they have room to grow
    before, answerer = in_a_batch(clf, Xq), clf.answerer_
    same_bits(asked(clf, Xq), before)
    clf.partial_fit(Xq, np.zeros(len(Xq), int))
    assert (clf.explain(Xq[:1]).rows[0] >= 2030).any()
    assert clf.model_.index.scan.codes is answerer.model.index.scan.codes
    one = single(answerer.model)
    assert one is not None
    same_bits([one(Xq[i : i + 1]) for i in range(len(Xq))], before)


def test_a_query_too_far_to_be_scanned_goes_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "FARTHEST", 1e-3)
    monkeypatch.setattr(scan, "CODES_PAY_FROM", 0)
    monkeypatch.setattr(scan, "PRUNING_PAYS_FROM", 0)
    monkeypatch.setattr(scan, "MEASURING", 0.01)
    X, y, Xq = mixed(2000, 40)
    clf = given(30, n_jobs=1).fit(X, y)
    assert prepared(clf)(Xq[:1]) is None
    np.testing.assert_array_equal(clf.predict(Xq[:1]), clf.predict(Xq)[:1])


def test_threads_share_it() -> None:
    X, y, Xq = mixed(300, queries=60)
    clf = given(40, n_jobs=1).fit(X, y)
    together, answerer = in_a_batch(clf, Xq), clf.answerer_

    def ask(i: int) -> Evidence:
        (found,) = answerer.read(Xq[i % 60][None], lambda evidence: evidence, explain=True)
        return found

    with ThreadPoolExecutor(8) as pool:  # while the kernel matrix is bought too
        found = list(pool.map(ask, range(600)))
    for turn in range(10):
        same_bits(found[60 * turn : 60 * turn + 60], together)


def test_the_kernel_matrix_is_stored_once_it_pays_and_is_then_read() -> None:
    X, y, Xq = mixed(60, 40)
    clf = given(50).fit(X, y)
    one = prepared(clf)
    assert one._ready[0] is None
    for _ in range(40):
        clf.predict(Xq[:1])
    assert one._ready[0] is not None
    assert prepared(clf) is one


@pytest.mark.parametrize(
    "options",
    [
        {"n_neighbors": None},
        {"locality": "classes", "n_neighbors": 2},
        {"n_candidates": 40},
        {"distance": "cosine"},
        {"distance": "manhattan"},
        {"coder": "lasso"},
    ],
)
def test_others_go_the_way_of_a_batch(options: dict[str, Any]) -> None:
    X, y, Xq = mixed()
    clf = given(**{"n_neighbors": 10, **options}).fit(X, y)
    assert single(clf.model_) is None
    np.testing.assert_array_equal(clf.predict(Xq[:1]), clf.predict(Xq)[:1])


def test_what_has_no_factor_goes_the_readable_way() -> None:
    X, y, Xq = mixed()
    X[75:] = X[:75]  # dependent atoms, and no penalty
    clf = given(60, mu=0.0, kernel="linear", n_jobs=1).fit(X, y)
    assert prepared(clf)(Xq[5:6]) is None
    np.testing.assert_allclose(clf.explain(Xq[5:6]).residuals, clf.explain(Xq).residuals[5:6])


def test_all_neighbours_of_one_class_are_coded_where_somebody_asks_why() -> None:
    X, y, Xq = mixed()
    clf = given(5, n_jobs=1).fit(X, y)
    agreed = Xq[in_a_batch(clf, Xq).how == UNANIMOUS]
    together = clf.explain(agreed)
    alone = np.concatenate([clf.explain(agreed[i : i + 1]).coefficients for i in range(len(agreed))])
    assert alone.any(axis=1).all()
    np.testing.assert_array_equal(alone, together.coefficients)


@pytest.mark.parametrize(("strange", "said"), [(np.nan, "NaN"), (np.inf, "infinity"), (1e80, "length")])
def test_a_query_that_is_no_number_is_refused_as_in_a_batch(strange: float, said: str) -> None:
    X, y, Xq = mixed()
    clf = given(5).fit(X, y)
    Xq[0, 3] = strange
    for some in (Xq[:1], Xq):
        with pytest.raises(DataError, match=said):
            clf.predict(some)


def test_a_model_that_is_let_go_is_let_go() -> None:
    X, y, Xq = mixed()
    clf = given(5).fit(X, y)
    clf.predict(Xq[:1])
    left = weakref.ref(clf.model_)
    del clf
    gc.collect()
    assert left() is None
