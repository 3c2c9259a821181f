"""The union of the nearest of several distances, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from problems import given, problem

from kcrc.method.distances import Unified
from kcrc.method.neighbours.refine import union_of, union_ranks


def test_a_union_by_hand():
    found = [np.array([[4, 1, 7], [0, 1, 2]]), np.array([[1, 9, 4], [2, 0, 1]])]
    np.testing.assert_array_equal(union_of(found), [[1, 4, 7, 9], [0, 1, 2, -1]])
    np.testing.assert_array_equal(union_of([np.array([[-1, 3]]), np.array([[-1, -1]])]), [[3]])


def test_ranks_by_hand():
    first = np.array([[0.3, 0.1, 0.2, 0.9]])
    second = np.array([[5.0, 8.0, 5.0, 1.0]])
    # Places: first 2, 0, 1, 3; second 1, 3, 2 (a tie, the larger row later), 0.
    np.testing.assert_array_equal(union_ranks([first, second], np.array([[0, 1, 2, 3]])), [[1, 0, 1, 0]])


@pytest.mark.parametrize("n_candidates", [None, 25])
def test_the_dictionary_is_the_k_nearest_of_each(n_candidates):
    X, y, Q = problem(1, n=80)
    unified = Unified(["euclidean", "chessboard", "correlation"])
    classifier = given(5, distance=unified, kernel="exp", n_candidates=n_candidates).fit(X, y)
    evidence = classifier.explain(Q)
    difference = Q[:, None] - X[None]
    far = [
        np.sqrt((difference**2).sum(-1)),
        np.abs(difference).max(-1),
        np.array([[1 - np.corrcoef(a, b)[0, 1] for b in X] for a in Q]),
    ]
    for i, rows in enumerate(evidence.rows):
        allowed = np.argsort(far[0][i])[:n_candidates]
        members = [allowed[np.argsort(one[i, allowed], kind="stable")[:5]] for one in far]
        assert set(rows[rows >= 0]) == set(np.concatenate(members))
        assert (np.diff(evidence.distances[i][rows >= 0]) >= 0).all()
        assert not evidence.contributions[i][rows < 0].any()
    assert (evidence.rows < 0).any()  # unions differ in size here: there is padding


def test_padding_changes_no_answer():
    X, y, Q = problem(2, n=80)
    classifier = given(4, distance=Unified(["euclidean", "chessboard"]), kernel="exp").fit(X, y)
    together = classifier.explain(Q)
    assert len(together.labels) == len(Q) == 7
    for i in range(len(Q)):
        alone = classifier.explain(Q[i : i + 1])
        np.testing.assert_allclose(alone.residuals[0], together.residuals[i], rtol=1e-8)
        assert alone.labels[0] == together.labels[i]


def test_one_member_is_that_distance_alone():
    X, y, Q = problem(3, n=60)
    one = given(9, distance=Unified(["manhattan"]), kernel="exp").fit(X, y).explain(Q)
    plain = given(9, distance="manhattan", kernel="exp").fit(X, y).explain(Q)
    np.testing.assert_array_equal(one.rows, plain.rows)
    np.testing.assert_array_equal(one.labels, plain.labels)


def test_all_examples_of_every_member_is_the_global_dictionary():
    X, y, Q = problem(4, n=40)
    unified = Unified(["euclidean", "manhattan"])
    everything = given(40, distance=unified, kernel="exp").fit(X, y).explain(Q)
    whole = given(None, distance=unified, kernel="exp").fit(X, y).explain(Q)
    np.testing.assert_allclose(everything.residuals, whole.residuals, rtol=1e-7)
