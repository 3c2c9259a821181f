"""A gallery's records in the tables of one SQLite file: ``Snapshot`` and ``Transaction`` of the contract.

Every row is compared with its checksum as it is read, and whole tables with their seals (``sealed_rows.py``).
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import FileError, ParameterError
from kcrc.files.archive import from_npy, to_npy
from kcrc.files.plain_files import read_json
from kcrc.gallery.contract import KEYS, ActRecord, ExampleRecord, R
from kcrc.gallery.examples import THUMBNAIL_LIMIT
from kcrc.gallery.settings import DTYPES, TEXT_LIMIT, Settings, to_json
from kcrc.gallery.stores import row_sums
from kcrc.gallery.stores.row_sums import (
    COLUMNS,
    KEY_WIDTH,
    MODULUS,
    TABLES,
    TYPES,
    Row,
    as_bytes,
    checksum,
    row_error,
    seal_error,
)

# Rows that can tell when they were damaged: a checksum on each, and a seal on each table.
#
# What they are is in ``row_sums.py`` (up to version 3 checksums were of what ``repr`` wrote, which changes with
# Python's list of printable characters). A row that is changed, lost or doubled shows, at a cost that grows with the
# rows an act touches and not with the table.

_WRITTEN_OUT = {"feature_state": 2, "tuned": 2}  # a row is at most so many times as long written out as in the file
_WRITTEN_OUT_ELSE = 32  # that of small values


def checksum_of_version_3(table: str, row: Row) -> int:
    """The checksum that rows had up to version 3."""
    return zlib.crc32(repr((table, *row)).encode("utf-8", "backslashreplace"))


def recompute_checksums(db: sqlite3.Connection) -> None:
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
                raise row_error(table, row)
            db.execute(f"UPDATE {table} SET checksum = ? WHERE {naming}", (new, *row[:width]))
            total, count = total + new, count + 1
        if seal(db, table)[0] != count:
            raise seal_error(table)
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
    for row, _ in _select_with_sums(db, table, where, values, descending, file_bytes):
        yield row


def select_all(db: sqlite3.Connection, table: str, *, file_bytes: int) -> list[Row]:
    """All rows by rising key, compared with their checksums and with the table's seal."""
    rows: list[Row] = []
    total = 0
    for row, given in _select_with_sums(db, table, "", (), False, file_bytes):
        rows.append(row)
        total += given
    if seal(db, table) != (len(rows), total % MODULUS):
        raise seal_error(table)
    return rows


def _select_with_sums(
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
            raise row_error(table, row)
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


# The large values of the examples, vectors and thumbnails: read by id, with their length and crc32 checked.
#
# The length is asked for before the value, so a forged length is never turned into memory.

_AT_ONCE = 500


def read_vectors(db: sqlite3.Connection, ids: Array, crcs: Array, out: Array) -> None:
    """Fill ``out`` (n, dim) with the vectors of ``ids`` (n,), rising; ``crcs`` (n,) are those they have to have."""
    row_bytes = out.dtype.itemsize * out.shape[1]
    for start in range(0, len(ids), _AT_ONCE):
        some = [int(example) for example in ids[start : start + _AT_ONCE]]
        marks = ", ".join("?" * len(some))
        columns = "id, CASE WHEN length(data) = ? THEN data END"
        query = f"SELECT {columns} FROM vectors WHERE id IN ({marks}) ORDER BY id"
        found = db.execute(query, (row_bytes, *some)).fetchall()
        if [example for example, _ in found] != some:
            raise FileError(f"The vectors of examples {some[0]} to {some[-1]} are incomplete; the file is damaged.")
        for offset, (example, data) in enumerate(found):
            if not isinstance(data, bytes) or zlib.crc32(data) != crcs[start + offset]:
                raise FileError(f"The vector of example {example} is damaged.")
            out[start + offset] = np.frombuffer(data, out.dtype)


def read_thumbnail(db: sqlite3.Connection, example: ExampleRecord) -> bytes | None:
    """The picture of one example, if it has one."""
    if example.thumbnail_crc is None:
        return None
    query = "SELECT CASE WHEN length(data) <= ? THEN data END FROM thumbnails WHERE id = ?"
    found = db.execute(query, (THUMBNAIL_LIMIT, example.id)).fetchone()
    if found is None or not isinstance(found[0], bytes) or zlib.crc32(found[0]) != example.thumbnail_crc:
        raise FileError(f"The picture of example {example.id} is damaged.")
    return found[0]


def insert_payloads(
    db: sqlite3.Connection, ids: Sequence[int], vectors: Array, thumbnails: Sequence[bytes | None]
) -> None:
    """Store the vectors (n, dim) and the pictures of examples."""
    rows = ((example, vector.tobytes()) for example, vector in zip(ids, vectors, strict=True))
    db.executemany("INSERT INTO vectors VALUES (?, ?)", rows)
    pictures = ((example, data) for example, data in zip(ids, thumbnails, strict=True) if data is not None)
    db.executemany("INSERT INTO thumbnails VALUES (?, ?)", pictures)


def delete_payloads(db: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Drop the vectors and the pictures of examples."""
    for table in ("vectors", "thumbnails"):
        db.executemany(f"DELETE FROM {table} WHERE id = ?", [(example,) for example in ids])


def stray(db: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with which rows there are: one that belongs to no example, a sentence for each table."""
    for table, owners in (("vectors", ""), ("thumbnails", " WHERE thumbnail_crc IS NOT NULL")):
        query = f"SELECT id FROM {table} WHERE id NOT IN (SELECT id FROM examples{owners}) LIMIT 1"
        for (example,) in db.execute(query):
            yield f"The table '{table}' has a row {example} that belongs to no example."


# The settings of a gallery file and the arrays of its fitted feature, as rows.


def read_settings(db: sqlite3.Connection, *, file_bytes: int) -> Settings:
    """The settings of the file. One that this version does not know is passed over, and one that it misses is told
    from the examples: whatever another version writes here, they are not lost."""
    found: dict[str, Any] = {}
    known = set(Settings.__dataclass_fields__)
    for key, text in select_all(db, "settings", file_bytes=file_bytes):
        if key not in known:
            continue
        if len(text) > TEXT_LIMIT:
            raise FileError(f"The gallery setting '{key}' is too long to be one.")
        try:
            found[key] = read_json(text)
        except ValueError:
            raise FileError(f"The gallery setting '{key}' is not readable.") from None
    if known - found.keys():
        found = {**_told_by_examples(db, found), **found}
    try:
        return Settings(**found)
    except ParameterError as problem:
        raise FileError(f"{problem} The file is damaged.") from None


def _told_by_examples(db: sqlite3.Connection, found: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting as it can be told without the table."""
    dtype = found.get("dtype", DTYPES[0])
    (length,) = db.execute("SELECT coalesce(max(length(data)), 0) FROM vectors").fetchone()
    (last,) = db.execute("SELECT coalesce(max(id), 0) FROM examples").fetchone()
    (acts,) = db.execute("SELECT coalesce(max(id), 0) FROM history").fetchone()
    dim = int(length) // np.dtype(dtype if dtype in DTYPES else DTYPES[0]).itemsize or 1
    return {
        "identity": "0" * 32,
        "created_at": 0,
        "feature": "vectors",
        "values": {},
        "fingerprint": f"vectors-{dim}",
        "dim": dim,
        "dtype": DTYPES[0],
        "parameters": {},
        "next_id": int(last) + 1,
        "revision": int(acts),
        "tuned": 0,
    }


def write_settings(db: sqlite3.Connection, settings: Settings, *, old: Settings | None) -> None:
    """Store what differs from ``old`` (everything, for a new file)."""
    there = {key for (key,) in db.execute("SELECT key FROM settings")}
    new_rows = _rows(settings)
    if old is not None:
        pairs = [(o, n) for o, n in zip(_rows(old), new_rows, strict=True) if o != n and o[0] in there]
        replace(db, "settings", [o for o, _ in pairs], [n for _, n in pairs])
    insert(db, "settings", [row for row in new_rows if row[0] not in there])


def _rows(settings: Settings) -> list[row_sums.Row]:
    return [(key, to_json(getattr(settings, key))) for key in sorted(Settings.__dataclass_fields__)]


def read_state(db: sqlite3.Connection, *, file_bytes: int) -> dict[str, Array]:
    """The arrays of the fitted feature. They cannot be larger than the file that holds them."""
    rows = select_all(db, "feature_state", file_bytes=file_bytes)
    return {name: from_npy(data, what=f"feature array '{name}'") for name, data in rows}


def write_state(db: sqlite3.Connection, state: Mapping[str, Array]) -> None:
    """Store the arrays of the fitted feature."""
    insert(db, "feature_state", [(name, to_npy(array)) for name, array in sorted(state.items())])


class TableSnapshot:
    """The state of a file in a transaction of ``db``."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def settings(self) -> Settings:
        return read_settings(self.db, file_bytes=self.file_bytes())

    def all(self, kind: type[R]) -> list[R]:
        rows = select_all(self.db, TABLES[kind], file_bytes=self.file_bytes())
        return [kind._make(row) for row in rows]

    def find(self, kind: type[R], **where: Any) -> Iterator[R]:
        listed = next((column for column, value in where.items() if isinstance(value, list)), None)
        if listed is None:
            yield from self._equal(kind, where)
            return
        values = where.pop(listed)
        for start in range(0, len(values), _AT_ONCE):
            yield from self._equal(kind, where, listed, values[start : start + _AT_ONCE])

    def _equal(self, kind: type[R], where: dict[str, Any], listed: str = "", among: Sequence[Any] = ()) -> Iterator[R]:
        conditions = [f"{column} IS ?" for column in where]
        if listed:
            conditions.append(f"{listed} IN ({', '.join('?' * len(among))})")
        clause = f"WHERE {' AND '.join(conditions)}"
        values = (*where.values(), *among)
        rows = select(self.db, TABLES[kind], clause, values, file_bytes=self.file_bytes())
        return (kind._make(row) for row in rows)

    def keys(self, kind: type[R]) -> Iterator[tuple[Any, ...]]:
        yield from self.db.execute(f"SELECT {', '.join(KEYS[kind])} FROM {TABLES[kind]}")

    def acts(self) -> Iterator[ActRecord]:
        rows = select(self.db, "history", descending=True, file_bytes=self.file_bytes())
        return (ActRecord._make(row) for row in rows)

    def vectors(self, examples: Sequence[ExampleRecord]) -> Array:
        had = self.settings()
        out = np.empty((len(examples), had.dim), np.dtype(had.dtype).newbyteorder("<"))
        ids = np.array([example.id for example in examples], np.int64)
        read_vectors(self.db, ids, np.array([example.vector_crc for example in examples]), out)
        return out

    def thumbnail(self, example: ExampleRecord) -> bytes | None:
        return read_thumbnail(self.db, example)

    def feature_state(self) -> dict[str, Array]:
        return read_state(self.db, file_bytes=self.file_bytes())

    def feature_learned(self) -> bool:
        return self.db.execute("SELECT 1 FROM feature_state LIMIT 1").fetchone() is not None

    def damage(self) -> list[str]:
        structure = [f"SQLite: {text}" for (text,) in self.db.execute("PRAGMA integrity_check(20)") if text != "ok"]
        return structure or list(stray(self.db))

    def file_bytes(self) -> int:
        """The size of the file: in the building of one, what SQLite holds back counts too."""
        (pages,) = self.db.execute("PRAGMA page_count").fetchone()
        (size,) = self.db.execute("PRAGMA page_size").fetchone()
        return int(pages) * int(size)


class TableTransaction(TableSnapshot):
    """A transaction of ``db`` that writes."""

    def set_settings(self, new: Settings) -> None:
        write_settings(self.db, new, old=self.settings())

    def insert(self, records: Sequence[R]) -> None:
        if records:
            insert(self.db, TABLES[type(records[0])], records)

    def insert_examples(
        self, examples: Sequence[ExampleRecord], vectors: Array, thumbnails: Sequence[bytes | None]
    ) -> None:
        self.insert(examples)
        insert_payloads(self.db, [example.id for example in examples], vectors, thumbnails)

    def replace(self, old: Sequence[R], new: Sequence[R]) -> None:
        if new:
            replace(self.db, TABLES[type(new[0])], old, new)

    def delete(self, records: Sequence[R]) -> None:
        if records:
            table = TABLES[type(records[0])]
            delete(self.db, table, records)
            if table == "examples":
                delete_payloads(self.db, [record[0] for record in records])
