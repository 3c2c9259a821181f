"""What an answer says beyond its label: how probable, whether unknown, which classes it may be of.

All of it is read off the evidence, so nothing here asks an example again; every face of the library reads it here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.calibration import Confidence
from kcrc.confidence.open_set import mark_unknown
from kcrc.method.evidence import NEAREST, Evidence, open_set_features

# In which order classes are named: the likeliest first, of equally likely ones that which fits better.

ALIKE = 9  # decimals of a probability: a smaller difference is rounding


def rank_classes(probabilities: Array, residuals: Array, winner: Array) -> Array:
    """(B, C) class numbers in that order, for probabilities and residuals (B, C) and the classes answered (B,)."""
    chances = -np.round(probabilities, ALIKE)
    loses = np.arange(probabilities.shape[1]) != winner[:, None]
    return np.lexsort((residuals, loses, chances), axis=1)


ONE_CLASS = "there is only one class, {}, so nothing can be told apart"
NO_LIKENESS = "it resembles no example: the nearest has nothing in common with it"


@dataclass(frozen=True, eq=False)
class Answers:
    """Of n queries among C classes.

    labels (n,), with the mark of the unknown; probabilities (n, C); unknown (n,) bool; why (n,) a reason for each that
    is unknown, or would be if the label need not be one of the classes, None for the others; members (n, C) bool of the
    sets, None where no sets were asked for; mark what the unknown are called (None: as suits the labels).
    """

    evidence: Evidence
    labels: Array
    probabilities: Array
    unknown: Array
    why: tuple[str | None, ...]
    members: Array | None
    mark: Any = None

    def __len__(self) -> int:
        return len(self.evidence)

    @property
    def probability(self) -> Array:
        """(n,) of the best class, also where the answer is "unknown"; NaN where there is no other class: one is not
        told from nothing."""
        best = self.probabilities[np.arange(len(self)), self.evidence.winner]
        return np.asarray(best if len(self.evidence.classes) > 1 else np.full(len(self), np.nan))

    def but_unknown(self, why: Sequence[str | None]) -> Answers:
        """The same, but unknown where ``why`` (n,) has a reason."""
        strange = np.array([reason is not None for reason in why], bool)
        labels = mark_unknown(self.labels, strange, self.evidence.classes, self.mark)
        reasons = tuple(new or old for new, old in zip(why, self.why, strict=True))
        return replace(self, labels=labels, unknown=self.unknown | strange, why=reasons)

    def set_of(self, i: int) -> tuple[str, ...]:
        """The classes that query i may be of, the likeliest first; none where nothing fits as well as promised."""
        assert self.members is not None
        return tuple(str(self.evidence.classes[c]) for c in self._rank(i) if self.members[i, c])

    def likely(self, i: int, least: float = 0.0005) -> dict[str, float]:
        """Probabilities of query i by class, the likeliest first, down to ``least``; none where there is one class."""
        if len(self.evidence.classes) == 1:
            return {}
        row = self.probabilities[i]
        return {str(self.evidence.classes[c]): float(row[c]) for c in self._rank(i) if row[c] >= least}

    def _rank(self, i: int) -> Array:
        one = slice(i, i + 1)
        return np.asarray(
            rank_classes(self.probabilities[one], self.evidence.residuals[one], self.evidence.winner[one])[0]
        )


def answers_of(
    confidence: Confidence,
    evidence: Evidence,
    *,
    reject: float | None = None,
    unknown: Any = None,
    coverage: float | None = None,
) -> Answers:
    """The answers in ``evidence``: with ``reject``, queries that resemble no class are called ``unknown``, and that
    share of known ones by mistake; with ``coverage``, the sets that hold the true class that often."""
    labels, strange, members = evidence.labels, np.zeros(len(evidence), bool), None
    why = unreliable(evidence)
    if reject is not None:
        labels, strange = labels_or_unknown(confidence, evidence, reject=reject, unknown=unknown)
        why = reasons_of(confidence, evidence, strange)
    if coverage is not None:
        members = members_of(confidence, evidence, coverage=coverage)
    return Answers(evidence, labels, probabilities_of(confidence, evidence), strange, why, members, unknown)


def unreliable(evidence: Evidence) -> tuple[str | None, ...]:
    """(n,) why the answers say nothing, whatever the query is; None where they do."""
    if len(evidence.classes) == 1:
        return (ONE_CLASS.format(evidence.classes[0]),) * len(evidence)
    return tuple(NO_LIKENESS if how == NEAREST else None for how in evidence.how)


def reasons_of(confidence: Confidence, evidence: Evidence, strange: Array) -> tuple[str | None, ...]:
    """(n,) why each query that is ``strange`` (n,) resembles no class; None for the others."""
    told = confidence.needed_open_set().reasons(open_set_features(evidence), evidence.labels)
    return tuple(reason if is_strange else None for reason, is_strange in zip(told, strange, strict=True))


def probabilities_of(confidence: Confidence, evidence: Evidence) -> Array:
    """(n, C), calibrated."""
    return confidence.probabilities(evidence)


def strangeness_of(confidence: Confidence, evidence: Evidence) -> Array:
    """(n,) higher is stranger."""
    return confidence.needed_open_set().score(open_set_features(evidence))


def labels_or_unknown(
    confidence: Confidence, evidence: Evidence, *, reject: float, unknown: Any = None
) -> tuple[Array, Array]:
    """(n,) labels with the mark where a query resembles no class, and (n,) where that is."""
    strange = strangeness_of(confidence, evidence) > confidence.needed_open_set().threshold(reject)
    return mark_unknown(evidence.labels, strange, evidence.classes, unknown), strange


def members_of(
    confidence: Confidence,
    evidence: Evidence,
    *,
    coverage: float,
    class_conditional: bool = False,
    allow_empty: bool = True,
) -> Array:
    """(n, C) bool, which classes are in each query's set."""
    sets = confidence.needed_sets()
    scores = confidence.scores(probabilities_of(confidence, evidence), open_set_features(evidence))
    inside = sets.members(scores, evidence.classes, coverage, class_conditional)
    if not allow_empty:
        inside[np.arange(len(inside)), evidence.winner] |= ~inside.any(axis=1)
    return inside


# All that is said of images, a flat row each: for the command line and for files of answers.


def rows_of(names: Sequence[str], found: Answers, *, top: int = 0) -> list[dict[str, Any]]:
    """All that is said of each image, in the order of the columns."""
    import numpy as np

    from kcrc.method.evidence import HOW

    evidence, sure = found.evidence, found.probability
    best, margin = evidence.labels.tolist(), evidence.margin.tolist()
    alone = np.isfinite(evidence.residuals).sum(axis=1) < 2
    second = evidence.classes[evidence.runner_up].tolist()
    rows = []
    for i, name in enumerate(names):
        row: dict[str, Any] = {
            "image": name,
            "label": str(found.labels[i]),
            "probability": None if isnan(sure[i]) else float(sure[i]),
            "unknown": bool(found.unknown[i]),
            "best": best[i],
        }
        if found.members is not None:
            row["set"] = list(found.set_of(i))
        if top:
            likeliest = itertools.islice(found.likely(i, least=0.0).items(), top)
            row["top"] = [{"label": label, "probability": share} for label, share in likeliest]
        row |= {"margin": margin[i], "runner_up": None if alone[i] else second[i], "how": HOW[evidence.how[i]]}
        rows.append({**row, "why": found.why[i], "probabilities": found.likely(i)})
    return rows


def columns(*, sets: bool, top: int) -> list[str]:
    """The columns of a table of rows."""
    likeliest = [name for place in range(1, top + 1) for name in (f"top_{place}", f"top_{place}_probability")]
    first = ["image", "label", "probability", "unknown", "best", *(["set"] if sets else []), *likeliest]
    return [*first, "margin", "runner_up", "how", "why"]


def in_columns(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its likeliest classes in columns of their own."""
    found = dict(row)
    for place, one in enumerate(row.get("top", []), 1):
        found |= {f"top_{place}": one["label"], f"top_{place}_probability": one["probability"]}
    return found
