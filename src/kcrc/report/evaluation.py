"""How good a gallery is on labelled images: accuracy, by class, which is mistaken for which, the worst mistakes."""

from __future__ import annotations

import hashlib
import math
import os
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import StateError
from kcrc.method.evidence import Evidence, join_evidence
from kcrc.report.case import Case, case_from
from kcrc.tuning.left_out.sample import class_stays

if TYPE_CHECKING:
    from kcrc.confidence.answers import Answers
    from kcrc.gallery import Gallery
    from kcrc.images.decoding.reading import ImageError
    from kcrc.method.fitted_model import FittedModel

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

    def confusions(self) -> list[tuple[int, str, str]]:
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
            "confused": [{"times": n, "class": c, "taken_for": t} for n, c, t in self.confusions()],
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


# Labelled images that a gallery classified: those of a folder, or its own examples, each with itself left out.

Progress = Callable[[int], None]  # called with the number of images just finished


@dataclass(eq=False)
class Measured:
    """Images that were classified: their names, true classes and answers, and how sure (n,) each answer was.

    ``alone`` are classes of one example, which cannot be classified with itself left out."""

    names: list[str] = field(default_factory=list)
    truth: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    sure: list[float] = field(default_factory=list)
    problems: list[ImageError] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)
    case: Callable[[int], Case] = field(default=lambda at: _no_case())
    """The whole case of one position, for a page; only if the evidence was kept."""


def _no_case() -> Case:
    raise StateError("The evidence of these answers was not kept.")


def in_gallery(gallery: Gallery, files: Sequence[str | os.PathLike[str]]) -> list[bool]:
    """Whether each file is an example of the gallery, by the hash of its bytes; False if it cannot be read."""
    from kcrc.images.decoding.reading import ImageError, fetch

    known = {row.content for row in gallery.contents.rows}

    def is_known(name: str | os.PathLike[str]) -> bool:
        try:
            return hashlib.sha256(fetch(name)).digest() in known
        except ImageError:
            return False  # reading it gives the reason

    return [is_known(name) for name in files]


def classify_files(
    gallery: Gallery,
    files: Sequence[str | os.PathLike[str]],
    labels: Sequence[str],
    *,
    wrap: Callable[[Callable[[Array], Answers]], Callable[[Array], Answers]],
    evidence: bool = False,
    progress: Progress,
) -> Measured:
    """Classify image files of known classes. ``wrap`` wraps the function that answers; ``evidence`` keeps the evidence
    for ``case``."""
    from kcrc.images.decoding.reading import fetch

    # A gallery stores composed names (NFC); folders of some systems have them decomposed.
    truth_of = {os.fspath(file): unicodedata.normalize("NFC", label) for file, label in zip(files, labels, strict=True)}
    file_of = {os.fspath(file): file for file in files}
    measured = Measured()
    parts: list[Evidence] = []
    chances: list[Array] = []
    answer = wrap(gallery.answering.answer_function(explain=evidence))
    for chunk in gallery.answering.classify(files, answer, on_error="skip"):
        measured.names += chunk.names
        measured.problems += chunk.problems
        if chunk.answers is not None:
            answers = chunk.answers
            measured.answers += [str(label) for label in answers.evidence.labels]  # the nearest class, if unknown too
            measured.sure += answers.probabilities[np.arange(len(answers)), answers.evidence.winner].tolist()
            if evidence:
                parts.append(answers.evidence)
                chances.append(answers.probabilities)
        progress(len(chunk.names) + len(chunk.problems))
    measured.truth = [truth_of[name] for name in measured.names]
    if parts:
        every, probabilities = join_evidence(parts), np.concatenate(chances)

        def case(at: int) -> Case:
            content, classifier = fetch(file_of[measured.names[at]]), gallery.answering
            return case_from(
                gallery, measured.names[at], content, every[at],
                truth=measured.truth[at], probabilities=probabilities[at],
                vector=classifier.feature().transform([content])[0] if classifier.has_several_looks else None,
            )  # fmt: skip

        measured.case = case
    return measured


def classify_left_out(gallery: Gallery, *, progress: Callable[[float], None]) -> Measured:
    """Classify every example with itself and its copies left out."""
    from kcrc.tuning.left_out.answers import answers_without

    classifier = gallery.classifier()
    model, confidence = classifier.answerer_.model, classifier.confidence_
    which, alone = _can_be_left_out(model, confidence.exclusion.groups_of(model))
    if not len(which):
        raise StateError("No class has two examples, so none can be classified with itself left out. Add more first.")

    def read(evidence: Evidence, _: Array) -> tuple[Array, Array]:
        sure = confidence.probabilities(evidence)[np.arange(len(evidence)), evidence.winner]
        return evidence.winner, sure

    results: list[tuple[Array, Array]] = []
    for start in range(0, len(which), _STEP):
        results += answers_without(model, confidence.exclusion, which[start : start + _STEP], read)
        progress(min(1.0, (start + _STEP) / len(which)))

    def case(at: int) -> Case:
        one = which[at : at + 1]
        # Also if all neighbours agree: the page shows the share of each.
        (one_evidence,) = answers_without(model, confidence.exclusion, one, lambda evidence, _: evidence, code_all=True)
        chances = confidence.probabilities(one_evidence)[0]
        picture = gallery.thumbnail(int(model.ids[one[0]]))
        return case_from(
            gallery, measured.names[at], picture, one_evidence,
            truth=measured.truth[at], probabilities=chances, vector=model.raw[one[0]],
        )  # fmt: skip

    rows = {row.id: row for row in gallery.contents.rows}
    examples = [rows[int(number)] for number in model.ids[which]]
    measured = Measured(
        names=[f"#{row.id} {row.source}".rstrip() for row in examples],
        truth=[row.label for row in examples],
        answers=[str(model.classes[winner]) for winners, _ in results for winner in winners],
        sure=[float(one) for _, sure in results for one in sure],
        alone=alone,
        case=case,
    )
    return measured


_STEP = 2048  # examples between two reports of progress


def _can_be_left_out(model: FittedModel, groups: Array) -> tuple[Array, list[str]]:
    """The positions of examples whose class has others that stay; the names of the other classes."""
    stays = class_stays(model.labels, groups)
    return np.flatnonzero(stays), [str(name) for name in model.classes[np.unique(model.labels[~stays])]]
