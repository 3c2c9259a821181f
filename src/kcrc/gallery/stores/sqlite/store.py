"""An open gallery file: one unchanging state to read, all-or-nothing acts, threads that take turns, one process."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar, cast

from kcrc._base.arrays import Array
from kcrc.errors import LeftOver, StateError
from kcrc.gallery.contract import Check, Snapshot, Transaction
from kcrc.gallery.examples import Contents
from kcrc.gallery.settings import Settings
from kcrc.gallery.stores.records import RecordSnapshot, RecordTransaction
from kcrc.gallery.stores.sqlite import copying, file, opening, schema, side_files, vector_file
from kcrc.gallery.stores.sqlite.driver import SQLiteDriver
from kcrc.gallery.stores.sqlite.file import Connection
from kcrc.gallery.stores.sqlite.placing import clear_left_over, placing

T = TypeVar("T")


def exists(address: str | os.PathLike[str]) -> bool:
    """Whether there is a file of that name."""
    return Path(address).exists()


def open(address: str | os.PathLike[str], *, readonly: bool = False, recover: bool = False) -> SQLiteStore:
    """The gallery in a file, after an audit of what is in it."""
    path = Path(address)
    store = SQLiteStore(path, opening.open_file(path, readonly=readonly, recover=recover), readonly=readonly)
    if not readonly:
        _clear_beside(path)
    return store


def _clear_beside(path: Path, *, also_new: bool = False) -> None:
    """Delete what killed programs left unfinished beside a gallery, and warn of it."""
    for left in clear_left_over(Path(os.path.realpath(path)).parent, also_new=also_new):
        warnings.warn(f"'{left}', which a killed program left unfinished, was deleted.", LeftOver, stacklevel=4)


@contextlib.contextmanager
def making(
    address: str | os.PathLike[str], settings: Settings, feature_state: Mapping[str, Array], *, overwrite: bool = False
) -> Iterator[SQLiteStore]:
    """A file that is filled under another name, and has its own at the end of the block."""
    with placing(Path(address), "building", overwrite=overwrite) as (passing, db):
        with file.transaction(db, passing):
            schema.create(db)
            RecordTransaction(SQLiteDriver(db)).begin(settings, feature_state)
        store = SQLiteStore(passing, db)
        yield store
    store.close()


class SQLiteStore:
    """A gallery's file, and the one connection to it that the threads of this process share."""

    def __init__(self, path: Path, db: Connection, *, readonly: bool = False) -> None:
        self.address = path
        self.readonly = readonly
        self._db: Connection | None = db
        self._real = os.path.realpath(path)
        self._inode = self._where()
        self._lock = threading.RLock()

    @property
    def name(self) -> str:
        return self.address.name

    def close(self) -> None:
        """Let go of the file. An act that returned has long been written."""
        db = self._db
        with self._lock if db is not None and not db.is_inherited else contextlib.nullcontext():
            if db is not None:
                db.close()
            self._db = None

    @contextlib.contextmanager
    def _connection(self) -> Iterator[Connection]:
        """The connection, for this thread alone."""
        if self._db is not None:
            self._db.check_process()  # before the lock, which may be held by a thread that is not in this process
        with self._lock:
            if self._db is None:
                raise StateError(f"The gallery '{self.address}' is closed. Open it again with Gallery.open.")
            yield self._db

    def read(self, look: Callable[[Snapshot], T]) -> T:
        with self._connection() as db:
            if db.in_transaction:
                return look(RecordSnapshot(SQLiteDriver(db)))
            side_files.check(self._real)
            with file.transaction(db, self.address, write=False):
                return look(RecordSnapshot(SQLiteDriver(db)))

    def write(self, change: Callable[[Transaction], T]) -> T:
        with self._to_write() as db, file.transaction(db, self.address):
            self._check_in_place()
            return change(RecordTransaction(SQLiteDriver(db)))

    def erase(self, change: Callable[[Transaction], T]) -> T:
        """As ``write``; the file is rewritten, and its caches are deleted."""
        with self._to_write() as db, copying.hold_alone(db, self.address):
            self._check_in_place()
            done = copying.rewrite_without(db, self.address, change)
        _clear_beside(self.address, also_new=True)
        return done

    @contextlib.contextmanager
    def _to_write(self) -> Iterator[Connection]:
        with self._connection() as db:
            if self.readonly:
                raise StateError(f"'{self.address}' was opened for reading only.")
            side_files.check(self._real)
            yield db

    def elsewhere(self) -> tuple[Path, ...]:
        return side_files.beside(self.address)

    def vectors(self, contents: Contents) -> Array:
        """From the cache beside the file where it holds, else from the file."""
        return self.read(lambda reading: self._vectors(cast(RecordSnapshot, reading), contents))

    def _vectors(self, reading: RecordSnapshot, contents: Contents) -> Array:
        had = reading.settings()
        reading.check_room(len(contents))

        def fetch(rows: Array, out: Array) -> None:
            reading.fill_vectors(contents.ids[rows], contents.vector_crcs[rows], out)

        where, mode = vector_file.cache_path(self.address), os.stat(self.address).st_mode
        return vector_file.load(where, contents, had.dim, had.dtype, fetch, mode=mode)

    def size(self) -> int:
        return os.stat(self.address).st_size

    def shrink(self) -> None:
        with self._connection() as db, file.translate_errors(self.address):
            db.execute("VACUUM")

    def backup(self, goal: Path, *, check: Check, overwrite: bool = False) -> int:
        self.read(lambda _: self._check_in_place())
        return copying.backup(self.address, goal, check=check, overwrite=overwrite)

    def _check_in_place(self) -> None:
        """An error where another file has the gallery's name. A program of ours that puts one there has the lock, and
        now this process has it: so the check comes before the first page is changed, and with it a journal that would
        be the other file's."""
        if self._where() != self._inode:
            raise StateError(f"'{self.address}' was replaced by another file meanwhile. Open it again.")

    def _where(self) -> tuple[int, int]:
        try:
            found = os.stat(self.address)
        except OSError:
            return -1, -1
        return found.st_dev, found.st_ino
