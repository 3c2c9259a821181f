"""What a stored example would be answered if it were not stored, against storing all but it and asking."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problems import problem
from same_answers import assert_same_residuals

from kcrc import KCRCClassifier, scaling
from kcrc.method.fitted_model import FittedModel
from kcrc.method.pipeline import classify
from kcrc.method.scaling import Standard, Within, within_deviations
from kcrc.tuning.left_out.answers import LeftOut, affordable_trials, answers_without
from kcrc.tuning.left_out.exclusion import Exclusion, products_at

GIVEN = {
    "n_neighbors": 9,
    "scaling": "plain",
    "kernel": "rbf",
    "gamma": 0.2,
    "mu": 0.01,
    "form": "rkhs",
    "decision": "ratio",
    "locality": "atoms",
}

VARIANTS = {
    "rbf": {},
    "gram": {"form": "gram"},
    "raw": {"form": "raw", "kernel": "linear", "decision": "residual"},
    "global": {"n_neighbors": None},
    "global gram": {"n_neighbors": None, "form": "gram"},
    "classes": {"locality": "classes", "n_neighbors": 2},
    "manhattan": {"distance": "manhattan", "kernel": "exp"},
    "coarse to fine": {"distance": "manhattan", "kernel": "exp", "n_candidates": 15},
    "few": {"n_neighbors": 2},
}
WITHIN = {
    "within": {},
    "within gram": {"form": "gram"},
    "within raw": {"form": "raw", "kernel": "linear"},
    "within polynomial": {"kernel": "polynomial"},
    "within exp": {"kernel": "exp"},
    "within classes": {"locality": "classes", "n_neighbors": 2},
    "within global": {"n_neighbors": None},
}


def fitted(options, X, y):
    return KCRCClassifier(**{**GIVEN, **options}).fit(X, y)


def gathered(model, exclusion, which):
    parts = answers_without(model, exclusion, which, lambda evidence, _: evidence)
    return [one for part in parts for one in part]


def asked_without(model: FittedModel, method, i: int, gone: np.ndarray):
    """Brute force: the method over all examples but ``gone``, asked the example i."""
    keep = np.setdiff1d(np.arange(len(model)), gone)
    rest = FittedModel.build(method, model.raw[keep], model.classes, model.labels[keep], model.ids[keep])
    return classify(rest, method.scaling.transform(model.raw[i : i + 1]))


def without_its_part(metric: Within, X, labels, i):
    """The within-class metric whose scatter lost example i; mean, mean variance and divisor stay as they are."""
    X = metric.ready(X)
    deviations, _ = within_deviations(X, labels)
    freedom = len(X) - len(np.unique(labels))
    full = deviations.T @ deviations / freedom
    rest = np.delete(np.arange(len(X)), i)
    less, _ = within_deviations(X[rest], labels[rest])
    s, variance = metric.shrinkage, np.trace(full) / X.shape[1]
    covariance = (1 - s) * (less.T @ less) / freedom + s * variance * np.eye(X.shape[1])
    return replace(metric, whitening=np.linalg.inv(np.linalg.cholesky(covariance)).T)


def same(got, wanted):
    assert got.winner[0] == wanted.winner[0]
    assert got.how[0] == wanted.how[0]
    assert_same_residuals(got.residuals, wanted.residuals)
    real = int((got.rows[0] >= 0).sum())
    wanted_real = wanted.rows[0] >= 0
    assert real == wanted_real.sum()
    if np.isfinite(wanted.distances).any():
        np.testing.assert_allclose(
            np.sort(got.distances[0, :real]), np.sort(wanted.distances[0][wanted_real]), rtol=1e-6, atol=1e-7
        )
        assert set(got.rows[0, :real]) == set(wanted.rows[0][wanted_real])


@pytest.mark.parametrize("name", VARIANTS)
def test_equals_storing_all_but_it(name):
    X, y, _ = problem(3, n=36)
    model = fitted(VARIANTS[name], X, y).model_
    which = np.arange(0, 36, 3)
    for i, got in zip(which, gathered(model, Exclusion.of(model), which), strict=True):
        same(got, asked_without(model, model.method, i, np.array([i])))


@pytest.mark.parametrize("first", [None, Standard()])
@pytest.mark.parametrize(("unit", "scaled"), [(True, False), (False, False), (True, True)])
@pytest.mark.parametrize("name", WITHIN)
def test_within_metric_forgets_it_too(name, unit, scaled, first):
    X, y, _ = problem(4, n=44)
    model = fitted(
        {"scaling": Within(0.3, unit=unit, scaled=scaled, first=first), "gamma": 0.05, **WITHIN[name]}, X, y
    ).model_
    which = np.arange(0, 44, 4)
    for i, got in zip(which, gathered(model, Exclusion.of(model), which), strict=True):
        metric = without_its_part(model.method.scaling, X, model.labels, i)
        same(got, asked_without(model, replace(model.method, scaling=metric), i, np.array([i])))


def test_the_correction_matters_and_is_near_to_a_full_refit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 30)), np.arange(40) % 4  # no class is to be told from another
    model = fitted({"scaling": Within(0.05), "gamma": 0.5}, X, y).model_
    corrected, uncorrected, refit = [], [], []
    bare = replace(Exclusion.of(model), means=None)
    everyone = np.arange(40)
    for i, got, naive in zip(
        everyone, gathered(model, Exclusion.of(model), everyone), gathered(model, bare, everyone), strict=True
    ):
        rest = np.delete(everyone, i)
        fresh = scaling.Within(0.05).fit(X[rest], y[rest])
        wanted = asked_without(model, replace(model.method, scaling=fresh), i, np.array([i]))
        for into, one in ((corrected, got), (uncorrected, naive), (refit, wanted)):
            into.append(np.argsort(one.residuals[0])[0] == y[i])
    assert np.mean(uncorrected) > np.mean(refit) + 0.3  # an example left in the covariance vouches for itself
    assert abs(np.mean(corrected) - np.mean(refit)) < 0.15


def test_duplicates_and_groups_leave_together():
    X, y, _ = problem(5, n=30)
    X = np.concatenate([X, X[:6], X[:3]])  # copies, some twice
    y = np.concatenate([y, y[:6], (y[:3] + 1) % 4])
    model = fitted({}, X, y).model_
    for i, got in zip(range(8), gathered(model, Exclusion.of(model), np.arange(8)), strict=True):
        gone = np.flatnonzero((X[i] == X).all(axis=1))
        same(got, asked_without(model, model.method, i, gone))
    groups = np.arange(len(X)) // 5
    exclusion = Exclusion.of(model, groups)
    together = exclusion.groups_of(model)
    for i, got in zip(range(10, 20), gathered(model, exclusion, np.arange(10, 20)), strict=True):
        same(got, asked_without(model, model.method, i, np.flatnonzero(together == together[i])))


def test_without_its_groups_an_exclusion_is_that_of_copies():
    X, y, _ = problem(5, n=30)
    X, y = np.concatenate([X, X[:6]]), np.concatenate([y, y[:6]])
    model = fitted({"scaling": Within(0.3), "gamma": 0.05}, X, y).model_
    bare, made = Exclusion.of(model), Exclusion.of(model, np.arange(len(X)) // 5).with_copies(model)
    together = [exclusion.groups_of(model) for exclusion in (bare, made)]
    np.testing.assert_array_equal(*(groups[:, None] == groups for groups in together))
    np.testing.assert_array_equal(bare.weights, made.weights)


def test_examples_that_came_and_went_since_the_fit():
    X, y, _ = problem(6, n=50)
    clf = fitted({"scaling": Within(0.3), "gamma": 0.05}, X[:40], y[:40])
    exclusion = Exclusion.of(clf.model_)
    clf.partial_fit(X[40:], y[40:]).partial_fit(X[:1], y[:1]).forget([3, 5])
    model = clf.model_
    together = exclusion.groups_of(model)
    assert together[0] == together[-1]
    assert len(np.unique(together)) == len(model) - 1
    newcomer = np.flatnonzero(model.ids == 45)
    got = gathered(model, exclusion, newcomer)[0]
    same(got, asked_without(model, model.method, newcomer[0], newcomer))  # it was never in the covariance
    assert exclusion.correction(model, newcomer).strength[0] == 0
    assert exclusion.correction(model, np.array([1])).strength[0] > 0


@pytest.mark.parametrize("name", WITHIN)
def test_dot_products_looked_up_or_made_anew_give_the_same(name, monkeypatch):
    X, y, _ = problem(8)
    model = fitted({"scaling": Within(0.3), **WITHIN[name]}, X, y).model_
    exclusion, which = Exclusion.of(model), np.arange(0, len(X), 7)
    known = gathered(model, exclusion, which)
    assert len(known) == len(which) > 0
    monkeypatch.setattr("kcrc.tuning.left_out.answers.STORED", 0)
    for one, other in zip(known, gathered(model, exclusion, which), strict=True):
        same(one, other)


def test_a_sample_keeps_class_shares_and_too_few_give_none():
    X, y, _ = problem(7, n=120)
    y = np.where(np.arange(120) < 60, 0, 1 + np.arange(120) % 2)
    model = fitted({}, X, y).model_
    left = LeftOut.of(model, Exclusion.of(model))
    assert left is not None
    assert len(left) == affordable_trials(model) == 120
    np.testing.assert_array_equal(model.labels[left.rows], left.truth)
    again = LeftOut.of(model, Exclusion.of(model), at_most=40)
    assert again is not None
    shares = np.bincount(again.truth, minlength=3) / len(again)
    np.testing.assert_allclose(shares, [0.5, 0.25, 0.25], atol=0.03)
    tiny = fitted({}, X[:5], y[50:55]).model_
    assert LeftOut.of(tiny, Exclusion.of(tiny)) is None


def test_threads_and_memory_change_nothing():
    X, y, _ = problem(8, n=80)
    few = fitted({"n_jobs": 1, "memory_budget": "1MiB"}, X, y).model_
    many = fitted({"n_jobs": 3}, X, y).model_
    one, other = (LeftOut.of(m, Exclusion.of(m)) for m in (few, many))
    np.testing.assert_allclose(one.residuals, other.residuals, rtol=1e-9)


def test_without_its_class_nobody_is_answered_right():
    X, y, _ = problem(9, n=60)
    model = fitted({"scaling": Within(0.3)}, X, y).model_
    strangers = LeftOut.of(model, Exclusion.of(model), without_classes=True, at_most=30)
    assert strangers is not None
    assert len(strangers) == 30
    assert not strangers.right.any()
    assert np.isinf(strangers.residuals[np.arange(30), strangers.truth]).all()
    for i in range(3):
        at = int(np.flatnonzero(model.ids == strangers.rows[i])[0])
        metric = without_its_part(model.method.scaling, X, model.labels, at)
        gone = np.flatnonzero(model.labels == model.labels[at])
        wanted = asked_without(model, replace(model.method, scaling=metric), at, gone)
        assert_same_residuals(strangers.residuals[i], wanted.residuals[0])


def test_products_at_the_rows_of_each_are_those_of_all_at_once():
    rng = np.random.default_rng(0)
    asked, vectors, rows = (
        rng.normal(size=(5, 7)),
        rng.normal(size=(9, 7)).astype(np.float32),
        rng.integers(9, size=(5, 3)),
    )
    slow = [[float(asked[i] @ vectors[j].astype(float)) for j in rows[i]] for i in range(5)]
    np.testing.assert_allclose(products_at(asked, vectors, rows), slow, rtol=1e-12)
