"""The large values of the examples, vectors and thumbnails: read by id, with their length and crc32 checked.

The length is asked for before the value, so a forged length is never turned into memory.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from psycopg.sql import SQL

from kcrc._base.arrays import Array
from kcrc.errors import FileError
from kcrc.gallery.contract import ExampleRecord
from kcrc.gallery.examples import THUMBNAIL_LIMIT
from kcrc.gallery.stores.postgres.rows import Tables

_BYTES_AT_ONCE = 8 * 1024 * 1024


def read_vectors(tables: Tables, ids: Array, crcs: Array, out: Array) -> None:
    """Fill ``out`` (n, dim) with the vectors of ``ids`` (n,), rising; ``crcs`` (n,) are those they have to have."""
    row_bytes = out.dtype.itemsize * out.shape[1]
    at_once = max(1, _BYTES_AT_ONCE // row_bytes)
    query = SQL(
        "SELECT id, CASE WHEN octet_length(data) = %s THEN data END FROM {} WHERE id = ANY(%s) ORDER BY id"
    ).format(tables.name("vectors"))
    for start in range(0, len(ids), at_once):
        some = ids[start : start + at_once].tolist()
        found: list[Any] = tables.db.execute(query, (row_bytes, some), binary=True).fetchall()
        if [example for example, _ in found] != some:
            raise FileError(f"The vectors of examples {some[0]} to {some[-1]} are incomplete; the file is damaged.")
        for offset, (example, data) in enumerate(found):
            if not isinstance(data, bytes) or zlib.crc32(data) != crcs[start + offset]:
                raise FileError(f"The vector of example {example} is damaged.")
            out[start + offset] = np.frombuffer(data, out.dtype)


def read_thumbnail(tables: Tables, example: ExampleRecord) -> bytes | None:
    """The picture of one example, if it has one."""
    if example.thumbnail_crc is None:
        return None
    query = SQL("SELECT CASE WHEN octet_length(data) <= %s THEN data END FROM {} WHERE id = %s")
    query_of = query.format(tables.name("thumbnails"))
    found = tables.db.execute(query_of, (THUMBNAIL_LIMIT, example.id), binary=True).fetchone()
    if found is None or not isinstance(found[0], bytes) or zlib.crc32(found[0]) != example.thumbnail_crc:
        raise FileError(f"The picture of example {example.id} is damaged.")
    return found[0]


def insert(tables: Tables, ids: Sequence[int], vectors: Array, thumbnails: Sequence[bytes | None]) -> None:
    """Store the vectors (n, dim) and the pictures of examples."""
    tables.copy_in("vectors", ((example, row.tobytes()) for example, row in zip(ids, vectors, strict=True)))
    pictures = [(example, data) for example, data in zip(ids, thumbnails, strict=True) if data is not None]
    if pictures:
        tables.copy_in("thumbnails", iter(pictures))


def delete(tables: Tables, ids: Sequence[int]) -> None:
    """Drop the vectors and the pictures of examples."""
    for table in ("vectors", "thumbnails"):
        tables.drop(table, [(example,) for example in ids])


def stray(tables: Tables) -> Iterator[str]:
    """What is wrong with which rows there are: one that belongs to no example, a sentence for each table."""
    owners = {"vectors": SQL("true"), "thumbnails": SQL("thumbnail_crc IS NOT NULL")}
    for table, owned in owners.items():
        query = SQL("SELECT id FROM {} WHERE id NOT IN (SELECT id FROM {} WHERE {}) LIMIT 1")
        for (example,) in tables.db.execute(query.format(tables.name(table), tables.name("examples"), owned)):
            yield f"The table '{table}' has a row {example} that belongs to no example."
