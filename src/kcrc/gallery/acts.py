"""The acts that change a gallery, as values: what each checks, what it writes, and its summary in the history.

``adding.py``, ``undoing.py`` and ``erasing.py`` have those that take more than a few lines.

An act is called with its transaction (``store.write(Remove([3]))``) and returns what it did. It may be called again if
the store lost its turn, and then does the same.
A removed example stays, marked with the act that removed it, until ``Compact``; so every act can be undone at the
price of one record.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kcrc.errors import DataError, StateError
from kcrc.gallery import history
from kcrc.gallery.contract import ActRecord, ExampleRecord, LabelRecord, Snapshot, Transaction, TunedRecord
from kcrc.gallery.examples import live
from kcrc.gallery.settings import Settings, to_json
from kcrc.gallery.stored_choice import LEARNED_AT, is_of_calibration

_LONGEST = 500  # characters of a summary
_EARLIEST, _LATEST = -(1 << 63), (1 << 63) - 1  # of moments: a wrong clock is no reason to refuse work


@dataclass(frozen=True)
class Remove:
    """Remove examples; return their ids."""

    ids: Sequence[int]

    def __call__(self, writing: Transaction) -> tuple[int, ...]:
        return remove_examples(writing, live(writing, self.ids))


@dataclass(frozen=True)
class Relabel:
    """Give examples another class; return the ids of those that had a different one."""

    ids: Sequence[int]
    label: str

    def __call__(self, writing: Transaction) -> tuple[int, ...]:
        return relabel_examples(writing, live(writing, self.ids), self.label, "relabel")


@dataclass(frozen=True)
class Rename:
    """Rename a class; return the ids of its examples. If a class of the new name exists, the two become one."""

    old: str
    new: str

    def __call__(self, writing: Transaction) -> tuple[int, ...]:
        records = list(writing.find(ExampleRecord, label=self.old, removed_by=None))
        if not records:
            raise DataError(f"There is no class '{self.old}' in the gallery. Nothing was changed.")
        return relabel_examples(writing, records, self.new, "rename")


def remove_examples(
    writing: Transaction, records: Sequence[ExampleRecord], *, part_of: int | None = None
) -> tuple[int, ...]:
    """Record the removal of these examples, as ``part_of`` another act's command or by itself; return their ids."""
    if records:
        summary = history.summarise_removal(len(records), (record.label for record in records))
        act = record_act(writing, writing.settings(), "remove", summary, detail=part_of_command(part_of) or None)
        writing.replace(records, [record._replace(removed_by=act) for record in records])
    return tuple(record.id for record in records)


def relabel_examples(
    writing: Transaction, records: Sequence[ExampleRecord], label: str, action: str, *, part_of: int | None = None
) -> tuple[int, ...]:
    """Record a new class of these examples; return the ids of those that had a different one."""
    records = [record for record in records if record.label != label]
    if records:
        summary = history.summarise_relabelling(len(records), (record.label for record in records), label)
        act = record_act(writing, writing.settings(), action, summary, detail=part_of_command(part_of) or None)
        writing.insert([LabelRecord(act, record.id, record.label) for record in records])
        writing.replace(records, [record._replace(label=label) for record in records])
    return tuple(record.id for record in records)


@dataclass(frozen=True)
class Fix:
    """Fix parameters of the classifier; the others are chosen again at the next question."""

    parameters: Mapping[str, Any]

    def __call__(self, writing: Transaction) -> None:
        had = writing.settings()
        changes = {"parameters": dict(self.parameters), "tuned": 0}
        record_act(writing, had, "tune", "changed the parameters", detail=parameters_of(had), **changes)


@dataclass(frozen=True)
class Tune:
    """Keep the choice of a tuning, beside the ``parameters`` that are fixed (None: as before); return the act's number.

    A choice that was not ``asked`` for (at a first question) cannot be undone. ``since`` is the revision it was made
    on: if examples were erased after it, it is refused (None: not checked)."""

    summary: str
    state: Mapping[str, bytes]
    parameters: Mapping[str, Any] | None = None
    asked: bool = True
    since: int | None = None

    def __call__(self, writing: Transaction) -> int:
        had = writing.settings()
        if self.since is not None:
            _check_none_erased(writing, self.since)
        fixed = dict(had.parameters if self.parameters is None else self.parameters)
        action = "tune" if self.asked else "first tune"
        changes = {"parameters": fixed, "tuned": had.revision + 1}
        act = record_act(writing, had, action, self.summary, detail=parameters_of(had), **changes)
        state = dict(self.state)
        if self.since == had.revision:  # learned from the very examples that are there
            state[LEARNED_AT] = b"%d" % act
        writing.insert([TunedRecord(act, name, data) for name, data in sorted(state.items())])
        return act


@dataclass(frozen=True)
class Recalibrate:
    """Replace the calibration that act ``tuned`` keeps, or ``everything`` it keeps, by what was learned from the
    examples of ``revision``. Return whether that was done: not if the gallery has been changed meanwhile. It changes no
    example and so is no entry of the history."""

    tuned: int
    state: Mapping[str, bytes]
    revision: int
    everything: bool = False

    def __call__(self, writing: Transaction) -> bool:
        had = writing.settings()
        if (had.revision, had.tuned) != (self.revision, self.tuned):
            return False
        new = {**self.state, LEARNED_AT: b"%d" % self.revision}
        names = [name for act, name in writing.keys(TunedRecord) if act == self.tuned]
        replaced = [name for name in names if self.everything or is_of_calibration(name)]
        old = {piece.name: piece for piece in writing.find(TunedRecord, act=self.tuned, name=replaced)}
        writing.delete([piece for name, piece in old.items() if name not in new])
        writing.insert([TunedRecord(self.tuned, name, new[name]) for name in sorted(new.keys() - old.keys())])
        changed = [piece for name, piece in old.items() if new.get(name, piece.data) != piece.data]
        writing.replace(changed, [piece._replace(data=new[piece.name]) for piece in changed])
        return True


def _check_none_erased(reading: Snapshot, since: int) -> None:
    """Raise an error if examples were erased after act ``since``: what was learned from them must not come back."""
    for act in reading.acts():
        if act.id <= since:
            return
        if act.action == "erase":
            raise StateError("Examples were erased while the parameters were chosen with them. Tune again.")


@dataclass(frozen=True)
class Compact:
    """Drop the removed examples for good; return how many. Earlier changes can no longer be undone."""

    def __call__(self, writing: Transaction) -> int:
        had = writing.settings()
        gone = [record for record in writing.all(ExampleRecord) if record.removed_by is not None]
        writing.delete(gone)
        writing.delete(writing.all(LabelRecord))
        drop_tuned(writing, {act for act, _ in writing.keys(TunedRecord)} - {had.tuned})
        record_act(writing, had, "compact", f"compacted: dropped {len(gone)} removed examples for good")
        return len(gone)


@dataclass(frozen=True)
class Build:
    """Join all acts so far into the first entry of the history, which cannot be undone."""

    def __call__(self, writing: Transaction) -> None:
        made = writing.all(ActRecord)
        if made:
            labels = [record.label for record in writing.all(ExampleRecord) if record.removed_by is None]
            summary = history.summarise_build(len(labels), labels)[:_LONGEST]
            first = made[0]._replace(action="build", summary=summary, detail=to_json(None))
            part = to_json({"part_of": first.id})
            writing.replace(made, [first, *(act._replace(action="build", detail=part) for act in made[1:])])


def part_of_command(command: int | None) -> dict[str, int]:
    """Return the details of an act that say which command it is part of."""
    return {} if command is None else {"part_of": command}


def drop_tuned(writing: Transaction, acts: Iterable[int]) -> None:
    """Drop the parameters that these acts chose."""
    for act in acts:
        writing.delete(list(writing.find(TunedRecord, act=act)))


def record_act(
    writing: Transaction, had: Settings, action: str, summary: str, *, detail: Any = None, **changes: Any
) -> int:
    """Record an act in the history, count it, and keep the ``changes`` of the settings; return its number."""
    act = had.revision + 1
    writing.insert([ActRecord(act, now(), action, summary[:_LONGEST], to_json(detail), None)])
    writing.set_settings(had.act(**changes))
    return act


def set_summary(writing: Transaction, act: int, summary: str) -> None:
    """Replace the summary of an act."""
    records = list(writing.find(ActRecord, id=act))
    writing.replace(records, [record._replace(summary=summary[:_LONGEST]) for record in records])


def parameters_of(had: Settings) -> dict[str, Any]:
    """Return what an act that changes the parameters keeps of those before."""
    return {"before": dict(had.parameters), "tuned": had.tuned}


def now() -> int:
    """Return the time in microseconds since 1970, or the nearest number that a gallery can store."""
    return max(_EARLIEST, min(time.time_ns() // 1000, _LATEST))
