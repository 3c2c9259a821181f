"""What "the same answers" means in numbers: docs/architecture.md derives them, and every test that compares two ways
to the same answers, or two versions, takes them from here.

``within`` is how far the codes of one query may be apart, beside the largest of its coefficients. All else follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kcrc import Evidence
from kcrc.model import FittedModel
from kcrc.precision import error_in_single, single_will_do

DOUBLE = 1e-9  # κ u of double precision, with condition numbers κ up to 10⁷
STOPPED = 1e-5  # coders that iterate until the objective is within 10⁻⁶ or less: codes are less sharp than it
SQUARES = 1e-12  # of squared residuals, differences of energies near 1: κ u with κ up to 10⁴; less is nothing
STEEPEST = 10.0  # how much a probability changes with the logarithm of a residual, at most: 1/(4 T), T ≥ 0.025


def within(model: FittedModel) -> float:
    """For a fitted model: two answers, each as far from the exact one as its coder and its precision allow."""
    if model.method.coder.iterates:
        return STOPPED
    if model.vectors.dtype == np.float64 or not single_will_do(model):
        return DOUBLE
    mu = model.method.coder.ridge_penalty
    assert mu is not None
    return 2 * error_in_single(model.largest_dictionary, mu, normalize=model.method.space.normalize)


def assert_same_residuals(now: Any, then: Any, within: float = DOUBLE) -> None:
    """Squares are what is computed: a residual near 0 has half their digits."""
    squares = [np.square(np.asarray(residuals, float)) for residuals in (now, then)]
    np.testing.assert_allclose(*squares, rtol=2 * within, atol=SQUARES)


def assert_same_parts(now: Any, then: Any, within: float = DOUBLE) -> None:
    """Coefficients or contributions of queries (B, K), beside the largest of each query."""
    now, then = np.asarray(now, float), np.asarray(then, float)
    largest = np.abs(then).max(axis=1, keepdims=True, initial=0.0)
    largest[largest == 0.0] = 1.0
    np.testing.assert_allclose(now / largest, then / largest, rtol=0, atol=within)


def assert_same_probabilities(now: Any, then: Any, within: float = DOUBLE) -> None:
    np.testing.assert_allclose(now, then, rtol=0, atol=STEEPEST * within)


def assert_same_answers(now: Mapping[str, Any], then: Mapping[str, Any], within: float = DOUBLE) -> None:
    """All of it that ``then`` holds: "labels" and "rows" are equal, numbers are as near as they have to be.
    Contributions that are all 0 were not kept then: earlier versions did not code queries whose neighbours agree."""
    assert list(now["labels"]) == list(then["labels"])
    if "rows" in then:
        np.testing.assert_array_equal(now["rows"], then["rows"])
    if "residuals" in then:
        assert_same_residuals(now["residuals"], then["residuals"], within)
    if "contributions" in then:
        kept = np.any(then["contributions"], axis=1)
        assert_same_parts(np.asarray(now["contributions"])[kept], np.asarray(then["contributions"])[kept], within)
    if "probabilities" in then:
        assert_same_probabilities(now["probabilities"], then["probabilities"], within)


def assert_same_evidence(now: Evidence, then: Evidence, within: float = DOUBLE) -> None:
    """The same of two evidences, with coefficients and how each was answered."""
    names = ("labels", "rows", "residuals", "contributions")
    assert_same_answers({n: getattr(now, n) for n in names}, {n: getattr(then, n) for n in names}, within)
    assert_same_parts(now.coefficients, then.coefficients, within)
    np.testing.assert_array_equal(now.how, then.how)
