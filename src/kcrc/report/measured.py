"""Labelled images that a gallery was asked about: those of a folder, or its own examples, left out one by one."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import StateError
from kcrc.method.evidence import Evidence, joined
from kcrc.report.case import Case, case_from
from kcrc.tuning.left_out.groups import class_stays

if TYPE_CHECKING:
    from kcrc.confidence.answers import Answers
    from kcrc.gallery import Gallery
    from kcrc.images.decoding.images import ImageError
    from kcrc.method.fitted_model import FittedModel

Progress = Callable[[int], None]  # called with the number of images just finished


@dataclass(eq=False)
class Measured:
    """Images that were asked: their names, true classes and answers, and how sure (n,) each answer was.

    ``alone`` are classes of one example, which cannot be asked as if it were not there."""

    names: list[str] = field(default_factory=list)
    truth: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    sure: list[float] = field(default_factory=list)
    problems: list[ImageError] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)
    case: Callable[[int], Case] = field(default=lambda at: _no_case())
    """The whole case of one position, for a page; only where it was asked for."""


def _no_case() -> Case:
    raise StateError("The evidence of these answers was not kept.")


def in_gallery(gallery: Gallery, files: Sequence[str]) -> list[bool]:
    """Whether each file is an example of the gallery, by the hash of its bytes; False where it cannot be read."""
    from kcrc.images.decoding.images import ImageError, fetch

    known = {row.content for row in gallery.contents.rows}

    def is_known(name: str) -> bool:
        try:
            return hashlib.sha256(fetch(name)).digest() in known
        except ImageError:
            return False  # whoever reads it says why

    return [is_known(name) for name in files]


def of_files(
    gallery: Gallery,
    files: Sequence[str],
    labels: Sequence[str],
    *,
    watched: Callable[[Callable[[Array], Answers]], Callable[[Array], Answers]],
    evidence: bool = False,
    progress: Progress,
) -> Measured:
    """Ask about image files of known classes. ``watched`` wraps what answers; ``evidence`` keeps it for ``case``."""
    from kcrc.images.decoding.images import fetch

    # A gallery keeps names composed; folders of some systems have them in parts.
    truth_of = {name: unicodedata.normalize("NFC", label) for name, label in zip(files, labels, strict=True)}
    found = Measured()
    parts: list[Evidence] = []
    chances: list[Array] = []
    answer = watched(gallery.answering.asked(explain=evidence))
    for chunk in gallery.answering.stream(files, answer, on_error="skip"):
        found.names += chunk.names
        found.problems += chunk.problems
        if chunk.answers is not None:
            one = chunk.answers
            found.answers += [str(label) for label in one.evidence.labels]  # not "unknown": what would it have said?
            found.sure += one.probabilities[np.arange(len(one)), one.evidence.winner].tolist()
            if evidence:
                parts.append(one.evidence)
                chances.append(one.probabilities)
        progress(len(chunk.names) + len(chunk.problems))
    found.truth = [truth_of[name] for name in found.names]
    if parts:
        every, probabilities = joined(parts), np.concatenate(chances)

        def case(at: int) -> Case:
            content, asking = fetch(found.names[at]), gallery.answering
            return case_from(
                gallery, found.names[at], content, every[at],
                truth=found.truth[at], probabilities=probabilities[at],
                vector=asking.feature().transform([content])[0] if asking.several_looks else None,
            )  # fmt: skip

        found.case = case
    return found


def left_out(gallery: Gallery, *, progress: Callable[[float], None]) -> Measured:
    """Ask every example as if it and its copies were not in the gallery."""
    from kcrc.tuning.left_out.answers import answers_without

    classifier = gallery.classifier()
    model, confidence = classifier.model_, classifier.confidence_
    which, alone = _askable(model, confidence.exclusion.groups_of(model))
    if not len(which):
        raise StateError("No class has two examples, so none can be asked as if it were not there. Add more first.")

    def read(evidence: Evidence, _: Array) -> tuple[Array, Array]:
        sure = confidence.probabilities(evidence)[np.arange(len(evidence)), evidence.winner]
        return evidence.winner, sure

    seen: list[tuple[Array, Array]] = []
    for start in range(0, len(which), _STEP):
        seen += answers_without(model, confidence.exclusion, which[start : start + _STEP], read)
        progress(min(1.0, (start + _STEP) / len(which)))

    def case(at: int) -> Case:
        one = which[at : at + 1]
        # Also where all neighbours agree: the page shows who had which share.
        (asked,) = answers_without(model, confidence.exclusion, one, lambda evidence, _: evidence, code_all=True)
        chances = confidence.probabilities(asked)[0]
        picture = gallery.thumbnail(int(model.ids[one[0]]))
        return case_from(
            gallery, found.names[at], picture, asked,
            truth=found.truth[at], probabilities=chances, vector=model.raw[one[0]],
        )  # fmt: skip

    rows = {row.id: row for row in gallery.contents.rows}
    examples = [rows[int(number)] for number in model.ids[which]]
    found = Measured(
        names=[f"#{row.id} {row.source}".rstrip() for row in examples],
        truth=[row.label for row in examples],
        answers=[str(model.classes[winner]) for winners, _ in seen for winner in winners],
        sure=[float(one) for _, sure in seen for one in sure],
        alone=alone,
        case=case,
    )
    return found


_STEP = 2048  # examples between two reports of progress


def _askable(model: FittedModel, groups: Array) -> tuple[Array, list[str]]:
    """The positions of examples whose class has others that stay when they leave; the names of the other classes."""
    stays = class_stays(model.labels, groups)
    return np.flatnonzero(stays), [str(name) for name in model.classes[np.unique(model.labels[~stays])]]
