"""Matrices the caller computed: every verb, also after examples were forgotten, and in files."""

from __future__ import annotations

import numpy as np
import pytest
from problems import GIVEN, problem

from kcrc import KCRCClassifier
from kcrc.errors import DataError, ParameterError

LOCAL = {**GIVEN, "n_neighbors": 8}
WHOLE = {**GIVEN, "n_neighbors": None}
FORGOTTEN = [3, 7, 39]


def squared(A, B):
    return ((A[:, None] - B[None]) ** 2).sum(axis=-1)


def matrices(kind):
    """(n, n) among the examples, labels, and (q, n) of as many queries as there are examples."""
    X, y, Q = problem(1, n=40, queries=40)
    if kind == "distance":
        return squared(X, X), y, squared(Q, X)
    if kind == "kernel":
        return np.exp(-0.1 * squared(X, X)), y, np.exp(-0.1 * squared(Q, X))
    return X @ X.T, y, Q @ X.T


CASES = {
    "distance": ("distance", {"distance": "precomputed"}),
    "distance, local": ("distance", {**LOCAL, "distance": "precomputed", "kernel": "exp"}),
    "distance, global": ("distance", {**WHOLE, "distance": "precomputed", "kernel": "exp"}),
    "kernel": ("kernel", {"kernel": "precomputed"}),
    "kernel, local": ("kernel", {**LOCAL, "kernel": "precomputed"}),
    "kernel, global": ("kernel", {**WHOLE, "kernel": "precomputed"}),
}
BLIND = {  # k(y, y) of a query is not known
    "given": {**WHOLE, "kernel": "precomputed", "form": "gram"},
    "tuned": {"n_neighbors": None, "kernel": "precomputed", "form": "gram"},
}


def same(one, other, rows):
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_allclose(one.residuals, other.residuals, rtol=1e-9)
    np.testing.assert_array_equal(one.rows, rows[other.rows])


@pytest.mark.parametrize("name", CASES)
def test_forgetting_and_choosing_anew_is_fitting_what_is_left(name, tmp_path):
    kind, options = CASES[name]
    A, y, B = matrices(kind)
    keep = np.setdiff1d(np.arange(40), FORGOTTEN)
    fresh = KCRCClassifier(**options, tuning_seconds=1, n_jobs=1).fit(A[np.ix_(keep, keep)], y[keep])
    wanted = fresh.explain(B[:, keep])
    classifier = KCRCClassifier(**options, tuning_seconds=1, n_jobs=1).fit(A, y).forget(FORGOTTEN).retune()
    assert classifier.n_features_in_ == 40
    np.testing.assert_array_equal(classifier.model_.ids, keep)
    same(classifier.explain(B), wanted, keep)
    np.testing.assert_allclose(classifier.predict_proba(B), fresh.predict_proba(B[:, keep]), rtol=1e-9)
    np.testing.assert_array_equal(classifier.predict(B, reject=0.1), fresh.predict(B[:, keep], reject=0.1))
    np.testing.assert_array_equal(classifier.audit().rows, keep[fresh.audit().rows])
    classifier.save(tmp_path / "file")
    same(KCRCClassifier.load(tmp_path / "file").explain(B), wanted, keep)
    classifier.forget([0, 20]).retune()  # a second time
    left = np.setdiff1d(keep, [0, 20])
    again = KCRCClassifier(**options, tuning_seconds=1, n_jobs=1).fit(A[np.ix_(left, left)], y[left])
    same(classifier.explain(B), again.explain(B[:, left]), left)


@pytest.mark.parametrize("name", CASES)
def test_a_file_of_what_is_left_gives_the_same_answers(name, tmp_path):
    kind, options = CASES[name]
    A, y, B = matrices(kind)
    classifier = KCRCClassifier(**options, tuning_seconds=1).fit(A, y).forget(FORGOTTEN)
    classifier.save(tmp_path / "file")
    loaded = KCRCClassifier.load(tmp_path / "file")
    same(loaded.explain(B), classifier.explain(B), np.arange(40))
    np.testing.assert_array_equal(loaded.predict(B), classifier.predict(B))
    loaded.retune()


@pytest.mark.parametrize("name", BLIND)
def test_where_a_querys_own_value_is_unknown_labels_and_scores_do_without(name):
    A, y, B = matrices("products")
    classifier = KCRCClassifier(**BLIND[name], tuning_seconds=1).fit(A, y)
    before = classifier.predict(B)
    X, _, Q = problem(1, n=40, queries=40)
    if name == "given":
        np.testing.assert_array_equal(
            before, KCRCClassifier(**{**BLIND[name], "kernel": "linear"}).fit(X, y).predict(Q)
        )
    np.testing.assert_array_equal(classifier.predict_proba(B).argmax(axis=1), before)
    np.testing.assert_array_equal(classifier.decision_function(B).argmax(axis=1), before)
    assert classifier.audit().asked == 40  # of the examples all is known
    for asked in (classifier.explain, classifier.unknown_score, classifier.predict_set):
        with pytest.raises(DataError, match=r"does not tell k\(y, y\) of a query"):
            asked(B)
    classifier.forget(FORGOTTEN).retune()
    assert classifier.predict(B).shape == before.shape


@pytest.mark.parametrize("options", [{}, LOCAL, {**LOCAL, "form": "gram"}, WHOLE, {"n_neighbors": None}])
def test_where_it_is_needed_the_fit_says_so(options):
    A, y, _ = matrices("products")
    with pytest.raises(DataError, match="varying diagonal"):
        KCRCClassifier(**{**options, "kernel": "precomputed"}, tuning_seconds=1).fit(A, y)


def test_what_a_matrix_cannot_do_is_one_sentence():
    A, y, _ = matrices("distance")
    classifier = KCRCClassifier(**CASES["distance, local"][1]).partial_fit(A, y, classes=[0, 1, 2, 3, 9])
    assert 9 in classifier.classes_
    with pytest.raises(ParameterError, match="partial_fit cannot extend a precomputed matrix"):
        classifier.partial_fit(A[:2], y[:2])
    with pytest.raises(ParameterError, match="class means"):
        KCRCClassifier(**{**CASES["distance, local"][1], "locality": "classes"}).fit(A, y)
    with pytest.raises(DataError, match="square"):
        KCRCClassifier(**CASES["distance, local"][1]).fit(A[:30], y[:30])
