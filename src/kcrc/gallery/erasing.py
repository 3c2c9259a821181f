"""Erase: an example out of the file for good, with its picture, its name, its part in history and in what was tuned.

Deleting rows is not enough: SQLite leaves copies of them in free pages and in the gaps of others, and killed halfway a
file would hold half of it. So the file is copied aside (to a file without a name, which vanishes with this process),
the example is taken out of the copy, the copy is written anew (``VACUUM``), and its pages take the place of the old
ones in one transaction: a kill leaves the gallery from before or the one after. All the while nobody else has the file.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kcrc.errors import DataError, FileError, StateError
from kcrc.gallery import acts, file, sealed, settings, telling, traces, tuned
from kcrc.gallery.connection import Connection
from kcrc.gallery.settings import Settings

if TYPE_CHECKING:
    from kcrc.gallery.store import Store


@dataclass(frozen=True)
class Erased:
    """The ids that were erased, and what the person should know.

    ``retune``: parameters had been chosen with them, and are chosen anew at the next question. ``feature``: the feature
    that may have learned from them, which stays as it is (None: it learned nothing). ``beside``: files beside the
    gallery, by their names copies or exports of it, that may hold them still.
    """

    ids: tuple[int, ...]
    retune: bool = False
    feature: str | None = None
    beside: tuple[Path, ...] = ()


def erase(store: Store, db: Connection, ids: Iterable[int]) -> Erased:
    """Erase examples that are in or were removed; those erased before are passed over."""
    wanted = store._act(lambda db, had: _known(db, had, ids))
    path = store.path
    if not wanted:
        return Erased((), beside=traces.beside(path))
    with _alone(db, path), contextlib.closing(_unnamed()) as copy:
        store._check_in_place()
        with file.translated(path):
            db.backup(copy)
            for pragma in ("trusted_schema = OFF", "secure_delete = ON"):
                copy.execute(f"PRAGMA {pragma}")
        with file.transaction(copy, path):
            erased, retune, feature = _take_out(copy, wanted)
        with file.translated(path):
            copy.execute("VACUUM")
            traces.drop_caches(path)
            copy.backup(db)
    return Erased(erased, retune, feature, traces.beside(path))


def _unnamed() -> Connection:
    return sqlite3.connect("", isolation_level=None, factory=Connection)


def check_none_since(db: sqlite3.Connection, revision: int) -> None:
    """An error where examples were erased after act ``revision``: what was learned before must not come in again."""
    if next(sealed.select(db, "history", "WHERE id > ? AND action = 'erase' LIMIT 1", (revision,)), None) is not None:
        raise StateError("Examples were erased while the parameters were chosen with them. Tune again.")


def _known(db: sqlite3.Connection, had: Settings, ids: Iterable[int]) -> list[int]:
    """Those of the ids that are in the file; an id that was never given is an error."""
    try:
        wanted = sorted({int(example) for example in ids})
    except (TypeError, ValueError):
        raise DataError("Examples are named by their ids, whole numbers.") from None
    never = [example for example in wanted if not 0 < example < had.next_id]
    if never:
        raise DataError(f"There never was an example {never[0]} in the gallery. Nothing was erased.")
    return [row[0] for row in acts.by_key(db, "id", wanted)]


@contextlib.contextmanager
def _alone(db: Connection, path: Path) -> Iterator[None]:
    """Nobody else reads or writes the file until the end of the block, nor between the transactions in it."""
    with file.translated(path):
        (locking,) = db.execute("PRAGMA locking_mode").fetchone()
        (journal,) = db.execute("PRAGMA journal_mode").fetchone()
    try:
        with file.translated(path):
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            db.execute("BEGIN EXCLUSIVE")
            db.execute("COMMIT")  # the lock stays
            db.alone = True
            if journal == "delete":  # which in this locking mode would leave a journal lying, full of the old pages
                db.execute("PRAGMA journal_mode = TRUNCATE")
        yield
    finally:
        with file.translated(path):
            db.execute(f"PRAGMA locking_mode = {locking}")
            db.execute(f"PRAGMA journal_mode = {journal}")
            db.execute("SELECT key FROM settings LIMIT 1").fetchone()  # the lock goes with the next look
            db.alone = locking == "exclusive"


def _take_out(db: sqlite3.Connection, ids: list[int]) -> tuple[tuple[int, ...], bool, str | None]:
    """The ids erased, whether tuning is due, the feature that may have learned from them. Inside a transaction."""
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    (size,) = db.execute("PRAGMA page_size").fetchone()
    had = settings.read(db, file_bytes=int(pages) * int(size))
    rows = list(acts.by_key(db, "id", ids))
    gone = {row[0] for row in rows}
    changes = [row for row in sealed.select(db, "changes") if row[1] in gone]
    touched = telling.touched(db, rows, changes)
    sealed.delete(db, "examples", rows)
    sealed.delete(db, "changes", changes)
    for table in ("vectors", "thumbnails"):
        db.executemany(f"DELETE FROM {table} WHERE id = ?", [(example,) for example in gone])
    stale = _learned_with(db, min(gone, default=had.next_id))
    for act in stale:
        sealed.delete(db, "tuned", list(sealed.select(db, "tuned", "WHERE act = ?", (act,))))
    telling.forget(db, touched, stale)
    noun = "example" if len(rows) == 1 else "examples"
    after = {"tuned": 0} if had.tuned in stale else {}
    acts.record(db, had, "erase", f"erased {len(rows)} {noun} for good", **after)
    learned = next(iter(db.execute("SELECT 1 FROM feature_state LIMIT 1")), None)
    return tuple(sorted(gone)), bool(after), had.feature if learned else None


def _learned_with(db: sqlite3.Connection, first: int) -> set[int]:
    """The acts whose tuned classifier may hold something of the examples from id ``first`` on: the mean of a class of
    one is that one."""
    found = set()
    for (act,) in db.execute("SELECT DISTINCT act FROM tuned").fetchall():
        try:
            without = tuned.read_facts(db, act).next_id <= first
        except FileError:
            without = False
        if not without:
            found.add(act)
    return found
