"""The loss of margins."""

from __future__ import annotations

import numpy as np

from kcrc.tuning.constants import TEMPERATURES
from kcrc.tuning.result import loss


def by_hand(margins, t):
    """At one temperature; wrong answers count as their mean and one that is certain, with a margin or without."""
    doubts = [(1.0 - 1.0 / (1.0 + np.exp(min(-m / t, 500.0)))) ** 2 for m in margins]
    wrong = [d for d, m in zip(doubts, margins, strict=True) if -np.inf < m <= 0]
    usual = np.mean([*wrong, 1.0])
    return np.mean([d if m > 0 else usual for d, m in zip(doubts, margins, strict=True)])


def test_against_the_formula():
    for margins in ([0.3, -0.01, 2.0], [0.0, 1e-3, -4.0, np.inf], [-np.inf, 0.2, -0.3, 5.0], [-np.inf, 0.2]):
        want = min(by_hand(margins, t) for t in TEMPERATURES)
        np.testing.assert_allclose(loss(np.array(margins)), want, rtol=1e-5)


def test_certain_answers_are_all_right_or_all_wrong():
    assert loss(np.full(3, np.inf)) == 0.0
    assert loss(np.full(3, -np.inf)) == 1.0
    assert loss(np.array([np.inf, -np.inf])) == 0.5


def test_the_scale_of_margins_does_not_matter_but_clearness_does():
    margins = np.random.default_rng(0).normal(0.5, 1.0, size=500)
    assert abs(loss(0.25 * margins) - loss(margins)) < 1e-3 * loss(margins)
    assert loss(np.where(margins > 0, 3 * margins, margins)) < loss(margins)  # as many right, more clearly
