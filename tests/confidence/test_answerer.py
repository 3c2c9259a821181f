"""The answerer and the classifier are two faces of one thing, and what_if is a question to other examples."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from problems import Costly, given, problem

from kcrc.classifier.saving import load_answerer
from kcrc.errors import DataError, ParameterError, StateError
from kcrc.method.distances import Unified
from kcrc.updates.what_if import without_examples

WAYS = {
    "nearest": {"n_neighbors": 12},
    "gram": {"n_neighbors": 12, "form": "gram"},
    "raw": {"n_neighbors": 12, "form": "raw"},
    "whitened": {"n_neighbors": 12, "scaling": "within", "decision": "residual"},
    "one neighbour": {"n_neighbors": 1},
    "more than there are": {"n_neighbors": 500},
    "all": {"n_neighbors": None},
    "classes": {"n_neighbors": 2, "locality": "classes"},
    "candidates": {"n_neighbors": 6, "n_candidates": 15, "distance": "manhattan", "kernel": "exp"},
    "union": {"n_neighbors": 6, "distance": Unified(["euclidean", "manhattan"]), "kernel": "exp"},
    "costly": {"n_neighbors": 6, "distance": Costly(), "kernel": "exp"},
    "lasso": {"n_neighbors": 8, "coder": "lasso", "form": "gram"},
}


def fitted(way: str, dtype: str = "float64", n: int = 48):
    X, y, Xq = problem(3, n=n)
    X[5] = X[1]  # two examples at one place: a tie
    return given(**WAYS[way]).fit(X.astype(dtype), np.array(list("abcd"))[y]), Xq.astype(dtype)


def same_evidence(one, other) -> None:
    assert len(one) == len(other)
    for field in dataclasses.fields(one):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name), err_msg=field.name)


@pytest.mark.parametrize("way", WAYS)
def test_the_answerer_says_what_the_classifier_says(way: str) -> None:
    clf, Xq = fitted(way)
    found = clf.answerer_.answer(Xq, reject=0.2, coverage=0.8, explain=True)
    same_evidence(found.evidence, clf.explain(Xq))
    assert found.labels.tolist() == clf.predict(Xq, reject=0.2).tolist()
    assert clf.answerer_.labels(Xq).tolist() == clf.predict(Xq).tolist()
    # A global dictionary is summed in another order where nothing has to be explained.
    np.testing.assert_allclose(found.probabilities, clf.predict_proba(Xq), rtol=1e-12)
    np.testing.assert_array_equal(found.members, clf.predict_set(Xq, coverage=0.8))
    assert (found.unknown == (found.labels == "unknown")).all()


def test_what_is_unknown_has_a_reason() -> None:
    clf, Xq = fitted("nearest")
    found = clf.answerer_.answer(np.concatenate([Xq, 50.0 * Xq[:3]]), reject=0.2)
    assert [why is not None for why in found.why] == found.unknown.tolist()
    assert found.unknown[-3:].all()
    assert all(re.match(r"it resembles no class: it is \d+\.\d times as far from ", why) for why in found.why[-3:])
    plain = clf.answerer_.answer(Xq)
    assert not plain.unknown.any()
    assert plain.why == (None,) * len(Xq)


def test_one_class_has_labels_and_no_probability() -> None:
    X, _, Xq = problem(3, n=20)
    clf = given(6).fit(X, ["a"] * len(X))
    found = clf.answerer_.answer(Xq)
    assert set(found.labels) == set(clf.predict(Xq)) == {"a"}  # scikit-learn's contract: a label is one of classes_
    assert set(found.why) == {"there is only one class, a, so nothing can be told apart"}
    assert np.isnan(found.probability).all()
    assert found.likely(0) == {}
    asked = clf.answerer_.answer(np.concatenate([X, 50.0 * X]), reject=0.1)  # whether they are like the one class
    assert asked.unknown[len(X) :].all()
    assert asked.unknown[: len(X)].mean() <= 0.2
    assert [why is None for why in asked.why] == (~asked.unknown).tolist()


def test_nothing_in_common_with_any_example_is_a_reason() -> None:
    """Orthogonal to all examples under a linear kernel: the nearest is the answer, and nothing speaks for it."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(30, 4)) + 3, np.zeros(30)])
    clf = given(6, kernel="linear").fit(X, np.repeat(["a", "b", "c"], 10))
    found = clf.answerer_.answer(np.array([[0.0, 0.0, 0.0, 0.0, 1.0], X[0] + 0.1]))
    assert found.why == ("it resembles no example: the nearest has nothing in common with it", None)


def test_one_vector_is_a_batch_of_one() -> None:
    answerer = fitted("nearest")[0].answerer_
    Xq = fitted("nearest")[1]
    for alone in (Xq[2], Xq[2:3], Xq[2].tolist(), [Xq[2].tolist()]):
        same_evidence(answerer.explain(alone), answerer.explain(Xq)[2])


@pytest.mark.parametrize("way", ["nearest", "all", "union"])
def test_a_saved_classifier_answers_without_its_face(way: str, tmp_path) -> None:
    clf, Xq = fitted(way)
    clf.save(tmp_path / "saved.kcrc")
    same_evidence(load_answerer(tmp_path / "saved.kcrc").explain(Xq), clf.explain(Xq))


def test_views_are_taken_as_they_were_given() -> None:
    X, y, Xq = problem(3, n=48)
    distance = Unified({"left": "euclidean", "right": "manhattan"})
    clf = given(6, distance=distance, kernel="exp").fit({"left": X[:, :2], "right": X[:, 2:]}, y)
    asked = {"left": Xq[:, :2], "right": Xq[:, 2:]}
    same_evidence(clf.answerer_.explain(asked), clf.explain(asked))
    with pytest.raises(DataError, match="lacks the view 'right'"):
        clf.answerer_.explain({"left": Xq[:, :2]})


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        (np.zeros((0, 6)), "one sample a row"),
        (np.zeros((2, 5)), "5 numbers, the stored examples 6"),
        (np.array([["a"] * 6]), "Samples are numbers"),
        (np.zeros((2, 3, 2)), r"shape \(3, 2\)"),
        (np.array([[0.0] * 6, [np.nan] * 6]), "contains NaN in row 1"),
        (np.array([[0.0] * 5 + [np.inf]]), "contains infinity in row 0"),
        (np.full((1, 6), 1e80), "Scale the data"),
    ],
)
def test_vectors_that_cannot_be_compared_are_refused(vectors, said: str) -> None:
    with pytest.raises(DataError, match=said):
        fitted("nearest")[0].answerer_.explain(vectors)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_classifier_names_the_row_that_is_no_number(value: float) -> None:
    clf, Xq = fitted("nearest")
    Xq[4, 2] = value
    with pytest.raises(ValueError, match=f"Input X contains {'NaN' if np.isnan(value) else 'inf'}.*row 4"):
        clf.predict(Xq)


def test_too_few_examples_promise_nothing() -> None:
    X, y, Xq = problem(3, n=6)
    answerer = given(3).fit(X, y).answerer_
    assert len(answerer.answer(Xq)) == len(Xq)
    with pytest.raises(StateError, match="8 or more"):
        answerer.answer(Xq, reject=0.1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("way", WAYS)
def test_what_if_is_the_answer_of_a_model_without_these_rows(way: str, dtype: str) -> None:
    clf, Xq = fitted(way, dtype)
    answerer = clf.answerer_
    of_one_class = np.flatnonzero(clf.model_.labels == clf.model_.labels[answerer.explain(Xq[:1]).rows[0, 0]])
    for without in ([1], [1, 5, 20, 33], of_one_class):
        less = dataclasses.replace(answerer, model=without_examples(clf.model_, without), known=clf.confidence_)
        for query in (Xq[0], Xq[1], Xq[2]):
            found, due = answerer.what_if(query, without), less.answer(query, explain=True)
            same_evidence(found.evidence, due.evidence)
            np.testing.assert_array_equal(found.probabilities, due.probabilities)
            assert not np.isin(found.evidence.rows, without).any()


def test_what_if_nothing_is_left_out_is_the_answer() -> None:
    clf, Xq = fitted("nearest")
    same_evidence(clf.answerer_.what_if(Xq[0], []).evidence, clf.explain(Xq[:1]))


def test_what_if_follows_row_numbers_and_leaves_all_as_it_was() -> None:
    clf, Xq = fitted("nearest")
    clf.forget([0, 2])
    before = clf.explain(Xq)
    nearest = before.rows[0, 0]
    assert nearest not in clf.answerer_.what_if(Xq[0], [nearest]).evidence.rows
    same_evidence(clf.explain(Xq), before)
    with pytest.raises(ParameterError, match="No stored example has row number 2"):
        clf.answerer_.what_if(Xq[0], [2])
    with pytest.raises(ParameterError, match="whole numbers"):
        clf.answerer_.what_if(Xq[0], ["wren"])
    with pytest.raises(ParameterError, match="no example left"):
        clf.answerer_.what_if(Xq[0], clf.model_.ids)
