"""The large values of the examples, vectors and thumbnails: read by id, with their length and crc32 checked.

The length is asked for before the value, so a forged length is never turned into memory.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Mapping

import numpy as np

from kcrc.arrays import Array
from kcrc.errors import FileError
from kcrc.gallery import examples, sealed

_AT_ONCE = 500


def read_vectors(db: sqlite3.Connection, ids: Array, crcs: Mapping[int, int], out: Array) -> None:
    """Fill ``out`` (n, dim) with the vectors of ``ids`` (n,), rising."""
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
            if not isinstance(data, bytes) or zlib.crc32(data) != crcs[example]:
                raise FileError(f"The vector of example {example} is damaged.")
            out[start + offset] = np.frombuffer(data, out.dtype)


def read_thumbnail(db: sqlite3.Connection, row: sealed.Row) -> bytes | None:
    """The picture of one example, if it has one."""
    if row[8] is None:
        return None
    query = "SELECT CASE WHEN length(data) <= ? THEN data END FROM thumbnails WHERE id = ?"
    found = db.execute(query, (examples.THUMBNAIL_LIMIT, row[0])).fetchone()
    if found is None or not isinstance(found[0], bytes) or zlib.crc32(found[0]) != row[8]:
        raise FileError(f"The picture of example {row[0]} is damaged.")
    return found[0]


def stray_ids(db: sqlite3.Connection, table: str, expected: set[int]) -> Iterator[int]:
    """The ids in ``table`` that belong to no example."""
    for (example,) in db.execute(f"SELECT id FROM {table}"):
        if example not in expected:
            yield example
