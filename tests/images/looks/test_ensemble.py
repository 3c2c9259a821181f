"""Several answers as one: weights, probabilities and shares."""

from __future__ import annotations

import numpy as np

from images.looks.drawings import drawings
from kcrc.images.looks.ensemble import combine_evidence, combine_log_probabilities, learn_weights, log_losses
from kcrc.method.evidence import join_evidence


def answers(rng, truth, quality):
    """Log-probabilities of four classes that are right as often as ``quality`` makes them."""
    values = rng.normal(size=(len(truth), 4))
    values[np.arange(len(truth)), truth] += quality
    return values - np.log(np.exp(values).sum(axis=1, keepdims=True))


def test_combined_probabilities_are_the_product(rng):
    truth = rng.integers(0, 4, 50)
    one, other = answers(rng, truth, 1.0), answers(rng, truth, 2.0)
    product = np.exp(one) ** 0.3 * np.exp(other) ** 0.7
    np.testing.assert_allclose(
        np.exp(combine_log_probabilities([one, other], [0.3, 0.7])), product / product.sum(1, keepdims=True)
    )


def test_learned_weights_are_at_least_as_good_as_each_alone(rng):
    truth = rng.integers(0, 4, 400)
    logs = [answers(rng, truth, quality) for quality in (0.0, 1.0, 2.0)]
    weights = learn_weights(logs, truth)
    assert weights[0] < weights[1] < weights[2]
    together = log_losses(combine_log_probabilities(logs, weights), truth).mean()
    assert together < min(log_losses(log, truth).mean() for log in logs)


def test_combined_shares_are_the_members_shares_by_weight(fitted):
    images, _ = drawings(2, first=300)
    members = fitted.ensemble_.members
    parts = [
        join_evidence(e.classifier._read(e.look.see(list(images)), lambda one: one, explain=True, code_all=True))
        for e in members
    ]
    evidence = combine_evidence(members, parts, explain=True)
    bare = combine_evidence(members, parts, explain=False)
    np.testing.assert_array_equal(evidence.residuals, bare.residuals)
    np.testing.assert_allclose(np.exp(-evidence.residuals).sum(axis=1), 1.0)
    real = evidence.rows >= 0
    for at in range(len(images)):
        named = evidence.rows[at][real[at]]
        assert len(named) == len(set(named))
        assert set(named) == set(np.concatenate([part.rows[at][part.rows[at] >= 0] for part in parts]))
        assert (np.diff(evidence.distances[at][real[at]]) >= 0).all()
