"""A copy of a gallery file while others go on using it: one consistent state, whole or not there, looked through.

SQLite copies page by page under a reader's lock that is kept from the first page to the last, so the copy is the
gallery of the moment it began, with every act that had been acknowledged; writers wait for its end.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from kcrc.errors import FileError, StateError, WriteNeeded
from kcrc.gallery.contract import Check, Report, Transaction
from kcrc.gallery.stores.records import RecordSnapshot, RecordTransaction
from kcrc.gallery.stores.sqlite import file, schema, side_files
from kcrc.gallery.stores.sqlite.driver import SQLiteDriver
from kcrc.gallery.stores.sqlite.file import Connection
from kcrc.gallery.stores.sqlite.placing import placing

_PAGES = 2000  # copied between two reports


def backup(
    gallery: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    check: Check,
    overwrite: bool = False,
    report: Report | None = None,
) -> int:
    """Copy a gallery, of this version or an older one, to ``path``; its size in bytes.

    The other way round it restores the gallery. A gallery that is damaged is not copied, least of all over a copy that
    is not."""
    source, goal = Path(gallery), Path(path)
    if goal.exists() and source.exists() and os.path.samefile(source, goal):
        raise FileError(f"'{goal}' is the gallery itself; give the copy another name.")
    db = _to_read(source)
    try:
        return copy(db, source, goal, check=check, overwrite=overwrite, report=report)
    finally:
        db.close()


def copy(
    db: Connection,
    source: Path,
    goal: Path,
    *,
    check: Check | None = None,
    overwrite: bool = False,
    report: Report | None = None,
) -> int:
    """Copy the file that ``db`` has open to read; its size in bytes. ``check`` looks through one of this version."""
    with placing(goal, "copying", overwrite=overwrite, mode=os.stat(source).st_mode & 0o777) as (passing, made):
        with file.transaction(db, source, write=False):
            schema.audit(db, str(source))  # the first look takes the lock, and the state that is copied
            with file.translate_errors(passing):
                db.backup(made, pages=_PAGES, progress=_Patience(source, report), sleep=0.05)
        _check(made, source, check)
        size = os.stat(passing).st_size
    return size


def _to_read(source: Path) -> Connection:
    """A connection for reading; what an interrupted writer began is taken back first, where we may."""
    try:
        return file.open_audited(source, readonly=True)[0]
    except WriteNeeded:
        if not file.may_write(source):
            raise
    file.open_audited(source, readonly=False)[0].close()
    return file.open_audited(source, readonly=True)[0]


def _check(made: Connection, source: Path, check: Check | None) -> None:
    """An error unless the copy is sound: read through, and compared with its checksums if it has them."""
    problems: Sequence[str]
    try:
        with file.transaction(made, source, write=False):
            if schema.audit(made, str(source)) == schema.VERSION and check is not None:
                problems = check(RecordSnapshot(SQLiteDriver(made)))
            else:
                said = made.execute("PRAGMA integrity_check(20)")
                problems = tuple(f"SQLite: {text}." for (text,) in said if text != "ok")
    except FileError as problem:
        problems = (str(problem),)
    if problems:
        raise FileError(f"'{source}' is damaged and was not copied. {problems[0]}")


class _Patience:
    """Tells how far the copying is, and ends it where nothing moves for as long as anyone waits for a lock."""

    def __init__(self, source: Path, report: Report | None) -> None:
        self._source, self._report = source, report
        self._moved = time.monotonic()

    def __call__(self, status: int, remaining: int, total: int) -> None:
        now = time.monotonic()
        if status in (sqlite3.SQLITE_OK, sqlite3.SQLITE_DONE):
            self._moved = now
            if self._report is not None:
                self._report(1 - remaining / max(total, 1))
        elif now - self._moved > file.WAIT_SECONDS:
            raise StateError(f"'{self._source}' could not be read for {file.WAIT_SECONDS:.0f} s. Try again.")


# A gallery file is written again as a whole, so that nothing is left in it of what was taken out.
#
# Deleting rows is not enough: SQLite leaves copies of them in free pages and in the gaps of others, and killed halfway
# a file would hold half of it. So the file is copied aside (to a file without a name, which vanishes with this
# process), the rows are taken out of the copy, the copy is rewritten (``VACUUM``), and its pages take the place of
# the old ones in one transaction: a kill leaves the gallery from before or the one after. All the while no other
# process has the file.

T = TypeVar("T")


def rewrite_without(db: Connection, path: Path, change: Callable[[Transaction], T]) -> T:
    """Run ``change`` on a copy of the file that ``db`` has alone, and put what is left of it in the file's place."""
    with contextlib.closing(sqlite3.connect("", isolation_level=None, factory=Connection)) as copy:
        with file.translate_errors(path):
            db.backup(copy)
            for pragma in ("trusted_schema = OFF", "secure_delete = ON"):
                copy.execute(f"PRAGMA {pragma}")
        with file.transaction(copy, path):
            done = change(RecordTransaction(SQLiteDriver(copy)))
        with file.translate_errors(path):
            copy.execute("VACUUM")
            side_files.drop_caches(path)
            copy.backup(db)
    return done


@contextlib.contextmanager
def hold_alone(db: Connection, path: Path) -> Iterator[None]:
    """No other process reads or writes the file until the end of the block, nor between the transactions in it."""
    with file.translate_errors(path):
        (locking,) = db.execute("PRAGMA locking_mode").fetchone()
        (journal,) = db.execute("PRAGMA journal_mode").fetchone()
    try:
        with file.translate_errors(path):
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            db.execute("BEGIN EXCLUSIVE")
            db.execute("COMMIT")  # the lock stays
            db.alone = True
            if journal == "delete":  # which in this locking mode would leave a journal lying, full of the old pages
                db.execute("PRAGMA journal_mode = TRUNCATE")
        yield
    finally:
        with file.translate_errors(path):
            db.execute(f"PRAGMA locking_mode = {locking}")
            db.execute(f"PRAGMA journal_mode = {journal}")
            db.execute("SELECT key FROM settings LIMIT 1").fetchone()  # the lock goes with the next look
            db.alone = locking == "exclusive"
