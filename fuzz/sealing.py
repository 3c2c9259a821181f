"""Writes forged rows into a gallery file with checksums and seals that fit: what somebody does who knows the format."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kcrc.gallery import sealed


class Forgery:
    """The tables of a gallery, open to anything; the seals are made to fit at the end."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = MEMORY")
        self.db.execute("PRAGMA synchronous = OFF")
        (version,) = self.db.execute("PRAGMA user_version").fetchone()
        self._checksum = sealed.checksum if version > 3 else sealed.checksum_of_version_3

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        return self.db.execute(f"SELECT {', '.join(sealed.COLUMNS[table])} FROM {table}").fetchall()

    def put(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """The table with these rows and no others; a row that SQLite cannot hold is left out."""
        self.db.execute(f"DELETE FROM {table}")
        marks = ", ".join("?" * (len(sealed.COLUMNS[table]) + 1))
        for row in rows:
            try:
                self.db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", (*row, 0))
            except (sqlite3.Error, OverflowError, UnicodeEncodeError):
                continue
        self.reseal(table)

    def reseal(self, table: str) -> None:
        """Checksums as the rows read, and the seal as their sum."""
        columns = sealed.COLUMNS[table]
        keys = columns[: 2 if table in ("changes", "tuned") else 1]
        total = count = 0
        for row in self.rows(table):
            mark = self._checksum(table, row)
            naming = " AND ".join(f"{key} IS ?" for key in keys)
            self.db.execute(f"UPDATE {table} SET checksum = ? WHERE {naming}", (mark, *row[: len(keys)]))
            total, count = total + mark, count + 1
        self.db.execute("UPDATE seals SET row_count = ?, total = ? WHERE name = ?", (count, total % (1 << 62), table))

    def close(self) -> None:
        self.db.close()
