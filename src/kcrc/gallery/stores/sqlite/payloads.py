"""The large values of the examples, vectors and thumbnails: read by id, with their length and crc32 checked.

The length is asked for before the value, so a forged length is never turned into memory.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import FileError
from kcrc.gallery.contract import ExampleRecord
from kcrc.gallery.examples import THUMBNAIL_LIMIT

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


def insert(db: sqlite3.Connection, ids: Sequence[int], vectors: Array, thumbnails: Sequence[bytes | None]) -> None:
    """Store the vectors (n, dim) and the pictures of examples."""
    rows = ((example, vector.tobytes()) for example, vector in zip(ids, vectors, strict=True))
    db.executemany("INSERT INTO vectors VALUES (?, ?)", rows)
    pictures = ((example, data) for example, data in zip(ids, thumbnails, strict=True) if data is not None)
    db.executemany("INSERT INTO thumbnails VALUES (?, ?)", pictures)


def delete(db: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Drop the vectors and the pictures of examples."""
    for table in ("vectors", "thumbnails"):
        db.executemany(f"DELETE FROM {table} WHERE id = ?", [(example,) for example in ids])


def stray(db: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with which rows there are: one that belongs to no example, a sentence for each table."""
    for table, owners in (("vectors", ""), ("thumbnails", " WHERE thumbnail_crc IS NOT NULL")):
        query = f"SELECT id FROM {table} WHERE id NOT IN (SELECT id FROM examples{owners}) LIMIT 1"
        for (example,) in db.execute(query):
            yield f"The table '{table}' has a row {example} that belongs to no example."
