"""Margins of the true class: compiled equals staged equals the classifier itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problems import given, problem

from kcrc import projections, scaling
from kcrc.native import native
from kcrc.tuning.left_out.trials import Trials
from kcrc.tuning.left_out.vector_geometry import VectorGeometry
from kcrc.tuning.scoring import DECISIONS, score_margins, shares_dictionary, squared_among, staged_margins

SIZES, MUS = [1, 6, 15, 25], [1e-3, 0.1, 1.0]


def trials_of(seed, dtype=np.float64, classes=False):
    X, y, _ = problem(seed, n=60, classes=4)
    geometry = VectorGeometry(scaling.Plain(), X.astype(dtype), y, np.arange(60))
    which = np.arange(0, 60, 3)
    return X, y, which, geometry.class_trials(which, 2) if classes else geometry.trials(which, 25)


@pytest.mark.parametrize("form", ["rkhs", "gram"])
@pytest.mark.parametrize("gamma", [None, 0.2])
def test_a_trial_is_the_classifier_fitted_without_the_example(form, gamma):
    X, y, which, trials = trials_of(1)
    found = staged_margins(trials, gamma, trials.labels, SIZES, MUS, form)
    assert found.shape[-1] == len(which) >= 6
    for at, i in enumerate(which[:6]):
        keep = np.arange(60) != i
        for s, K in enumerate(SIZES):
            for m, mu in enumerate(MUS):
                for d, decision in enumerate(DECISIONS):
                    clf = given(
                        K, kernel="linear" if gamma is None else "rbf", gamma=gamma or 1.0, mu=mu, form=form,
                        decision=decision, n_jobs=1,
                    ).fit(X[keep], y[keep])  # fmt: skip
                    evidence = clf.explain(X[i : i + 1])
                    assert (found[s, m, d, at] > 0) == (evidence.labels[0] == y[i])
                    own = evidence.residuals[0, y[i]]
                    other = np.delete(evidence.residuals[0], y[i]).min()
                    if evidence.how[0] == 0 and np.isfinite(own) and np.isfinite(other):
                        assert found[s, m, d, at] == pytest.approx(np.log(other / own), rel=1e-4, abs=1e-4)


@pytest.mark.skipif(native is None, reason="the compiled module is not built")
@pytest.mark.parametrize("form", ["rkhs", "gram"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gamma", [None, 0.2])
def test_compiled_equals_staged(form, dtype, gamma):
    _, _, _, trials = trials_of(2, dtype)
    staged = staged_margins(trials, gamma, trials.labels, SIZES, MUS, form)
    compiled = score_margins(trials, gamma, trials.labels, SIZES, MUS, form)
    np.testing.assert_array_equal(np.isposinf(staged), np.isposinf(compiled))
    np.testing.assert_array_equal(np.isneginf(staged), np.isneginf(compiled))
    finite = np.isfinite(staged)
    tolerance = 2e-2 if dtype == np.float32 else 1e-5
    np.testing.assert_allclose(staged[finite], compiled[finite], atol=tolerance, rtol=tolerance)
    if gamma is not None:  # the same from squared distances as from dot products
        given = Trials(trials.labels, trials.truth, trials.cross, squared_among(trials))
        again = score_margins(given, gamma, trials.labels, SIZES, MUS, form)
        np.testing.assert_allclose(again[finite], compiled[finite], atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("form", ["rkhs", "gram"])
@pytest.mark.parametrize("judge", [score_margins, staged_margins])
def test_an_example_of_which_the_kernel_overflows_is_no_right_answer(form, judge):
    """And says nothing about the others; where all neighbours agree nobody needs the kernel."""
    _, _, _, trials = trials_of(3)
    alone = np.where((trials.labels == trials.truth[:, None]) | (np.arange(20)[:, None] != 4), trials.labels, -1)
    dots, dot, own = trials.dots.copy(), trials.dot.copy(), trials.self_dot.copy()
    dots[1, 0, 0], dots[4, 0, 0], dot[2, 3], dot[3, 2] = np.inf, np.inf, 1e200, np.nan
    if form == "rkhs":  # the other form has no use for it
        dot[3, 2], own[3] = trials.dot[3, 2], np.nan
    odd = np.arange(1, 5)
    with np.errstate(all="raise", under="ignore"):
        usual = judge(trials, None, alone, SIZES, MUS, form)
        found = judge(replace(trials, dots=dots, dot=dot, self_dot=own), None, alone, SIZES, MUS, form)
    np.testing.assert_array_equal(np.delete(found, odd, -1), np.delete(usual, odd, -1))
    settled = np.isposinf(usual[..., odd])
    assert settled[..., 3].any()
    assert np.isposinf(found[..., odd][settled]).all()
    assert (found[2:, ..., 1:4][~settled[2:, ..., :3]] == -np.inf).all()


def test_padding_changes_nothing():
    _, _, _, trials = trials_of(3, classes=True)
    labels = np.where(trials.rank < 1, trials.labels, -1).astype(np.int32)
    one = score_margins(trials, 0.2, labels, [labels.shape[1]], MUS, "rkhs")
    assert np.isinf(one).all()  # a dictionary of one class is unanimous, right or wrong
    both = score_margins(trials, 0.2, trials.labels, [labels.shape[1]], MUS, "rkhs")
    staged = staged_margins(trials, 0.2, trials.labels, [labels.shape[1]], MUS, "rkhs")
    np.testing.assert_array_equal(both > 0, staged > 0)


@pytest.mark.parametrize(
    ("form", "projection"),
    [("rkhs", "identity"), ("raw", "identity"), ("gram", "identity"), ("gram", "kpca"), ("gram", "random")],
)
def test_a_fold_is_the_classifier_fitted_without_it(form, projection):
    """Examples left out together share one dictionary: that of all others but their duplicates."""
    X, y, _ = problem(6, n=60, classes=4)
    X[5], y[5] = X[0], y[0]  # goes with row 0
    groups = np.arange(60)
    groups[5] = 0
    geometry = VectorGeometry(scaling.Plain(), X, y, groups)
    geometry.keeps_vectors = True
    which = np.array([0, 3, 7, 20, 33])
    trials = geometry.fold(which)
    assert shares_dictionary(trials)
    assert trials.dots.shape == (1, 54, 54)
    made = projections.make(projection, **({} if projection == "identity" else {"n_components": 0.5}))
    gamma = None if form == "raw" else 0.2
    found = staged_margins(trials, gamma, trials.labels, [59], MUS, form, projection=made)
    keep = ~np.isin(np.arange(60), [*which, 5])
    for m, mu in enumerate(MUS):
        for d, decision in enumerate(DECISIONS):
            clf = given(
                None, kernel="linear" if form == "raw" else "rbf", gamma=0.2, mu=mu, form=form, decision=decision,
                projection=made,
            ).fit(X[keep], y[keep])  # fmt: skip
            residuals = clf.explain(X[which]).residuals
            own = residuals[np.arange(5), y[which]].copy()
            residuals[np.arange(5), y[which]] = np.inf
            np.testing.assert_allclose(found[0, m, d], np.log(residuals.min(axis=1) / own), rtol=1e-4, atol=1e-4)
    if projection == "identity":
        compiled = score_margins(trials, gamma, trials.labels, [59], MUS, form)
        np.testing.assert_allclose(compiled[0], found[0], rtol=1e-4, atol=1e-4)


def two_ways(trials, gamma, form, normalize):
    """Margins by the compiled scorer and by the stages, of all atoms."""
    size = [trials.labels.shape[1]]
    staged = staged_margins(trials, gamma, trials.labels, size, MUS, form, normalize=normalize)
    return score_margins(trials, gamma, trials.labels, size, MUS, form, normalize=normalize), staged


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("form", ["rkhs", "gram"])
def test_an_example_at_some_distance_from_itself_is_judged_as_it_is_answered(form, normalize):
    """As matrices of distances that are given may have it."""
    _, _, _, trials = trials_of(7)
    among = squared_among(trials).copy()
    diagonal = np.arange(among.shape[1])
    among[:, diagonal, diagonal] = np.random.default_rng(0).uniform(0, 3, size=among.shape[:2])
    compiled, staged = two_ways(Trials(trials.labels, trials.truth, trials.cross, among), 0.2, form, normalize)
    np.testing.assert_allclose(compiled, staged, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("own", [-0.1, 0.0])
def test_a_query_whose_kernel_with_itself_is_no_length_is_judged_as_it_is_answered(own):
    """The kernel is no inner product: nothing is left over by any class that has a part, and a tie is no answer."""
    _, _, _, trials = trials_of(8)
    kept = Trials(trials.labels, trials.truth, dot=trials.dot, dots=trials.dots, self_dot=np.full(len(trials.dot), own))
    compiled, staged = two_ways(kept, None, "rkhs", True)
    np.testing.assert_allclose(compiled, staged, rtol=1e-4, atol=1e-4)
    assert not (compiled[..., np.isfinite(compiled).all(axis=(0, 1, 2))] > 0).all()
