"""Shares are 100 % together and balance where the answer turns; references are written from residuals, slowly."""

from __future__ import annotations

import numpy as np
import pytest
from problems import given, problem

from kcrc.method.evidence import HOW, NEAREST, UNANIMOUS, open_set_features


def slow_weights(evidence, i, rival, decision):
    """d_j of query i, one example at a time, from what class residuals are without the formula of contributions."""
    energy, winner = evidence.energy[i], evidence.winner[i]
    labels, x, c = evidence.neighbour_labels[i], evidence.coefficients[i], evidence.contributions[i]
    length = {k: sum(x[j] ** 2 for j in range(len(x)) if labels[j] == k) for k in (winner, rival)}
    weights = []
    for j in range(len(x)):
        if labels[j] not in (winner, rival):
            weights.append(0.0)
            continue
        sign = 1.0 if labels[j] == winner else -1.0
        if decision == "ratio" and rival != winner:
            weights.append(sign * (c[j] / length[labels[j]] + energy * x[j] ** 2 / (length[winner] * length[rival])))
        else:
            weights.append(sign * c[j])
    return np.array(weights)


@pytest.mark.parametrize("decision", ["ratio", "residual"])
@pytest.mark.parametrize("form", ["gram", "rkhs", "raw"])
@pytest.mark.parametrize("K", [3, 15, None])
def test_shares_are_the_weights_in_parts_of_100_percent(decision, form, K):
    X, y, Xq = problem(1, queries=30)
    evidence = given(K, form=form, decision=decision).fit(X, y).explain(Xq)
    shares, rivals = evidence.shares, evidence.runner_up
    np.testing.assert_allclose(np.abs(shares).sum(axis=1), 1.0)
    for i in np.flatnonzero(evidence.how != NEAREST):
        weights = slow_weights(evidence, i, rivals[i], decision)
        np.testing.assert_allclose(shares[i], weights / np.abs(weights).sum(), atol=1e-12)
        if rivals[i] != evidence.winner[i]:  # the weights add up to the lead, so shares balance where it ends
            first, second = evidence.residuals[i, [evidence.winner[i], rivals[i]]]
            assert weights.sum() == pytest.approx(second**2 - first**2, rel=1e-6, abs=1e-9)
    assert (evidence.support[rivals != evidence.winner] > 0.5).all()


@pytest.mark.parametrize("decision", ["ratio", "residual"])
def test_shares_balance_where_the_answer_turns(decision):
    """Along a line from one class to another the support of the first falls to one half, where the other takes over."""
    X, y, _ = problem(5, n=30, classes=2)
    clf = given(None, decision=decision, gamma=0.5).fit(X, y)
    ends = X[y == 0][0], X[y == 1][0]
    low, high = 0.0, 1.0
    for _ in range(45):
        middle = (low + high) / 2
        one = clf.explain(((1 - middle) * ends[0] + middle * ends[1])[None])
        low, high = (middle, high) if one.winner[0] == clf.predict(ends[0][None])[0] else (low, middle)
    assert one.support[0] == pytest.approx(0.5, abs=1e-6)


def test_a_unanimous_answer_says_who_explains_what_and_stays_what_predict_says():
    X, y, _ = problem(1, n=60, classes=3)
    X[y == 0] += 40.0
    clf = given(5, decision="residual").fit(X, y)
    queries = X[y == 0][:4] + 0.1
    evidence = clf.explain(queries)
    assert (evidence.how == UNANIMOUS).all()
    assert evidence.coefficients.any(axis=1).all()
    for i in range(len(queries)):
        G = np.exp(-clf.model_.method.kernel.gamma * _squared(X[evidence.rows[i]], X[evidence.rows[i]]))
        b = np.exp(-clf.model_.method.kernel.gamma * _squared(X[evidence.rows[i]], queries[i : i + 1]))[:, 0]
        x = np.linalg.solve(G + 0.01 * np.eye(5), b)
        parts = x * (2 * b - G @ x)
        np.testing.assert_allclose(evidence.contributions[i], parts, rtol=1e-6)
        np.testing.assert_allclose(evidence.shares[i], parts / np.abs(parts).sum(), rtol=1e-6)
    np.testing.assert_array_equal(evidence.labels, clf.predict(queries))
    np.testing.assert_array_equal(evidence.scores, clf.decision_function(queries))
    np.testing.assert_array_equal(clf.confidence_.probabilities(evidence), clf.predict_proba(queries))
    strange = clf.confidence_.needed_open_set().score(open_set_features(evidence))
    np.testing.assert_array_equal(strange, clf.unknown_score(queries))


def test_what_is_said_of_a_unanimous_answer_does_not_depend_on_the_batch():
    X, y, _ = problem(1, n=60, classes=3)
    clf = given(5, memory_budget="1MiB").fit(X + 9.0 * y[:, None], y)
    queries = np.concatenate([X, X]) + 9.0 * np.concatenate([y, y])[:, None] + 0.1
    together = clf.explain(queries)
    assert (together.how == UNANIMOUS).sum() > 20
    for i in range(0, 60, 7):
        np.testing.assert_allclose(clf.explain(queries[i : i + 1]).shares[0], together.shares[i], rtol=1e-9)


def _squared(a, b):
    return ((a[:, None] - b[None]) ** 2).sum(axis=2)


@pytest.mark.parametrize("K", [4, None])
def test_one_class_alone_is_explained_too(K):
    X, _, Xq = problem(3)
    evidence = given(K).fit(X, np.zeros(len(X), int)).explain(Xq)
    assert (evidence.how == UNANIMOUS).all()
    assert (evidence.residuals == 0).all()
    np.testing.assert_allclose(np.abs(evidence.shares).sum(axis=1), 1.0)
    assert (np.ptp(np.abs(evidence.shares), axis=1) > 0).all()


def test_where_nothing_resembles_the_query_the_nearest_has_it_all():
    X, y, _ = problem(3)
    far = np.full((1, X.shape[1]), 1e3)
    evidence = given(6, gamma=1.0).fit(X, y).explain(far)
    assert evidence.how[0] == NEAREST
    np.testing.assert_array_equal(evidence.shares[0], [1, 0, 0, 0, 0, 0])
    agreed = given(6, gamma=1.0).fit(X, np.zeros(len(X), int)).explain(far)  # coded, in vain: all have the same share
    np.testing.assert_allclose(agreed.shares[0], np.full(6, 1 / 6))


def test_the_sentences():
    X, y, Xq = problem(4)
    evidence = given(8, decision="residual").fit(X, np.array(["wren", "robin", "owl", "heron"])[y]).explain(Xq)
    assert {HOW[number] for number in evidence.how} == {"coded"}
    assert given(1).fit(X, y).explain(Xq[:1]).sentences[0].startswith("No other class than ")
    for one in evidence:
        said = one.to_dict()
        shares = [n["share"] for n in said["neighbours"]]
        assert sum(map(abs, shares)) == pytest.approx(1.0)
        assert said["support"] == pytest.approx(sum(s for s in shares if s > 0))
        assert said["sentence"] == one.sentences[0]
        assert f"{said['label']} against {said['runner_up']}: {said['support']:.1%} speaks for" in said["sentence"]
        assert "share " in repr(one)


@pytest.mark.parametrize("K", [2, 15])
def test_the_sentence_says_that_shares_add_up_without_their_signs(K):
    X, y, Xq = problem(1, queries=30)
    evidence = given(K).fit(X, y).explain(Xq)
    told = [one for one, how in zip(evidence.sentences, evidence.how, strict=True) if how != NEAREST]
    assert told
    assert all("without their signs" in one.lower() for one in told)
