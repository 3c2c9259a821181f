"""Writes forged rows into a gallery file with checksums and seals that fit: what somebody does who knows the format."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fuzz.borrowed import from_tests
from kcrc.gallery.stores import records


class Forgery:
    """The tables of a gallery, open to anything; the seals are made to fit when it is closed."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = MEMORY")
        self.db.execute("PRAGMA synchronous = OFF")

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        return self.db.execute(f"SELECT {', '.join(records.COLUMNS[table])} FROM {table}").fetchall()

    def put(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """The table with these rows and no others; a row that SQLite cannot hold is left out."""
        self.db.execute(f"DELETE FROM {table}")
        marks = ", ".join("?" * (len(records.COLUMNS[table]) + 1))
        for row in rows:
            with contextlib.suppress(sqlite3.Error, OverflowError, UnicodeEncodeError):
                self.db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", (*row, 0))
        self.reseal()

    def reseal(self) -> None:
        with contextlib.suppress(sqlite3.Error):  # a forged schema may not let it
            from_tests("gallery/forging.py").reseal(self.db)

    def close(self) -> None:
        self.db.close()
