"""Enough yet? What the examples' own answers say of each class, of more examples, and of what to label next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kcrc._base.arrays import Array, as_python
from kcrc._base.few_examples import FEWEST
from kcrc.confidence.answers import rank_classes
from kcrc.confidence.calibration import Confidence
from kcrc.confidence.learning_curve import Gain, LearningCurve, Point, learning_curve
from kcrc.errors import ParameterError, StateError
from kcrc.method.evidence import Evidence, open_set_features
from kcrc.method.fitted_model import FittedModel
from kcrc.method.preparation import Samples
from kcrc.tuning.left_out.answers import LeftOut

# Which unlabelled queries to label next: those that are likely answered wrong, one of each kind.
#
# A query is worth the probability that its answer is wrong, one that looks like no class at least ½. They are taken
# from the top; one that lies nearer to a query taken before than to any stored example is left out, because once that
# one is labelled it will answer for it.

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
        top = rank_classes(p, evidence.residuals, evidence.winner)[:, :2]
        strange = np.zeros(len(p), bool)
        if confidence.open_set is not None:
            strange = confidence.open_set.score(open_set_features(evidence)) > confidence.open_set.threshold(STRANGE)
        best = np.take_along_axis(p, top, 1)
        worth = np.maximum(1.0 - best[:, 0], np.where(strange, STRANGER, 0.0))
        far = np.fmin.reduce(np.where(evidence.rows >= 0, evidence.distances, np.nan), axis=1)
        compared = evidence.runner_up != evidence.winner
        return cls(worth, evidence.classes[top], best, strange, far, compared)

    @classmethod
    def join(cls, parts: list[Doubt]) -> Doubt:
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
    scaled = model.method.scaling.transform(vectors[order].astype(model.working_type, copy=False))
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
    names = [as_python(name) for name in doubt.classes[row]]
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


MORE = 10  # examples of a class
CONFUSED = 3  # classes named
SHRINK = 2.0  # answers of average accuracy that are added to a class's own
SHOWN, WIDEST = 20, 30  # classes in the text, characters of a name


@dataclass(frozen=True)
class ClassAdvice:
    """What the examples' own answers say of one class.

    Attributes
    ----------
    name : object
        The class.
    examples : int
        How many examples of it are stored.
    asked : int
        How many of them were asked as if they were not stored.
    right : float or None
        The share of right answers; None where none was asked.
    confused : tuple of (object, int)
        What the wrong answers were: class, and how many.
    ten_more : float or None
        By how much ten more examples are likely to raise ``right``; None where there are too few to tell.
    """

    name: Any
    examples: int
    asked: int
    right: float | None
    confused: tuple[tuple[Any, int], ...]
    ten_more: float | None


@dataclass(frozen=True)
class Advice:
    """What ``advise`` says: whether there are enough examples, and what to label next.

    Attributes
    ----------
    examples : int
        How many examples are stored.
    asked : int
        How many of them were asked as if they were not stored.
    right : float
        The share of right answers.
    classes : tuple of ClassAdvice
        Each class, those to which ten more examples bring most first.
    curve : tuple of Point
        Accuracy by number of examples.
    doubled : Gain or None
        What twice as many examples are likely to bring; None where there are too few to tell.
    ten_more : Gain or None
        What ten more examples of each class are likely to bring.
    label_next : tuple of Candidate
        Which queries to label next, the most useful first; none where no queries were given.
    """

    examples: int
    asked: int
    right: float
    classes: tuple[ClassAdvice, ...]
    curve: tuple[Point, ...]
    doubled: Gain | None
    ten_more: Gain | None
    label_next: tuple[Candidate, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return self.text()

    def text(self, *, named: Callable[[Any], str] = str, query: Callable[[int], str] = str) -> str:
        """To be read at a glance; ``named`` shows what holds names of classes, ``query`` says which query a row is."""
        lines = [f"{self.right:.1%} of {self.asked} examples are answered right by the others ({self.examples} stored)"]
        if self.doubled is not None and self.ten_more is not None:
            lines += [
                f"Ten more of each class: {self.ten_more}",
                f"Twice as many examples: {self.doubled}",
                "",
                "examples   right",
            ]
            lines += [f"{p.examples:8d}  {p.accuracy:6.1%}  ({p.low:.1%} to {p.high:.1%})" for p in self.curve]
        names = [named(c.name)[:WIDEST] for c in self.classes[:SHOWN]]
        width = max(5, *map(len, names))
        lines += ["", f"{'class':<{width}}  examples   right  ten more  taken for"]
        for name, c in zip(names, self.classes, strict=False):
            right = "–" if c.right is None else f"{c.right:.1%}"
            more = "–" if c.ten_more is None else f"{100 * c.ten_more:+.1f}"
            taken = ", ".join(f"{named(other)} {count}" for other, count in c.confused)
            lines.append(f"{name:<{width}}  {c.examples:8d}  {right:>6}  {more:>8}  {taken}".rstrip())
        if len(self.classes) > SHOWN:
            lines.append(f"… and {len(self.classes) - SHOWN} more classes, to which more examples bring less")
        if self.label_next:
            lines += ["", "Label next:", *(f"  {query(c.row)}: {named(c.why)}" for c in self.label_next)]
        return "\n".join(lines)


def _is_of(left: LeftOut, model: FittedModel, confidence: Confidence) -> bool:
    """Whether these are answers of the model: no example came or went since, and none has another class."""
    if not np.array_equal(model.ids, confidence.exclusion.ids) or left.winner.max(initial=0) >= len(model.classes):
        return False
    return np.array_equal(model.labels[np.searchsorted(model.ids, left.rows)], left.truth)


def advise(model: FittedModel, confidence: Confidence) -> Advice:
    """Of the examples as they are stored."""
    left = confidence.left_out
    if left is None or not _is_of(left, model, confidence):
        left = LeftOut.of(model, confidence.exclusion)
    if left is None:
        raise StateError(f"Advice rests on the examples' own answers, and {_why_none(model, confidence)}")
    curve = learning_curve(model, confidence.exclusion, left)
    counts = np.bincount(model.labels, minlength=len(model.classes))
    present = int((counts > 0).sum())
    classes = [_class(model, left, curve, c, n) for c, n in enumerate(counts.tolist()) if n]
    return Advice(
        examples=len(model),
        asked=len(left),
        right=float(left.right.mean()),
        classes=tuple(sorted(classes, key=lambda c: -(c.ten_more or 0.0))),
        curve=curve.points,
        doubled=curve.gain(2.0),
        ten_more=curve.gain(1.0 + MORE * present / len(model)),
    )


def _why_none(model: FittedModel, confidence: Confidence) -> str:
    """Why no example could be asked, and what to do."""
    groups = confidence.exclusion.groups_of(model)
    askable = int((np.bincount(groups)[groups] < len(model)).sum())  # one that leaves with all others cannot be
    if askable >= FEWEST:
        return f"asking even a few of {len(model)} would take minutes. Give n_neighbors."
    few = "1 example is" if len(model) == 1 else f"{len(model)} examples are"
    apart = "" if askable == len(model) else ", for copies and groups leave together"
    return f"{few} too few to ask any ({FEWEST} or more are needed{apart}). Store more examples."


def _class(model: FittedModel, left: LeftOut, curve: LearningCurve, c: int, examples: int) -> ClassAdvice:
    mine = left.truth == c
    asked, wrong = int(mine.sum()), left.winner[mine & ~left.right]
    overall = float(np.mean(~left.right))
    gain = curve.gain(1.0 + MORE / examples)
    ten_more = None
    if gain is not None:  # the class's errors go by the same share as all do
        own = (len(wrong) + SHRINK * overall) / (asked + SHRINK)
        ten_more = own * min(1.0, max(0.0, gain.likely) / overall) if overall else 0.0
    return ClassAdvice(
        name=as_python(model.classes[c]),
        examples=examples,
        asked=asked,
        right=None if not asked else 1.0 - len(wrong) / asked,
        confused=_count_classes(model.classes, wrong),
        ten_more=ten_more,
    )


def _count_classes(classes: Array, wrong: Array) -> tuple[tuple[Any, int], ...]:
    numbers, counts = np.unique(wrong, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:CONFUSED]
    return tuple((as_python(classes[numbers[i]]), int(counts[i])) for i in order)
