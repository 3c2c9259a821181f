"""List the examples of a gallery by class, date or source; show all that is known of one."""

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

_FIRST = datetime.datetime.min.replace(tzinfo=datetime.UTC)  # unknown moments come before all others
ORDERS: dict[str, Callable[[Example], Any]] = {
    "id": lambda example: example.id,
    "label": lambda example: (example.label, example.id),
    "date": lambda example: (example.added_at or _FIRST, example.id),
    "source": lambda example: (example.source, example.id),
}


def list_examples(
    gallery: Gallery,
    *,
    label: str | None = None,
    since: datetime.datetime | None = None,
    source: str | None = None,
    by: str = "id",
) -> list[Example]:
    """Return the examples of a class, added at ``since`` or later, whose source contains ``source``; None matches all.
    ``by`` is one of ``ORDERS``."""
    if by not in ORDERS:
        raise ParameterError(f"by must be one of {', '.join(ORDERS)}; got {by!r}.")
    name = None if label is None else checked_label(label)
    now = gallery.contents
    examples = (now.example(position) for position in range(len(now)))
    return sorted(
        (
            example
            for example in examples
            if (name is None or example.label == name)
            and (since is None or (example.added_at is not None and example.added_at >= since))
            and (source is None or source in example.source)
        ),
        key=ORDERS[by],
    )


def parse_moment(text: str) -> datetime.datetime:
    """Parse a day or a moment in local time (2026-05-01, "2026-05-01 14:30")."""
    try:
        return datetime.datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError, OSError):
        raise ParameterError(
            f"A time must be a day (2026-05-01) or a moment (2026-05-01T14:30); got '{text[:60]}'."
        ) from None


def facts_of(example: Example) -> dict[str, Any]:
    """Return an example in plain values."""
    added = None if example.added_at is None else example.added_at.isoformat()
    return {
        "id": example.id,
        "label": example.label,
        "source": example.source,
        "added_at": added,
        "sha256": example.content.hex(),
    }


# All that a gallery knows of one example: source, history, nearest examples, leave-one-out answer.

NEAREST = 5


@dataclass(frozen=True)
class NearExample:
    """One of the examples nearest to another."""

    id: int
    label: str
    source: str
    distance: float
    near_by: tuple[str, ...] = ()
    """The looks by which it is near, if there are several."""


@dataclass(frozen=True)
class OwnAnswer:
    """The leave-one-out answer to an example; ``of_label`` is the probability of its label."""

    answer: str
    probability: float
    of_label: float


@dataclass(frozen=True)
class ExampleDetails:
    """One example, in use or removed. ``added_by`` and ``removed_by`` are entries of the history, ``labels`` the labels
    it had before, each with the entry that replaced it. ``nearest`` are the examples nearest to it; ``own`` is None if
    no other example is of its class (any answer would be wrong), or if no other example is left."""

    example: Example
    added_by: Entry | None
    labels: tuple[tuple[str, Entry], ...]
    removed_by: Entry | None
    picture: bytes | None
    own: OwnAnswer | None
    nearest: tuple[NearExample, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; the nearest examples are also beside the answer, where earlier versions had
        them."""
        nearest = [vars(near) for near in self.nearest]
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
        """(width, height) of the stored thumbnail."""
        from kcrc.images.decoding.reading import decode

        if self.picture is None:
            return None
        height, width = decode(self.picture).pixels.shape[:2]
        return int(width), int(height)


def _step(entry: Entry) -> dict[str, Any]:
    moment = None if entry.at is None else entry.at.isoformat()
    return {"entry": entry.id, "at": moment, "summary": entry.summary}


def example_details(gallery: Gallery, example: int) -> ExampleDetails:
    """Return what is known of one example, by its id."""

    def look(reading: Snapshot) -> ExampleDetails:
        record = next(reading.find(ExampleRecord, id=example), None)
        if record is None:
            raise DataError(f"There is no example {example} in the gallery; kcrc list has their ids.")

        def entry(act: int | None) -> Entry | None:
            first = None if act is None else next(reading.find(ActRecord, id=act), None)
            first = None if first is None else next(reading.find(ActRecord, id=first_of(first)), None)
            return None if first is None else entry_of(first)

        changes = ((label.before, entry(label.act)) for label in reading.find(LabelRecord, example=example))
        labels = tuple((before, by) for before, by in changes if by is not None and by.action in ("relabel", "rename"))
        picture = reading.thumbnail(record)
        return ExampleDetails(
            as_example(record), entry(record.added_by), labels, entry(record.removed_by), picture, None
        )

    details = gallery.read(look)
    if details.removed_by is not None:
        return details
    own, nearest = answer_without(gallery, example)
    return replace(details, own=own, nearest=nearest)


def answer_without(gallery: Gallery, example: int) -> tuple[OwnAnswer | None, tuple[NearExample, ...]]:
    """Classify an example with itself left out, as ``audit`` does; return the answer and the nearest examples.

    The answer is None if nothing of its class is left, and there are no neighbours if no example is left."""
    from kcrc.tuning.left_out.answers import answers_without
    from kcrc.tuning.left_out.sample import class_stays

    answerer = gallery.answering.answerer()
    model, confidence = answerer.model, answerer.audit_confidence
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
