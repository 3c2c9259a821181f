"""Connections to gallery files: the one place that makes them, and what they are allowed to do.

A rollback journal, not a write-ahead log: between two acts everything acknowledged is in the one file, so a
user can copy it, mail it or put it on a share, and a reader needs no right to write beside it. ``synchronous
= EXTRA`` makes each commit survive a power cut as well as a kill. Readers and the writer wait for each other
for moments.

Nothing here may ``open()`` the gallery file itself: closing any descriptor of a file drops the locks that
SQLite holds on it in this process.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sqlite3
import stat
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kcrc.errors import FileError, StateError, WriteNeeded
from kcrc.gallery.stores.sqlite import schema, side_files

# A connection belongs to the process that opened it: what a forked child inherits, it neither uses nor closes.
#
# SQLite's locks are the process's own, so a child that went on through its parent's connection would write without
# any; and closing the connection there, or its deletion when the child ends, would roll back what the parent is in the
# middle of and delete its journal.

_open: weakref.WeakSet[Connection] = weakref.WeakSet()
_inherited_busy: set[tuple[int, int]] = set()


class Connection(sqlite3.Connection):
    """``path`` and ``inode`` are the file's; ``alone`` is set while it keeps its lock between transactions."""

    def __init__(self, *given: Any, **options: Any) -> None:
        self.process = os.getpid()
        self.path: object = ""
        self.inode = (-1, -1)
        self.alone = False
        super().__init__(*given, **options)
        _open.add(self)

    @property
    def is_inherited(self) -> bool:
        """Whether another process opened it, and this one is a fork of that."""
        return os.getpid() != self.process

    def check_process(self) -> None:
        """An error in a process that has only inherited it."""
        if self.is_inherited:
            raise StateError(
                f"The gallery '{self.path}' was opened by the process that this one was forked from. Open it again "
                "here with Gallery.open."
            )

    def execute(self, *given: Any) -> sqlite3.Cursor:
        self.check_process()
        return super().execute(*given)

    def executemany(self, *given: Any) -> sqlite3.Cursor:
        self.check_process()
        return super().executemany(*given)

    def close(self) -> None:
        """Let go of the file; in a forked child this does nothing, for it is not the child's."""
        if not self.is_inherited:
            super().close()


def refuse_inherited_lock(inode: tuple[int, int], path: object) -> None:
    """An error where this process was forked from one that held a lock on the file at that moment.

    SQLite takes the lock it remembers for its own, and would read and write here without one."""
    if inode in _inherited_busy:
        raise StateError(
            f"'{path}' was in use by the process that this one was forked from, at that very moment, so that it cannot "
            "be opened here. Fork between two uses of it, or start the process again."
        )


def _leave_to_the_parent() -> None:
    """In a forked child: inherited connections get one reference too many, and so are never closed here."""
    _inherited_busy.clear()
    for db in list(_open):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))
        if db.in_transaction or db.alone:
            _inherited_busy.add(db.inode)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_the_parent)


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


def open_audited(path: Path, *, readonly: bool) -> tuple[Connection, int]:
    """A connection to a file that is a gallery and nothing else, and the version of it, which may be an older one."""
    try:
        there = os.stat(path)
    except FileNotFoundError:
        raise FileError(f"There is no gallery '{path}'. Make one with `kcrc build`.") from None
    except (OSError, ValueError) as problem:
        raise FileError(f"'{path}' cannot be opened: {problem}.") from None
    if not stat.S_ISREG(there.st_mode):
        raise FileError(f"'{path}' is not a file. A gallery is one file, as `kcrc build` makes it.")
    side_files.check(os.path.realpath(path))  # SQLite follows links, and keeps its journal beside the file itself
    db = connect(path, "ro" if readonly else "rw", inode=(there.st_dev, there.st_ino))
    try:
        with translate_errors(path):
            if _keeps_log(path):
                raise _log_error(path)
            # Each setting before the first look at the schema, which is then read under it.
            for pragma in _SETTINGS:
                db.execute(f"PRAGMA {pragma}")
            version = schema.audit(db, str(path))
            if db.execute("PRAGMA journal_mode").fetchone() == ("wal",):  # as a planted journal may make it
                raise _log_error(path)
            if not readonly:
                db.execute("PRAGMA journal_mode = DELETE")
    except BaseException:
        db.close()
        raise
    return db, version


def connect(path: Path, mode: str, *, inode: tuple[int, int]) -> Connection:
    """A bare connection to the file that is there, by SQLite's modes: "ro", "rw"."""
    refuse_inherited_lock(inode, path)
    with translate_errors(path):
        db = sqlite3.connect(
            _address(path, mode),
            uri=True,
            timeout=WAIT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            factory=Connection,
        )
        db.path, db.inode = path, inode
        for limit, value in _LIMITS.items():
            db.setlimit(limit, value)
    return db


def may_write(path: Path) -> bool:
    """Whether we may write the file, and its folder, where the journal is."""
    real = os.path.realpath(path)
    return os.access(real, os.W_OK) and os.access(os.path.dirname(real), os.W_OK)


def _address(path: Path, mode: str) -> str:
    return f"{path.absolute().as_uri()}?mode={mode}"


def _keeps_log(path: Path) -> bool:
    """Whether the file says of itself that it is written through a log (WAL), which a common connection would create.

    A connection without locks cannot use a log, and fails over it; it neither writes nor makes files. Where a journal
    lies there it may fail over that, and the log shows later."""
    with contextlib.closing(sqlite3.connect(_address(path, "ro&nolock=1"), uri=True, isolation_level=None)) as db:
        try:
            db.execute("PRAGMA schema_version").fetchone()
        except sqlite3.Error as problem:
            return problem.sqlite_errorname == "SQLITE_CANTOPEN"
    return False


def _log_error(path: Path) -> FileError:
    return FileError(
        f"'{path}' is set to keep a write-ahead log beside it, which kcrc never does; another program changed it. "
        "Nothing was read from it; set its journal mode back to DELETE there, or restore it from a copy."
    )


@contextlib.contextmanager
def transaction(db: Connection, path: Path, *, write: bool = True) -> Iterator[None]:
    """All or nothing: committed at the end of the block, rolled back by any error or interruption in it."""
    with translate_errors(path):
        db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        try:
            yield
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction and not db.is_inherited:
                db.execute("ROLLBACK")
            raise


@contextlib.contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """SQLite's errors in the library's own words."""
    try:
        yield
    except sqlite3.OperationalError as problem:
        text, name = str(problem), getattr(problem, "sqlite_errorname", "")
        if name in ("SQLITE_READONLY_ROLLBACK", "SQLITE_IOERR_DELETE"):  # the second: in a folder that we may not write
            raise WriteNeeded(
                f"A write to '{path}' was interrupted, and has to be taken back before it can be read. That needs the "
                "right to write the file and its folder: open it once for writing, as `kcrc verify` does where it may; "
                f"or copy it together with '{Path(path).name}-journal' into a folder of your own."
            ) from None
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
