"""One answered image with all a report shows of it: the picture, the answer, the examples that decided."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.words import percent
from kcrc.confidence.answers import rank_classes
from kcrc.confidence.open_set import UNKNOWN
from kcrc.errors import KCRCError
from kcrc.images.nearness import Near
from kcrc.method.evidence import HOW, Evidence, together

if TYPE_CHECKING:
    from kcrc.gallery import Gallery

QUERY_SIDE, SMALL_SIDE = 320, 160  # pixels, the longer side


@dataclass(frozen=True)
class Part:
    """One stored example's part in an answer: its share, above 0 for the answer, below 0 against it."""

    id: int
    label: str
    source: str
    share: float
    distance: float
    near: Near | None = None
    """By which looks it is near; None if there is one look, or it was not looked up."""


@dataclass(frozen=True, eq=False)
class Case:
    """The evidence of one image; examples are named by id."""

    name: str
    evidence: Evidence
    picture: bytes | None
    thumbnail_of: Callable[[int], bytes | None]
    source_of: Callable[[int], str]
    truth: str | None = None
    probabilities: Array | None = None
    """(C,) of the evidence's classes; None if nothing is known of them."""
    rests_on: str | None = None
    """Where the probabilities come from, in a sentence."""
    why: str | None = None
    """Why it is unknown, whatever class comes nearest; None if it is not."""
    without: Callable[[list[int]], tuple[str, float | None]] | None = None
    """The class that would come nearest without these examples, and its probability; None if that is not needed."""
    near: Callable[[list[int]], dict[int, Near]] = lambda ids: {}
    """By which looks each of these examples is near; nothing if the gallery has one look."""

    @property
    def best(self) -> str:
        """The class that comes nearest."""
        return str(self.evidence.labels[0])

    @property
    def label(self) -> str:
        return self.best if self.why is None else UNKNOWN

    @property
    def how(self) -> str:
        """How it was answered: a word of ``kcrc.method.evidence.HOW``."""
        return HOW[self.evidence.how[0]]

    @property
    def rival(self) -> str | None:
        """The runner-up; None if no other class had a part in it."""
        one = self.evidence
        alone = self.how == "nearest" or one.runner_up[0] == one.winner[0]
        return None if alone else str(one.classes[one.runner_up[0]])

    def likely(self) -> list[tuple[str, float]]:
        """The classes with their probabilities, the likeliest first, of equal ones that which fits better; none if
        nothing is known of them."""
        p = self.probabilities
        if p is None or self.why is not None or np.isnan(p).any():
            return []
        one = self.evidence
        return [(str(one.classes[c]), float(p[c])) for c in rank_classes(p[None], one.residuals, one.winner)[0]]

    def chance(self, name: str) -> float | None:
        """The probability of a class; None if it is not known."""
        return dict(self.likely()).get(name)

    def smaller(self) -> Case:
        """The same with a smaller picture, for a page of many."""
        return self if self.picture is None else replace(self, picture=_shrink(self.picture, self.name, SMALL_SIDE))

    def residuals(self) -> list[tuple[str, float]]:
        """The classes that were compared, best first."""
        row = self.evidence.residuals[0]
        order = [int(c) for c in np.argsort(row, kind="stable") if np.isfinite(row[c])]
        return [(str(self.evidence.classes[c]), float(row[c])) for c in order]

    def explained_shares(self) -> dict[str, float]:
        """The share of the query that each class's examples explain."""
        one = self.evidence
        total = float(one.energy[0]) or 1.0
        sums: dict[str, float] = {}
        for label, part in zip(one.neighbour_labels[0], one.contributions[0], strict=True):
            if label >= 0:
                name = str(one.classes[label])
                sums[name] = sums.get(name, 0.0) + float(part) / total
        return sums

    def query_pixels(self) -> Array:
        """The query's picture as an array, for a plot."""
        return _pixels(self.picture)

    def pixels_of(self, example: int) -> Array:
        """An example's picture as an array, for a plot."""
        return _pixels(self.thumbnail_of(example))


def case_of(gallery: Gallery, image: str | os.PathLike[str], *, truth: str | None = None) -> Case:
    """Classify one image file."""
    from kcrc.images.decoding.reading import decode, fetch
    from kcrc.images.emptiness import emptiness

    name = os.fspath(image)
    content = fetch(name)
    feature = gallery.answering.feature()
    pixels = decode(content, feature.view, source=name).pixels
    vector = feature.transform_pixels([pixels])
    answers = gallery.answering.answer_function(explain=True)(vector)
    answers = gallery.answering.mark_blank_images_unknown(answers, [emptiness(pixels)])
    case = case_from(
        gallery, name, content, answers.evidence, truth=truth, probabilities=answers.probabilities[0], vector=vector[0]
    )

    def without(ids: list[int]) -> tuple[str, float | None]:
        other = gallery.answering.answerer().what_if(vector, ids)
        chance = float(other.probability[0])
        return str(other.evidence.labels[0]), None if np.isnan(chance) else chance

    return replace(case, why=answers.why[0], without=without if answers.why[0] is None else None)


def case_from(
    gallery: Gallery,
    name: str,
    content: bytes | None,
    evidence: Evidence,
    *,
    truth: str | None = None,
    probabilities: Array | None = None,
    vector: Array | None = None,
) -> Case:
    """A case from evidence that is there already; ``vector`` is that of the image, if it is at hand."""
    small = None if content is None else _shrink(content, name, QUERY_SIDE)

    def thumbnail_of(example: int) -> bytes | None:
        try:
            return gallery.thumbnail(example)
        except KCRCError:
            return None

    def source_of(example: int) -> str:
        return gallery.example(example).source

    def near(ids: list[int]) -> dict[int, Near]:
        return {} if vector is None else gallery.answering.near(vector, ids)

    return Case(name, evidence, small, thumbnail_of, source_of, truth, probabilities, _rests_on(gallery), near=near)


def _rests_on(gallery: Gallery) -> str | None:
    confidence = gallery.answering.answerer().confidence
    if confidence.usual is None:
        return None
    right = confidence.needed_usual().right
    return (
        f"Chances rest on the gallery's own examples: {len(right)} were classified, each with itself left out, "
        f"and {right.mean():.1%} of the answers were right. They hold for pictures like those."
    )


def every_part(case: Case, named: int) -> list[Part]:
    """The near examples, those with the largest shares, for or against, first; the first ``named`` with their source
    and by which looks they are near, which is looked up one by one."""
    one, share = case.evidence, case.evidence.shares[0]
    places = [int(j) for j in np.argsort(-np.abs(share), kind="stable") if one.rows[0, j] >= 0]
    near = case.near([int(one.rows[0, j]) for j in places[:named]])
    return [
        Part(
            id=int(one.rows[0, j]),
            label=str(one.classes[one.neighbour_labels[0, j]]),
            source=case.source_of(int(one.rows[0, j])) if place < named else "",
            share=float(share[j]),
            distance=float(one.distances[0, j]),
            near=near.get(int(one.rows[0, j])),
        )
        for place, j in enumerate(places)
    ]


def deciding(case: Case, top: int) -> tuple[list[Part], str]:
    """The examples with the largest shares, and what the others have of the 100 % in words."""
    parts = every_part(case, top)
    rest = np.array([part.share for part in parts[top:]])
    return parts[:top], f"{len(rest)} more: {together(rest)}." if len(rest) else ""


def answer_sentence(case: Case) -> str:
    """How the answer came about, in one sentence."""
    one = case.evidence
    if case.why is not None:
        return f"{case.why[:1].upper()}{case.why[1:]}. The class that comes nearest is {case.best}; do not rely on it."
    how = HOW[one.how[0]]
    near = int((one.rows[0] >= 0).sum())
    p = case.probabilities
    sure = "" if p is None or len(p) == 1 else f" Probability {percent(p[one.winner[0]])}."
    if how == "unanimous":
        return f"All {near} nearest examples are of this class, which settles it.{sure}"
    if how == "nearest":
        return "Nothing in the gallery resembles it; this is the class of the nearest example. Do not rely on it."
    second = int(one.runner_up[0])
    compared = second != one.winner[0]
    next_best = f" The runner-up is {one.classes[second]}" if compared else ""
    if compared:
        next_best += "." if p is None else f" ({percent(p[second])})."
    sure = sure or f" Margin {one.margin[0]:.2f} (0 is a tie, 1 as clear as can be)."
    return f"Represented by its {near} nearest examples together; this class's examples fit best.{sure}{next_best}"


def small_picture(name: str) -> bytes | None:
    """An image file as a small picture; None if it can no longer be read."""
    from kcrc.images.decoding.reading import ImageError, fetch

    try:
        return _shrink(fetch(name), name, SMALL_SIDE)
    except ImageError:
        return None


def _shrink(content: bytes, name: str, side: int) -> bytes | None:
    from kcrc.images.decoding.reading import decode
    from kcrc.images.decoding.resizing import View

    return decode(content, View(size=(side, side), fit="inside"), source=name, thumbnail=side).thumbnail


def _pixels(data: bytes | None) -> Array:
    from kcrc.images.decoding.reading import decode

    if data is None:
        return np.full((32, 32, 3), 235, np.uint8)
    return decode(data).pixels
