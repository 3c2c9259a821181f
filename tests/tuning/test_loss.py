"""The loss of margins."""

from __future__ import annotations

import numpy as np

from kcrc.tuning.loss import TEMPERATURES, doubts


def test_against_the_formula():
    margins = np.array([[0.3, -0.01, 2.0], [0.0, 1e-3, -4.0]])
    found = doubts(margins)
    assert found.shape == (len(TEMPERATURES), 2)
    for at, t in enumerate(TEMPERATURES):
        doubt = 1.0 - 1.0 / (1.0 + np.exp(np.minimum(-margins / t, 500.0)))
        np.testing.assert_allclose(found[at], (doubt**2).sum(axis=1), rtol=1e-5, atol=1e-12)


def test_certain_answers_are_all_right_or_all_wrong():
    np.testing.assert_array_equal(doubts(np.array([np.inf, -np.inf, -np.inf])), np.full(len(TEMPERATURES), 2.0))


def test_the_scale_of_margins_does_not_matter_but_their_order_does():
    rng = np.random.default_rng(0)
    margins = rng.normal(0.5, 1.0, size=500)
    least = doubts(margins).min()
    assert abs(doubts(0.25 * margins).min() - least) < 1e-3 * least
    assert doubts(np.where(margins > 0, 3 * margins, margins)).min() < least  # as many right, more clearly
