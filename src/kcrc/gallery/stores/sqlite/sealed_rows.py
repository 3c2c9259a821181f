"""Rows that can tell when they were damaged: a checksum on each, and a seal on each table.

``checksum(row) = crc32(table, values)``, over bytes that are spelled out here, so that every Python and every other
program finds the same (up to version 3 they were what ``repr`` wrote, which changes with Python's list of printable
characters); the seal of a table is the number of its rows and the sum of their checksums modulo 2^62, so a row that is
changed, lost or doubled shows, at a cost that grows with the rows an act touches and not with the table. It guards
against damage, not against a forger: a forged gallery is data too.
"""

from __future__ import annotations

import itertools
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
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
_KEY_WIDTH = {"changes": 2, "tuned": 2}  # the first columns that name a row; one unless said here
_MAYBE = (int, type(None))


def _alternatives(*columns: tuple[type, ...]) -> frozenset[tuple[type, ...]]:
    return frozenset(itertools.product(*columns))


_TYPES: dict[str, frozenset[tuple[type, ...]]] = {
    "settings": _alternatives((str,), (str,)),
    "feature_state": _alternatives((str,), (bytes,)),
    "examples": _alternatives((int,), (str,), (str,), (bytes,), (int,), (int,), _MAYBE, (int,), _MAYBE),
    "history": _alternatives((int,), (int,), (str,), (str,), (str,), _MAYBE),
    "changes": _alternatives((int,), (int,), (str,)),
    "tuned": _alternatives((int,), (str,), (bytes,)),
}
_MODULUS = 1 << 62
_WRITTEN_OUT = {"feature_state": 2, "tuned": 2}  # a row is at most so many times as long written out as in the file
_WRITTEN_OUT_ELSE = 32  # that of small values


def checksum(table: str, row: Row) -> int:
    """crc32 of the table's name and the row's values; a value of another type counts as another value."""
    return zlib.crc32(_as_bytes(table, row))


def _as_bytes(table: str, row: Row) -> bytes:
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


def checksum_of_version_3(table: str, row: Row) -> int:
    """The checksum that rows had up to version 3."""
    return zlib.crc32(repr((table, *row)).encode("utf-8", "backslashreplace"))


def summed_anew(db: sqlite3.Connection) -> None:
    """Give every row of a file of version 3 the checksum of now; a row that does not match its own is damage."""
    for table in COLUMNS:
        width = _KEY_WIDTH.get(table, 1)
        naming = " AND ".join(f"{column} = ?" for column in COLUMNS[table][:width])
        total = count = 0
        for *values, given in db.execute(f"SELECT {', '.join(COLUMNS[table])}, checksum FROM {table}").fetchall():
            row = tuple(values)
            new = checksum(table, row)
            # Rows that were brought up from a still older version in this transaction have the new one already.
            if tuple(map(type, row)) not in _TYPES[table] or given not in (checksum_of_version_3(table, row), new):
                raise _damaged(table, row)
            db.execute(f"UPDATE {table} SET checksum = ? WHERE {naming}", (new, *row[:width]))
            total, count = total + new, count + 1
        if seal(db, table)[0] != count:
            raise FileError(f"The table '{table}' does not match its seal: rows were lost or changed.")
        db.execute("UPDATE seals SET total = ? WHERE name = ?", (total % _MODULUS, table))


def begin(db: sqlite3.Connection, tables: Iterable[str] = COLUMNS) -> None:
    """A seal of nothing for every checked table."""
    db.executemany("INSERT INTO seals VALUES (?, 0, 0)", [(table,) for table in tables])


def insert(db: sqlite3.Connection, table: str, rows: Sequence[Row]) -> None:
    """Add rows to a table and to its seal."""
    marks = ", ".join("?" * (len(COLUMNS[table]) + 1))
    sums = [checksum(table, row) for row in rows]
    db.executemany(
        f"INSERT INTO {table} ({', '.join(COLUMNS[table])}, checksum) VALUES ({marks})",
        [(*row, total) for row, total in zip(rows, sums, strict=True)],
    )
    _reseal(db, table, len(rows), sum(sums))


def replace(db: sqlite3.Connection, table: str, old: Sequence[Row], new: Sequence[Row]) -> None:
    """Write ``new`` over ``old``, pairs of rows of the same key, and move the seal by the difference."""
    width = _KEY_WIDTH.get(table, 1)
    columns = COLUMNS[table]
    setting = ", ".join(f"{column} = ?" for column in (*columns[width:], "checksum"))
    naming = " AND ".join(f"{column} = ?" for column in columns[:width])
    sums = [checksum(table, row) for row in new]
    db.executemany(
        f"UPDATE {table} SET {setting} WHERE {naming}",
        [(*row[width:], total, *row[:width]) for row, total in zip(new, sums, strict=True)],
    )
    _reseal(db, table, 0, sum(sums) - sum(checksum(table, row) for row in old))


def delete(db: sqlite3.Connection, table: str, rows: Sequence[Row]) -> None:
    """Take rows out of a table and out of its seal."""
    width = _KEY_WIDTH.get(table, 1)
    naming = " AND ".join(f"{column} = ?" for column in COLUMNS[table][:width])
    db.executemany(f"DELETE FROM {table} WHERE {naming}", [row[:width] for row in rows])
    _reseal(db, table, -len(rows), -sum(checksum(table, row) for row in rows))


def select(
    db: sqlite3.Connection,
    table: str,
    where: str = "",
    values: Sequence[Any] = (),
    *,
    descending: bool = False,
    file_bytes: int,
) -> Iterator[Row]:
    """The rows by rising key, or ``descending``, each compared with its checksum as it is read."""
    for row, _ in _summed(db, table, where, values, descending, file_bytes):
        yield row


def select_all(db: sqlite3.Connection, table: str, *, file_bytes: int) -> list[Row]:
    """All rows by rising key, compared with their checksums and with the table's seal."""
    rows: list[Row] = []
    total = 0
    for row, given in _summed(db, table, "", (), False, file_bytes):
        rows.append(row)
        total += given
    if seal(db, table) != (len(rows), total % _MODULUS):
        raise FileError(f"The table '{table}' does not match its seal: rows were lost or changed.")
    return rows


def _summed(
    db: sqlite3.Connection, table: str, where: str, values: Sequence[Any], descending: bool, file_bytes: int
) -> Iterator[tuple[Row, int]]:
    """Rows and their checksums.

    ``file_bytes`` bounds what a forged file can make us hold: a tree whose pages point at one another can yield rows
    without end, so keys have to rise (or fall) and the values to be no larger than the file they are in."""
    width = _KEY_WIDTH.get(table, 1)
    order = ", ".join(f"{column} {'DESC' if descending else 'ASC'}" for column in COLUMNS[table][:width])
    kinds, most = _TYPES[table], _WRITTEN_OUT.get(table, _WRITTEN_OUT_ELSE) * file_bytes
    previous: Row | None = None
    held = 0
    cursor = db.execute(f"SELECT {', '.join(COLUMNS[table])}, checksum FROM {table} {where} ORDER BY {order}", values)
    for *found, given in cursor:
        row = tuple(found)
        encoded = _as_bytes(table, row)
        if tuple(map(type, row)) not in kinds or zlib.crc32(encoded) != given:
            raise _damaged(table, row)
        held += len(encoded)
        key = row[:width]
        again = previous is not None and (key >= previous if descending else key <= previous)
        if again or held > most:
            raise FileError(f"The table '{table}' repeats itself; the file is damaged.")
        previous = key
        yield row, given


def seal(db: sqlite3.Connection, table: str) -> tuple[int, int]:
    """(rows, sum of checksums) as last written."""
    found = db.execute("SELECT row_count, total FROM seals WHERE name = ?", (table,)).fetchone()
    if found is None or not all(isinstance(value, int) for value in found):
        raise FileError(f"The seal of the table '{table}' is missing; the file is damaged.")
    return int(found[0]), int(found[1])


def _damaged(table: str, row: Row) -> FileError:
    return FileError(f"A row of the table '{table}' is damaged (key {str(row[0])[:60]!r}).")


def _reseal(db: sqlite3.Connection, table: str, rows: int, total: int) -> None:
    had_rows, had_total = seal(db, table)
    values = (had_rows + rows, (had_total + total) % _MODULUS, table)
    db.execute("UPDATE seals SET row_count = ?, total = ? WHERE name = ?", values)
