"""What "the same answers" means in numbers: docs/architecture.md derives them, and every test that compares two ways
to the same answers, or two versions, takes them from here.

``within`` is how far the codes of one query may be apart, beside the largest of its coefficients. All else follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kcrc.method.decisions.base import per_class
from kcrc.method.evidence import Evidence
from kcrc.method.fitted_model import FittedModel
from kcrc.method.local_problem import error_in_single, single_will_do

DOUBLE = 1e-9  # κ u of double precision, with condition numbers κ up to 10⁷
STOPPED = 1e-5  # coders that iterate until the objective is within 10⁻⁶ or less: codes are less sharp than it
SQUARES = 1e-12  # of squared residuals, differences of energies near 1: κ u with κ up to 10⁴; less is nothing
STEEPEST = 10.0  # how much a probability changes with the logarithms of residuals: 1/(2 T), with T of 0.05 or more


def within(model: FittedModel) -> float:
    """For a fitted model: two answers, each as far from the exact one as its coder and its precision allow."""
    if model.method.coder.iterates:
        return STOPPED
    mu, space = model.method.coder.ridge_penalty, model.method.space
    if mu is None:
        return DOUBLE  # solved in double precision, whatever the vectors
    if model.vectors.dtype != np.float64 and single_will_do(model):
        return 2 * error_in_single(model.largest_dictionary, mu, normalize=space.normalize)
    if space.normalize:
        return DOUBLE
    # The columns have no bound: κ by the largest eigenvalue of H, which is that of all examples at most.
    everyone = space.basis(model, np.arange(len(model))[None]).dictionary.gram[0]
    condition = (np.linalg.eigvalsh(everyone)[-1] + mu) / mu
    return max(DOUBLE, float(condition * np.finfo(np.float64).eps))


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
    """The same of two evidences by the decision "ratio" or "residual", in any units: it knows ‖y‖² and ‖xᵢ‖."""
    names = ("labels", "rows", "contributions")
    assert_same_answers({n: getattr(now, n) for n in names}, {n: getattr(then, n) for n in names}, within)
    assert_same_parts(now.coefficients, then.coefficients, within)
    np.testing.assert_array_equal(now.how, then.how)
    there = np.isfinite(then.residuals)
    np.testing.assert_array_equal(np.isfinite(now.residuals), there)
    least = within * (then.energy[:, None] + np.zeros_like(then.residuals))  # of ‖y‖² − Σ c_j
    if then.decision == "ratio":
        length = np.sqrt(per_class(then.coefficients**2, then.neighbour_labels, len(then.classes)))
        length[length == 0.0] = 1.0  # of a class without a part: its residual is ∞, or 0 where all agree
        largest = np.abs(then.coefficients).max(axis=1, keepdims=True)
        least = least / length**2 + 2 * within * np.where(there, then.residuals, 0.0) ** 2 * largest / length
    squares = [evidence.residuals[there] ** 2 for evidence in (now, then)]
    assert (np.abs(squares[0] - squares[1]) <= least[there] + 2 * within * squares[1]).all()
