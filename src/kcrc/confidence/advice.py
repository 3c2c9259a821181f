"""Enough yet? What the examples' own answers say of each class, of more examples, and of what to label next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.calibration import Confidence
from kcrc.confidence.labelling import Candidate
from kcrc.confidence.learning_curve import Gain, LearningCurve, Point, learning_curve
from kcrc.errors import StateError
from kcrc.method.fitted_model import FittedModel
from kcrc.tuning.left_out.answers import LeftOut
from kcrc.tuning.left_out.fewest import FEWEST

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


def advise(model: FittedModel, confidence: Confidence) -> Advice:
    """Of the examples as they are stored."""
    left = confidence.left_out
    if left is None or not np.array_equal(model.ids, confidence.exclusion.ids):  # examples came or went since
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
        name=_plain(model.classes[c]),
        examples=examples,
        asked=asked,
        right=None if not asked else 1.0 - len(wrong) / asked,
        confused=_counted(model.classes, wrong),
        ten_more=ten_more,
    )


def _counted(classes: Array, wrong: Array) -> tuple[tuple[Any, int], ...]:
    numbers, counts = np.unique(wrong, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:CONFUSED]
    return tuple((_plain(classes[numbers[i]]), int(counts[i])) for i in order)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
