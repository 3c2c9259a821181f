"""A gallery's records in the tables of one SQLite file: ``Snapshot`` and ``Transaction`` of the contract.

Every row is compared with its checksum as it is read, and whole tables with their seals (``sealed_rows.py``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.gallery.contract import KEYS, ActRecord, ExampleRecord, R
from kcrc.gallery.settings import Settings
from kcrc.gallery.stores.row_sums import TABLES
from kcrc.gallery.stores.sqlite import payloads, sealed_rows, settings_table

_AT_ONCE = 500  # values in one SELECT


class TableSnapshot:
    """The state of a file in a transaction of ``db``."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def settings(self) -> Settings:
        return settings_table.read(self.db, file_bytes=self.file_bytes())

    def all(self, kind: type[R]) -> list[R]:
        rows = sealed_rows.select_all(self.db, TABLES[kind], file_bytes=self.file_bytes())
        return [kind._make(row) for row in rows]

    def found(self, kind: type[R], **where: Any) -> Iterator[R]:
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
        rows = sealed_rows.select(self.db, TABLES[kind], clause, values, file_bytes=self.file_bytes())
        return (kind._make(row) for row in rows)

    def keys(self, kind: type[R]) -> Iterator[tuple[Any, ...]]:
        yield from self.db.execute(f"SELECT {', '.join(KEYS[kind])} FROM {TABLES[kind]}")

    def acts(self) -> Iterator[ActRecord]:
        rows = sealed_rows.select(self.db, "history", descending=True, file_bytes=self.file_bytes())
        return (ActRecord._make(row) for row in rows)

    def vectors(self, examples: Sequence[ExampleRecord]) -> Array:
        had = self.settings()
        out = np.empty((len(examples), had.dim), np.dtype(had.dtype).newbyteorder("<"))
        ids = np.array([example.id for example in examples], np.int64)
        payloads.read_vectors(self.db, ids, np.array([example.vector_crc for example in examples]), out)
        return out

    def thumbnail(self, example: ExampleRecord) -> bytes | None:
        return payloads.read_thumbnail(self.db, example)

    def feature_state(self) -> dict[str, Array]:
        return settings_table.read_state(self.db, file_bytes=self.file_bytes())

    def feature_learned(self) -> bool:
        return self.db.execute("SELECT 1 FROM feature_state LIMIT 1").fetchone() is not None

    def damage(self) -> list[str]:
        structure = [f"SQLite: {text}" for (text,) in self.db.execute("PRAGMA integrity_check(20)") if text != "ok"]
        return structure or list(payloads.stray(self.db))

    def file_bytes(self) -> int:
        """The size of the file: in the building of one, what SQLite holds back counts too."""
        (pages,) = self.db.execute("PRAGMA page_count").fetchone()
        (size,) = self.db.execute("PRAGMA page_size").fetchone()
        return int(pages) * int(size)


class TableTransaction(TableSnapshot):
    """A transaction of ``db`` that writes."""

    def set_settings(self, new: Settings) -> None:
        settings_table.write(self.db, new, old=self.settings())

    def insert(self, records: Sequence[R]) -> None:
        if records:
            sealed_rows.insert(self.db, TABLES[type(records[0])], records)

    def insert_examples(
        self, examples: Sequence[ExampleRecord], vectors: Array, thumbnails: Sequence[bytes | None]
    ) -> None:
        self.insert(examples)
        payloads.insert(self.db, [example.id for example in examples], vectors, thumbnails)

    def replace(self, old: Sequence[R], new: Sequence[R]) -> None:
        if new:
            sealed_rows.replace(self.db, TABLES[type(new[0])], old, new)

    def delete(self, records: Sequence[R]) -> None:
        if records:
            table = TABLES[type(records[0])]
            sealed_rows.delete(self.db, table, records)
            if table == "examples":
                payloads.delete(self.db, [record[0] for record in records])
