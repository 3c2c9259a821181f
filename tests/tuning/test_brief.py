"""The short search: few geometries, few settings, nearly as good."""

from __future__ import annotations

import numpy as np
import pytest
from problems import problem

from kcrc import KCRCClassifier, distances
from kcrc.method.distances.textons import TextonChi2
from kcrc.tuning.geometries import scaling_named
from kcrc.tuning.search import Search


@pytest.fixture(scope="module")
def clouds():
    return problem(3, n=120, d=8, classes=4)


def test_it_looks_at_the_favoured_geometry_and_at_the_vectors_as_they_are(clouds):
    X, y, _ = clouds
    whole = KCRCClassifier().fit(X, y).tuning_
    brief = KCRCClassifier()._fit(X, y, groups=None, brief=True).tuning_
    names = {setting.geometry for setting in brief.scores}
    assert len(names) == 2
    assert "plain" in names
    assert all(scaling_named(name).by_class for name in names - {"plain"})
    assert len(brief.scores) < len(whole.scores)
    assert brief.accuracy >= whole.accuracy - 0.05


def test_every_finalist_was_asked_about_all(clouds):
    X, y, _ = clouds
    found = KCRCClassifier()._fit(X, y, groups=None, brief=True).tuning_
    assert found.scores[found.best].trials == len(X)


def test_what_is_fixed_stays(clouds):
    X, y, _ = clouds
    made = KCRCClassifier(n_neighbors=7, scaling="plain", mu=0.5)._fit(X, y, groups=None, brief=True)
    assert {(s.n_neighbors, s.geometry, s.mu) for s in made.tuning_.scores} == {(7, "plain", 0.5)}


def test_two_examples_a_class_leave_it_to_the_prior():
    X, y, _ = problem(3, n=12, d=8, classes=6)
    made = KCRCClassifier()._fit(X, y, groups=None, brief=True)
    assert made.tuning_.best == KCRCClassifier().fit(X, y).tuning_.best


def test_the_next_choice_is_a_whole_one(clouds, monkeypatch):
    X, y, _ = clouds
    made = KCRCClassifier()._fit(X, y, groups=None, brief=True)
    monkeypatch.setattr(Search, "_run_briefly", lambda search: pytest.fail("brief"))
    made.retune()
    assert len({setting.geometry for setting in made.tuning_.scores}) > 2


@pytest.mark.parametrize("brief", [False, True])
def test_pictures_are_prepared_once_for_the_search_and_the_model(monkeypatch, brief):
    """Filters over every picture cost more than all the rest."""
    rng = np.random.default_rng(0)
    pictures, y = rng.random((24, 16, 16), dtype=np.float32), np.repeat([0, 1], 12)
    calls, prepare = [], TextonChi2.prepare

    def counted(self, X):
        calls.append(len(X))
        return prepare(self, X)

    monkeypatch.setattr(TextonChi2, "prepare", counted)
    made = KCRCClassifier(distance=distances.make("texton-chi2"))._fit(pictures, y, groups=None, brief=brief)
    assert calls.count(len(pictures)) == 1
    again = made.model_.method.distance.prepare(pictures.reshape(24, -1))
    assert np.array_equal(made.model_.examples(made.model_.method.distance)["vectors"], again["vectors"])
