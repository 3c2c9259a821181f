"""What if examples were not stored, or had other labels: the answers of a classifier for which that is so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problems import given, problem

from confidence.test_answerer import WAYS, fitted, same_evidence
from kcrc import ImageClassifier
from kcrc.errors import ParameterError
from kcrc.updates.turning_points import turning_points
from kcrc.updates.what_if import without_examples

LABELS = np.array(list("abcd"))


def alike(one, other) -> None:
    """The same answers of the same examples, whatever order equally near ones are in."""
    assert one.labels.tolist() == other.labels.tolist()
    assert one.classes.tolist() == other.classes.tolist()
    np.testing.assert_allclose(one.residuals, other.residuals, rtol=1e-6)
    assert [set(row) for row in one.rows.tolist()] == [set(row) for row in other.rows.tolist()]


@pytest.mark.parametrize("way", WAYS)
def test_without_examples_is_as_if_they_were_gone_and_nothing_learned_anew(way: str) -> None:
    clf, Xq = fitted(way)
    gone = [0, 5, 17, 30]
    found = clf.what_if(Xq, without=gone)
    alike(found, replace(clf.answerer_, model=without_examples(clf.model_, np.array(gone))).explain(Xq))
    assert not np.isin(found.rows, gone).any()
    assert len(clf.answerer_.model) == 48


@pytest.mark.parametrize("way", ["nearest", "all", "classes"])
def test_other_labels_are_as_if_they_had_been_given(way: str) -> None:
    X, y, Xq = problem(3, n=48)
    options = {**WAYS[way], "kernel": "linear"}
    then = LABELS[y]
    then[[3, 8, 20]] = ["a", "e", "b"]
    clf = given(**options).fit(X, LABELS[y])
    expected = given(**options).fit(np.delete(X, 7, axis=0), np.delete(then, 7), rows=np.delete(np.arange(48), 7))
    alike(clf.what_if(Xq, without=7, relabelled={3: "a", 8: "e", 20: "b"}), expected.explain(Xq))
    assert clf.classes_.tolist() == list("abcd")


def test_other_labels_are_of_the_kind_the_classes_are() -> None:
    X, y, Xq = problem(3, n=48)
    found = given(12).fit(X, y).what_if(Xq, relabelled={3: 2, 4: 9})
    assert found.classes.dtype.kind == "i"
    assert 9 in found.classes


def test_supposing_nothing_is_the_answer_as_it_is() -> None:
    clf, Xq = fitted("nearest")
    same_evidence(clf.what_if(Xq), clf.explain(Xq))


def test_many_queries_are_answered_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    clf, Xq = fitted("nearest")
    whole = clf.what_if(Xq, without=[0, 1])
    monkeypatch.setattr("kcrc.method.pipeline.chunk_size", lambda *_, **__: 3)
    same_evidence(clf.what_if(Xq, without=[0, 1]), whole)
    assert len(whole) == len(Xq) > 3


@pytest.mark.parametrize(
    ("supposed", "said"),
    [
        ({"without": [99]}, "No stored example has row number 99"),
        ({"without": [0.5]}, "without takes row numbers"),
        ({"without": range(48)}, "no example left"),
        ({"relabelled": {99: "a"}}, "No stored example has row number 99"),
        ({"relabelled": {"x": "a"}}, "relabelled takes row numbers"),
        ({"relabelled": {1: 2}}, "such as 'a', the kind that the classes are; got 2"),
        ({"relabelled": {1: ["a"]}}, "such as 'a', the kind"),
    ],
)
def test_what_cannot_be_supposed_is_told(supposed: dict[str, object], said: str) -> None:
    clf, Xq = fitted("nearest")
    with pytest.raises(ParameterError, match=said):
        clf.what_if(Xq, **supposed)


def test_a_precomputed_matrix_keeps_its_labels() -> None:
    X, y, Xq = problem(3, n=48)
    clf = given(6, distance="precomputed", kernel="exp").fit(np.linalg.norm(X[:, None] - X[None], axis=2), y)
    asked = np.linalg.norm(Xq[:, None] - X[None], axis=2)
    assert not np.isin(clf.what_if(asked, without=[3, 4]).rows, [3, 4]).any()
    with pytest.raises(ParameterError, match="relabelled cannot be asked of a precomputed matrix"):
        clf.what_if(asked, relabelled={3: 1})


def test_turning_points_are_those_of_each_query() -> None:
    clf, Xq = fitted("nearest")
    found = clf.turning_points(Xq[:4])
    assert found == [turning_points(clf.answerer_, query) for query in Xq[:4]]
    before = clf.predict(Xq[:4])
    for number, one in enumerate(found):
        for point in one.points:
            then = clf.what_if(Xq[number : number + 1], without=point.without).labels[0]
            assert then == point.label != before[number]
    assert any(one.points for one in found)


def test_reasons_are_those_of_what_is_rejected() -> None:
    clf, Xq = fitted("nearest")
    asked = np.concatenate([Xq, 50.0 * Xq[:3]])
    found = clf.why_unknown(asked, reject=0.2)
    assert [why is not None for why in found] == (clf.predict(asked, reject=0.2) == "unknown").tolist()
    assert found == list(clf.answerer_.answer(asked, reject=0.2).why)
    assert clf.why_unknown(Xq) == [None] * len(Xq)
    with pytest.raises(ParameterError, match="reject is the share"):
        clf.why_unknown(Xq, reject=2)


@pytest.mark.parametrize("looks", [["pixels"], ["pixels", "hog"]])
def test_pictures_can_be_asked_too(looks: list[str]) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(45) % 3
    images = rng.random((45, 12, 12))
    images[y == 1, :6] += 0.4
    images[y == 2, :, :6] += 0.4
    clf = ImageClassifier(looks=looks, tuning_seconds=1, random_state=0).fit(images[:36] / 1.4, y[:36])
    asked = images[36:] / 1.4
    near = np.unique(clf.explain(asked).rows)
    gone = near[near >= 0][:3].tolist()
    found = clf.what_if(asked, without=gone)
    assert not np.isin(found.rows, gone).any()
    assert clf.what_if(asked, without=np.flatnonzero(y[:36] == 2)).classes.tolist() == [0, 1]
    assert 5 in clf.what_if(asked, relabelled={0: 5}).classes
    np.testing.assert_array_equal(clf.what_if(asked).residuals, clf.explain(asked).residuals)
    assert len(clf.why_unknown(asked, reject=0.1)) == len(asked)
