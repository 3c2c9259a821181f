"""``postgresql://user@host/database?gallery=NAME``: which server, and which of the galleries in its database.

A gallery is a schema, ``kcrc_NAME``. Without a name it is ``kcrc_gallery``. Everything else in the address is libpq's.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from kcrc._base.redaction import address_without_secrets, without_secrets
from kcrc.errors import FileError

USUAL = "gallery"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,47}")
_PREFIX = "kcrc_"
# What libpq reads as it was meant: with a password one '@', without one at most one before the options, none after '/'.
_READABLE = re.compile(r"(?s)\w+://(?:[^:@/]*:[^@/]*@[^@]*|(?:[^:@/]*@)?[^@?]*(?:\?.*)?)")
_PORTS = re.compile(r"(?:\d{0,5},)*\d{0,5}", re.ASCII)


@dataclass(frozen=True)
class Address:
    """Where a gallery is; ``shown`` is all of it that is ever printed."""

    shown: str
    name: str
    schema: str
    connection: dict[str, str] = field(repr=False)

    def __str__(self) -> str:
        return self.shown


def parse(address: str | os.PathLike[str]) -> Address:
    """An address as it was given."""
    text = os.fspath(address)
    shown = address_without_secrets(text)
    if not _READABLE.fullmatch(text):  # libpq would look for a server by the name of half the password
        raise FileError(
            f"'{shown}' cannot be read: a user or a password in it holds '@', '/' or ':' as such. Write %40 for '@', "
            "%2F for '/', %3A for ':', %3F for '?' and %25 for '%'."
        )
    start, _, query = text.partition("?")
    named: list[str] = []
    rest: list[str] = []
    for part in query.split("&"):
        (named if part.partition("=")[0] == "gallery" else rest).append(part)
    if len(named) > 1:
        raise FileError(f"'{shown}' names several galleries; give one.")
    name = unquote(named[0].partition("=")[2]) if named else USUAL
    if not _NAME.fullmatch(name):
        raise FileError(
            f"'{without_secrets(name)[:60]}' cannot be the name of a gallery on a server. It has small letters, digits "
            "and '_', at most 48, a letter first."
        )
    try:
        connection = conninfo_to_dict(start + ("?" + "&".join(rest) if any(rest) else ""))
    except psycopg.Error:  # whose words quote the address
        raise FileError(
            f"'{shown}' is not an address of a PostgreSQL server. Write postgresql://USER@HOST/DATABASE?gallery=NAME."
        ) from None
    given = {key: str(value) for key, value in connection.items() if value is not None}
    if not _PORTS.fullmatch(given.get("port", "")):  # which may be a password that has no '@' after it
        raise FileError(f"'{shown}' has a port that is no number. Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE.")
    return Address(shown, name, _PREFIX + name, given)
