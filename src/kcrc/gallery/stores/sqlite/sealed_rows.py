"""Rows that can tell when they were damaged: a checksum on each, and a seal on each table.

What they are is in ``row_sums.py`` (up to version 3 checksums were of what ``repr`` wrote, which changes with Python's
list of printable characters). A row that is changed, lost or doubled shows, at a cost that grows with the rows an act
touches and not with the table.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kcrc.errors import FileError
from kcrc.gallery.stores.row_sums import (
    COLUMNS,
    KEY_WIDTH,
    MODULUS,
    TYPES,
    Row,
    as_bytes,
    broken_seal,
    checksum,
    damaged,
)

_WRITTEN_OUT = {"feature_state": 2, "tuned": 2}  # a row is at most so many times as long written out as in the file
_WRITTEN_OUT_ELSE = 32  # that of small values


def checksum_of_version_3(table: str, row: Row) -> int:
    """The checksum that rows had up to version 3."""
    return zlib.crc32(repr((table, *row)).encode("utf-8", "backslashreplace"))


def summed_anew(db: sqlite3.Connection) -> None:
    """Give every row of a file of version 3 the checksum of now; a row that does not match its own is damage."""
    for table in COLUMNS:
        width = KEY_WIDTH.get(table, 1)
        naming = " AND ".join(f"{column} = ?" for column in COLUMNS[table][:width])
        total = count = 0
        for *values, given in db.execute(f"SELECT {', '.join(COLUMNS[table])}, checksum FROM {table}").fetchall():
            row = tuple(values)
            new = checksum(table, row)
            # Rows that were brought up from a still older version in this transaction have the new one already.
            if tuple(map(type, row)) not in TYPES[table] or given not in (checksum_of_version_3(table, row), new):
                raise damaged(table, row)
            db.execute(f"UPDATE {table} SET checksum = ? WHERE {naming}", (new, *row[:width]))
            total, count = total + new, count + 1
        if seal(db, table)[0] != count:
            raise broken_seal(table)
        db.execute("UPDATE seals SET total = ? WHERE name = ?", (total % MODULUS, table))


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
    width = KEY_WIDTH.get(table, 1)
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
    width = KEY_WIDTH.get(table, 1)
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
    if seal(db, table) != (len(rows), total % MODULUS):
        raise broken_seal(table)
    return rows


def _summed(
    db: sqlite3.Connection, table: str, where: str, values: Sequence[Any], descending: bool, file_bytes: int
) -> Iterator[tuple[Row, int]]:
    """Rows and their checksums.

    ``file_bytes`` bounds what a forged file can make us hold: a tree whose pages point at one another can yield rows
    without end, so keys have to rise (or fall) and the values to be no larger than the file they are in."""
    width = KEY_WIDTH.get(table, 1)
    order = ", ".join(f"{column} {'DESC' if descending else 'ASC'}" for column in COLUMNS[table][:width])
    kinds, most = TYPES[table], _WRITTEN_OUT.get(table, _WRITTEN_OUT_ELSE) * file_bytes
    previous: Row | None = None
    held = 0
    cursor = db.execute(f"SELECT {', '.join(COLUMNS[table])}, checksum FROM {table} {where} ORDER BY {order}", values)
    for *found, given in cursor:
        row = tuple(found)
        encoded = as_bytes(table, row)
        if tuple(map(type, row)) not in kinds or zlib.crc32(encoded) != given:
            raise damaged(table, row)
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


def _reseal(db: sqlite3.Connection, table: str, rows: int, total: int) -> None:
    had_rows, had_total = seal(db, table)
    values = (had_rows + rows, (had_total + total) % MODULUS, table)
    db.execute("UPDATE seals SET row_count = ?, total = ? WHERE name = ?", values)
