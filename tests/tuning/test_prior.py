"""The prior: what decides where examples are few, and has to be beaten clearly where they are not many."""

from __future__ import annotations

import numpy as np
import pytest

from kcrc import KCRCClassifier, scaling
from kcrc.tuning.candidates import Candidates
from kcrc.tuning.scoring import MarginScorer, score_margins
from kcrc.tuning.search import CandidateEvaluator, Search


def clouds(each: int, *, classes: int = 12, d: int = 30, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(classes), each)
    return rng.normal(size=(classes, d))[y] + rng.normal(size=(len(y), d)), y


def test_with_two_a_class_the_prior_decides_alone():
    X, y = clouds(2)
    tuning = KCRCClassifier().fit(X, y).tuning_
    best = tuning.best
    assert list(tuning.scores) == [best]
    assert best.geometry == "scaled, within 0.57"  # 30 / (23 + 30)
    assert (best.n_neighbors, best.kernel, best.mu, best.decision) == (23, "rbf", 0.1, "residual")
    assert tuning.trials == 24


def test_where_all_others_answered_all_examples_do_and_go_on_when_more_come():
    """Of four examples three would leave one class a single one, and of forty that came later they would be few."""
    X, y = clouds(20, classes=2)
    first = np.flatnonzero(np.arange(len(y)) % 20 < 2)
    clf = KCRCClassifier().fit(X[first], y[first])
    assert clf.tuning_.best.n_neighbors == 3
    assert (clf.explain(X[5:6]).rows >= 0).sum() == 4
    rest = np.setdiff1d(np.arange(len(y)), first)
    assert (clf.partial_fit(X[rest], y[rest]).explain(X[5:6]).rows >= 0).sum() == 40


def test_with_two_a_class_no_metric_is_fitted_but_the_favourite(monkeypatch):
    """Of many features each whitening takes a while, and nobody asks the others."""
    fitted, fit = set(), scaling.Within.fit_covariance

    def noted(self, X, covariance):
        fitted.add((self.shrinkage, self.unit, self.scaled))
        return fit(self, X, covariance)

    monkeypatch.setattr(scaling.Within, "fit_covariance", noted)
    KCRCClassifier().fit(*clouds(2))
    assert fitted == {(0.57, True, True)}


def test_what_is_given_is_kept_by_the_prior():
    X, y = clouds(2)
    best = KCRCClassifier(7, decision="ratio", gamma=0.3).fit(X, y).tuning_.best
    assert (best.n_neighbors, best.decision, best.gamma) == (7, "ratio", 0.3)
    linear = KCRCClassifier(kernel="linear").fit(X, y).tuning_
    assert len(linear.scores) > 20  # it knows of nothing but the RBF kernel: the search decides


def test_the_search_begins_with_the_favourite_and_keeps_it_to_the_end():
    X, y = clouds(6)
    tuning = KCRCClassifier(tuning_seconds=1).fit(X, y).tuning_
    wanted = {"geometry": "scaled, within 0.3", "n_neighbors": 50, "mu": 0.1, "decision": "residual", "form": "rkhs"}
    favourites = [s for s in tuning.scores if wanted.items() <= vars(s).items() and s.kernel == "rbf"]
    assert max(tuning.scores[s].trials for s in favourites) == 72


@pytest.mark.parametrize(("ahead", "per_class", "beaten"), [(1, 4, False), (6, 4, False), (17, 4, True), (6, 64, True)])
def test_a_setting_has_to_beat_the_favourite_by_more_than_the_noise(ahead, per_class, beaten):
    """Of 100 answers it is right about ``ahead`` that the favourite got wrong, and never the other way round."""
    candidates = Candidates({}, np.repeat(np.arange(100), per_class), np.arange(100), ())
    search = Search(CandidateEvaluator(candidates, MarginScorer(score_margins), 1.0))
    fluke, favourite = "fluke", "favourite"
    margins = np.ones(100, np.float32)
    search.evaluator.margins = {fluke: margins, favourite: np.where(np.arange(100) < ahead, -1.0, 1.0)}
    doubt = {name: np.zeros(100) for name in (fluke, favourite)}  # of which none can be told apart
    assert search._beats(fluke, favourite, doubt) == beaten


def test_the_more_examples_a_class_the_less_the_prior_asks_for():
    labels = [np.repeat(np.arange(3), count) for count in (4, 8, 16, 100)]
    asked = [Candidates({}, y, np.arange(len(y)), ()).errors_needed for y in labels]
    assert asked == sorted(asked, reverse=True)
    assert asked[0] >= 4.0
    assert asked[-1] < 0.2
