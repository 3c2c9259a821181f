"""The gallery as it was before a change, as what would have to be supposed of the examples there are now."""

from __future__ import annotations

from kcrc.answering.supposing import Supposition
from kcrc.errors import StateError
from kcrc.gallery.contract import ActRecord, ExampleRecord, LabelRecord, Snapshot
from kcrc.gallery.undoing import ENDS, UNDOABLE

_LOST = {**ENDS, "erase": ", for examples were erased since"}


def before(reading: Snapshot, entry: int) -> Supposition:
    """Of the state before the change ``entry``: what stands of it and of all later ones is thought away. An error where
    that is not known any more."""
    if next(reading.found(ActRecord, id=entry), None) is None:
        raise StateError(f"There is no change {entry} in the history.")
    labels: dict[int, str] = {}
    gone: set[int] = set()
    back: dict[int, ExampleRecord] = {}
    for act in reading.acts():
        if act.id < entry:
            break
        if act.action in _LOST:
            raise StateError(f"What was answered before change {entry} cannot be said{_LOST[act.action]}.")
        if act.undone_by is not None or act.action not in UNDOABLE:
            continue
        gone |= {record.id for record in reading.found(ExampleRecord, added_by=act.id)}
        back |= {record.id: record for record in reading.found(ExampleRecord, removed_by=act.id)}
        labels |= {label.example: label.before for label in reading.found(LabelRecord, act=act.id)}
    there = {record.id for record in reading.found(ExampleRecord, id=sorted(labels), removed_by=None)}
    returned = [back[example] for example in sorted(back.keys() - gone)]
    return Supposition(
        labels={example: label for example, label in labels.items() if example in there - gone},
        gone=gone - back.keys(),
        vectors=reading.vectors(returned) if returned else None,
        classes=tuple(labels.get(record.id, record.label) for record in returned),
        ids=tuple(record.id for record in returned),
    )
