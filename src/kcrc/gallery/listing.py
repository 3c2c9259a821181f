"""Which examples are in a gallery: by class, date or source, in the order asked for."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kcrc.errors import DataError, ParameterError
from kcrc.gallery.contract import ActRecord, ExampleRecord, LabelRecord, Snapshot
from kcrc.gallery.examples import Example, as_example, checked_label
from kcrc.gallery.history import Entry, entry_of, first_of

if TYPE_CHECKING:
    from kcrc.gallery.gallery import Gallery

_FIRST = datetime.datetime.min.replace(tzinfo=datetime.UTC)  # a moment that is not known comes before all others
ORDERS: dict[str, Callable[[Example], Any]] = {
    "id": lambda example: example.id,
    "label": lambda example: (example.label, example.id),
    "date": lambda example: (example.added_at or _FIRST, example.id),
    "source": lambda example: (example.source, example.id),
}


def listed(
    gallery: Gallery,
    *,
    label: str | None = None,
    since: datetime.datetime | None = None,
    source: str | None = None,
    by: str = "id",
) -> list[Example]:
    """The examples of a class, added at ``since`` or later, whose source holds the text ``source``, as far as given;
    ``by`` is one of ``ORDERS``."""
    if by not in ORDERS:
        raise ParameterError(f"Examples are listed by {', '.join(ORDERS)}; given {by!r}.")
    name = None if label is None else checked_label(label)
    now = gallery.contents
    found = (now.example(position) for position in range(len(now)))
    return sorted(
        (
            example
            for example in found
            if (name is None or example.label == name)
            and (since is None or (example.added_at is not None and example.added_at >= since))
            and (source is None or source in example.source)
        ),
        key=ORDERS[by],
    )


def moment_given(text: str) -> datetime.datetime:
    """A day or a moment as people write it (2026-05-01, "2026-05-01 14:30"), by the clock of this place."""
    try:
        return datetime.datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError, OSError):
        raise ParameterError(
            f"A day is written 2026-05-01, a moment 2026-05-01T14:30; given '{text[:60]}', which is neither."
        ) from None


def facts_of(example: Example) -> dict[str, Any]:
    """An example in plain values."""
    added = None if example.added_at is None else example.added_at.isoformat()
    return {
        "id": example.id,
        "label": example.label,
        "source": example.source,
        "added_at": added,
        "sha256": example.content.hex(),
    }


# All that a gallery knows of one example: where it came from, what became of it, its nearest, its own answer.

NEAREST = 5


@dataclass(frozen=True)
class NearExample:
    """One of the examples nearest to another."""

    id: int
    label: str
    source: str
    distance: float
    near_by: tuple[str, ...] = ()
    """The looks by which it is near, where there are several."""


@dataclass(frozen=True)
class OwnAnswer:
    """What the gallery answers to an example as if it were not in it; ``of_label`` is the probability of its label."""

    answer: str
    probability: float
    of_label: float


@dataclass(frozen=True)
class Portrait:
    """One example, in or removed. ``added_by`` and ``removed_by`` are entries of the history, ``labels`` those it had
    before and the entry that took each away. ``nearest`` are the examples nearest to it; ``own`` is None where it
    cannot be asked: no other is of its class, and whatever is answered would be wrong, or no other is left."""

    example: Example
    added_by: Entry | None
    labels: tuple[tuple[str, Entry], ...]
    removed_by: Entry | None
    picture: bytes | None
    own: OwnAnswer | None
    nearest: tuple[NearExample, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """In plain values, for JSON; the nearest stand beside the answer too, for who knows them there."""
        nearest = [vars(one) for one in self.nearest]
        return {
            **facts_of(self.example),
            "added_by": None if self.added_by is None else _step(self.added_by),
            "labels_before": [{"label": label, "until": _step(entry)} for label, entry in self.labels],
            "removed_by": None if self.removed_by is None else _step(self.removed_by),
            "picture_bytes": None if self.picture is None else len(self.picture),
            "picture_size": self.picture_size,
            "own_answer": None
            if self.own is None
            else {
                "answer": self.own.answer,
                "probability": self.own.probability,
                "of_label": self.own.of_label,
                "nearest": nearest,
            },
            "nearest": nearest,
        }

    @property
    def picture_size(self) -> tuple[int, int] | None:
        """(width, height) of the small picture that is kept."""
        from kcrc.images.decoding.reading import decode

        if self.picture is None:
            return None
        height, width = decode(self.picture).pixels.shape[:2]
        return int(width), int(height)


def _step(entry: Entry) -> dict[str, Any]:
    at = None if entry.at is None else entry.at.isoformat()
    return {"entry": entry.id, "at": at, "summary": entry.summary}


def portrait(gallery: Gallery, example: int) -> Portrait:
    """The portrait of one example by its id."""

    def look(reading: Snapshot) -> Portrait:
        record = next(reading.found(ExampleRecord, id=example), None)
        if record is None:
            raise DataError(f"There is no example {example} in the gallery; kcrc list has their ids.")

        def entry(act: int | None) -> Entry | None:
            first = None if act is None else next(reading.found(ActRecord, id=act), None)
            first = None if first is None else next(reading.found(ActRecord, id=first_of(first)), None)
            return None if first is None else entry_of(first)

        changes = ((label.before, entry(label.act)) for label in reading.found(LabelRecord, example=example))
        labels = tuple((before, by) for before, by in changes if by is not None and by.action in ("relabel", "rename"))
        picture = reading.thumbnail(record)
        return Portrait(as_example(record), entry(record.added_by), labels, entry(record.removed_by), picture, None)

    found = gallery.read(look)
    if found.removed_by is not None:
        return found
    own, nearest = own_answer(gallery, example)
    return replace(found, own=own, nearest=nearest)


def own_answer(gallery: Gallery, example: int) -> tuple[OwnAnswer | None, tuple[NearExample, ...]]:
    """What the others say of an example, as ``audit`` asks them, and the nearest of them. No answer where nothing of
    its class is left to say its label, and nothing at all where it leaves with all others."""
    from kcrc.tuning.left_out.answers import answers_without
    from kcrc.tuning.left_out.sample import class_stays

    answerer = gallery.answering.answerer()
    model, confidence = answerer.model, answerer.confidence
    which = np.flatnonzero(model.ids == example)
    groups = confidence.exclusion.groups_of(model)
    if not len(which) or (groups == groups[which[0]]).all():
        return None, ()

    evidence = answers_without(model, confidence.exclusion, which, lambda evidence, _: evidence)[0]
    share, winner = confidence.probabilities(evidence)[0], int(evidence.winner[0])
    real = np.flatnonzero(evidence.rows[0] >= 0)
    order = real[np.argsort(evidence.distances[0, real], kind="stable")][:NEAREST]
    near = gallery.answering.near(model.raw[which[0]], [int(evidence.rows[0, place]) for place in order])
    nearest = tuple(
        NearExample(
            int(evidence.rows[0, place]),
            str(model.classes[evidence.neighbour_labels[0, place]]),
            gallery.example(int(evidence.rows[0, place])).source,
            float(evidence.distances[0, place]),
            near[int(evidence.rows[0, place])].by if near else (),
        )
        for place in order
    )
    if not class_stays(model.labels, groups)[which[0]]:
        return None, nearest
    of_label = float(share[model.labels[which[0]]])
    return OwnAnswer(str(model.classes[winner]), float(share[winner]), of_label), nearest
