"""A gallery's records in the tables of a server: ``Snapshot`` and ``Transaction`` of the contract.

Every row is compared with its checksum as it is read, and whole tables with their seals.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from psycopg.sql import SQL, Identifier

from kcrc._base.arrays import Array
from kcrc.errors import FileError, ParameterError
from kcrc.files.archive import from_npy, to_npy
from kcrc.files.plain_files import read_json
from kcrc.gallery.contract import KEYS, ActRecord, ExampleRecord, R
from kcrc.gallery.examples import THUMBNAIL_LIMIT
from kcrc.gallery.settings import TEXT_LIMIT, Settings, to_json
from kcrc.gallery.stores.postgres import rows as derived
from kcrc.gallery.stores.postgres.rows import Tables
from kcrc.gallery.stores.row_sums import TABLES, Row

# The large values of the examples, vectors and thumbnails: read by id, with their length and crc32 checked.
#
# The length is asked for before the value, so a forged length is never turned into memory.

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


_AT_ONCE = 5000  # values in one SELECT


class ServerSnapshot:
    """The state of a gallery in a transaction."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._settings: Settings | None = None

    def settings(self) -> Settings:
        if self._settings is None:
            self._settings = _settings_of(self.tables.select_all("settings"))
        return self._settings

    def all(self, kind: type[R]) -> list[R]:
        return [kind._make(row) for row in self.tables.select_all(TABLES[kind])]

    def find(self, kind: type[R], **where: Any) -> Iterator[R]:
        listed = next((column for column, value in where.items() if isinstance(value, list)), None)
        if listed is None:
            yield from self._equal(kind, where)
            return
        values = where.pop(listed)
        for start in range(0, len(values), _AT_ONCE):
            yield from self._equal(kind, where, listed, values[start : start + _AT_ONCE])

    def _equal(self, kind: type[R], where: dict[str, Any], listed: str = "", among: Sequence[Any] = ()) -> Iterator[R]:
        conditions = [
            SQL("{} IS NULL" if value is None else "{} = %s").format(Identifier(column))
            for column, value in where.items()
        ]
        values: list[Any] = [value for value in where.values() if value is not None]
        if listed:
            conditions.append(SQL("{} = ANY(%s)").format(Identifier(listed)))
            values.append(list(among))
        clause = SQL("WHERE {}").format(SQL(" AND ").join(conditions))
        return (kind._make(row) for row in self.tables.select(TABLES[kind], clause, values))

    def keys(self, kind: type[R]) -> Iterator[tuple[Any, ...]]:
        columns = SQL(", ").join(map(Identifier, KEYS[kind]))
        yield from self.tables.db.execute(SQL("SELECT {} FROM {}").format(columns, self.tables.name(TABLES[kind])))

    def acts(self) -> Iterator[ActRecord]:
        return (ActRecord._make(row) for row in self.tables.select("history", descending=True))

    def vectors(self, examples: Sequence[ExampleRecord]) -> Array:
        ids = np.array([example.id for example in examples], np.int64)
        return self.vectors_of(ids, np.array([example.vector_crc for example in examples]))

    def vectors_of(self, ids: Array, crcs: Array) -> Array:
        """(n, dim) of examples by rising id, as the gallery keeps numbers."""
        had = self.settings()
        dtype = np.dtype(had.dtype).newbyteorder("<")
        size = SQL("SELECT pg_total_relation_size(%s::regclass)")
        (most,) = self.tables.db.execute(size, (self.tables.name("vectors").as_string(),)).fetchone() or (0,)
        if len(ids) * had.dim * dtype.itemsize > int(str(most)):
            raise FileError("The gallery claims more vectors than it can hold; it is damaged.")
        out = np.empty((len(ids), had.dim), dtype)
        read_vectors(self.tables, ids, crcs, out)
        return out

    def thumbnail(self, example: ExampleRecord) -> bytes | None:
        return read_thumbnail(self.tables, example)

    def feature_state(self) -> dict[str, Array]:
        rows = self.tables.select_all("feature_state")
        return {name: from_npy(data, what=f"feature array '{name}'") for name, data in rows}

    def feature_learned(self) -> bool:
        query = SQL("SELECT 1 FROM {} LIMIT 1").format(self.tables.name("feature_state"))
        return self.tables.db.execute(query).fetchone() is not None

    def damage(self) -> list[str]:
        return [*stray(self.tables), *derived.misfits(self.tables)]


class ServerTransaction(ServerSnapshot):
    """A transaction that writes."""

    def set_settings(self, new: Settings) -> None:
        old = _rows_of(self.settings())
        pairs = [(o, n) for o, n in zip(old, _rows_of(new), strict=True) if o != n]
        if pairs:
            self.tables.replace("settings", [o for o, _ in pairs], [n for _, n in pairs])
        self._settings = None

    def begin(self, settings: Settings, state: Mapping[str, Array]) -> None:
        """Write the settings and the fitted feature of a new gallery."""
        self.tables.insert("settings", _rows_of(settings))
        self.tables.insert("feature_state", [(name, to_npy(array)) for name, array in sorted(state.items())])

    def insert(self, records: Sequence[R]) -> None:
        if records:
            self.tables.insert(TABLES[type(records[0])], records)

    def insert_examples(
        self, examples: Sequence[ExampleRecord], vectors: Array, thumbnails: Sequence[bytes | None]
    ) -> None:
        if examples:
            self.insert(examples)
            insert(self.tables, [example.id for example in examples], vectors, thumbnails)

    def replace(self, old: Sequence[R], new: Sequence[R]) -> None:
        if new:
            self.tables.replace(TABLES[type(new[0])], old, new)

    def delete(self, records: Sequence[R]) -> None:
        if records:
            self.tables.delete(TABLES[type(records[0])], records)
            if isinstance(records[0], ExampleRecord):
                delete(self.tables, [record[0] for record in records])


def _rows_of(settings: Settings) -> list[Row]:
    return [(key, to_json(getattr(settings, key))) for key in sorted(Settings.__dataclass_fields__)]


def _settings_of(rows: Sequence[Row]) -> Settings:
    found: dict[str, Any] = {}
    for key, text in rows:
        if len(text) > TEXT_LIMIT:
            raise FileError(f"The gallery setting '{key}' is too long to be one.")
        try:
            found[key] = read_json(text)
        except ValueError:
            raise FileError(f"The gallery setting '{key}' is not readable.") from None
    known = set(Settings.__dataclass_fields__)
    if known - found.keys():
        raise FileError(f"The gallery setting '{min(known - found.keys())}' is missing; the gallery is damaged.")
    try:
        return Settings(**{key: found[key] for key in known})
    except ParameterError as problem:
        raise FileError(f"{problem} The gallery is damaged.") from None
