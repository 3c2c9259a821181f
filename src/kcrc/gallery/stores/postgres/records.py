"""A gallery's records in the tables of a server: ``Snapshot`` and ``Transaction`` of the contract.

Every row is compared with its checksum as it is read, and whole tables with their seals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from psycopg.sql import SQL, Identifier

from kcrc._base.arrays import Array
from kcrc.errors import FileError, ParameterError
from kcrc.files.npy import from_npy, to_npy
from kcrc.files.plain_json import read_json
from kcrc.gallery.contract import KEYS, ActRecord, ExampleRecord, R
from kcrc.gallery.settings import TEXT_LIMIT, Settings, to_json
from kcrc.gallery.stores.postgres import derived, payloads
from kcrc.gallery.stores.postgres.rows import Tables
from kcrc.gallery.stores.row_sums import TABLES, Row

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

    def found(self, kind: type[R], **where: Any) -> Iterator[R]:
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
        payloads.read_vectors(self.tables, ids, crcs, out)
        return out

    def thumbnail(self, example: ExampleRecord) -> bytes | None:
        return payloads.read_thumbnail(self.tables, example)

    def feature_state(self) -> dict[str, Array]:
        rows = self.tables.select_all("feature_state")
        return {name: from_npy(data, what=f"feature array '{name}'") for name, data in rows}

    def feature_learned(self) -> bool:
        query = SQL("SELECT 1 FROM {} LIMIT 1").format(self.tables.name("feature_state"))
        return self.tables.db.execute(query).fetchone() is not None

    def damage(self) -> list[str]:
        return [*payloads.stray(self.tables), *derived.misfits(self.tables)]


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
            payloads.insert(self.tables, [example.id for example in examples], vectors, thumbnails)

    def replace(self, old: Sequence[R], new: Sequence[R]) -> None:
        if new:
            self.tables.replace(TABLES[type(new[0])], old, new)

    def delete(self, records: Sequence[R]) -> None:
        if records:
            self.tables.delete(TABLES[type(records[0])], records)
            if isinstance(records[0], ExampleRecord):
                payloads.delete(self.tables, [record[0] for record in records])


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
