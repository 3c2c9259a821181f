"""Which unlabelled queries to label next: those that are likely answered wrong, one of each kind.

A query is worth the probability that its answer is wrong, one that looks like no class at least ½. They are taken from
the top; one that lies nearer to a query taken before than to any stored example is left out, because once that one is
labelled it will answer for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.calibration import Confidence
from kcrc.confidence.ranking import ranked
from kcrc.errors import ParameterError
from kcrc.method.evidence import Evidence
from kcrc.method.fitted_model import FittedModel
from kcrc.method.open_set_features import signs
from kcrc.method.preparation import Samples

STRANGE = 0.05  # of known queries are called so by mistake
STRANGER = 0.5  # what one is worth at least
CONSIDERED = 10  # times as many as are wanted are looked at for their like


@dataclass(frozen=True)
class Candidate:
    """A query to label.

    Attributes
    ----------
    row : int
        Its place in the batch.
    worth : float
        How likely its answer is wrong; at least ½ where it looks like no class.
    likely : tuple of (object, float)
        The two likeliest classes with their probabilities; one, where no other was compared.
    why : str
        Why to label it, in words.
    """

    row: int
    worth: float
    likely: tuple[tuple[Any, float], ...]
    why: str


@dataclass(frozen=True, eq=False)
class Doubt:
    """Of m answers: what labelling is worth (m,), the two likeliest classes (m, 2) and their probabilities, whether it
    looks like none (m,), the distance to the nearest example (m,), and whether any other class was compared (m,): where
    none was, all others are equally unlikely, and none of them is second."""

    worth: Array
    classes: Array
    probabilities: Array
    strange: Array
    nearest: Array
    compared: Array

    @classmethod
    def of(cls, confidence: Confidence, evidence: Evidence) -> Doubt:
        p = confidence.probabilities(evidence)
        top = ranked(p, evidence.residuals, evidence.winner)[:, :2]
        strange = np.zeros(len(p), bool)
        if confidence.open_set is not None:
            strange = confidence.open_set.score(signs(evidence)) > confidence.open_set.threshold(STRANGE)
        best = np.take_along_axis(p, top, 1)
        worth = np.maximum(1.0 - best[:, 0], np.where(strange, STRANGER, 0.0))
        far = np.fmin.reduce(np.where(evidence.rows >= 0, evidence.distances, np.nan), axis=1)
        compared = evidence.runner_up != evidence.winner
        return cls(worth, evidence.classes[top], best, strange, far, compared)

    @classmethod
    def joined(cls, parts: list[Doubt]) -> Doubt:
        return cls(
            worth=np.concatenate([part.worth for part in parts]),
            classes=np.concatenate([part.classes for part in parts]),
            probabilities=np.concatenate([part.probabilities for part in parts]),
            strange=np.concatenate([part.strange for part in parts]),
            nearest=np.concatenate([part.nearest for part in parts]),
            compared=np.concatenate([part.compared for part in parts]),
        )


def next_to_label(model: FittedModel, doubt: Doubt, vectors: Array, count: int) -> list[Candidate]:
    """The ``count`` queries (m, d), as they were given, that are worth most."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise ParameterError(f"count is how many queries to name, a whole number from 1 on; got {count!r}.")
    order = np.argsort(-doubt.worth, kind="stable")[: CONSIDERED * count]
    distance = model.method.distance
    if distance.given_as_matrix:  # what lies between queries is not given
        return [_candidate(doubt, int(row)) for row in order[:count]]
    scaled = model.method.metric.transform(vectors[order].astype(model.working_type, copy=False))
    samples = Samples(np.ascontiguousarray(scaled))
    prepared = samples.of(distance)
    answered_for = np.zeros(len(order), bool)
    chosen: list[Candidate] = []
    for at, row in enumerate(order):
        if len(chosen) == count:
            break
        if answered_for[at]:
            continue
        chosen.append(_candidate(doubt, int(row)))
        to_others = distance.pairwise(prepared.take(np.array([at])), prepared)[0]
        answered_for |= to_others < doubt.nearest[order]
    return chosen


def _candidate(doubt: Doubt, row: int) -> Candidate:
    names = [name.item() if isinstance(name, np.generic) else name for name in doubt.classes[row]]
    count = 2 if doubt.compared[row] else 1
    likely = tuple((name, float(p)) for name, p in zip(names, doubt.probabilities[row], strict=True))[:count]
    if doubt.strange[row]:
        why = f"looks like none of the classes; {names[0]} at best"
    elif len(names) == 1:
        why = f"{names[0]} is the only class"
    else:
        why = " or ".join(f"{name} ({_about(p)})" for name, p in likely) + "?"
    return Candidate(row, float(doubt.worth[row]), likely, why)


def _about(p: float) -> str:
    """Whole per cent, and never 0 or 100: nothing is certain."""
    return "under 1%" if p < 0.01 else "over 99%" if p > 0.99 else f"{p:.0%}"
