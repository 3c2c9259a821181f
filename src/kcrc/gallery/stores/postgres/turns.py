"""Transactions: one unchanging state for whoever reads, one turn at a time for whoever writes.

A reader has one ``REPEATABLE READ`` transaction. A writer locks the one row of ``about`` first, so that writers come
one after the other, each on what the one before left: who locks it first wins, and nobody's change is lost. Whoever
erases locks the table itself, which waits for all readers: what it takes out must not be seen by anyone any more.

A writer whose connection breaks while it commits cannot know whether it was kept. So every turn leaves its number in
``writers``, in the same transaction, and is looked for there once the server is back.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
from psycopg.sql import SQL

from kcrc.errors import StateError
from kcrc.gallery.stores.postgres import schema
from kcrc.gallery.stores.postgres.address import Address
from kcrc.gallery.stores.postgres.connections import Connection
from kcrc.gallery.stores.postgres.rows import Tables

_READ = SQL(
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; LOCK TABLE {0} IN ACCESS SHARE MODE; SELECT mark FROM {0}"
)
_WRITE = SQL("BEGIN; SELECT mark FROM {0} FOR UPDATE")
_ALONE = SQL("BEGIN; LOCK TABLE {0} IN ACCESS EXCLUSIVE MODE; SELECT mark FROM {0}")
_DERIVE = SQL("BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE {0} IN ACCESS SHARE MODE; SELECT mark FROM {0}")
_KEPT_FOR = 24 * 3600  # seconds that turns are remembered; nobody waits so long for a server


@contextlib.contextmanager
def reading(db: Connection, address: Address, mark: str) -> Iterator[Tables]:
    """The state of this moment."""
    with _transaction(db, address, mark, _READ) as tables:
        yield tables


@contextlib.contextmanager
def deriving(db: Connection, address: Address, mark: str) -> Iterator[Tables]:
    """The state of this moment, to write down what follows from it; writers go on meanwhile."""
    with _transaction(db, address, mark, _DERIVE) as tables:
        yield tables


@contextlib.contextmanager
def writing(db: Connection, address: Address, mark: str, *, alone: bool = False) -> Iterator[Tables]:
    """A turn to write; ``alone``: nobody reads meanwhile either. It is kept when the block ends without an error."""
    with _transaction(db, address, mark, _ALONE if alone else _WRITE) as tables:
        yield tables


@contextlib.contextmanager
def _transaction(db: Connection, address: Address, mark: str, begin: SQL) -> Iterator[Tables]:
    try:
        cursor = db.execute(begin.format(schema.table(address, "about")))
        while cursor.nextset():
            pass
        if cursor.fetchone() != (mark,):
            raise StateError(f"'{address}' was replaced by another gallery meanwhile. Open it again.")
        yield Tables(db, address.schema)
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

    def leave(self, tables: Tables) -> None:
        """Write the number down, in the transaction of the change."""
        query = SQL(
            "INSERT INTO {} AS kept VALUES (%s, %s, %s) "
            "ON CONFLICT (writer) DO UPDATE SET turn = excluded.turn, at = excluded.at"
        ).format(tables.name("writers"))
        now = int(time.time())
        tables.db.execute(query, (self.writer, self.number, now))
        if self.number == 1:  # a new writer sweeps after those that are gone
            old = SQL("DELETE FROM {} WHERE at < %s").format(tables.name("writers"))
            tables.db.execute(old, (now - _KEPT_FOR,))

    def kept(self, tables: Tables) -> bool:
        """Whether it was kept after all; asked in a later turn, when the transaction of this one has ended."""
        query = SQL("SELECT 1 FROM {} WHERE writer = %s AND turn = %s").format(tables.name("writers"))
        return tables.db.execute(query, (self.writer, self.number)).fetchone() is not None


class WriterTurns(threading.local):
    """The turns of one thread of one store: it takes them one after the other."""

    def __init__(self) -> None:
        self._writer = secrets.token_hex(16)
        self._number = 0

    def next(self) -> Turn:
        self._number += 1
        return Turn(self._writer, self._number)
