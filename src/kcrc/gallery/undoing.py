"""Undo and redo: ``Undo`` reverts the latest command that stands, ``Redo`` the latest ``Undo``.

Acts form a stack, so the gallery an act is undone in is the one it left behind: undoing ``add`` removes the examples it
added, undoing ``remove`` brings them back, undoing ``relabel`` and ``rename`` restores the labels before, undoing
``tune`` the parameters before. An undo keeps what it overwrote in turn, which ``Redo`` restores; a new change ends what
can be redone. Nothing can be undone from before the gallery was built or compacted. Erased examples are gone: ``Undo``
stops there with an error, unless ``past_erase`` is given.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kcrc.errors import FileError, StateError
from kcrc.gallery import history
from kcrc.gallery.acts import parameters_of, part_of_command, record_act
from kcrc.gallery.contract import ActRecord, ExampleRecord, LabelRecord, Snapshot, Transaction
from kcrc.gallery.examples import live
from kcrc.gallery.history import Entry, detail_of, entry_of, first_of
from kcrc.updates.what_if import Supposition

UNDOABLE = ("add", "remove", "relabel", "rename", "tune")
ENDS = {"compact": " since the gallery was compacted", "build": " since the gallery was built"}


@dataclass(frozen=True)
class Undo:
    """Revert the latest command that stands, or all after entry ``to``; return the (earliest) command undone."""

    to: int | None = None
    past_erase: bool = False

    def __call__(self, writing: Transaction) -> Entry:
        if self.to is not None:
            _check_stands(writing, self.to)
        steps = [list(acts) for _, acts in itertools.groupby(self._acts_to_undo(writing), key=step)]
        commands = len({first_of(acts[0]) for acts in steps})
        first: int | None = None
        for acts in steps:
            command = first_act(writing, acts[-1])
            summary = f"undid the {commands} latest changes" if first is None and commands > 1 else None
            by = take_back(writing, acts, summary or history.summarise_undo(command.summary), part_of=first)
            first = first or by
        return entry_of(command._replace(undone_by=by))

    def _acts_to_undo(self, reading: Snapshot) -> Iterator[ActRecord]:
        """Yield the acts to undo, newest first: of one command, or of all after ``to``."""
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
    """Return a key of what is undone at once: the batches a command added, any other act by itself."""
    return first_of(act), 0 if act.action == "add" else act.id


def _check_stands(reading: Snapshot, entry: int) -> None:
    """Raise an error unless one can go back to that entry; 0 is the beginning."""
    if entry == 0:
        return
    act = next(reading.find(ActRecord, id=entry), None)
    if act is None or first_of(act) != entry:
        raise StateError(
            f"There is no entry {entry} in the history. Nothing was changed; gallery.history() lists them."
        )
    if act.undone_by is not None or act.action in ("undo", "redo"):
        raise StateError(
            f"Entry {entry} ({act.summary}) does not stand, so there is no way back to it. Nothing was changed; give "
            "the number of a change that was not undone."
        )


def take_back(writing: Transaction, acts: Sequence[ActRecord], summary: str, *, part_of: int | None) -> int:
    """Undo one act of a command, or all its ``add``; return the number of the undo."""
    had, act = writing.settings(), acts[-1]
    changes = _parameters_before(act) if act.action == "tune" else {}
    detail = {
        "of": first_of(act),
        "redo": True,
        **(parameters_of(had) if changes else {}),
        **part_of_command(part_of),
    }
    by = record_act(writing, had, "undo", summary, detail=detail, **changes)
    if act.action == "add":
        records = list(writing.find(ExampleRecord, added_by=[batch.id for batch in acts], removed_by=None))
        writing.replace(records, [record._replace(removed_by=by) for record in records])
    elif act.action == "remove":
        records = list(writing.find(ExampleRecord, removed_by=act.id))
        _overwrite(writing, by, records, [record._replace(removed_by=None) for record in records])
    elif act.action in ("relabel", "rename"):
        _restore_labels(writing, act.id, by)
    writing.replace(acts, [batch._replace(undone_by=by) for batch in acts])
    return by


@dataclass(frozen=True)
class Redo:
    """Redo what the latest undo reverted; return the command that stands again, of several the earliest."""

    def __call__(self, writing: Transaction) -> Entry:
        undos = self._undos_to_redo(writing)
        undone = [self._undone_by(writing, undo) for undo in undos]
        commands = len({first_of(acts[0]) for acts in undone})
        first: int | None = None
        for undo, acts in zip(undos, undone, strict=True):  # what was undone last comes back first
            summary = f"redid {commands} changes" if first is None and commands > 1 else None
            summary = summary or history.summarise_redo(first_act(writing, acts[0]).summary)
            by = bring_back(writing, undo, acts, summary, part_of=first)
            first = first or by
        return entry_of(first_act(writing, undone[0][0]))

    def _undone_by(self, reading: Snapshot, undo: ActRecord) -> list[ActRecord]:
        """Return the acts of the command that an undo reverted."""
        acts = list(reading.find(ActRecord, undone_by=undo.id))
        if not acts:
            raise FileError(f"The history of act {undo.id} is damaged: what it took back is lost.")
        return acts

    def _undos_to_redo(self, reading: Snapshot) -> list[ActRecord]:
        """Return the acts of the latest undo that stands, newest first, if nothing was changed since."""
        undos: list[ActRecord] = []
        for act in reading.acts():
            if act.undone_by is not None:
                continue
            if undos and (act.action != "undo" or first_of(act) != first_of(undos[0])):
                break
            if act.action == "undo":
                undos.append(act)
            elif act.action in (*UNDOABLE, *ENDS, "erase"):
                break
        if not undos:
            raise StateError("There is nothing to redo: the latest change was not an undo.")
        if any(detail_of(undo).get("redo") is not True for undo in undos):
            raise StateError("The latest undo was made by an older kcrc and cannot be redone. Nothing was changed.")
        return undos


def bring_back(
    writing: Transaction, undo: ActRecord, acts: Sequence[ActRecord], summary: str, *, part_of: int | None
) -> int:
    """Redo the acts that one undo reverted; return the number of the redo."""
    had, action = writing.settings(), acts[0].action
    changes = _parameters_before(undo) if action == "tune" else {}
    by = record_act(writing, had, "redo", summary, detail={"of": acts[0].id, **part_of_command(part_of)}, **changes)
    if action == "add":
        records = list(writing.find(ExampleRecord, removed_by=undo.id))
        _overwrite(writing, by, records, [record._replace(removed_by=None) for record in records])
    elif action == "remove":
        records = live(writing, [label.example for label in writing.find(LabelRecord, act=undo.id)])
        _overwrite(writing, by, records, [record._replace(removed_by=acts[0].id) for record in records])
    elif action in ("relabel", "rename"):
        _restore_labels(writing, undo.id, by)
    again = [act._replace(undone_by=None) for act in acts]
    writing.replace([*acts, undo], [*again, undo._replace(undone_by=by)])
    return by


def first_act(reading: Snapshot, act: ActRecord) -> ActRecord:
    """Return the act whose summary is of the whole command of this act."""
    return next(reading.find(ActRecord, id=first_of(act)), act)


def _restore_labels(writing: Transaction, overwritten_by: int, by: int) -> None:
    before = {label.example: label.before for label in writing.find(LabelRecord, act=overwritten_by)}
    records = live(writing, before)
    _overwrite(writing, by, records, [record._replace(label=before[record.id]) for record in records])


def _overwrite(writing: Transaction, by: int, old: Sequence[ExampleRecord], new: Sequence[ExampleRecord]) -> None:
    """Replace examples, and keep their labels from before."""
    writing.insert([LabelRecord(by, record.id, record.label) for record in old])
    writing.replace(old, new)


def _parameters_before(act: ActRecord) -> dict[str, Any]:
    """Return the settings that a ``tune``, or the undo of one, replaced. Version 2 kept no choice: it is made again."""
    detail = detail_of(act)
    before, tuned = detail.get("before"), detail.get("tuned", 0)
    if not isinstance(before, dict) or not isinstance(tuned, int) or isinstance(tuned, bool):
        raise FileError(f"The history of act {act.id} is damaged: the parameters before are lost.")
    return {"parameters": before, "tuned": tuned}


# One change undone alone, although others came after it: if several people work on one gallery, each undoes their own.
#
# That is refused if a later change that stands concerned the same examples; the error shows that change
# (``Overtaken``).


class Overtaken(StateError):
    """The same examples were changed since; ``by`` are those changes, newest first."""

    def __init__(self, change: str, by: Sequence[Entry]) -> None:
        super().__init__(f"{change} was overtaken: '{by[0].summary}' changed the same since. Nothing was changed.")
        self.by = tuple(by)


@dataclass(frozen=True)
class UndoOne:
    """Revert the command of one entry of the history; return that command."""

    entry: int

    def __call__(self, writing: Transaction) -> Entry:
        acts = _command(writing, self.entry)
        command = acts[-1]
        if any(act.undone_by is not None for act in acts):
            raise StateError(f"Change {self.entry} ({command.summary}) was undone already. Nothing was changed.")
        _check_untouched(writing, acts, since=self.entry, change=f"Change {self.entry} ({command.summary})")
        first: int | None = None
        for some in [list(group) for _, group in itertools.groupby(acts, key=step)]:
            by = take_back(writing, some, history.summarise_undo(command.summary), part_of=first)
            first = first or by
        return entry_of(command._replace(undone_by=by))


@dataclass(frozen=True)
class RedoOne:
    """Redo the command of one entry, which was undone; return that command."""

    entry: int

    def __call__(self, writing: Transaction) -> Entry:
        acts = _command(writing, self.entry)
        command = acts[-1]
        if any(act.undone_by is None for act in acts):
            raise StateError(f"Change {self.entry} ({command.summary}) stands. Nothing was changed.")
        by = sorted({act.undone_by for act in acts if act.undone_by is not None}, reverse=True)
        undos = sorted(writing.find(ActRecord, id=by), reverse=True)
        _check_untouched(writing, acts, since=min(by), change=f"Change {self.entry} ({command.summary})")
        first: int | None = None
        for undo in undos:
            undone = [act for act in acts if act.undone_by == undo.id]
            redo = bring_back(writing, undo, undone, history.summarise_redo(command.summary), part_of=first)
            first = first or redo
        return entry_of(first_act(writing, command)._replace(undone_by=None))


def _command(reading: Snapshot, entry: int) -> list[ActRecord]:
    """Return the acts of one command, newest first; raise an error if it cannot be undone."""
    acts: list[ActRecord] = []
    for act in reading.acts():
        if act.id < entry:
            break
        if act.action in ENDS:
            raise StateError(f"There is no way back to change {entry}{ENDS[act.action]}. Nothing was changed.")
        if first_of(act) == entry:
            acts.append(act)
    if not acts or any(act.action not in UNDOABLE for act in acts):
        raise StateError(f"There is no change {entry} that could be undone. Nothing was changed.")
    return acts


def _touched_by(reading: Snapshot, acts: Sequence[ActRecord]) -> list[int]:
    """Return the ids of the examples that acts added, removed or relabelled."""
    numbers = [act.id for act in acts]
    undone = [act.undone_by for act in acts if act.undone_by is not None]
    touched = {record.id for record in reading.find(ExampleRecord, added_by=numbers)}
    touched |= {record.id for record in reading.find(ExampleRecord, removed_by=numbers)}
    return sorted(touched | {label.example for label in reading.find(LabelRecord, act=[*numbers, *undone])})


def _check_untouched(reading: Snapshot, acts: Sequence[ActRecord], *, since: int, change: str) -> None:
    """Raise an error if a change after ``since`` that stands touched the examples of ``acts``, or the parameters."""
    mine = _touched_by(reading, acts)
    touching = {label.act for label in reading.find(LabelRecord, example=mine)}
    touching |= {record.removed_by for record in reading.find(ExampleRecord, id=mine) if record.removed_by is not None}
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
        raise Overtaken(change, others)


# The gallery as it was before a change, as a supposition about the examples of now.

_LOST = {**ENDS, "erase": ", for examples were erased since"}


def state_before(reading: Snapshot, entry: int) -> Supposition:
    """Return the state before the change ``entry``: without what stands of it and of all later changes. Raise an error
    if that state is not known any more."""
    if next(reading.find(ActRecord, id=entry), None) is None:
        raise StateError(f"There is no change {entry} in the history.")
    since = list(itertools.takewhile(lambda act: act.id >= entry, reading.acts()))
    lost = next((act.action for act in since if act.action in _LOST), None)
    if lost is not None:
        raise StateError(f"What was answered before change {entry} cannot be said{_LOST[lost]}.")
    standing = [act.id for act in since if act.undone_by is None and act.action in UNDOABLE]
    gone = {record.id for record in reading.find(ExampleRecord, added_by=standing)}
    back = {record.id: record for record in reading.find(ExampleRecord, removed_by=standing)}
    overwritten = sorted(reading.find(LabelRecord, act=standing), reverse=True)
    labels = {label.example: label.before for label in overwritten}  # the earliest change has the last word
    there = {record.id for record in reading.find(ExampleRecord, id=sorted(labels), removed_by=None)}
    returned = [back[example] for example in sorted(back.keys() - gone)]
    return Supposition(
        labels={example: label for example, label in labels.items() if example in there - gone},
        gone=gone - back.keys(),
        vectors=reading.vectors(returned) if returned else None,
        classes=tuple(labels.get(record.id, record.label) for record in returned),
        ids=tuple(record.id for record in returned),
    )
