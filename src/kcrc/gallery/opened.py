"""An open gallery file: one unchanging state to read, all-or-nothing acts, threads that take turns, one process."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from kcrc.errors import StateError
from kcrc.gallery import file, opening, settings, side_files
from kcrc.gallery.connection import Connection
from kcrc.gallery.settings import Settings

T = TypeVar("T")


class Opened:
    """A gallery's file, and the one connection to it that the threads of this process share."""

    def __init__(self, path: Path, db: Connection, *, readonly: bool = False) -> None:
        self.path = path
        self.readonly = readonly
        self._db: Connection | None = db
        self._real = os.path.realpath(path)
        self._inode = self._where()
        self._lock = threading.RLock()
        self._settings = self.read(lambda d: settings.read(d, file_bytes=self._file_bytes()))

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, readonly: bool = False, recover: bool = False) -> Self:
        """Open a gallery file, after an audit of what is in it.

        For reading, nothing is written, so that a file of an older version, or one that a killed program left half
        written, is refused; with ``recover`` it is first put in order where that may be done."""
        where = Path(path)
        db = opening.open_file(where, readonly=readonly, recover=recover)
        try:
            return cls(where, db, readonly=readonly)
        except BaseException:
            db.close()
            raise

    @property
    def settings(self) -> Settings:
        """Feature, fingerprint, width, parameters, as of now."""
        self._settings = self.read(lambda db: settings.read(db, file_bytes=self._file_bytes()))
        return self._settings

    def close(self) -> None:
        """Let go of the file. An act that returned has long been written."""
        db = self._db
        with self._lock if db is not None and not db.inherited else contextlib.nullcontext():
            if db is not None:
                db.close()
            self._let_go()

    def _let_go(self) -> None:
        self._db = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextlib.contextmanager
    def _held(self) -> Iterator[Connection]:
        """The connection, for this thread alone."""
        if self._db is not None:
            self._db.check_process()  # before the lock, which may be held by a thread that is not in this process
        with self._lock:
            if self._db is None:
                raise StateError(f"The gallery '{self.path}' is closed. Open it again with Gallery.open.")
            yield self._db

    def read(self, look: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``look`` on one unchanging state of the file; for parts of the library."""
        with self._held() as db:
            if db.in_transaction:
                return look(db)
            side_files.check(self._real)
            with file.transaction(db, self.path, write=False):
                return look(db)

    def _act(self, change: Callable[[sqlite3.Connection, Settings], T]) -> T:
        """Run ``change`` as one transaction; when this returns, it is on the disk."""
        with self._held() as db:
            if self.readonly:
                raise StateError(f"'{self.path}' was opened for reading only.")
            side_files.check(self._real)
            with file.transaction(db, self.path):
                self._check_in_place()
                return change(db, settings.read(db, file_bytes=self._file_bytes()))

    def _check_in_place(self) -> None:
        """An error where another file has the gallery's name. Whoever puts one there has the lock meanwhile, as we do
        now: this comes before the first page is changed, and with it a journal that would be the other file's."""
        if self._where() != self._inode:
            raise StateError(f"'{self.path}' was replaced by another file meanwhile. Open it again.")

    def _where(self) -> tuple[int, int]:
        try:
            found = os.stat(self.path)
        except OSError:
            return -1, -1
        return found.st_dev, found.st_ino

    def _file_bytes(self) -> int:
        """The size of the file: in the building of one, what SQLite holds back counts too."""
        with self._held() as db:
            (pages,) = db.execute("PRAGMA page_count").fetchone()
            (size,) = db.execute("PRAGMA page_size").fetchone()
            return int(pages) * int(size)
