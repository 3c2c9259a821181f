"""An open gallery on a server: one unchanging state to read, all-or-nothing acts, many programs that take turns."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import psycopg
from psycopg.sql import SQL

from kcrc._base.arrays import Array
from kcrc.errors import FileError, StateError, WriteNeeded
from kcrc.gallery.contract import Check, Report, Snapshot, Transaction
from kcrc.gallery.examples import Contents
from kcrc.gallery.settings import Settings
from kcrc.gallery.stores.copying import copy_gallery
from kcrc.gallery.stores.postgres import rewriting, schema, searching
from kcrc.gallery.stores.postgres.address import Address, parse
from kcrc.gallery.stores.postgres.connections import (
    Connection,
    Connections,
    Lost,
    Retries,
    run_with_retries,
    translate_errors,
)
from kcrc.gallery.stores.postgres.driver import PostgresDriver
from kcrc.gallery.stores.postgres.placing import placing
from kcrc.gallery.stores.postgres.searching import ServerCoordinates
from kcrc.gallery.stores.records import RecordSnapshot, RecordTransaction

# Transactions: one unchanging state for each reader, one writer at a time.
#
# A reader has one ``REPEATABLE READ`` transaction. A writer locks the one row of ``about`` first, so that writers come
# one after the other, each on what the one before left, and no change is lost. An erase locks the table itself, which
# waits for all readers: no reader may see what was erased.
#
# A writer whose connection breaks while it commits cannot know whether it was kept. So every turn leaves its number in
# ``writers``, in the same transaction, and is looked for there once the server is back.

_READ = SQL(
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; LOCK TABLE {0} IN ACCESS SHARE MODE; SELECT mark FROM {0}"
)
_WRITE = SQL("BEGIN; SELECT mark FROM {0} FOR UPDATE")
_ALONE = SQL("BEGIN; LOCK TABLE {0} IN ACCESS EXCLUSIVE MODE; SELECT mark FROM {0}")
_DERIVE = SQL("BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE {0} IN ACCESS SHARE MODE; SELECT mark FROM {0}")
_KEPT_FOR = 24 * 3600  # seconds that turns are remembered; no client waits so long for a server


@contextlib.contextmanager
def reading(db: Connection, address: Address, mark: str) -> Iterator[PostgresDriver]:
    """The state of this moment."""
    with _transaction(db, address, mark, _READ) as driver:
        yield driver


@contextlib.contextmanager
def deriving(db: Connection, address: Address, mark: str) -> Iterator[PostgresDriver]:
    """The state of this moment, to store what is derived from it; writers go on meanwhile."""
    with _transaction(db, address, mark, _DERIVE) as driver:
        yield driver


@contextlib.contextmanager
def writing(db: Connection, address: Address, mark: str, *, alone: bool = False) -> Iterator[PostgresDriver]:
    """A turn to write, ``alone`` without readers either; it is committed when the block ends without an error."""
    with _transaction(db, address, mark, _ALONE if alone else _WRITE) as driver:
        yield driver


@contextlib.contextmanager
def _transaction(db: Connection, address: Address, mark: str, begin: SQL) -> Iterator[PostgresDriver]:
    try:
        cursor = db.execute(begin.format(schema.table(address, "about")))
        while cursor.nextset():
            pass
        if cursor.fetchone() != (mark,):
            raise StateError(f"'{address}' was replaced by another gallery meanwhile. Open it again.")
        yield PostgresDriver(db, address.schema)
        if db.execute("COMMIT").statusmessage != "COMMIT":
            raise StateError(f"The server of '{address}' took a change back. Nothing of it is kept; try again.")
    except BaseException:
        with contextlib.suppress(psycopg.Error):  # a connection that is gone has nothing to take back
            db.execute("ROLLBACK")
        raise


@dataclass(frozen=True)
class Turn:
    """One change by one writer: its number is found in the gallery once it is kept."""

    writer: str
    number: int

    def leave(self, driver: PostgresDriver) -> None:
        """Write the number down, in the transaction of the change."""
        query = SQL(
            "INSERT INTO {} AS kept VALUES (%s, %s, %s) "
            "ON CONFLICT (writer) DO UPDATE SET turn = excluded.turn, at = excluded.at"
        ).format(driver.name("writers"))
        now = int(time.time())
        driver.db.execute(query, (self.writer, self.number, now))
        if self.number == 1:  # a new writer sweeps after those that are gone
            old = SQL("DELETE FROM {} WHERE at < %s").format(driver.name("writers"))
            driver.db.execute(old, (now - _KEPT_FOR,))

    def was_kept(self, driver: PostgresDriver) -> bool:
        """Whether it was kept after all; asked in a later turn, when the transaction of this one has ended."""
        query = SQL("SELECT 1 FROM {} WHERE writer = %s AND turn = %s").format(driver.name("writers"))
        return driver.db.execute(query, (self.writer, self.number)).fetchone() is not None


class WriterTurns(threading.local):
    """The turns of one thread of one store: it takes them one after the other."""

    def __init__(self) -> None:
        self._writer = secrets.token_hex(16)
        self._number = 0

    def next(self) -> Turn:
        self._number += 1
        return Turn(self._writer, self._number)


T = TypeVar("T")
_UNSURE = "Whether the change was kept is not known: 'kcrc history' tells, once the server is back."


def exists(address: str | os.PathLike[str]) -> bool:
    """Whether there is a gallery of that name, or anything in its place."""
    where = parse(address)
    return run_with_retries(where, lambda db: schema.is_there(db, where.schema))


def open(address: str | os.PathLike[str], *, readonly: bool = False, recover: bool = False) -> PostgresStore:
    """The gallery at an address, after an audit of what is in its schema."""
    where = parse(address)

    def audit_and_migrate(db: Connection) -> str:
        if not schema.is_there(db, where.schema):
            raise FileError(f"There is no gallery '{where}'. Make one with `kcrc build`.")
        version, mark = schema.audit(db, where)
        if version < schema.VERSION:
            if readonly and not recover:
                raise WriteNeeded(f"'{where}' is of an older version. Open it for writing once.")
            schema.migrate(db, where)
            _, mark = schema.audit(db, where)
        return mark

    return PostgresStore(where, run_with_retries(where, audit_and_migrate), readonly=readonly)


@contextlib.contextmanager
def making(
    address: str | os.PathLike[str], settings: Settings, feature_state: Mapping[str, Array], *, overwrite: bool = False
) -> Iterator[PostgresStore]:
    """A gallery that is filled under another name, and has its own at the end of the block."""
    with (
        placing(parse(address), overwrite=overwrite) as (passing, mark),
        contextlib.closing(PostgresStore(passing, mark)) as store,
    ):
        store.write(lambda writing: writing.begin(settings, feature_state))  # type: ignore[attr-defined]
        yield store


def backup(
    address: str | os.PathLike[str],
    goal: str | os.PathLike[str],
    *,
    check: Check,
    overwrite: bool,
    report: Report | None,
) -> int:
    """Copy a gallery to a file; its size in bytes."""
    with contextlib.closing(open(address, readonly=True, recover=True)) as store:
        return store.backup(Path(goal), check=check, overwrite=overwrite, report=report)


class PostgresStore:
    """A gallery's schema on a server, and the connections to it that the threads of this process share."""

    def __init__(self, address: Address, mark: str, *, readonly: bool = False) -> None:
        self.address, self.name = address.shown, address.name
        self.readonly = readonly
        self._where, self._mark = address, mark
        self._connections = Connections(address)
        self._turns = WriterTurns()
        self._within = threading.local()
        self._at_hand = VectorsAtHand()

    def __repr__(self) -> str:
        return f"PostgresStore({self.address!r})"

    def close(self) -> None:
        """Let go of the server. An act that returned has long been written."""
        self._connections.close()

    def read(self, look: Callable[[Snapshot], T]) -> T:
        self._connections.check_usable()
        within = getattr(self._within, "snapshot", None)
        if within is not None:
            return look(within)
        retries = Retries(self._where)
        with self._connections.place():
            while True:
                try:
                    with self._connection() as db, reading(db, self._where, self._mark) as driver:
                        return self._run_within(RecordSnapshot(driver), look)
                except Lost as lost:
                    self._connections.forget_idle()
                    retries.wait(lost)

    def write(self, change: Callable[[Transaction], T]) -> T:
        return self._write(change, alone=False)

    def erase(self, change: Callable[[Transaction], T]) -> T:
        """As ``write``; the tables get new files, and what was made from them is dropped."""
        self._at_hand.reset()
        return self._write(change, alone=True)

    def _write(self, change: Callable[[Transaction], T], *, alone: bool) -> T:
        self._connections.check_usable()
        if self.readonly:
            raise StateError(f"'{self.address}' was opened for reading only.")
        if getattr(self._within, "snapshot", None) is not None:
            raise StateError(f"'{self.address}' is being read or changed by this thread; change it afterwards.")
        turn, retries = self._turns.next(), Retries(self._where)
        tried: list[T] = []  # what a change gave whose end is not known
        with self._connections.place():
            while True:
                try:
                    with self._connection() as db, writing(db, self._where, self._mark, alone=alone) as driver:
                        if tried and turn.was_kept(driver):
                            return tried[0]
                        tried.clear()
                        done = self._run_within(RecordTransaction(driver), change)
                        turn.leave(driver)
                        if alone:
                            rewriting.rewrite(driver)
                        tried.append(done)
                    return done
                except Lost as lost:
                    self._connections.forget_idle()
                    retries.wait(lost, **({"more": _UNSURE} if tried else {}))

    @contextlib.contextmanager
    def _connection(self) -> Iterator[Connection]:
        with translate_errors(self._where), self._connections.one() as db:
            yield db

    @contextlib.contextmanager
    def _connection_without_retries(self) -> Iterator[Connection]:
        """A connection for what is not begun again where the server goes away."""
        try:
            with self._connections.place(), self._connection() as db:
                yield db
        except Lost as lost:
            raise StateError(f"The server of '{self.address}' went away: {lost}. Try again.") from None

    def _run_within(self, state: Any, work: Callable[[Any], T]) -> T:
        """What ``work`` gives, with this state for whatever this thread reads meanwhile."""
        self._within.snapshot = state
        try:
            return work(state)
        finally:
            self._within.snapshot = None

    def elsewhere(self) -> tuple[Path, ...]:
        return ()

    def vectors(self, contents: Contents) -> Array:
        """Those that are at hand from a state before, the others from the server."""
        return self.read(lambda reading: self._at_hand.of(contents, reading))  # type: ignore[arg-type]

    def coordinates(self, reading: Snapshot, mark: str) -> ServerCoordinates:
        assert isinstance(reading, RecordSnapshot)
        return ServerCoordinates(reading, mark)

    def extend_coordinates(
        self, mark: str, width: int, prepare: Callable[[Array], Array], *, graph: bool = False
    ) -> None:
        """Do nothing if another program is doing it."""
        key = (zlib.crc32(self._where.schema.encode()) << 8,)
        with self._connection_without_retries() as db:
            if db.execute("SELECT pg_try_advisory_lock(%s)", key).fetchone() != (True,):
                return
            try:
                with deriving(db, self._where, self._mark) as driver:
                    searching.extend(driver, mark, width, prepare, graph=graph)
            finally:
                db.execute("SELECT pg_advisory_unlock(%s)", key)

    def size(self) -> int:
        query = SQL(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r'"
        )

        def look(reading: Any) -> int:
            (found,) = reading.driver.db.execute(query, (self._where.schema,)).fetchone()
            return int(found)

        return self.read(look)

    def shrink(self) -> None:
        with self._connection_without_retries() as db:
            for name in schema.TABLES:
                db.execute(SQL("VACUUM (FULL) {}").format(schema.table(self._where, name)))

    def backup(self, goal: Path, *, check: Check, overwrite: bool = False, report: Report | None = None) -> int:
        copy_gallery(self, goal, check=check, overwrite=overwrite, report=report)
        return os.stat(goal).st_size


class VectorsAtHand:
    """The vectors of the latest state that was read: those of the next are mostly the same."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: Array = np.zeros(0, np.int64)
        self._crcs: Array = np.zeros(0, np.uint32)
        self._vectors: Array | None = None

    def reset(self) -> None:
        with self._lock:
            self._ids, self._crcs, self._vectors = self._ids[:0], self._crcs[:0], None

    def of(self, contents: Contents, reading: RecordSnapshot) -> Array:
        """(n, dim), read-only; every vector was compared with its crc32 when it was fetched."""
        with self._lock:
            ids, crcs, had = self._ids, self._crcs, self._vectors
        place = np.minimum(np.searchsorted(ids, contents.ids), max(len(ids) - 1, 0))
        known = np.zeros(len(contents), bool)
        if had is not None and len(ids):
            known = (ids[place] == contents.ids) & (crcs[place] == contents.vector_crcs)
        missing = np.flatnonzero(~known)
        settings = reading.settings()
        fetched = reading.read_vectors(contents.ids[missing], contents.vector_crcs[missing])
        if len(missing) == len(contents):
            out = fetched.astype(settings.dtype, copy=False)  # in this machine's byte order
        else:
            assert had is not None
            out = np.empty((len(contents), settings.dim), settings.dtype)
            out[known], out[missing] = had[place[known]], fetched
        out.flags.writeable = False
        with self._lock:
            self._ids, self._crcs, self._vectors = contents.ids, contents.vector_crcs, out
        return out
