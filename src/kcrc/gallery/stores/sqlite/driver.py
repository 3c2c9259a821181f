"""The tables of a gallery in one SQLite file: the ``Driver`` of ``kcrc.gallery.stores.records``."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kcrc.gallery.stores.records import COLUMNS, Row, key_of

# How many times as long as in the file a row is at most written out; 32 for tables of small values.
_WRITTEN_OUT = {"feature_state": 2, "tuned": 2, "vectors": 1}


class SQLiteDriver:
    """The tables of a file, in a transaction of ``db``."""

    values_at_once = 500

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def select(
        self, table: str, where: Mapping[str, Any], among: tuple[str, Sequence[Any]] | None, *, descending: bool
    ) -> Iterable[Row]:
        conditions, values = [f"{column} IS ?" for column in where], [*where.values()]
        if among is not None:
            conditions.append(f"{among[0]} IN ({', '.join('?' * len(among[1]))})")
            values += among[1]
        clause = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        order = ", ".join(f"{column} {'DESC' if descending else 'ASC'}" for column in key_of(table))
        columns = ", ".join(COLUMNS[table])
        return self.db.execute(f"SELECT {columns}, checksum FROM {table} {clause} ORDER BY {order}", values)

    def keys(self, table: str) -> Iterable[Row]:
        return self.db.execute(f"SELECT {', '.join(key_of(table))} FROM {table}")

    def insert(self, table: str, rows: Iterable[Row]) -> None:
        marks = ", ".join("?" * (len(COLUMNS[table]) + 1 if table in COLUMNS else 2))
        self.db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def update(self, table: str, rows: Sequence[Row]) -> None:
        keys = key_of(table)
        setting = ", ".join(f"{column} = ?" for column in (*COLUMNS[table][len(keys) :], "checksum"))
        values = [(*row[len(keys) :], *row[: len(keys)]) for row in rows]
        self.db.executemany(f"UPDATE {table} SET {setting} WHERE {_equal(keys)}", values)

    def delete(self, table: str, keys: Sequence[Row]) -> None:
        self.db.executemany(f"DELETE FROM {table} WHERE {_equal(key_of(table))}", keys)

    def blobs(self, table: str, ids: Sequence[int], longest: int) -> Sequence[tuple[int, bytes | None]]:
        marks = ", ".join("?" * len(ids))
        columns = "id, CASE WHEN length(data) <= ? THEN data END"
        query = f"SELECT {columns} FROM {table} WHERE id IN ({marks}) ORDER BY id"
        return self.db.execute(query, (longest, *ids)).fetchall()

    def seal(self, table: str) -> tuple[int, int] | None:
        seal = self.db.execute("SELECT row_count, total FROM seals WHERE name = ?", (table,)).fetchone()
        if seal is None or not all(isinstance(value, int) for value in seal):
            return None
        return int(seal[0]), int(seal[1])

    def set_seal(self, table: str, rows: int, total: int) -> None:
        self.db.execute("UPDATE seals SET row_count = ?, total = ? WHERE name = ?", (rows, total, table))

    def room(self, table: str) -> int:
        """Return what the size of the file allows: while one is built, what SQLite holds back counts too."""
        (pages,) = self.db.execute("PRAGMA page_count").fetchone()
        (size,) = self.db.execute("PRAGMA page_size").fetchone()
        return _WRITTEN_OUT.get(table, 32) * int(pages) * int(size)

    def damage(self) -> list[str]:
        return [f"SQLite: {text}" for (text,) in self.db.execute("PRAGMA integrity_check(20)") if text != "ok"]


def _equal(keys: Sequence[str]) -> str:
    return " AND ".join(f"{key} = ?" for key in keys)
