"""How good a gallery is on labelled images: accuracy, by class, who is taken for whom, the worst mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc.arrays import Array


@dataclass(frozen=True, eq=False)
class Evaluation:
    """``confusion[i, j]`` counts images of class i that were taken for class j."""

    classes: tuple[str, ...]
    confusion: Array
    mistakes: tuple[int, ...]
    """The positions of wrong answers, the surest first: those say most about the gallery."""

    @property
    def total(self) -> int:
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        return float(np.trace(self.confusion) / max(1, self.total))

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
            "accuracy": self.accuracy,
            "per_class": [
                {"class": c, "images": n, "right": r, "precision": None if np.isnan(p) else p}
                for c, n, r, p in self.per_class()
            ],
            "confused": [{"times": n, "class": c, "taken_for": t} for n, c, t in self.confused()],
        }


def evaluation(truth: Sequence[str], answers: Sequence[str], sure: Array) -> Evaluation:
    """Compare answers with the truth; ``sure`` (n,) says how sure each answer was."""
    classes = tuple(sorted({*truth, *answers}))
    number = {name: i for i, name in enumerate(classes)}
    confusion = np.zeros((len(classes), len(classes)), np.int64)
    np.add.at(confusion, ([number[t] for t in truth], [number[a] for a in answers]), 1)
    wrong = [i for i, (t, a) in enumerate(zip(truth, answers, strict=True)) if t != a]
    return Evaluation(classes, confusion, tuple(sorted(wrong, key=lambda i: -float(sure[i]))))
