"""The acts that change a gallery, as values: what each checks, writes, and says of itself in the history.

``adding.py``, ``undoing.py`` and ``erasing.py`` have those that take more than a few lines.

An act is called with the transaction it is to happen in (``store.write(Remove([3]))``), and answers with what it did.
It may be called again, where a store lost its turn, and then does the same.
An example that is removed stays, marked with the act that took it out, until ``Compact``; that is what makes every act
undoable at the price of one record.
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
from kcrc.gallery.tuned import LEARNED_AT, is_of_calibration

_LONGEST = 500  # characters of a summary
_EARLIEST, _LATEST = -(1 << 63), (1 << 63) - 1  # of moments: a wrong clock is no reason to refuse work


@dataclass(frozen=True)
class Remove:
    """Take examples out; the ids."""

    ids: Sequence[int]

    def __call__(self, writing: Transaction) -> tuple[int, ...]:
        return removed(writing, live(writing, self.ids))


@dataclass(frozen=True)
class Relabel:
    """Give examples another class; the ids of those that had a different one."""

    ids: Sequence[int]
    label: str

    def __call__(self, writing: Transaction) -> tuple[int, ...]:
        return relabelled(writing, live(writing, self.ids), self.label, "relabel")


@dataclass(frozen=True)
class Rename:
    """Call a class by another name, the ids of its examples; where that class exists the two become one."""

    old: str
    new: str

    def __call__(self, writing: Transaction) -> tuple[int, ...]:
        records = list(writing.found(ExampleRecord, label=self.old, removed_by=None))
        if not records:
            raise DataError(f"There is no class '{self.old}' in the gallery. Nothing was changed.")
        return relabelled(writing, records, self.new, "rename")


def removed(writing: Transaction, records: Sequence[ExampleRecord], *, part_of: int | None = None) -> tuple[int, ...]:
    """Enter that these examples were taken out, as ``part_of`` another act's command or by itself; their ids."""
    if records:
        told = history.removed(len(records), (record.label for record in records))
        act = entered(writing, writing.settings(), "remove", told, detail=_part(part_of))
        writing.replace(records, [record._replace(removed_by=act) for record in records])
    return tuple(record.id for record in records)


def relabelled(
    writing: Transaction, records: Sequence[ExampleRecord], label: str, action: str, *, part_of: int | None = None
) -> tuple[int, ...]:
    """Enter that these examples got another class; the ids of those that had a different one."""
    records = [record for record in records if record.label != label]
    if records:
        told = history.relabelled(len(records), (record.label for record in records), label)
        act = entered(writing, writing.settings(), action, told, detail=_part(part_of))
        writing.insert([LabelRecord(act, record.id, record.label) for record in records])
        writing.replace(records, [record._replace(label=label) for record in records])
    return tuple(record.id for record in records)


@dataclass(frozen=True)
class Fix:
    """Fix parameters of the classifier; the others are chosen anew when the gallery is next asked."""

    parameters: Mapping[str, Any]

    def __call__(self, writing: Transaction) -> None:
        had = writing.settings()
        changes = {"parameters": dict(self.parameters), "tuned": 0}
        entered(writing, had, "tune", "changed the parameters", detail=parameters_of(had), **changes)


@dataclass(frozen=True)
class Tune:
    """Keep what tuning chose, beside the ``parameters`` that are fixed (None: as they were); the number of the act.

    One that nobody ``asked`` for (a first question) is not there to be undone. ``since`` is the revision it was chosen
    on: where examples were erased after it, it is refused (None: it is not looked at)."""

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
        act = entered(writing, had, action, self.summary, detail=parameters_of(had), **changes)
        state = dict(self.state)
        if self.since == had.revision:  # learned from the very examples that are there
            state[LEARNED_AT] = b"%d" % act
        writing.insert([TunedRecord(act, name, data) for name, data in sorted(state.items())])
        return act


@dataclass(frozen=True)
class Recalibrate:
    """Keep what was learned from the examples of ``revision`` in place of what act ``tuned`` keeps: the calibration, or
    ``everything``. Whether that was done: not if the gallery has been changed meanwhile. It is no entry of the history,
    for it changes no example."""

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
        old = {piece.name: piece for piece in writing.found(TunedRecord, act=self.tuned, name=replaced)}
        writing.delete([piece for name, piece in old.items() if name not in new])
        writing.insert([TunedRecord(self.tuned, name, new[name]) for name in sorted(new.keys() - old.keys())])
        changed = [piece for name, piece in old.items() if new.get(name, piece.data) != piece.data]
        writing.replace(changed, [piece._replace(data=new[piece.name]) for piece in changed])
        return True


def _check_none_erased(reading: Snapshot, since: int) -> None:
    """An error where examples were erased after act ``since``: what was learned before must not come in again."""
    for act in reading.acts():
        if act.id <= since:
            return
        if act.action == "erase":
            raise StateError("Examples were erased while the parameters were chosen with them. Tune again.")


@dataclass(frozen=True)
class Compact:
    """Drop the examples that were taken out, for good; how many. What came before can no longer be undone."""

    def __call__(self, writing: Transaction) -> int:
        had = writing.settings()
        gone = [record for record in writing.all(ExampleRecord) if record.removed_by is not None]
        writing.delete(gone)
        writing.delete(writing.all(LabelRecord))
        drop_tuned(writing, {act for act, _ in writing.keys(TunedRecord)} - {had.tuned})
        entered(writing, had, "compact", f"compacted: dropped {len(gone)} removed examples for good")
        return len(gone)


@dataclass(frozen=True)
class Build:
    """Make all acts so far the one entry that the history begins with: nothing goes back past it."""

    def __call__(self, writing: Transaction) -> None:
        made = writing.all(ActRecord)
        if made:
            labels = [record.label for record in writing.all(ExampleRecord) if record.removed_by is None]
            told = history.built(len(labels), labels)[:_LONGEST]
            first = made[0]._replace(action="build", summary=told, detail=to_json(None))
            part = to_json({"part_of": first.id})
            writing.replace(made, [first, *(act._replace(action="build", detail=part) for act in made[1:])])


def _part(command: int | None) -> dict[str, int] | None:
    return None if command is None else {"part_of": command}


def drop_tuned(writing: Transaction, acts: Iterable[int]) -> None:
    """Drop what these acts chose."""
    for act in acts:
        writing.delete(list(writing.found(TunedRecord, act=act)))


def entered(
    writing: Transaction, had: Settings, action: str, summary: str, *, detail: Any = None, **changes: Any
) -> int:
    """Enter an act in the history, count it, and keep the ``changes`` of the settings; its number."""
    act = had.revision + 1
    writing.insert([ActRecord(act, now(), action, summary[:_LONGEST], to_json(detail), None)])
    writing.set_settings(had.act(**changes))
    return act


def retold(writing: Transaction, act: int, summary: str) -> None:
    """Give an act another summary."""
    records = list(writing.found(ActRecord, id=act))
    writing.replace(records, [record._replace(summary=summary[:_LONGEST]) for record in records])


def parameters_of(had: Settings) -> dict[str, Any]:
    """What an act that changes the parameters keeps of those before."""
    return {"before": dict(had.parameters), "tuned": had.tuned}


def now() -> int:
    """Microseconds since 1970, the nearest number that a gallery can store."""
    return max(_EARLIEST, min(time.time_ns() // 1000, _LATEST))
