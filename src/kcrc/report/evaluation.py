"""How good a gallery is on labelled images: accuracy, by class, who is taken for whom, the worst mistakes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kcrc._base.arrays import Array

_Z = 1.959963984540054  # 95 % of a normal distribution lie within so many deviations


@dataclass(frozen=True, eq=False)
class Evaluation:
    """``confusion[i, j]`` counts images of class i that were taken for class j."""

    classes: tuple[str, ...]
    confusion: Array
    mistakes: tuple[int, ...]
    """The positions of wrong answers, the surest first: those say most about the gallery."""
    unknown: dict[str, int] = field(default_factory=dict)
    """Images of classes that the gallery does not know, by class: none can be answered right, and none is counted."""

    @property
    def total(self) -> int:
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        return float(np.trace(self.confusion) / max(1, self.total))

    @property
    def right(self) -> int:
        return int(np.trace(self.confusion))

    @property
    def interval(self) -> tuple[float, float]:
        """Where the accuracy on more such images lies, for 95 of 100 such intervals (Wilson); (0, 1) without images."""
        return wilson(self.right, self.total)

    def by_need(self) -> list[tuple[str, int, int, float]]:
        """``per_class``, the class with the smallest share of right answers first; last those without images."""
        return sorted(self.per_class(), key=lambda row: (row[1] == 0, row[2] / max(1, row[1]), row[2] - row[1], row[0]))

    def per_class(self) -> list[tuple[str, int, int, float]]:
        """(class, images, right, precision) of every class that has images or was answered."""
        found = []
        for i, name in enumerate(self.classes):
            images, right, said = self.confusion[i].sum(), self.confusion[i, i], self.confusion[:, i].sum()
            if images or said:
                found.append((name, int(images), int(right), float(right / said) if said else float("nan")))
        return found

    def confused(self) -> list[tuple[int, str, str]]:
        """(how often, class, taken for), most frequent first."""
        off = self.confusion * ~np.eye(len(self.classes), dtype=bool)
        pairs = [(int(off[i, j]), self.classes[i], self.classes[j]) for i, j in zip(*np.nonzero(off), strict=True)]
        return sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2]))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "images": self.total,
            "right": self.right,
            "accuracy": self.accuracy if self.total else None,
            "interval": list(self.interval),
            "unknown_classes": self.unknown,
            "per_class": [
                {"class": c, "images": n, "right": r, "precision": None if np.isnan(p) else p}
                for c, n, r, p in self.per_class()
            ],
            "confused": [{"times": n, "class": c, "taken_for": t} for n, c, t in self.confused()],
        }


def evaluation(
    truth: Sequence[str], answers: Sequence[str], sure: Array, *, known: Collection[str] | None = None
) -> Evaluation:
    """Compare answers with the truth; ``sure`` (n,) says how sure each answer was.

    ``known`` are the classes that may be answered: images of others are counted by themselves (None: no image is)."""
    strange = {} if known is None else dict(sorted(Counter(t for t in truth if t not in known).items()))
    counted = [i for i, t in enumerate(truth) if t not in strange]
    classes = tuple(sorted({name for i in counted for name in (truth[i], answers[i])}))
    number = {name: i for i, name in enumerate(classes)}
    confusion = np.zeros((len(classes), len(classes)), np.int64)
    np.add.at(confusion, ([number[truth[i]] for i in counted], [number[answers[i]] for i in counted]), 1)
    wrong = [i for i in counted if truth[i] != answers[i]]
    return Evaluation(classes, confusion, tuple(sorted(wrong, key=lambda i: -float(sure[i]))), strange)


def wilson(right: int, total: int) -> tuple[float, float]:
    """The interval of a share that ``right`` of ``total`` show, at 95 %: it never leaves 0 to 1, nor is it ever empty.

    (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n)"""
    if total == 0:
        return 0.0, 1.0
    share, extra = right / total, _Z * _Z / total
    middle = share + extra / 2
    half = _Z * math.sqrt(share * (1.0 - share) / total + extra / (4.0 * total))
    return max(0.0, (middle - half) / (1.0 + extra)), min(1.0, (middle + half) / (1.0 + extra))
