"""One ``random_state``, one draw a fit, one seed for all of it."""

from __future__ import annotations

import numpy as np
import pytest
from problems import given, problem
from sklearn.base import clone

from kcrc import KCRCClassifier
from kcrc._base.validation import seed_of
from kcrc.errors import ParameterError
from kcrc.method.learned import KSVD, DKSVDClassifier
from kcrc.tuning.tune import tune

KINDS = [np.random.RandomState, np.random.default_rng]
TUNED = {"n_neighbors": 8, "mu": "auto", "projection": "random", "form": "gram", "tuning_seconds": 2.0}


@pytest.mark.parametrize("kind", KINDS)
def test_one_number_is_drawn_a_fit(kind, monkeypatch):
    """The seed the sample was drawn by is the seed of the projection that was judged on it."""
    X, y, _ = problem(1, n=60)
    seen = []
    monkeypatch.setattr(
        "kcrc.classifier.incremental.tune",
        lambda settings, *rest: (seen.append(settings.seed), tune(settings, *rest))[1],
    )
    state, twin = kind(5), kind(5)
    fitted = given(**TUNED, random_state=state).fit(X, y)
    assert seen == [fitted.model_.method.seed] == [seed_of(twin)]
    assert seed_of(state) == seed_of(twin)  # nothing else was drawn from it


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_state_gives_the_same_fit_and_the_next_draw_another(kind):
    X, y, Q = problem(2, n=60)
    first, again = (given(**TUNED, random_state=kind(3)).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.explain(Q).residuals, again.explain(Q).residuals)
    assert first.tuning_.best == again.tuning_.best
    fixed = given(**TUNED, random_state=first.model_.method.seed).fit(X, y)
    np.testing.assert_array_equal(first.explain(Q).residuals, fixed.explain(Q).residuals)
    assert first.fit(X, y).model_.method.seed != again.model_.method.seed


@pytest.mark.parametrize("kind", KINDS)
def test_clone_parameters_and_files(kind, tmp_path):
    X, y, Q = problem(3)
    state = kind(4)
    classifier = given(10, random_state=state)
    assert classifier.get_params()["random_state"] is state
    copied = clone(classifier)
    assert copied.random_state is not state
    assert copied.fit(X, y).model_.method.seed == classifier.fit(X, y).model_.method.seed
    classifier.save(tmp_path / "file")
    loaded = KCRCClassifier.load(tmp_path / "file")
    assert loaded.random_state == classifier.model_.method.seed
    np.testing.assert_array_equal(loaded.predict(Q), classifier.predict(Q))


@pytest.mark.parametrize("state", [None, 7, np.int64(7), np.random.RandomState(0), np.random.default_rng(0)])
def test_learned_dictionaries_take_every_kind(state):
    X, y, _ = problem(4)
    assert KSVD(5, n_iter=2, random_state=state).fit(X).components_.shape == (5, 6)
    assert DKSVDClassifier(4, sparsity=2, n_iter=2, init_iter=2, random_state=state).fit(X, y).predict(X).shape == (40,)


@pytest.mark.parametrize("wrong", [-1, 2**32, 1.5, "7", np.random, np.random.SeedSequence(1)])
def test_what_is_no_random_state_is_said(wrong):
    X, y, _ = problem(5)
    with pytest.raises(ParameterError, match="random_state must be None, a whole number"):
        given(10, random_state=wrong).fit(X, y)
