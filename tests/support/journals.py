"""Journals beside a gallery, for tests: one that a killed writer leaves, and such as nobody but an attacker writes."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from collections.abc import Sequence
from pathlib import Path

MAGIC = bytes.fromhex("d9d505f920a163d7")
PAGE, SECTOR = 4096, 512


def journal_bytes(
    records: Sequence[tuple[int, bytes]] = (),
    *,
    pages: int,
    head: bytes = MAGIC,
    page: int = PAGE,
    sector: int = SECTOR,
    names: Path | None = None,
) -> bytes:
    """A rollback journal as SQLite's documentation describes it; ``names`` is the file it says to delete."""
    parts = [struct.pack(">8s5I", head, len(records), 0, pages, sector, page).ljust(SECTOR, b"\0")]
    for number, data in records:
        parts.append(struct.pack(">I", number) + data + struct.pack(">I", sum(data[PAGE - 200 : 0 : -200])))
    if names is not None:
        name = str(names).encode()
        lock_page = 2**30 // PAGE + 1
        parts.append(struct.pack(">I", lock_page) + name + struct.pack(">II", len(name), sum(name)) + MAGIC)
    return b"".join(parts)


def plant(gallery: Path, data: bytes) -> Path:
    """Put a journal beside a gallery."""
    journal = Path(f"{gallery}-journal")
    journal.write_bytes(data)
    return journal


def interrupted(gallery: Path, copy: Path) -> Path:
    """A copy of the gallery as a writer leaves it that is killed in the middle: half written, its journal beside it."""
    db = sqlite3.connect(gallery, isolation_level=None)
    db.execute("PRAGMA cache_size = 1")
    db.execute("PRAGMA cache_spill = ON")
    db.execute("BEGIN")
    db.execute("DELETE FROM vectors")
    db.execute("UPDATE examples SET label = hex(randomblob(20000))")
    shutil.copy(gallery, copy)
    shutil.copy(f"{gallery}-journal", f"{copy}-journal")
    db.execute("ROLLBACK")
    db.close()
    return copy
