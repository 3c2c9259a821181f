"""The way back, and forth again: ``Undo`` reverts the latest command that stands, ``Redo`` the latest ``Undo``.

Acts form a stack, so the gallery an act is undone in is the one it left behind: undoing ``add`` takes out the examples
it brought, ``remove`` puts back those it took, ``relabel`` and ``rename`` restore the labels they overwrote, ``tune``
the parameters and the choice. An undo keeps what it overwrote in turn, which is what ``Redo`` restores; a new change
ends what can be redone. The way back ends where the gallery was built or compacted. What was erased is gone: ``Undo``
stops there and says so, and goes past it, to what else can be undone, when told.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kcrc.errors import FileError, StateError
from kcrc.gallery import history
from kcrc.gallery.acts import entered, parameters_of
from kcrc.gallery.contract import ActRecord, ExampleRecord, LabelRecord, Snapshot, Transaction
from kcrc.gallery.examples import live
from kcrc.gallery.history import Entry, detail_of, entry_of, first_of
from kcrc.updates.what_if import Supposition

UNDOABLE = ("add", "remove", "relabel", "rename", "tune")
ENDS = {"compact": " since the gallery was compacted", "build": " since the gallery was built"}


@dataclass(frozen=True)
class Undo:
    """Revert the latest command that stands, or all that came after entry ``to``; the (earliest) command undone."""

    to: int | None = None
    past_erase: bool = False

    def __call__(self, writing: Transaction) -> Entry:
        if self.to is not None:
            _check_stands(writing, self.to)
        steps = [list(acts) for _, acts in itertools.groupby(self._wanted(writing), key=step)]
        commands = len({first_of(acts[0]) for acts in steps})
        first: int | None = None
        for acts in steps:
            command = first_act(writing, acts[-1])
            told = f"undid the {commands} latest changes" if first is None and commands > 1 else None
            by = take_back(writing, acts, told or history.undone(command.summary), part_of=first)
            first = first or by
        return entry_of(command._replace(undone_by=by))

    def _wanted(self, reading: Snapshot) -> Iterator[ActRecord]:
        """The acts to undo, newest first: of one command, or of all after ``to``."""
        command, end = None, ""
        for act in reading.acts():
            if self.to is not None and act.id <= self.to:
                break
            if first_of(act) == self.to:
                continue
            if act.action in ENDS:
                end = ENDS[act.action]
                break
            if act.action == "erase" and not self.past_erase and (command is None or self.to is not None):
                which = "The latest" if self.to is None else "A later"
                raise StateError(
                    f"{which} change {act.summary}, and what was erased cannot be brought back. Nothing was changed; "
                    "'kcrc undo --past-erase' (undo(past_erase=True)) undoes the change before it."
                )
            if act.undone_by is not None or act.action not in UNDOABLE:
                continue
            if self.to is None and command not in (None, first_of(act)):
                return
            command = first_of(act)
            yield act
        if command is None or (end and self.to is not None):
            raise StateError(f"There is nothing to undo{end}." if command is None else f"There is no way back{end}.")


def step(act: ActRecord) -> tuple[int, int]:
    """What is undone at once: the batches a command added, any other act by itself."""
    return first_of(act), 0 if act.action == "add" else act.id


def _check_stands(reading: Snapshot, entry: int) -> None:
    """An error unless one can go back to that entry: 0 is the beginning."""
    if entry == 0:
        return
    found = next(reading.found(ActRecord, id=entry), None)
    if found is None or first_of(found) != entry:
        raise StateError(
            f"There is no entry {entry} in the history. Nothing was changed; gallery.history() lists them."
        )
    if found.undone_by is not None or found.action in ("undo", "redo"):
        raise StateError(
            f"Entry {entry} ({found.summary}) does not stand, so there is no way back to it. Nothing was changed; give "
            "the number of a change that was not undone."
        )


def take_back(writing: Transaction, acts: Sequence[ActRecord], summary: str, *, part_of: int | None) -> int:
    """Undo one act of a command, or all its ``add``; the number of the undo."""
    had, act = writing.settings(), acts[-1]
    changes = _parameters_before(act) if act.action == "tune" else {}
    detail = {"of": first_of(act), "redo": True, **(parameters_of(had) if changes else {}), **_part(part_of)}
    by = entered(writing, had, "undo", summary, detail=detail, **changes)
    if act.action == "add":
        records = list(writing.found(ExampleRecord, added_by=[one.id for one in acts], removed_by=None))
        writing.replace(records, [record._replace(removed_by=by) for record in records])
    elif act.action == "remove":
        records = list(writing.found(ExampleRecord, removed_by=act.id))
        _overwrite(writing, by, records, [record._replace(removed_by=None) for record in records])
    elif act.action in ("relabel", "rename"):
        _restore_labels(writing, act.id, by)
    writing.replace(acts, [one._replace(undone_by=by) for one in acts])
    return by


@dataclass(frozen=True)
class Redo:
    """Do again what the latest undo took back; the command that stands again, of several the earliest."""

    def __call__(self, writing: Transaction) -> Entry:
        undos = self._wanted(writing)
        undone = [self._undone_by(writing, undo) for undo in undos]
        commands = len({first_of(acts[0]) for acts in undone})
        first: int | None = None
        for undo, acts in zip(undos, undone, strict=True):  # what was undone last comes back first
            told = f"redid {commands} changes" if first is None and commands > 1 else None
            summary = told or history.redone(first_act(writing, acts[0]).summary)
            by = bring_back(writing, undo, acts, summary, part_of=first)
            first = first or by
        return entry_of(first_act(writing, undone[0][0]))

    def _undone_by(self, reading: Snapshot, undo: ActRecord) -> list[ActRecord]:
        """The acts of the command that an undo took back."""
        found = list(reading.found(ActRecord, undone_by=undo.id))
        if not found:
            raise FileError(f"The history of act {undo.id} is damaged: what it took back is lost.")
        return found

    def _wanted(self, reading: Snapshot) -> list[ActRecord]:
        """The acts of the latest undo that stands, newest first, if nothing was changed since."""
        found: list[ActRecord] = []
        for act in reading.acts():
            if act.undone_by is not None:
                continue
            if found and (act.action != "undo" or first_of(act) != first_of(found[0])):
                break
            if act.action == "undo":
                found.append(act)
            elif act.action in (*UNDOABLE, *ENDS, "erase"):
                break
        if not found:
            raise StateError("There is nothing to redo: the latest change was not an undo.")
        if any(detail_of(undo).get("redo") is not True for undo in found):
            raise StateError("The latest undo was made by an older kcrc and cannot be redone. Nothing was changed.")
        return found


def bring_back(
    writing: Transaction, undo: ActRecord, acts: Sequence[ActRecord], summary: str, *, part_of: int | None
) -> int:
    """Do again the acts that one undo took back; the number of the redo."""
    had, action = writing.settings(), acts[0].action
    changes = _parameters_before(undo) if action == "tune" else {}
    by = entered(writing, had, "redo", summary, detail={"of": acts[0].id, **_part(part_of)}, **changes)
    if action == "add":
        records = list(writing.found(ExampleRecord, removed_by=undo.id))
        _overwrite(writing, by, records, [record._replace(removed_by=None) for record in records])
    elif action == "remove":
        records = live(writing, [label.example for label in writing.found(LabelRecord, act=undo.id)])
        _overwrite(writing, by, records, [record._replace(removed_by=acts[0].id) for record in records])
    elif action in ("relabel", "rename"):
        _restore_labels(writing, undo.id, by)
    again = [act._replace(undone_by=None) for act in acts]
    writing.replace([*acts, undo], [*again, undo._replace(undone_by=by)])
    return by


def first_act(reading: Snapshot, act: ActRecord) -> ActRecord:
    """The act that speaks for the command of this one."""
    return next(reading.found(ActRecord, id=first_of(act)), act)


def _restore_labels(writing: Transaction, overwritten_by: int, by: int) -> None:
    before = {label.example: label.before for label in writing.found(LabelRecord, act=overwritten_by)}
    records = live(writing, before)
    _overwrite(writing, by, records, [record._replace(label=before[record.id]) for record in records])


def _overwrite(writing: Transaction, by: int, old: Sequence[ExampleRecord], new: Sequence[ExampleRecord]) -> None:
    """Replace examples, and keep which they were and how they were labelled."""
    writing.insert([LabelRecord(by, record.id, record.label) for record in old])
    writing.replace(old, new)


def _part(command: int | None) -> dict[str, int]:
    return {} if command is None else {"part_of": command}


def _parameters_before(act: ActRecord) -> dict[str, Any]:
    """The settings that a ``tune``, or the undo of one, replaced. Version 2 kept no choice: it is made anew."""
    detail = detail_of(act)
    before, tuned = detail.get("before"), detail.get("tuned", 0)
    if not isinstance(before, dict) or not isinstance(tuned, int) or isinstance(tuned, bool):
        raise FileError(f"The history of act {act.id} is damaged: the parameters before are lost.")
    return {"parameters": before, "tuned": tuned}


# One change taken back alone, though others came after it: where several people work on one gallery, each takes back
# what is their own.
#
# That is done only where nothing that stands has touched the same examples since: what somebody else made of them is
# not lost, it is shown (``Overtaken``).


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
            by = take_back(writing, some, history.undone(command.summary), part_of=first)
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
            redo = bring_back(writing, undo, undone, history.redone(command.summary), part_of=first)
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


# The gallery as it was before a change, as what would have to be supposed of the examples there are now.

_LOST = {**ENDS, "erase": ", for examples were erased since"}


def before(reading: Snapshot, entry: int) -> Supposition:
    """Of the state before the change ``entry``: what stands of it and of all later ones is thought away. An error where
    that is not known any more."""
    if next(reading.found(ActRecord, id=entry), None) is None:
        raise StateError(f"There is no change {entry} in the history.")
    since = list(itertools.takewhile(lambda act: act.id >= entry, reading.acts()))
    lost = next((act.action for act in since if act.action in _LOST), None)
    if lost is not None:
        raise StateError(f"What was answered before change {entry} cannot be said{_LOST[lost]}.")
    standing = [act.id for act in since if act.undone_by is None and act.action in UNDOABLE]
    gone = {record.id for record in reading.found(ExampleRecord, added_by=standing)}
    back = {record.id: record for record in reading.found(ExampleRecord, removed_by=standing)}
    overwritten = sorted(reading.found(LabelRecord, act=standing), reverse=True)
    labels = {label.example: label.before for label in overwritten}  # the earliest change has the last word
    there = {record.id for record in reading.found(ExampleRecord, id=sorted(labels), removed_by=None)}
    returned = [back[example] for example in sorted(back.keys() - gone)]
    return Supposition(
        labels={example: label for example, label in labels.items() if example in there - gone},
        gone=gone - back.keys(),
        vectors=reading.vectors(returned) if returned else None,
        classes=tuple(labels.get(record.id, record.label) for record in returned),
        ids=tuple(record.id for record in returned),
    )
