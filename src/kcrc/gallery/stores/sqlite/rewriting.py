"""A gallery file written anew, so that nothing is left in it of what was taken out.

Deleting rows is not enough: SQLite leaves copies of them in free pages and in the gaps of others, and killed halfway a
file would hold half of it. So the file is copied aside (to a file without a name, which vanishes with this process),
the rows are taken out of the copy, the copy is written anew (``VACUUM``), and its pages take the place of the old
ones in one transaction: a kill leaves the gallery from before or the one after. All the while nobody else has the file.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from kcrc.gallery.contract import Transaction
from kcrc.gallery.stores.sqlite import file, traces
from kcrc.gallery.stores.sqlite.connection import Connection
from kcrc.gallery.stores.sqlite.records import TableTransaction

T = TypeVar("T")


def rewritten(db: Connection, path: Path, change: Callable[[Transaction], T]) -> T:
    """Run ``change`` on a copy of the file that ``db`` has alone, and put what is left of it in the file's place."""
    with contextlib.closing(sqlite3.connect("", isolation_level=None, factory=Connection)) as copy:
        with file.translated(path):
            db.backup(copy)
            for pragma in ("trusted_schema = OFF", "secure_delete = ON"):
                copy.execute(f"PRAGMA {pragma}")
        with file.transaction(copy, path):
            done = change(TableTransaction(copy))
        with file.translated(path):
            copy.execute("VACUUM")
            traces.drop_caches(path)
            copy.backup(db)
    return done


@contextlib.contextmanager
def alone(db: Connection, path: Path) -> Iterator[None]:
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
