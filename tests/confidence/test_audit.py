"""Spoiled examples are put among good ones; the audit has to name them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from problems import given
from sklearn.datasets import load_digits

from kcrc import KCRCClassifier, scaling
from kcrc.errors import ParameterError


@pytest.fixture(scope="module")
def spoiled():
    X, y = load_digits(return_X_y=True)
    X, y = X[:500].copy(), y[:500].copy()
    flips = np.random.default_rng(0).choice(400, 40, replace=False)
    truth = y.copy()
    y[flips] = (y[flips] + 3) % 10
    X[450], y[450] = X[449], (y[449] + 1) % 10  # an exact copy under another label
    X[470], y[470] = X[469] + 0.01, (truth[469] + 1) % 10  # an almost exact one
    clf = given(n_neighbors=25, scaling="unit", gamma=1.0).fit(X, y)
    return clf, flips, truth, y


def test_flips_are_found_and_rank_first(spoiled):
    clf, flips, truth, y = spoiled
    audit = clf.audit()
    assert audit.examples == audit.asked == 500
    assert np.isin(flips, audit.rows).mean() >= 0.8
    assert np.isin(audit.rows, [*flips, 449, 450, 469, 470]).mean() >= 0.6
    assert np.isin(audit.rows[:20], [*flips, 450, 449, 470, 469]).mean() >= 0.9
    chances = np.array([s.by_chance for s in audit.mislabelled + audit.doubtful])
    assert (np.diff(chances) <= 0).all()
    assert (chances >= 1 / 24).sum() == len(audit.mislabelled)  # 15 + 90/10 times as likely as by chance
    assert audit.expected_wrong == pytest.approx(chances.sum())
    for suspect in audit.mislabelled + audit.doubtful:
        assert suspect.label == y[suspect.row] != suspect.answer
        for row, _ in suspect.because:
            assert y[row] == suspect.answer
            assert row != suspect.row
    found = [s for s in audit.mislabelled if s.row in flips]
    assert np.mean([s.answer == truth[s.row] for s in found]) > 0.9


def test_a_label_by_chance_is_the_share_of_doubt_in_its_probability(spoiled):
    """Asked one by one of a classifier without the example."""
    clf, _, _, y = spoiled
    calibration = clf.confidence_.calibration
    audit = clf.audit()
    suspects = audit.mislabelled[-4:] + audit.doubtful[:3]
    assert suspects
    for suspect in suspects:
        X = clf.model_.raw[suspect.row : suspect.row + 1]
        others = (clf.model_.raw != X).any(axis=1)
        rest = given(n_neighbors=25, scaling="unit", gamma=clf.model_.method.kernel.gamma)
        residuals = rest.fit(clf.model_.raw[others], y[others]).explain(X).residuals
        p = calibration.probabilities(residuals)[0, suspect.label]
        known = np.isfinite(residuals[0, suspect.label])
        expected = min(1.0, np.hypot(calibration.doubt, calibration.unseen) / 10 / p) if known else 1.0
        assert suspect.by_chance == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("locality", ["atoms", "classes"])
def test_hard_examples_are_in_doubt_and_wrong_labels_are_not(locality):
    """Pairs of classes overlap, so that many clean labels are contradicted by the twin class; flips lie anywhere."""
    rng = np.random.default_rng(3)
    y = np.arange(600) % 20
    centres = np.repeat(rng.normal(size=(10, 12)) * 4, 2, axis=0)
    centres[1::2] += rng.normal(size=(10, 12))
    X = centres[y] + rng.normal(size=(600, 12))
    flips = rng.choice(600, 30, replace=False)
    spoiled = y.copy()
    spoiled[flips] = (y[flips] // 2 * 2 + rng.integers(2, 20, 30)) % 20  # never the twin
    k = 40 if locality == "atoms" else 2
    clf = given(n_neighbors=k, locality=locality, decision="residual", mu=0.1).fit(X, spoiled)
    audit = clf.audit()
    listed = np.isin(audit.rows, flips)
    every = [s.row for s in audit.mislabelled + audit.doubtful]
    assert np.isin(flips, audit.rows).mean() >= 0.95
    assert listed.mean() >= 0.75
    assert np.isin(every, flips).mean() < 0.5  # what was listed before there was a threshold


def test_right_answers_are_those_of_storing_all_but_it(spoiled):
    clf, _, _, y = spoiled
    rows = np.arange(0, 500, 25)
    audit = clf.audit(rows)
    assert audit.asked == len(rows)
    contradicted = set()
    for row in rows:
        X = clf.model_.raw[row : row + 1]
        twins = np.flatnonzero((clf.model_.raw == X).all(axis=1))
        rest = given(n_neighbors=25, scaling="unit", gamma=1.0).fit(
            np.delete(clf.model_.raw, twins, axis=0), np.delete(y, twins)
        )
        if rest.predict(X)[0] != y[row]:
            contradicted.add(int(row))
    assert {s.row for s in audit.mislabelled + audit.doubtful} == contradicted
    assert audit.right == len(rows) - len(contradicted)


def test_copies_with_different_labels_clash(spoiled):
    clf, _, _, _ = spoiled
    pairs = {(c.row, c.other): c for c in clf.audit().clashes}
    assert pairs[(449, 450)].distance == 0
    assert 0 < pairs[(469, 470)].relative < 0.25
    assert all(c.label != c.other_label for c in pairs.values())


@pytest.mark.parametrize("more", [{"n_neighbors": 6}, {"n_neighbors": 6, "scaling": scaling.Within(0.3)}])
def test_shares_are_those_of_explain_also_where_all_neighbours_agree(more):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + 6.0 * y[:, None]
    X[0] = rng.normal(size=3) + 6.0  # of class 0, amid class 1
    clf = given(**more).fit(X, y)
    (suspect,) = [s for s in clf.audit().mislabelled if s.row == 0]
    shares = [share for _, share in suspect.because]
    assert len(set(shares)) == 3  # not the same for all
    if "scaling" not in more:  # which forgets the example too
        rest = given(**more, gamma=clf.model_.method.kernel.gamma).fit(X[1:], y[1:])
        told = rest.explain(X[:1])
        assert told.how[0] == 1
        known = dict(zip((told.rows[0] + 1).tolist(), told.shares[0].tolist(), strict=True))
        assert [known[row] for row, _ in suspect.because] == pytest.approx(shares, rel=1e-6)


def test_an_example_that_never_helps_is_idle():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + 6.0 * y[:, None]
    X[0] = 6.0  # of class 0, amid class 1: whatever it says is wrong
    clf = given(n_neighbors=8).fit(X, y)
    idle = {i.row: i for i in clf.audit().idle}
    assert 0 in idle
    assert idle[0].asked > 0
    assert clf.audit().rows[0] == 0


def test_row_numbers_survive_forgetting_and_new_examples(spoiled):
    clf, flips, _, y = spoiled
    other = given(n_neighbors=25, scaling=scaling.Within(0.3)).fit(clf.model_.raw, y)
    kept = np.setdiff1d(np.arange(500), flips[:20])
    other.forget(flips[:20]).partial_fit(clf.model_.raw[:5] + 0.5, y[:5])
    audit = other.audit()
    assert not np.isin(audit.rows, flips[:20]).any()
    assert set(audit.rows) <= set(kept) | set(range(500, 505))
    assert np.isin(flips[20:], audit.rows).mean() >= 0.8


def test_it_reads_and_travels(spoiled):
    clf, _, _, _ = spoiled
    audit = clf.audit()
    text = repr(audit)
    assert "contradict their label" in text
    assert f"row {audit.rows[0]}" in text
    assert json.loads(json.dumps(audit.to_dict()))["asked"] == 500
    pytest.importorskip("pandas")
    frame = audit.to_frame()
    assert len(frame) == len(audit.mislabelled) + len(audit.doubtful) + len(audit.clashes) + len(audit.idle)
    assert set(frame["finding"]) <= {"mislabelled", "doubtful", "clash", "idle"}


def test_what_is_refused_and_the_smallest_cases(spoiled):
    clf, _, _, _ = spoiled
    with pytest.raises(ParameterError, match="9999"):
        clf.audit([1, 9999])
    one = given().fit([[1.0, 2.0]], [0]).audit()
    assert (one.examples, one.asked, one.mislabelled) == (1, 0, [])
    twins = given().fit([[1.0], [1.0]], ["a", "b"]).audit()
    assert [(c.row, c.other) for c in twins.clashes] == [(0, 1)]
    assert len(twins.to_frame()) == 1


def test_examples_that_leave_with_most_others_are_asked_beside_those_that_leave_alone(rng, monkeypatch):
    """The first have few neighbours left, fewer than are told as evidence; each chunk is as wide as its own."""
    monkeypatch.setattr("kcrc.confidence.audit.STEP", 1)
    X, y = rng.standard_normal((12, 3)), np.arange(12) % 2
    audit = given(n_neighbors=None, scaling="plain", gamma=1.0).fit(X, y, groups=[0] * 10 + [1, 2]).audit()
    assert audit.asked == 12
    suspects = audit.mislabelled + audit.doubtful
    assert {len(suspect.because) for suspect in suspects if suspect.row < 10} == {1}


def test_an_example_alone_in_its_class_is_not_accused(rng):
    """Left out, its class cannot be the answer; so it is with copies, and with a group that is all of its class."""
    X, y = rng.standard_normal((30, 3)), np.array([*"ab" * 13, "c", "d", "d", "e"])
    X[28] = X[27]
    audit = given(n_neighbors=8).fit(X, y).audit()
    assert (audit.examples, audit.asked, audit.alone) == (30, 26, 4)
    assert {s.label for s in audit.mislabelled + audit.doubtful} <= {"a", "b"}
    assert "4 examples could not be asked: alone in its class" in repr(audit)
    assert given(n_neighbors=8).fit(X, y).audit([0, 26]).alone == 1
    grouped = given(n_neighbors=8).fit(X, y, groups=[*range(13), *[13] * 17]).audit()
    assert grouped.alone == 4
    every = given().fit(X[:9], np.arange(9)).audit()
    assert (every.asked, every.alone, every.mislabelled, every.doubtful) == (0, 9, [], [])


@pytest.mark.parametrize("scaling", ["plain", "within"])
def test_a_found_group_stays_where_one_of_its_labels_is_in_question(scaling):
    """Frames of a scene were labelled by themselves: they speak against the wrong label of one of them, and for the
    right labels of scenes unlike the others of their class. A group that is named leaves together."""
    rng = np.random.default_rng(0)
    scene = np.repeat(np.arange(24), 4)
    y = scene % 3  # a scene says nothing of another
    X = rng.normal(size=(24, 30))[scene] + 0.1 * rng.normal(size=(96, 30))
    wrong = rng.choice(96, 6, replace=False)
    y[wrong] = (y[wrong] + 1) % 3
    found, named = (given(n_neighbors=9, scaling=scaling).fit(X, y, groups=g) for g in ("auto", scene))
    assert found.confidence_.left_out.right.mean() < 0.5  # what is announced is of new scenes
    rows = found.audit().rows
    assert np.isin(wrong, rows).all()
    assert np.isin(rows, wrong).mean() > 0.8
    assert named.audit().right / 96 < 0.5


def test_of_one_class_nothing_is_asked(rng):
    audit = given().fit(rng.standard_normal((9, 3)), ["a"] * 9).audit()
    assert (audit.asked, audit.right, audit.alone, audit.one_class) == (0, 0, 0, True)
    assert "only one class, so nothing can be told apart yet" in repr(audit)


@pytest.mark.parametrize("each", [2, 3])
def test_a_handful_of_examples_accuses_nobody(each):
    """Without one of two, a class has half of what the other has: the answer leans away from it."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2 * each, 10)), np.repeat(["a", "b"], each)
    X[each] = X[0]  # a copy under another label is found all the same
    audit = KCRCClassifier().fit(X, y).audit()
    assert (audit.asked, audit.mislabelled, audit.doubtful, audit.idle) == (0, [], [], [])
    assert [(c.row, c.other) for c in audit.clashes] == [(0, each)]
    assert audit.too_few
    assert f"{2 * each} examples are too few to ask any" in repr(audit)


def test_what_the_features_do_not_tell_is_no_wrong_label():
    """Noise: most answers are wrong, and hardly likelier than the label."""
    X, y = np.random.default_rng(2).standard_normal((18, 10)), np.arange(18) % 3
    audit = KCRCClassifier().fit(X, y).audit()
    assert len(audit.doubtful) > 9
    assert audit.mislabelled == []


def test_of_two_in_a_class_neither_is_called_wrong():
    """One of them lies amid another class; which of the two the label fits, nobody can tell from two."""
    rng = np.random.default_rng(2)
    centres = 6.0 * rng.standard_normal((3, 8))
    y = np.array([0] * 12 + [1] * 12 + [2] * 3)
    X = centres[y] + 0.3 * rng.standard_normal((27, 8))
    X[26] = centres[0] + 0.3 * rng.standard_normal(8)
    three = given(n_neighbors=12).fit(X, y).audit()
    assert three.rows.tolist() == [26]
    two = given(n_neighbors=12).fit(X[[*range(24), 25, 26]], y[[*range(24), 25, 26]]).audit()
    assert (two.rows.tolist(), 25 in [s.row for s in two.doubtful]) == ([], True)
