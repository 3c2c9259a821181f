"""One change taken back alone, though others came after it: where several people work on one gallery, each takes back
what is their own.

That is done only where nothing that stands has touched the same examples since: what somebody else made of them is not
lost, it is shown (``Overtaken``).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from kcrc.errors import StateError
from kcrc.gallery import summaries
from kcrc.gallery.contract import ActRecord, ExampleRecord, LabelRecord, Snapshot, Transaction
from kcrc.gallery.history import Entry, entry_of, first_of
from kcrc.gallery.undoing import ENDS, UNDOABLE, bring_back, first_act, step, take_back


class Overtaken(StateError):
    """Somebody changed the same since; ``by`` are those changes, newest first."""

    def __init__(self, wanted: str, by: Sequence[Entry]) -> None:
        super().__init__(f"{wanted} was overtaken: '{by[0].summary}' changed the same since. Nothing was changed.")
        self.by = tuple(by)


@dataclass(frozen=True)
class UndoOne:
    """Revert the command of one entry of the history; that command."""

    entry: int

    def __call__(self, writing: Transaction) -> Entry:
        acts = _command(writing, self.entry)
        command = acts[-1]
        if any(act.undone_by is not None for act in acts):
            raise StateError(f"Change {self.entry} ({command.summary}) was undone already. Nothing was changed.")
        _check_untouched(writing, acts, since=self.entry, wanted=f"Change {self.entry} ({command.summary})")
        first: int | None = None
        for some in [list(group) for _, group in itertools.groupby(acts, key=step)]:
            by = take_back(writing, some, summaries.undone(command.summary), part_of=first)
            first = first or by
        return entry_of(command._replace(undone_by=by))


@dataclass(frozen=True)
class RedoOne:
    """Do again the command of one entry, which was undone; that command."""

    entry: int

    def __call__(self, writing: Transaction) -> Entry:
        acts = _command(writing, self.entry)
        command = acts[-1]
        if any(act.undone_by is None for act in acts):
            raise StateError(f"Change {self.entry} ({command.summary}) stands. Nothing was changed.")
        by = sorted({act.undone_by for act in acts if act.undone_by is not None}, reverse=True)
        undos = sorted(writing.found(ActRecord, id=by), reverse=True)
        _check_untouched(writing, acts, since=min(by), wanted=f"Change {self.entry} ({command.summary})")
        first: int | None = None
        for undo in undos:
            undone = [act for act in acts if act.undone_by == undo.id]
            redo = bring_back(writing, undo, undone, summaries.redone(command.summary), part_of=first)
            first = first or redo
        return entry_of(first_act(writing, command)._replace(undone_by=None))


def _command(reading: Snapshot, entry: int) -> list[ActRecord]:
    """The acts of one command, newest first; an error where it cannot be taken back."""
    found: list[ActRecord] = []
    for act in reading.acts():
        if act.id < entry:
            break
        if act.action in ENDS:
            raise StateError(f"There is no way back to change {entry}{ENDS[act.action]}. Nothing was changed.")
        if first_of(act) == entry:
            found.append(act)
    if not found or any(act.action not in UNDOABLE for act in found):
        raise StateError(f"There is no change {entry} that could be undone. Nothing was changed.")
    return found


def _touched_by(reading: Snapshot, acts: Sequence[ActRecord]) -> list[int]:
    """The ids of the examples that acts brought, took out or gave another class."""
    numbers = [act.id for act in acts]
    undone = [act.undone_by for act in acts if act.undone_by is not None]
    found = {record.id for record in reading.found(ExampleRecord, added_by=numbers)}
    found |= {record.id for record in reading.found(ExampleRecord, removed_by=numbers)}
    return sorted(found | {label.example for label in reading.found(LabelRecord, act=[*numbers, *undone])})


def _check_untouched(reading: Snapshot, acts: Sequence[ActRecord], *, since: int, wanted: str) -> None:
    """An error where a change after ``since`` that stands touched the examples of ``acts``, or the parameters."""
    mine = _touched_by(reading, acts)
    touching = {label.act for label in reading.found(LabelRecord, example=mine)}
    touching |= {record.removed_by for record in reading.found(ExampleRecord, id=mine) if record.removed_by is not None}
    touching -= {act.id for act in acts}
    tuned = any(act.action == "tune" for act in acts)
    others = [
        entry_of(first_act(reading, act))
        for act in itertools.takewhile(lambda act: act.id > since, reading.acts())
        if act.undone_by is None
        and act.action in UNDOABLE
        and (act.id in touching or (tuned and act.action == "tune" and act not in acts))
    ]
    if others:
        raise Overtaken(wanted, others)
