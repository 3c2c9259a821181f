"""Erase: an example out of a gallery for good, with its picture, its name, its part in history and in what was tuned.

What is to go, and what the history then says, stands here; that no byte of it is left is the store's
(``Store.erase``). An act that had, or may have had, to do with it keeps its number, its moment and its count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kcrc.errors import DataError, FileError
from kcrc.gallery import history as summaries
from kcrc.gallery import tuned
from kcrc.gallery.acts import drop_tuned, entered
from kcrc.gallery.contract import ActRecord, ExampleRecord, LabelRecord, Snapshot, Store, Transaction, TunedRecord
from kcrc.gallery.examples import checked_ids
from kcrc.gallery.history import detail_of, first_of, number_in
from kcrc.gallery.settings import to_json


@dataclass(frozen=True)
class Erased:
    """What ``erase`` erased, and what the person should know.

    Attributes
    ----------
    ids : tuple of int
        The ids that were erased.
    retune : bool
        Whether parameters had been chosen with them; they are chosen anew at the next question.
    feature : str or None
        The feature that may have learned from them, which stays as it is; None where it learned nothing.
    beside : tuple of Path
        Files beside the gallery, by their names copies or exports of it, that may hold them still.
    """

    ids: tuple[int, ...]
    retune: bool = False
    feature: str | None = None
    beside: tuple[Path, ...] = ()


def erase(store: Store, ids: Iterable[int]) -> Erased:
    """Erase examples that are in or were removed; those erased before are passed over."""
    given = checked_ids(ids)
    wanted = store.write(lambda writing: _known(writing, given))
    if not wanted:
        return Erased((), beside=store.elsewhere())
    erased, retune, feature = store.erase(lambda writing: _take_out(writing, wanted))
    return Erased(erased, retune, feature, store.elsewhere())


def _known(reading: Snapshot, wanted: list[int]) -> list[int]:
    """Those of the ids that are there; an id that was never given is an error."""
    next_id = reading.settings().next_id
    never = [example for example in wanted if not 0 < example < next_id]
    if never:
        raise DataError(f"There never was an example {never[0]} in the gallery. Nothing was erased.")
    return [record.id for record in reading.found(ExampleRecord, id=wanted)]


def _take_out(writing: Transaction, ids: list[int]) -> tuple[tuple[int, ...], bool, str | None]:
    """The ids erased, whether tuning is due, the feature that may have learned from them."""
    had = writing.settings()
    records = list(writing.found(ExampleRecord, id=ids))
    gone = {record.id for record in records}
    labels = [label for label in writing.all(LabelRecord) if label.example in gone]
    touched = _touched(writing, records, labels)
    writing.delete(records)
    writing.delete(labels)
    stale = _learned_with(writing, min(gone, default=had.next_id))
    drop_tuned(writing, stale)
    _forget(writing, touched, stale)
    after = {"tuned": 0} if had.tuned in stale else {}
    entered(writing, had, "erase", f"erased {summaries.examples(len(records))} for good", **after)
    return tuple(sorted(gone)), bool(after), had.feature if writing.feature_learned() else None


def _learned_with(reading: Snapshot, first: int) -> set[int]:
    """The acts whose tuned classifier may hold something of the examples from id ``first`` on: the mean of a class of
    one is that one."""
    found = set()
    for act in {act for act, _ in reading.keys(TunedRecord)}:
        try:
            without = tuned.next_id_learned(reading, act) <= first
        except FileError:
            without = False
        if not without:
            found.add(act)
    return found


def _touched(reading: Snapshot, records: Sequence[ExampleRecord], labels: Sequence[LabelRecord]) -> set[int]:
    """The acts that had, or may have had, to do with these examples; ``labels`` are those the examples had.

    A ``remove`` that was undone left no trace at the examples it took, nor did a ``relabel`` before a ``compact``: such
    acts since the first of the examples came count as well.
    """
    first = min((record.added_by for record in records), default=0)
    found = {record.added_by for record in records} | {label.act for label in labels}
    found |= {record.removed_by for record in records if record.removed_by is not None}
    history = reading.all(ActRecord)
    compacted = max((act.id for act in history if act.action == "compact"), default=0)
    for act in history:
        undone = act.action == "remove" and act.undone_by is not None
        forgotten = act.action in ("relabel", "rename") and act.id < compacted
        if act.id > first and (undone or forgotten):
            found.add(act.id)
        if act.action in ("undo", "redo") and number_in(act, "of") in found:
            found.add(act.id)
        if act.id in found:
            found.add(first_of(act))  # whose summary speaks of all acts of its command
    return found


def _forget(writing: Transaction, touched: set[int], stale: set[int]) -> None:
    """Shorten what is said of the ``touched`` acts and of classes that are no more; no act goes back to a ``stale``
    choice of parameters."""
    known = {record.label for record in writing.all(ExampleRecord)}
    known |= {label.before for label in writing.all(LabelRecord)}
    pairs = [(act, _forgetful(act, known, act.id in touched, stale)) for act in writing.all(ActRecord)]
    changed = [(old, new) for old, new in pairs if old != new]
    writing.replace([old for old, _ in changed], [new for _, new in changed])


def _forgetful(act: ActRecord, known: set[str], touched: bool, stale: set[int]) -> ActRecord:
    """An act as it is told after an erasing."""
    if number_in(act, "tuned") in stale:
        act = act._replace(detail=to_json({**detail_of(act), "tuned": 0}))
    return act._replace(summary=summaries.forgetful(act.summary, act.action, known=known, touched=touched))
