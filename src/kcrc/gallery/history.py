"""The history of a gallery and the way back: ``undo`` reverts the latest act that is not undone yet.

Acts form a stack, so the gallery an act is undone in is the one it left behind: undoing ``add`` takes out the
examples it brought, ``remove`` puts back those it took, ``relabel`` and ``rename`` restore the labels they
overwrote, ``tune`` the parameters and the choice. An ``undo`` is entered in the history and is not itself undone.
What was erased is gone: ``undo`` stops there and says so, and goes past it, to what else can be undone, when told.
"""

from __future__ import annotations

import datetime
import sqlite3
from dataclasses import dataclass

from kcrc.errors import FileError, StateError
from kcrc.files.plain_json import read_json
from kcrc.gallery import acts, sealed
from kcrc.gallery.moments import moment
from kcrc.gallery.settings import Settings

UNDOABLE = ("add", "remove", "relabel", "rename", "tune")


@dataclass(frozen=True)
class Entry:
    """One act: its number, when (None: not known), what, and by which later act it was undone (None: it stands)."""

    id: int
    at: datetime.datetime | None
    action: str
    summary: str
    undone_by: int | None


def entries(db: sqlite3.Connection, *, limit: int | None = None) -> list[Entry]:
    """The latest acts, newest first."""
    rows = sealed.select(db, "history", "ORDER BY id DESC LIMIT ?", (-1 if limit is None else limit,))
    return [_entry(row) for row in rows]


def undo(db: sqlite3.Connection, had: Settings, *, past_erase: bool = False) -> Entry:
    """Revert the latest act that stands; the act that was undone."""
    marks = ", ".join("?" * len(UNDOABLE))
    floor = _floor(db)
    if not past_erase:
        _stop_at_erased(db, floor)
    where = f"WHERE undone_by IS NULL AND id > ? AND action IN ({marks}) ORDER BY id DESC LIMIT 1"
    found = list(sealed.select(db, "history", where, (floor, *UNDOABLE)))
    if not found:
        reason = " since the gallery was compacted" if floor else ""
        raise StateError(f"There is nothing to undo{reason}.")
    row = found[0]
    act, action = row[0], row[2]
    changes = _before(row) if action == "tune" else {}
    by = acts.record(db, had, "undo", f"undid: {row[3]}", detail={"of": act}, **changes)
    if action == "add":
        rows = list(sealed.select(db, "examples", "WHERE added_by = ? AND removed_by IS NULL", (act,)))
        sealed.replace(db, "examples", rows, [(*old[:6], by, *old[7:]) for old in rows])
    elif action == "remove":
        rows = list(sealed.select(db, "examples", "WHERE removed_by = ?", (act,)))
        sealed.replace(db, "examples", rows, [(*old[:6], None, *old[7:]) for old in rows])
    elif action in ("relabel", "rename"):
        before = {example: label for _, example, label in sealed.select(db, "changes", "WHERE act = ?", (act,))}
        rows = acts.live(db, before)
        sealed.replace(db, "examples", rows, [(old[0], before[old[0]], *old[2:]) for old in rows])
    sealed.replace(db, "history", [row], [(*row[:5], by)])
    return _entry((*row[:5], by))


def forget_removed(db: sqlite3.Connection, had: Settings) -> int:
    """Drop the examples that were taken out, for good; acts before this can no longer be undone."""
    rows = list(sealed.select(db, "examples", "WHERE removed_by IS NOT NULL"))
    sealed.delete(db, "examples", rows)
    sealed.delete(db, "changes", list(sealed.select(db, "changes")))
    sealed.delete(db, "tuned", list(sealed.select(db, "tuned", "WHERE act <> ?", (had.tuned,))))
    gone = [(row[0],) for row in rows]
    db.executemany("DELETE FROM vectors WHERE id = ?", gone)
    db.executemany("DELETE FROM thumbnails WHERE id = ?", gone)
    acts.record(db, had, "compact", f"compacted: dropped {len(rows)} removed examples for good")
    return len(rows)


def _stop_at_erased(db: sqlite3.Connection, floor: int) -> None:
    """An error where the latest act that stands is an ``erase``: who undoes it must not lose something else instead."""
    marks = ", ".join("?" * (len(UNDOABLE) + 1))
    where = f"WHERE undone_by IS NULL AND id > ? AND action IN ({marks}) ORDER BY id DESC LIMIT 1"
    for row in sealed.select(db, "history", where, (floor, *UNDOABLE, "erase")):
        if row[2] == "erase":
            raise StateError(
                f"The latest change {row[3]}, and what was erased cannot be brought back. Nothing was changed; "
                "'kcrc undo --past-erase' (undo(past_erase=True)) undoes the change before it."
            )


def _floor(db: sqlite3.Connection) -> int:
    """The act before which nothing can be undone: the last compacting."""
    found = list(sealed.select(db, "history", "WHERE action = 'compact' ORDER BY id DESC LIMIT 1"))
    return int(found[0][0]) if found else 0


def _before(row: sealed.Row) -> dict[str, object]:
    """The settings that a ``tune`` replaced. Version 2 kept no choice: it is made anew."""
    try:
        detail = read_json(row[4])
        before, tuned = detail["before"], detail.get("tuned", 0)
        if not isinstance(before, dict) or not isinstance(tuned, int) or isinstance(tuned, bool):
            raise TypeError
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FileError(f"The history of act {row[0]} is damaged: the parameters before are lost.") from None
    return {"parameters": before, "tuned": tuned}


def _entry(row: sealed.Row) -> Entry:
    return Entry(id=row[0], at=moment(row[1]), action=row[2], summary=row[3], undone_by=row[5])
