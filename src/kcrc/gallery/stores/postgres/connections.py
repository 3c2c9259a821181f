"""Connections to one server: opened when needed, used by one thread at a time, opened again when the server was gone.

A connection belongs to the process that opened it: a forked child neither uses nor closes what it inherits.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import psycopg
from psycopg import errors

from kcrc._base.redaction import without_secrets
from kcrc.errors import FileError, KCRCError, StateError
from kcrc.gallery.stores.postgres.address import Address

AT_ONCE = 16  # threads that use a store at one time, each with a connection
IDLE = 4  # connections that are kept for the next
PATIENCE = 30.0  # seconds to wait for a server that is not there, a turn, or a free connection
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_LONGEST = 300  # characters of what a server says
_HELPER_LOST = "55000"  # "lost connection to parallel worker": of a server that is killed its helpers may go first
# libpq's words for options that no server will ever see; they quote what was given.
_UNUSABLE = re.compile(
    r"(?:^|: )(?:invalid (?P<option>\w+) value: "
    r"|invalid integer value \".*\" for connection option \"(?P<number>\w+)\""
    r"|invalid (?P<port>port) number|invalid SCRAM|could not match|definition of service)",
    re.DOTALL,
)
T = TypeVar("T")
Connection = psycopg.Connection[tuple[object, ...]]

# Nothing of a session depends on how the server or the database is set up.
_SESSION = (
    "SET search_path = pg_catalog; SET client_min_messages = error; SET synchronous_commit = on; "
    "SET bytea_output = 'hex'; SET statement_timeout = 0; SET DateStyle = 'ISO'; "
    f"SET lock_timeout = '{PATIENCE:.0f}s'; SET idle_in_transaction_session_timeout = '300s'"
)


class Lost(Exception):
    """The connection went away; what was under way in it may be begun again."""


class Connections:
    """The connections of one store."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._process = os.getpid()
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(AT_ONCE)
        self._closed = False

    def check_usable(self) -> None:
        """An error in a forked child, and once it is closed."""
        if os.getpid() != self._process:
            raise StateError(
                f"The gallery '{self.address}' was opened by the process that this one was forked from. Open it again "
                "here with Gallery.open."
            )
        if self._closed:
            raise StateError(f"The gallery '{self.address}' is closed. Open it again with Gallery.open.")

    def close(self) -> None:
        """Let go of the server; in a forked child this does nothing."""
        if os.getpid() == self._process:
            with self._lock:
                self._closed = True
                idle, self._idle = self._idle, []
            for db in idle:
                db.close()

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """One of the places for threads."""
        self.check_usable()
        if not self._places.acquire(timeout=PATIENCE):
            raise StateError(f"'{self.address}' is used by {AT_ONCE} threads already. Try again in a moment.")
        try:
            yield
        finally:
            self._places.release()

    @contextlib.contextmanager
    def one(self) -> Iterator[Connection]:
        """A connection for this thread alone, outside of any transaction."""
        self.check_usable()
        with self._lock:
            db = self._idle.pop() if self._idle else None
        db = db or connect(self.address)
        try:
            yield db
        finally:
            self._put_back(db)

    def _put_back(self, db: Connection) -> None:
        fine = not db.broken and db.pgconn.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            if fine and not self._closed and len(self._idle) < IDLE:
                self._idle.append(db)
                return
        db.close()

    def forget_idle(self) -> None:
        """Drop the connections to a server that is gone."""
        with self._lock:
            idle, self._idle = self._idle, []
        for db in idle:
            db.close()


def connect(address: Address) -> Connection:
    """A new connection; ``Lost`` where there is no server now, an error where it does not let us in."""
    options = {"connect_timeout": "10", "application_name": "kcrc", **address.connection}
    try:
        db = psycopg.connect(**options, autocommit=True)  # type: ignore[arg-type]
    except (ValueError, psycopg.ProgrammingError):  # an option that psycopg takes for another kind of value
        raise FileError(f"'{address}' cannot be used: one of its options has no value that it could have.") from None
    except psycopg.Error as problem:
        unusable = _UNUSABLE.search(str(problem)) if problem.sqlstate is None else None
        if unusable is not None:
            option = next(filter(None, unusable.groups()), None)
            which = "one of its options" if option is None else f"its option '{option}'"
            raise FileError(f"'{address}' cannot be used: {which} has no value that it could have.") from None
        if _is_absent(problem):
            raise Lost(server_message(problem)) from None
        raise _refusal(address, problem) from None
    try:
        if db.info.parameter_status("server_encoding") != "UTF8":
            raise FileError(f"The database of '{address}' is not in UTF-8, so that names would be lost in it.")
        with translate_errors(address):  # it may go away between the two
            db.execute(_SESSION)
    except BaseException:
        db.close()
        raise
    return db


def _is_absent(problem: psycopg.Error) -> bool:
    """Whether no server answered, or one that is just starting or ending: it may soon."""
    state = problem.sqlstate
    if state is None:  # libpq speaks, not the server
        said = str(problem)
        return "FATAL" not in said or "starting up" in said or "shutting down" in said or "recovery" in said
    return state.startswith(("08", "57P"))


def _refusal(address: Address, problem: psycopg.Error) -> KCRCError:
    return FileError(f"The server of '{address}' does not let us in: {server_message(problem)}")


def server_message(problem: psycopg.Error) -> str:
    """What the server said, in a line, without secrets."""
    lines = [line.strip() for line in without_secrets(str(problem)).splitlines() if line.strip()]
    return (lines[0] if lines else type(problem).__name__)[:_LONGEST]


@contextlib.contextmanager
def translate_errors(address: Address) -> Iterator[None]:
    """What the server refuses, as errors of the library; ``Lost`` where it went away."""
    try:
        yield
    except (errors.LockNotAvailable, errors.DeadlockDetected, errors.IdleInTransactionSessionTimeout):
        raise StateError(f"'{address}' was in use by others for {PATIENCE:.0f} s. Try again.") from None
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        raise StateError(f"'{address}' is not there any more. Open it again.") from None
    except errors.InsufficientPrivilege as problem:
        raise StateError(f"The server does not allow that in '{address}': {server_message(problem)}.") from None
    except (errors.DiskFull, errors.OutOfMemory) as problem:
        raise StateError(
            f"The server of '{address}' has no room: {server_message(problem)}. Nothing was changed."
        ) from None
    except psycopg.OperationalError as problem:
        if problem.sqlstate is None or problem.sqlstate.startswith(("08", "57P", _HELPER_LOST)):
            raise Lost(server_message(problem)) from None
        raise StateError(f"The server of '{address}' could not do that: {server_message(problem)}.") from None
    except psycopg.Error as problem:
        raise FileError(f"'{address}' holds something else than a gallery does: {server_message(problem)}.") from None


class Retries:
    """Tells when to try again after ``Lost``, and when no more: ``PATIENCE`` after the first time."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._until: float | None = None
        self._pause = _FIRST_PAUSE

    def wait(self, lost: Lost, *, more: str = "Is it running?") -> None:
        """A pause; an error, with ``more`` to say, once the server has been away for too long."""
        now = time.monotonic()
        self._until = self._until or now + PATIENCE
        if now + self._pause > self._until:
            raise StateError(f"The server of '{self._address}' cannot be reached: {lost}. {more}") from None
        time.sleep(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)


def run_with_retries(address: Address, work: Callable[[Connection], T]) -> T:
    """What ``work`` gives over a new connection, begun again where the server goes away meanwhile."""
    retries = Retries(address)
    while True:
        try:
            with contextlib.closing(connect(address)) as db, translate_errors(address):
                return work(db)
        except Lost as lost:
            retries.wait(lost)


def connect_with_retries(address: Address) -> Connection:
    """A new connection, waited for as long as anyone waits for a server."""
    retries = Retries(address)
    while True:
        try:
            return connect(address)
        except Lost as lost:
            retries.wait(lost)
