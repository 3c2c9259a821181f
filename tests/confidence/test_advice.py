"""Advice reads off what is known of made-up classes: which is poor, what it is taken for, what to label."""

from __future__ import annotations

import json

import numpy as np
import pytest
from problems import given
from sklearn.exceptions import NotFittedError

from kcrc import KCRCClassifier
from kcrc.confidence.advice import _about
from kcrc.errors import ParameterError, StateError

NAMES = np.array(["far", "left", "right"])
CENTRES = np.array([[20.0, 0.0], [-1.0, 0.0], [1.0, 0.0]])


def drawn(seed, n):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return CENTRES[y] + rng.normal(size=(n, 2)), NAMES[y]


@pytest.fixture(scope="module")
def fitted():
    return given(n_neighbors=15).fit(*drawn(0, 200))


def test_the_classes_that_are_confused_come_first(fitted):
    told = fitted.advise()
    assert {told.classes[0].name, told.classes[1].name} == {"left", "right"}
    poor = told.classes[0]
    assert poor.confused[0][0] == ({"left", "right"} - {poor.name}).pop()
    assert poor.right < 0.95
    assert told.classes[2].name == "far"
    assert told.classes[2].right == 1.0
    assert sum(c.examples for c in told.classes) == told.examples == 200
    assert told.asked == 200
    assert told.right == pytest.approx(fitted.confidence_.left_out.right.mean())
    assert told.doubled.low <= told.doubled.likely <= told.doubled.high
    assert told.curve[-1].accuracy == told.right


def test_it_reads_at_a_glance_and_as_json(fitted):
    told = fitted.advise(drawn(1, 50)[0], count=3)
    text = str(told)
    for part in ("of 200 examples are answered right", "Twice as many examples:", "class", "Label next:"):
        assert part in text
    plain = json.loads(json.dumps(told.to_dict()))
    assert len(plain["label_next"]) == 3
    assert plain["doubled"].keys() == {"likely", "low", "high"}


def test_what_lies_between_classes_and_what_is_strange_is_to_be_labelled(fitted):
    sure = CENTRES[[0, 0, 1, 2]] + [[0, 0], [0.1, 0], [-2, 0], [2, 0]]
    between, strange = [[0.0, 0.1]], [[10.0, 30.0]]
    found = fitted.advise(np.concatenate([sure, between, strange]), count=2).label_next
    assert {c.row for c in found} == {4, 5}
    whys = {c.row: c.why for c in found}
    assert "none of the classes" in whys[5]
    assert "or" in whys[4]
    assert all(0 < c.worth <= 1 for c in found)


@pytest.mark.parametrize(("p", "said"), [(0.004, "under 1%"), (0.01, "1%"), (0.5, "50%"), (0.998, "over 99%")])
def test_no_class_is_said_to_be_certain_or_impossible(p, said):
    assert _about(p) == said


def test_one_of_each_kind_is_enough(fitted):
    bunch = np.array([[10.0, 30.0]]) + 0.01 * np.random.default_rng(2).normal(size=(20, 2))
    queries = np.concatenate([bunch, [[0.0, 0.1]], CENTRES[:1]])
    found = fitted.advise(queries, count=2).label_next
    assert sum(c.row < 20 for c in found) == 1


@pytest.mark.parametrize("count", [0, -1, 2.5, True])
def test_count_is_a_number_of_queries(fitted, count):
    with pytest.raises(ParameterError, match="count"):
        fitted.advise(drawn(1, 5)[0], count=count)


def test_what_cannot_be_advised():
    with pytest.raises(NotFittedError):
        KCRCClassifier().advise()
    with pytest.raises(StateError, match="too few"):
        given(n_neighbors=2).fit(np.eye(4), [0, 0, 1, 1]).advise()


def test_what_cannot_be_advised_is_told_by_its_own_reason(monkeypatch):
    def told(clf):
        with pytest.raises(StateError) as problem:
            clf.advise()
        return str(problem.value)

    few = told(given(n_neighbors=2).fit(np.eye(6), [0, 0, 0, 1, 1, 1]))
    assert "6 examples are too few to ask any (8 or more are needed). Store more" in few
    assert "minutes" not in few
    copies = told(given(n_neighbors=2).fit(np.ones((9, 2)), [0] * 5 + [1] * 4))
    assert "copies and groups leave together" in copies
    X, y = drawn(0, 40)
    monkeypatch.setattr("kcrc.tuning.left_out.answers.WORK", 1.0)
    slow = told(given(n_neighbors=5).fit(X, y))
    assert "asking even a few of 40 would take minutes" in slow
    assert "too few" not in slow


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_neighbors": None},
        {"n_neighbors": 2, "locality": "classes"},
        {"n_neighbors": 10, "scaling": "within"},
        {"n_neighbors": 10, "coder": "lasso", "form": "gram"},
        {"n_neighbors": 10, "distance": "precomputed", "kernel": "exp"},
        {"n_neighbors": 10, "kernel": "precomputed", "scaling": "plain"},
    ],
)
def test_every_kind_of_classifier_is_advised(parameters):
    (X, y), (asked, _) = drawn(0, 60), drawn(1, 30)
    if "precomputed" in parameters.values():
        far = [np.linalg.norm(A[:, None] - X, axis=2) for A in (X, asked)]
        X, asked = far if parameters.get("distance") == "precomputed" else [np.exp(-(table**2) / 8) for table in far]
    told = given(**parameters).fit(X, y).advise(asked, count=4)
    assert [point.examples for point in told.curve][1:] == [30, 60]
    assert told.curve[-1].accuracy == told.right > 0.4
    assert len(told.label_next) == 4


def test_all_right_one_class_and_new_examples():
    rng = np.random.default_rng(3)
    X, y = 50.0 * np.eye(4)[np.arange(80) % 4] + rng.normal(size=(80, 4)), np.arange(80) % 4
    clf = given(n_neighbors=5).fit(X, y)
    told = clf.advise()
    assert told.right == 1.0
    assert told.doubled.high < 0.05
    clf.partial_fit(X[:4] + 0.1, [9] * 4)
    clf.forget([0, 1, 2])
    assert {c.name: c.examples for c in clf.advise().classes} == {0: 19, 1: 19, 2: 19, 3: 20, 9: 4}
    one = given(n_neighbors=5).fit(X, np.zeros(80, int))
    assert "the only class" in one.advise(X[:2]).label_next[0].why
