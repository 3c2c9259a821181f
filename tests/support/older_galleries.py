"""Galleries as older versions wrote them, kept here as they were: not taken from the library, so that they cannot drift
with it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kcrc.files.archive import to_npy

VERSION_1 = """
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE feature_state (name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE examples (id INTEGER PRIMARY KEY, label TEXT NOT NULL, source TEXT NOT NULL,
  content BLOB NOT NULL, added_at INTEGER NOT NULL, added_by INTEGER NOT NULL, removed_by INTEGER);
CREATE TABLE vectors (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE thumbnails (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE history (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, action TEXT NOT NULL,
  summary TEXT NOT NULL, detail TEXT NOT NULL, undone_by INTEGER);
CREATE TABLE changes (act INTEGER NOT NULL, example INTEGER NOT NULL, before TEXT NOT NULL,
  PRIMARY KEY (act, example)) WITHOUT ROWID;
CREATE INDEX examples_by_content ON examples (content);
PRAGMA application_id = 1801679459;
PRAGMA user_version = 1;
"""
AT = 1_700_000_000_000_000


def version_1(
    path: Path, examples: Sequence[tuple[str, str, Sequence[float]]], *, parameters: dict | None = None
) -> None:
    """A gallery of version 1 with these examples (label, source, vector), added by one act."""
    db = sqlite3.connect(path)
    db.executescript(VERSION_1)
    dim = len(examples[0][2])
    values = {
        "identity": "0" * 32,
        "created_at": AT,
        "feature": "vectors",
        "values": {},
        "fingerprint": f"vectors-{dim}",
        "dim": dim,
        "dtype": "float32",
        "parameters": parameters or {},
        "next_id": len(examples) + 1,
        "revision": 1,
    }
    db.executemany("INSERT INTO settings VALUES (?, ?)", [(k, json.dumps(v)) for k, v in values.items()])
    db.execute("INSERT INTO feature_state VALUES ('mean', ?)", (to_npy(np.arange(3.0)),))
    for i, (label, source, numbers) in enumerate(examples, start=1):
        vector = np.asarray(numbers, "<f4").tobytes()
        row = (i, label, source, hashlib.sha256(vector).digest(), AT, 1, None)
        db.execute("INSERT INTO examples VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        db.execute("INSERT INTO vectors VALUES (?, ?)", (i, vector))
    db.execute("INSERT INTO history VALUES (1, ?, 'add', 'did add', 'null', NULL)", (AT,))
    db.commit()
    db.close()
