from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from kcrc.errors import FileError
from kcrc.gallery import Gallery, schema
from kcrc.npy import to_npy

# What version 1 wrote, kept here as it was: not taken from the library, so that it cannot drift with it.
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
PICTURE = b"\xff\xd8\xffpicture"


@pytest.fixture
def old(path: Path) -> Path:
    """A version 1 gallery: three examples added, one of them removed, one relabelled."""
    db = sqlite3.connect(path)
    db.executescript(VERSION_1)
    values = {
        "identity": "0" * 32,
        "created_at": 1_700_000_000_000_000,
        "feature": "vectors",
        "values": {},
        "fingerprint": "vectors-2",
        "dim": 2,
        "dtype": "float32",
        "parameters": {"k": 5},
        "next_id": 4,
        "revision": 3,
    }
    db.executemany("INSERT INTO settings VALUES (?, ?)", [(k, json.dumps(v)) for k, v in values.items()])
    db.execute("INSERT INTO feature_state VALUES ('mean', ?)", (to_npy(np.arange(3.0)),))
    for i, (label, removed) in enumerate([("wren", None), ("robin", None), ("owl", 2)], start=1):
        vector = np.array([i, -i], "<f4").tobytes()
        row = (i, label, f"{i}.jpg", hashlib.sha256(vector).digest(), 1_700_000_000_000_000, 1, removed)
        db.execute("INSERT INTO examples VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        db.execute("INSERT INTO vectors VALUES (?, ?)", (i, vector))
    db.execute("INSERT INTO thumbnails VALUES (2, ?)", (PICTURE,))
    for i, action in enumerate(["add", "remove", "relabel"], start=1):
        row = (i, 1_700_000_000_000_000, action, f"did {action}", "null", None)
        db.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?)", row)
    db.execute("INSERT INTO changes VALUES (3, 2, 'wren')")
    db.commit()
    db.close()
    return path


def test_an_older_file_is_brought_up_with_all_it_holds(old: Path) -> None:
    for _ in range(2):  # the second time it is of the present version
        with Gallery.open(old) as gallery:
            assert gallery.verify().problems == ()
            ids, vectors, labels = gallery.vectors()
            assert (ids.tolist(), labels.tolist()) == ([1, 2], ["wren", "robin"])
            assert vectors.tolist() == [[1, -1], [2, -2]]
            assert gallery.thumbnail(2) == PICTURE
            assert gallery.thumbnail(1) is None
            assert gallery.parameters == {"k": 5}
            assert gallery.feature_state()["mean"].tolist() == [0, 1, 2]
    with Gallery.open(old) as gallery:
        gallery.undo()
        assert gallery.counts == {"wren": 2}
        gallery.undo()
        assert gallery.counts == {"owl": 1, "wren": 2}
        assert gallery.verify().problems == ()


def test_a_reader_of_an_older_file_is_told_what_to_do(old: Path) -> None:
    with pytest.raises(FileError, match="open it once for writing"):
        Gallery.open(old, readonly=True)


def test_a_migration_that_fails_leaves_the_older_file(old: Path) -> None:
    db = sqlite3.connect(old)
    db.execute("DELETE FROM vectors WHERE id = 1")
    db.commit()
    db.close()
    with pytest.raises(FileError, match="no vector"):
        Gallery.open(old)
    db = sqlite3.connect(old)
    assert db.execute("PRAGMA user_version").fetchone() == (1,)
    assert db.execute("SELECT count(*) FROM examples").fetchone() == (3,)
    db.close()


@pytest.mark.parametrize("version", [schema.VERSION + 1, 0, -5])
def test_a_newer_or_unknown_version_is_refused(gallery: Gallery, path: Path, version: int) -> None:
    gallery.close()
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {version}")
    db.close()
    with pytest.raises(FileError, match="newer kcrc" if version > 0 else "unknown file version"):
        Gallery.open(path)


@pytest.mark.parametrize(
    "foreign",
    [
        "CREATE TRIGGER t AFTER INSERT ON examples BEGIN DELETE FROM vectors; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE t (x)",
        "CREATE INDEX i ON examples (label)",
        "CREATE VIRTUAL TABLE f USING fts5(x)",
        "CREATE TABLE g (x, y AS (abs(x)))",
        "DROP TABLE thumbnails",
        "ALTER TABLE thumbnails ADD COLUMN extra",
        "ALTER TABLE thumbnails RENAME TO pictures",
        "DROP INDEX examples_by_content",
    ],
)
def test_anything_but_our_tables_is_refused(gallery: Gallery, path: Path, foreign: str) -> None:
    gallery.close()
    db = sqlite3.connect(path)
    db.execute(foreign)
    db.commit()
    db.close()
    before = path.read_bytes()
    for readonly in (False, True):
        with pytest.raises(FileError, match=r"not part of a kcrc gallery|lacks the table"):
            Gallery.open(path, readonly=readonly)
    assert path.read_bytes() == before


def test_a_view_in_the_place_of_a_table_is_refused(gallery: Gallery, path: Path) -> None:
    gallery.close()
    db = sqlite3.connect(path)
    db.execute("ALTER TABLE vectors RENAME TO real")
    db.execute("CREATE VIEW vectors AS SELECT id, zeroblob(1000000000) AS data FROM real")
    db.commit()
    db.close()
    with pytest.raises(FileError, match="not part of a kcrc gallery"):
        Gallery.open(path)


def test_another_program_s_database_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "browser.db"
    db = sqlite3.connect(other)
    db.execute("CREATE TABLE examples (x)")
    db.commit()
    db.close()
    before = other.read_bytes()
    with pytest.raises(FileError, match="not a kcrc gallery"):
        Gallery.open(other)
    assert other.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["browser.db"]
