"""A new gallery on a server: filled in a schema of another name, which gets its own at once, or is not left."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import replace

import psycopg
from psycopg.sql import SQL, Identifier

from kcrc.errors import FileError, KCRCError, StateError
from kcrc.gallery.stores.postgres import schema
from kcrc.gallery.stores.postgres.address import Address
from kcrc.gallery.stores.postgres.connections import (
    Connection,
    Lost,
    Retries,
    connect,
    connect_with_retries,
    translate_errors,
)

_PASSING = "kcrcnew_"


@contextlib.contextmanager
def placing(address: Address, *, overwrite: bool) -> Iterator[tuple[Address, str]]:
    """The address and mark of an empty schema; at the end of the block it has the name of ``address``, after an error
    there is none."""
    with contextlib.closing(connect_with_retries(address)) as db:
        with translate_errors(address):
            _refuse_existing(db, address, overwrite=overwrite)
            _sweep(db)
            passing = replace(address, schema=_PASSING + secrets.token_hex(8))
            db.execute("SELECT pg_advisory_lock(%s)", (_lock_of(passing.schema),))  # as long as this process lives
            with db.transaction():
                mark = schema.create(db, passing.schema)
        try:
            yield passing, mark
            _publish(address, passing, mark, overwrite=overwrite)
        except BaseException:
            with contextlib.suppress(Lost, KCRCError, psycopg.Error), contextlib.closing(connect(address)) as again:
                _drop(again, passing.schema)
            raise


def _publish(address: Address, passing: Address, mark: str, *, overwrite: bool) -> None:
    """Give the new schema its name; asked again where the answer was lost, it is done once."""
    retries = Retries(address)
    while True:
        try:
            with contextlib.closing(connect(address)) as db, translate_errors(address), db.transaction():
                if schema.is_there(db, passing.schema):
                    _refuse_existing(db, address, overwrite=overwrite)
                    _drop(db, address.schema)
                    rename = SQL("ALTER SCHEMA {} RENAME TO {}")
                    db.execute(rename.format(Identifier(passing.schema), Identifier(address.schema)))
                elif schema.about(db, address)[1] != mark:
                    raise StateError(f"What was made of '{address}' was dropped by somebody else. Make it again.")
                return
        except Lost as lost:
            retries.wait(lost)


def _refuse_existing(db: Connection, address: Address, *, overwrite: bool) -> None:
    if not schema.is_there(db, address.schema):
        return
    if not overwrite:
        raise FileError(f"'{address}' exists already. Give another name, or say that it may be overwritten.")
    schema.audit(db, address)  # what is no gallery is not ours to drop


def _drop(db: Connection, name: str) -> None:
    db.execute(SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(Identifier(name)))


def _sweep(db: Connection) -> None:
    """Drop what a killed process left half-made."""
    query = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s) AND pg_has_role(nspowner, 'USAGE')"
    for (name,) in db.execute(query, (_PASSING,)).fetchall():
        lock = (_lock_of(str(name)),)
        if db.execute("SELECT pg_try_advisory_lock(%s)", lock).fetchone() == (True,):
            with contextlib.suppress(psycopg.Error):
                _drop(db, str(name))
            db.execute("SELECT pg_advisory_unlock(%s)", lock)


def _lock_of(name: str) -> int:
    """The number that stands for a schema among the server's locks."""
    return int.from_bytes(name.encode()[-7:], "big")
