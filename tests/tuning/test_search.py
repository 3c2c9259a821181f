"""The search over settings: bounded by arithmetic, blind to the clock, without edges."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from problems import problem
from sklearn.datasets import load_digits

from kcrc import KCRCClassifier, scaling
from kcrc.errors import DataError
from kcrc.tuning import constants
from kcrc.tuning.candidates import Candidates, stratify
from kcrc.tuning.left_out.vector_geometry import VectorGeometry
from kcrc.tuning.scoring import MarginScorer, score_margins
from kcrc.tuning.search import CandidateEvaluator, Search


def searched(X, y, *, seconds=5.0, score=score_margins, names=("plain", "unit"), whole=False, **fixed):
    fixed = {"share": None, **fixed}
    X = X.astype(np.float32)
    makers = {
        name: lambda name=name: VectorGeometry(scaling.make(name).fit(X, y), X, y, np.arange(len(X))) for name in names
    }
    shown = []
    order = stratify(y, np.random.default_rng(0), np.ones(len(y), bool))
    candidates = Candidates(makers, y, order, ("linear", "rbf"), fixed, whole=whole)
    evaluator = CandidateEvaluator(candidates, MarginScorer(score), seconds, n_jobs=1, progress=shown.append)
    return evaluator, Search(evaluator).run(), shown


@pytest.fixture(scope="module")
def clouds():
    return problem(3, n=120, d=8, classes=4)[:2]


def test_the_clock_changes_nothing(clouds, monkeypatch):
    """A machine on which every look at the clock finds a hundred seconds gone chooses the same, by the same trials."""
    calm, best, _ = searched(*clouds, form="rkhs")
    now = itertools.count(0.0, 100.0)
    monkeypatch.setattr("time.perf_counter", lambda: next(now))
    hurried, chosen, _ = searched(*clouds, form="rkhs")
    assert chosen == best
    assert hurried.scores == calm.scores


def test_a_search_over_its_arithmetic_is_cut_short(monkeypatch):
    X, y, _ = problem(4, n=600, d=8, classes=4)
    monkeypatch.setattr(constants, "OVERSPENT", 0.0)
    cut, best, _ = searched(X, y, form="rkhs", names=("plain",))
    assert best in cut.scores
    assert max(score.trials for score in cut.scores.values()) <= constants.FIRST_TRIALS


def test_the_arithmetic_stays_within_the_budget(clouds):
    for seconds in (0.05, 0.5):
        search, _, shown = searched(*clouds, seconds=seconds)
        first = [s for name in search.candidates.makers for s in search.candidates.first(name)]
        least = sum(search.cost(key[0], group, 32) for key, group in grouped(first).items())
        assert search.spent <= max(1.3 * constants.SPEED * seconds, 1.3 * least)
        assert shown == sorted(shown)
        assert shown[-1] <= 1.0


def test_progress_goes_by_the_work_and_not_by_the_budget(clouds):
    """Small data need a hundredth of the budget; who waits wants to see how much of the way is left all the same."""
    _, _, shown = searched(*clouds, seconds=60.0)
    assert shown == sorted(shown)
    assert 0.7 < shown[-1] <= 1.0
    assert np.diff([0.0, *shown]).max() <= 0.5


def grouped(settings):
    groups = {}
    for s in settings:
        groups.setdefault((s.geometry, s.locality), []).append(s)
    return groups


def test_the_search_leaves_the_grid_it_starts_on(monkeypatch):
    """Overlapping clouds need many atoms or a firm penalty; the search starts with neither."""
    monkeypatch.setattr(constants, "FIRST_SIZES", (4,))
    monkeypatch.setattr(constants, "FIRST_PENALTIES", (1e-5,))
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = 0.4 * np.where(y, 1.0, -1.0)[:, None] + rng.normal(size=(300, 12))
    search, best, _ = searched(X, y, names=("plain",), locality="atoms", form="rkhs", decision="residual")
    assert best.n_neighbors > 8 or best.mu > 1e-4
    start = max(search.scores[s].accuracy for s in search.candidates.first("plain"))
    assert search.scores[best].accuracy > start


def test_whole_classes_are_tried_up_to_250_atoms():
    """Where classes are large the nearest atoms serve as well for less: of 50 examples each, four are the most."""
    X, y, _ = problem(5, n=500, d=4, classes=10)
    plain = VectorGeometry(scaling.make("plain"), X, y, np.arange(len(X)))
    around = Candidates({"plain": lambda: plain}, y, np.arange(len(X)), ("linear",), {"share": None})
    start = around.first_classes("plain")[0]
    assert start.n_neighbors == 2
    assert {s.n_neighbors for s in around.neighbours(start)} == {2, 4}
    assert {s.n_neighbors for s in around.neighbours(replace(start, n_neighbors=4))} == {2, 4}


def test_only_what_is_open_is_tried(clouds):
    search, best, _ = searched(
        *clouds, n_neighbors=9, mu=0.02, gamma=0.3, form="gram", decision="ratio", locality="atoms"
    )
    assert {(s.n_neighbors, s.mu, s.form, s.decision) for s in search.scores} == {(9, 0.02, "gram", "ratio")}
    assert {s.gamma for s in search.scores} == {None, 0.3}
    assert best in search.scores


def test_all_settings_of_a_step_see_the_same_examples(clouds):
    asked = []

    def listening(trials, gamma, labels, sizes, mus, form, share=None):
        asked.append(len(trials.truth))
        return score_margins(trials, gamma, labels, sizes, mus, form)

    search, _, _ = searched(*clouds, score=listening)
    counts = {score.trials for score in search.scores.values()}
    assert asked
    assert len(counts) <= 1 + constants.STEPS + 4


def test_a_global_dictionary_is_tried_on_folds(clouds):
    """One dictionary, without all of the fold, serves the whole fold; nothing of it is in the dictionary."""
    folds = []

    def listening(trials, gamma, labels, sizes, mus, form, share=None):
        assert trials.dots.shape == (1, labels.shape[1], labels.shape[1])
        folds.append((len(trials.truth), labels.shape[1]))
        return score_margins(trials, gamma, labels, sizes, mus, form)

    search, best, _ = searched(
        *clouds, score=listening, whole=True, n_neighbors=119, locality="atoms", form="rkhs", names=("plain",)
    )
    assert folds
    assert set(folds) == {(15, 105)}
    assert search.scores[best].trials == 120


def test_the_share_is_searched_where_it_is_open(clouds):
    """A scorer that likes half of the dimensions best is given them."""

    def liking(trials, gamma, labels, sizes, mus, form, share=None):
        share = 0.5 if share is None else share
        right = np.arange(len(trials.truth)) % 8 >= abs(np.log2(share) + 1)
        return np.broadcast_to(np.where(right, 1.0, -1.0), (len(sizes), len(mus), 2, len(right)))

    X, y = clouds
    X, y = np.concatenate([X, X + 0.01]), np.concatenate([y, y])
    fixed = {"n_neighbors": 20, "locality": "atoms", "form": "gram", "decision": "ratio", "names": ("plain",)}
    search, best, _ = searched(X, y, score=liking, **fixed)
    assert best.share is None
    maker = {"plain": lambda: search.geometry("plain")}
    given = {k: v for k, v in fixed.items() if k != "names"}
    order = stratify(y, np.random.default_rng(0), np.ones(len(y), bool))
    opened = CandidateEvaluator(Candidates(maker, y, order, ("rbf",), given), MarginScorer(liking), 5.0, n_jobs=1)
    assert Search(opened).run().share == 0.5
    assert {s.share for s in opened.scores} >= {0.25, 0.5, 1.0}


def of_size(scale: float) -> KCRCClassifier:
    X, y = np.random.default_rng(0).standard_normal((14, 5)) * scale, np.arange(14) % 2
    with np.errstate(all="ignore"):
        return KCRCClassifier(scaling="plain", kernel="rbf").fit(X, y)


@pytest.mark.parametrize("scale", [1e160, 1e300, 1e-200, 1e-310])
def test_examples_whose_squared_distances_overflow_or_vanish_are_refused_in_words(scale):
    with pytest.raises(DataError, match="Scale the data"):
        of_size(scale)


@pytest.mark.parametrize("scale", [1e-58, 1e-20, 1e20, 1e58])
def test_examples_of_any_length_that_can_be_squared_twice_have_a_width(scale):
    assert 0 < of_size(scale).tuning_.best.gamma < np.inf


def test_whole_classes_are_counted_as_large_as_those_that_may_be_near():
    """Two classes of 700 among forty of 12: two whole ones are 1,400 atoms then, and not the 90 of two usual ones."""
    rng = np.random.default_rng(0)
    y = np.r_[np.repeat([0, 1], 700), np.repeat(np.arange(2, 42), 12)]
    X = rng.normal(size=(len(y), 5)) + rng.normal(size=(42, 5))[y]
    search, _, _ = searched(X, y, seconds=0.5, names=("plain",))
    assert {setting.locality for setting in search.margins} == {"atoms"}
    assert search.candidates.class_width(2) == 1400
    even, _, _ = searched(*problem(3, n=120, d=8, classes=10)[:2], seconds=2.0, names=("plain",))
    assert {setting.locality for setting in even.margins} == {"atoms", "classes"}


def test_one_class_far_larger_than_all_others_keeps_whole_classes_from_being_tried():
    """It is near in few trials, but each trial is as wide as if it were: 600 atoms and more."""
    rng = np.random.default_rng(0)
    y = np.r_[np.repeat(0, 600), np.repeat(np.arange(1, 301), 12)]
    X = rng.normal(size=(len(y), 5)) + rng.normal(size=(301, 5))[y]
    search, _, _ = searched(X, y, seconds=0.2, names=("plain",))
    assert 2 * search.candidates.typical_class < 250
    assert {setting.locality for setting in search.margins} == {"atoms"}


def test_a_few_larger_classes_do_not_keep_whole_classes_from_being_tried():
    """Three classes of 60 among eighty of 12: an example's class has 25 on average, so four whole ones are tried."""
    rng = np.random.default_rng(0)
    y = np.r_[np.repeat([0, 1, 2], 60), np.repeat(np.arange(3, 83), 12)]
    X = rng.normal(size=(len(y), 8)) + 2.0 * rng.normal(size=(83, 8))[y]
    search, _, _ = searched(X, y, seconds=1.0, names=("plain",))
    assert search.candidates.typical_class == pytest.approx((3 * 60**2 + 80 * 12**2) / len(y))
    assert {s.n_neighbors for s in search.margins if s.locality == "classes"} >= {2, 4}


def test_where_the_size_is_given_what_the_search_finds_is_asked_about_all_examples() -> None:
    """A dictionary of 200 is dear, and a smaller one cannot be tried instead."""
    X, y = load_digits(return_X_y=True)
    given = {"scaling": "unit", "kernel": "rbf", "form": "gram", "decision": "ratio", "locality": "atoms"}
    tuning = KCRCClassifier(n_neighbors=200, **given).fit(X[:900], y[:900]).tuning_
    asked_about_all = [setting for setting, score in tuning.scores.items() if score.trials == 900]
    assert len(asked_about_all) >= 8


@pytest.mark.parametrize("locality", ["auto", "classes"])
@pytest.mark.parametrize("metric", ["within", "standard"])
def test_of_noise_nothing_is_right_because_vectors_about_their_mean_add_up_to_nothing(metric, locality) -> None:
    """The one left out is minus the sum of all others, so that its class has an atom too few: 25 and 28 of 36 right."""
    right = 0.0
    for X, y in noises():
        given = {"scaling": metric, "kernel": "linear", "mu": 1e-3, "decision": "residual", "form": "rkhs"}
        tuning = KCRCClassifier(locality=locality, **given).fit(X, y).tuning_
        assert tuning.best.n_neighbors <= 17
        right += 36 * tuning.accuracy
    assert right <= 40, "chance is 16 of 144"


def test_where_a_dictionary_of_nearly_all_is_given_no_metric_wins_that_tells_who_is_missing() -> None:
    given = {"n_neighbors": 35, "locality": "atoms", "kernel": "linear"}
    tunings = [KCRCClassifier(**given).fit(X, y).tuning_ for X, y in noises()]
    assert {setting.geometry for tuning in tunings for setting in tuning.scores} <= {"plain", "unit"}
    assert max(tuning.accuracy for tuning in tunings) <= 0.4


def noises() -> list[tuple[np.ndarray, np.ndarray]]:
    return [(np.random.default_rng(seed).normal(size=(36, 200)), np.repeat(np.arange(9), 4)) for seed in range(4)]
