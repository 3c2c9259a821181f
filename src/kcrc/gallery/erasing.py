"""Erase examples for good, with their pictures, names, and their part in the history and in chosen parameters.

This module decides what is erased and what the history says afterwards; the store makes sure that no byte is left
(``Store.erase``). An act that concerned, or may have concerned, an erased example keeps its number, time and count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kcrc.errors import DataError, FileError
from kcrc.gallery import history as summaries
from kcrc.gallery import stored_choice
from kcrc.gallery.acts import drop_tuned, record_act
from kcrc.gallery.contract import ActRecord, ExampleRecord, LabelRecord, Snapshot, Store, Transaction, TunedRecord
from kcrc.gallery.examples import checked_ids
from kcrc.gallery.history import detail_of, first_of, number_in
from kcrc.gallery.settings import to_json


@dataclass(frozen=True)
class Erased:
    """What ``erase`` erased, and what the user should know.

    Attributes
    ----------
    ids : tuple of int
        The ids that were erased.
    retune : bool
        Whether parameters had been chosen with them; they are chosen again at the next question.
    feature : str or None
        The feature that may have learned from them, which stays as it is; None if it learned nothing.
    beside : tuple of Path
        Files beside the gallery, by their names copies or exports of it, that may hold them still.
    """

    ids: tuple[int, ...]
    retune: bool = False
    feature: str | None = None
    beside: tuple[Path, ...] = ()


def erase(store: Store, ids: Iterable[int]) -> Erased:
    """Erase examples, in use or removed; ids that were erased before are skipped."""
    numbers = checked_ids(ids)
    existing = store.write(lambda writing: _find_existing(writing, numbers))
    if not existing:
        return Erased((), beside=store.elsewhere())
    erased, retune, feature = store.erase(lambda writing: _take_out(writing, existing))
    return Erased(erased, retune, feature, store.elsewhere())


def _find_existing(reading: Snapshot, wanted: list[int]) -> list[int]:
    """Return those of the ids that exist; an id that was never given is an error."""
    next_id = reading.settings().next_id
    never = [example for example in wanted if not 0 < example < next_id]
    if never:
        raise DataError(f"There never was an example {never[0]} in the gallery. Nothing was erased.")
    return [record.id for record in reading.find(ExampleRecord, id=wanted)]


def _take_out(writing: Transaction, ids: list[int]) -> tuple[tuple[int, ...], bool, str | None]:
    """Erase examples in a transaction; return their ids, whether tuning is due, and the feature that may have learned
    from them."""
    had = writing.settings()
    records = list(writing.find(ExampleRecord, id=ids))
    gone = {record.id for record in records}
    labels = [label for label in writing.all(LabelRecord) if label.example in gone]
    touched = _find_touched_acts(writing, records, labels)
    writing.delete(records)
    writing.delete(labels)
    stale = _find_stale_choices(writing, min(gone, default=had.next_id))
    drop_tuned(writing, stale)
    _forget(writing, touched, stale)
    after = {"tuned": 0} if had.tuned in stale else {}
    record_act(writing, had, "erase", f"erased {summaries.count_examples(len(records))} for good", **after)
    return tuple(sorted(gone)), bool(after), had.feature if writing.feature_learned() else None


def _find_stale_choices(reading: Snapshot, first: int) -> set[int]:
    """Return the acts whose classifier may hold something of the examples from id ``first`` on: the mean of a class
    with one example is that example."""
    stale = set()
    for act in {act for act, _ in reading.keys(TunedRecord)}:
        try:
            without = stored_choice.next_id_learned(reading, act) <= first
        except FileError:
            without = False
        if not without:
            stale.add(act)
    return stale


def _find_touched_acts(reading: Snapshot, records: Sequence[ExampleRecord], labels: Sequence[LabelRecord]) -> set[int]:
    """Return the acts that concerned, or may have concerned, these examples; ``labels`` are those the examples had.

    A ``remove`` that was undone left no trace at its examples, nor did a ``relabel`` before a ``compact``: such acts
    count if they came after the first of the examples.
    """
    first = min((record.added_by for record in records), default=0)
    touched = {record.added_by for record in records} | {label.act for label in labels}
    touched |= {record.removed_by for record in records if record.removed_by is not None}
    history = reading.all(ActRecord)
    compacted = max((act.id for act in history if act.action == "compact"), default=0)
    for act in history:
        undone = act.action == "remove" and act.undone_by is not None
        forgotten = act.action in ("relabel", "rename") and act.id < compacted
        if act.id > first and (undone or forgotten):
            touched.add(act.id)
        if act.action in ("undo", "redo") and number_in(act, "of") in touched:
            touched.add(act.id)
        if act.id in touched:
            touched.add(first_of(act))  # whose summary is of all acts of its command
    return touched


def _forget(writing: Transaction, touched: set[int], stale: set[int]) -> None:
    """Remove names from the summaries of ``touched`` acts, and names of classes that are gone; no act keeps the way
    back to a ``stale`` choice of parameters."""
    known = {record.label for record in writing.all(ExampleRecord)}
    known |= {label.before for label in writing.all(LabelRecord)}
    pairs = [(act, _forget_names(act, known, act.id in touched, stale)) for act in writing.all(ActRecord)]
    changed = [(old, new) for old, new in pairs if old != new]
    writing.replace([old for old, _ in changed], [new for _, new in changed])


def _forget_names(act: ActRecord, known: set[str], touched: bool, stale: set[int]) -> ActRecord:
    """Return an act as the history keeps it after an erasing."""
    if number_in(act, "tuned") in stale:
        act = act._replace(detail=to_json({**detail_of(act), "tuned": 0}))
    return act._replace(summary=summaries.without_names(act.summary, act.action, known=known, touched=touched))
