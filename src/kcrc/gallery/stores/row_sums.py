"""What makes rows able to tell when they were damaged, whatever keeps them: their columns, types and checksums.

``checksum(row) = crc32(table, values)``, over bytes that are spelled out here, so that every Python and every other
program finds the same; the seal of a table is the number of its rows and the sum of their checksums modulo 2^62. It
guards against damage, not against a forger: a forged gallery is data too.
"""

from __future__ import annotations

import itertools
import zlib
from typing import Any

from kcrc.errors import FileError
from kcrc.gallery.contract import ActRecord, ExampleRecord, LabelRecord, TunedRecord

Row = tuple[Any, ...]

COLUMNS: dict[str, tuple[str, ...]] = {
    "settings": ("key", "value"),
    "feature_state": ("name", "data"),
    "examples": ExampleRecord._fields,
    "history": ActRecord._fields,
    "changes": LabelRecord._fields,
    "tuned": TunedRecord._fields,
}
TABLES = {ExampleRecord: "examples", ActRecord: "history", LabelRecord: "changes", TunedRecord: "tuned"}
KEY_WIDTH = {"changes": 2, "tuned": 2}  # the first columns that name a row; one unless said here
MODULUS = 1 << 62
_MAYBE = (int, type(None))


def _alternatives(*columns: tuple[type, ...]) -> frozenset[tuple[type, ...]]:
    return frozenset(itertools.product(*columns))


TYPES: dict[str, frozenset[tuple[type, ...]]] = {
    "settings": _alternatives((str,), (str,)),
    "feature_state": _alternatives((str,), (bytes,)),
    "examples": _alternatives((int,), (str,), (str,), (bytes,), (int,), (int,), _MAYBE, (int,), _MAYBE),
    "history": _alternatives((int,), (int,), (str,), (str,), (str,), _MAYBE),
    "changes": _alternatives((int,), (int,), (str,)),
    "tuned": _alternatives((int,), (str,), (bytes,)),
}


def key_of(table: str) -> tuple[str, ...]:
    """The columns that name a row of a table."""
    return COLUMNS[table][: KEY_WIDTH.get(table, 1)]


def checksum(table: str, row: Row) -> int:
    """crc32 of the table's name and the row's values; a value of another type counts as another value."""
    return zlib.crc32(as_bytes(table, row))


def as_bytes(table: str, row: Row) -> bytes:
    """Each value, the table's name first, as a letter for its type, its length in bytes, and the bytes: text in
    UTF-8, whole numbers as decimal digits."""
    return b"".join(_value_as_bytes(value) for value in (table, *row))


def _value_as_bytes(value: Any) -> bytes:
    if value is None:
        return b"n0:"
    if isinstance(value, str):
        kind, data = b"t", value.encode("utf-8", "surrogatepass")
    elif isinstance(value, bytes):
        kind, data = b"b", value
    elif isinstance(value, int):
        kind, data = b"i", str(value).encode("ascii")
    else:  # a type that no table has: the row is refused for it
        kind, data = b"?", type(value).__name__.encode()
    return b"%b%d:%b" % (kind, len(data), data)


def row_error(table: str, row: Row) -> FileError:
    return FileError(f"A row of the table '{table}' is damaged (key {str(row[0])[:60]!r}).")


def seal_error(table: str) -> FileError:
    return FileError(f"The table '{table}' does not match its seal: rows were lost or changed.")
