"""Evidence adds up, reads well, and turns into plain values."""

from __future__ import annotations

import json

import numpy as np
import pytest
from problems import given, problem
from same_answers import assert_same_evidence, assert_same_parts

from kcrc.method import pipeline


@pytest.mark.parametrize("form", ["gram", "rkhs", "raw"])
@pytest.mark.parametrize("K", [15, None])
def test_contributions_of_a_class_add_up_to_its_part_of_the_reconstruction(form, K):
    X, y, Xq = problem(1)
    evidence = given(K, form=form, decision="residual").fit(X, y).explain(Xq)
    coded = np.flatnonzero(evidence.how == 0)
    assert len(coded)
    for i in coded:
        for c in np.unique(evidence.neighbour_labels[i]):
            explained = evidence.contributions[i, evidence.neighbour_labels[i] == c].sum()
            assert evidence.energy[i] - explained == pytest.approx(evidence.residuals[i, c] ** 2, abs=1e-9)


def test_contributions_in_the_raw_form_are_those_of_the_vectors():
    X, y, Xq = problem(2)
    evidence = given(None, form="raw", normalize_columns=False, mu=0.5).fit(X, y).explain(Xq)
    assert evidence.coefficients.shape == (7, len(X))
    for i, q in enumerate(Xq):
        x = np.empty(len(X))
        x[evidence.rows[i]] = evidence.coefficients[i]
        for c in range(4):
            part = X[y == c].T @ x[y == c]
            explained = evidence.contributions[i, evidence.neighbour_labels[i] == c].sum()
            assert explained == pytest.approx(q @ q - np.sum((q - part) ** 2), abs=1e-9)


def test_labels_scores_margin_and_runner_up_agree():
    X, y, Xq = problem(3)
    names = np.array(["a", "b", "c", "d"])[y]
    clf = given(20).fit(X, names)
    evidence = clf.explain(Xq)
    np.testing.assert_array_equal(evidence.labels, clf.predict(Xq))
    np.testing.assert_array_equal(evidence.scores, clf.decision_function(Xq))
    order = np.sort(evidence.scores, axis=1)
    np.testing.assert_allclose(evidence.margin, order[:, -1] - order[:, -2])
    assert (evidence.runner_up != evidence.winner).all()
    two = given(20).fit(X, y % 2)
    np.testing.assert_array_equal(two.decision_function(Xq) > 0, two.predict(Xq) == 1)


KERNELS = (("rkhs", "linear"), ("rkhs", "rbf"), ("rkhs", "exp"), ("gram", "polynomial"), ("raw", "linear"))


@pytest.mark.parametrize(("form", "kernel"), KERNELS)
def test_what_agreeing_neighbours_explain_does_not_hang_on_the_precision_of_the_vectors(form, kernel):
    """Neighbours that are much alike: in single precision rounding would share out among them what they explain."""
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], 12)
    X = (rng.normal(size=(2, 300))[y] + 0.1 * rng.normal(size=(24, 300))).astype(np.float32)
    made = [
        given(5, form=form, kernel=kernel, gamma=0.01, mu=1e-3).fit(X.astype(kind), y)
        for kind in (np.float32, np.float64)
    ]
    assert [clf.model_.vectors.dtype for clf in made] == [np.float32, np.float64]
    single, double = (clf.explain(X[:3] + X[3:6]) for clf in made)
    assert (double.how == 1).all()
    assert_same_parts(single.contributions, double.contributions)
    assert_same_parts(single.coefficients, double.coefficients)


@pytest.mark.parametrize(("form", "kernel"), KERNELS)
def test_where_single_precision_is_not_enough_the_stages_start_from_vectors_in_double(form, kernel):
    X, y, Xq = (part.astype(np.float32) if part.dtype.kind == "f" else part for part in problem(6, d=30))
    single, double = (
        pipeline.classify(
            given(20, form=form, kernel=kernel, gamma=0.01, mu=1e-5).fit(X.astype(kind), y).model_,
            asked,
            compiled=False,
        )
        for kind, asked in ((np.float32, Xq), (np.float64, Xq.astype(np.float64)))
    )
    assert (double.how == 0).any()
    assert_same_evidence(single, double)


@pytest.mark.parametrize(
    ("K", "y", "strange", "degree"), [(3, [0, 0, 0, 1, 1, 1], 9.05, 80), (None, [0, 0, 0, 0, 0, 0], 1e9, 12)]
)
def test_neighbours_that_agree_are_explained_as_far_as_the_kernel_can_be_computed(K, y, strange, degree):
    """What ``predict`` answers, ``explain`` answers too; and one such query changes nothing about the others."""
    X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    clf = given(K, kernel="polynomial", gamma=1.0, degree=degree).fit(X, y)
    queries = np.array([[0.05], [strange], [0.15]])
    evidence, alone = clf.explain(queries), clf.explain(queries[[0, 2]])
    np.testing.assert_array_equal(evidence.labels, clf.predict(queries))
    assert alone.contributions.any(axis=1).all()
    assert_same_parts(evidence.contributions[[0, 2]], alone.contributions)
    assert not evidence.contributions[1].any()
    np.testing.assert_allclose(evidence.shares[1], 1 / (K or len(X)))


def test_unanimous_neighbours_answer_and_are_coded_only_to_explain():
    X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    clf = given(3).fit(X, [0, 0, 0, 1, 1, 1])
    evidence = clf.explain([[0.05], [4.6]])
    assert evidence.to_dict()[0]["how"] == "unanimous"
    assert "all 3 neighbours agree" in repr(evidence[0])
    assert evidence.coefficients[0].all()
    assert not pipeline.classify(clf.model_, np.array([[0.05]])).coefficients.any()
    assert evidence.to_dict()[1]["how"] == "coded"
    assert evidence.margin[0] == 1.0


def test_plain_values_and_frames():
    X, y, Xq = problem(4)
    evidence = given(6).fit(X, np.array(["x", "y", "z", "w"])[y]).explain(Xq)
    listed = json.loads(json.dumps(evidence.to_dict()))
    assert len(listed) == len(Xq)
    one = json.loads(json.dumps(evidence[0].to_dict()))
    assert one["label"] == evidence.labels[0]
    assert [n["row"] for n in one["neighbours"]] == evidence.rows[0].tolist()
    pytest.importorskip("pandas")
    frame = evidence.to_frame()
    assert len(frame) == 6 * len(Xq)
    assert frame.query("query == 0")["contribution"].tolist() == evidence.contributions[0].tolist()


def test_indexing_and_reading():
    X, y, Xq = problem(5)
    evidence = given(6).fit(X, y).explain(Xq)
    assert len(list(evidence)) == len(Xq)
    assert evidence[-1].rows.tolist() == evidence.rows[-1:].tolist()
    assert evidence[[0, 2]].rows.tolist() == evidence.rows[[0, 2]].tolist()
    assert f"Evidence of {len(Xq)} queries" in repr(evidence)
    assert "more queries" in repr(evidence)
    with pytest.raises(IndexError, match="has no number 99"):
        evidence[99]


def test_padding_is_not_shown_as_an_example():
    X, y, Xq = problem(6, n=41)
    evidence = given(2, locality="classes").fit(X, y).explain(Xq)
    assert (evidence.rows == -1).any()
    assert (evidence.coefficients[evidence.rows == -1] == 0).all()
    for one in evidence:
        assert all(n["row"] >= 0 for n in one.to_dict()["neighbours"])
