"""Opening a gallery file: the one place that makes SQLite connections, and what they are allowed to do.

A rollback journal, not a write-ahead log: between two acts everything acknowledged is in the one file, so a
user can copy it, mail it or put it on a share, and a reader needs no right to write beside it. ``synchronous
= EXTRA`` makes each commit survive a power cut as well as a kill. Readers and the writer wait for each other
for moments.

Nothing here may ``open()`` the gallery file itself: closing any descriptor of a file drops the locks that
SQLite holds on it in this process.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

from kcrc.errors import FileError, StateError
from kcrc.gallery import schema

WAIT_SECONDS = 30.0
BLOB_LIMIT = 256 * 1024 * 1024  # the largest value (fitted feature state) that is read or written

_SETTINGS = ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "synchronous = EXTRA")
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: BLOB_LIMIT,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 1,  # VACUUM needs one
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


def open_file(path: Path, *, readonly: bool) -> sqlite3.Connection:
    """A connection to an audited gallery of the present version; an older file is brought up to it."""
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        raise FileError(f"There is no gallery '{path}'. Make one with `kcrc build`.") from None
    except (OSError, ValueError) as problem:
        raise FileError(f"'{path}' cannot be opened: {problem}.") from None
    if not stat.S_ISREG(kind):
        raise FileError(f"'{path}' is not a file. A gallery is one file, as `kcrc build` makes it.")
    with translated(path):
        db = _connect(path, "ro" if readonly else "rw")
    try:
        with translated(path):
            # Each setting before the first look at the schema, which is then read under it.
            for pragma in _SETTINGS:
                db.execute(f"PRAGMA {pragma}")
            version = schema.audit(db, str(path))
            if version < schema.VERSION:
                if readonly:
                    raise FileError(
                        f"'{path}' is of an older version ({version}); open it once for writing to bring it "
                        f"up to version {schema.VERSION}."
                    )
                with transaction(db, path):
                    if schema.audit(db, str(path)) < schema.VERSION:  # another program may have been faster
                        schema.migrate(db, version)
                schema.audit(db, str(path))
            if not readonly:
                db.execute("PRAGMA journal_mode = DELETE")
    except BaseException:
        db.close()
        raise
    return db


def new_file(path: Path) -> sqlite3.Connection:
    """A connection to a file being built: ours alone until published, so nothing need reach the disk yet."""
    with translated(path):
        db = _connect(path, "rwc")
        try:
            for pragma in ("trusted_schema = OFF", "mmap_size = 0", "locking_mode = EXCLUSIVE"):
                db.execute(f"PRAGMA {pragma}")
            db.execute("PRAGMA journal_mode = MEMORY")
            db.execute("PRAGMA synchronous = OFF")
            with transaction(db, path):
                schema.create(db)
        except BaseException:
            db.close()
            raise
    return db


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode={mode}"
    db = sqlite3.connect(address, uri=True, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    for limit, value in _LIMITS.items():
        db.setlimit(limit, value)
    return db


@contextlib.contextmanager
def transaction(db: sqlite3.Connection, path: Path, *, write: bool = True) -> Iterator[None]:
    """All or nothing: committed at the end of the block, rolled back by any error or interruption in it."""
    with translated(path):
        db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        try:
            yield
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors in the library's own words."""
    try:
        yield
    except sqlite3.OperationalError as problem:
        text = str(problem)
        if "locked" in text or "busy" in text:
            raise StateError(
                f"Another program is writing to '{path}' and did not end in {WAIT_SECONDS:.0f} s. Try again."
            ) from None
        if "readonly" in text:
            raise StateError(f"'{path}' is open for reading only, or its folder is not writable.") from None
        if "full" in text:
            raise StateError(f"The disk is full; '{path}' is as it was before.") from None
        raise FileError(f"'{path}' cannot be read or written: {text}.") from None
    except (sqlite3.DatabaseError, sqlite3.InterfaceError, OverflowError, UnicodeDecodeError) as problem:
        raise FileError(f"'{path}' is damaged or is not a kcrc gallery ({problem}). Restore it from a copy.") from None
    except MemoryError:
        raise FileError(f"'{path}' asks for more memory than there is; it is damaged.") from None
