"""Classes are named in one order everywhere: the likeliest first, of equals that which fits better."""

from __future__ import annotations

import numpy as np
import pytest
from problems import given

from kcrc.confidence.advice import Doubt, next_to_label
from kcrc.confidence.answers import answers_of, rank_classes
from kcrc.report.case import Case


def test_equals_are_ordered_by_residual_and_the_winner_is_first():
    p = np.array([[0.01, 0.01, 0.97, 0.01], [0.25, 0.25, 0.25, 0.25], [0.1, 0.4 + 1e-14, 0.4, 0.1]])
    residuals = np.array([[np.inf, 3.0, 1.0, 2.0], [np.inf, np.inf, np.inf, np.inf], [4.0, 2.0, 1.0, 3.0]])
    assert rank_classes(p, residuals, np.array([2, 1, 2])).tolist() == [[2, 3, 1, 0], [1, 0, 2, 3], [2, 1, 3, 0]]


@pytest.fixture(scope="module")
def birds():
    """Seven classes far apart in a row: beside a query's own only its neighbours in the row are near, if any is."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(7), 12)
    names = np.array(["g", "f", "e", "d", "c", "b", "a"])
    clf = given(n_neighbors=16).fit(4.0 * y[:, None] + rng.normal(size=(84, 3)), names[y])
    queries = 4.0 * (np.arange(30) % 7)[:, None] + 1.5 * rng.normal(size=(30, 3))
    return clf, queries


def test_the_second_class_is_the_runner_up_where_others_are_as_likely(birds):
    clf, queries = birds
    answers = answers_of(clf.confidence_, clf.explain(queries))
    one, equal = answers.evidence, 0
    for i in np.flatnonzero(one.runner_up != one.winner):
        first, second = list(answers.likely(i, least=0.0))[:2]
        assert (first, second) == (one.labels[i], one.classes[one.runner_up[i]])
        case = Case("", one[i], None, lambda _: None, lambda _: "", probabilities=answers.probabilities[i])
        assert [name for name, _ in case.likely()[:2]] == [first, second]
        equal += int((answers.probabilities[i] == answers.probabilities[i, one.runner_up[i]]).sum() > 1)
    assert equal


def test_what_to_label_has_the_probabilities_of_predict(birds):
    """Also the share of doubt that grows with the distance."""
    clf, queries = birds
    assert clf.confidence_.calibration.familiarity.slope > 0
    expected = clf.predict_proba(queries)
    for one in clf.advise(queries, count=30).label_next:
        for name, p in one.likely:
            assert p == pytest.approx(expected[one.row, clf.classes_.tolist().index(name)], rel=1e-6)
    evidence = clf.explain(queries)
    np.testing.assert_allclose(Doubt.of(clf.confidence_, evidence).probabilities[:, 0], expected.max(axis=1), rtol=1e-6)


def test_nothing_is_offered_as_second_where_no_other_class_was_compared(birds):
    clf, queries = birds
    few = given(n_neighbors=8).fit(clf.model_.raw, clf.classes_[clf.model_.labels])
    evidence = few.explain(queries)
    doubt = Doubt.of(few.confidence_, evidence)
    doubt.strange[:] = False
    rival = {i: evidence.classes[c] for i, c in enumerate(evidence.runner_up) if c != evidence.winner[i]}
    told = next_to_label(few.model_, doubt, queries, 30)
    assert {one.row in rival for one in told} == {True, False}
    for one in told:
        if one.row in rival:
            assert one.likely[1][0] == rival[one.row]
            assert f"or {rival[one.row]} (" in one.why
        else:
            assert len(one.likely) == 1
            assert " or " not in one.why
