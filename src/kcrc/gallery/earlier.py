"""The gallery as it was before a change, as what would have to be supposed of the examples there are now."""

from __future__ import annotations

import itertools

from kcrc.errors import StateError
from kcrc.gallery.contract import ActRecord, ExampleRecord, LabelRecord, Snapshot
from kcrc.gallery.undoing import ENDS, UNDOABLE
from kcrc.updates.supposing import Supposition

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
