"""The tables of a gallery file, their version, and the migration from older versions to this one.

::

    settings       what the file is: feature, fingerprint, width, tuned parameters, counters (JSON by key)
    feature_state  the fitted feature: arrays by name, as .npy
    examples       one row per example; removed_by says which act took it out (NULL: it is in)
    vectors        the example's feature vector, raw little-endian numbers
    thumbnails     a small picture of it
    history        one row per act: add, remove, relabel, rename, tune, undo, compact
    changes        what an act overwrote, so that it can be undone
    tuned          the fitted classifier without its examples: a description and arrays, by the act that chose it
    seals          for each checked table: how many rows and the sum of their checksums

SQLite finds damage to its own structure, not a flipped bit in a value, so rows carry a checksum (``records.py``).

Version 1 had no checksums and no seals; version 2 had no table ``tuned``; version 3 took checksums over what Python's
``repr`` writes. docs/formats.md has the whole format.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterable

from kcrc.errors import FileError
from kcrc.gallery.stores.records import (
    COLUMNS,
    MODULUS,
    TYPES,
    RecordTransaction,
    Row,
    checksum,
    row_error,
    seal_error,
)
from kcrc.gallery.stores.sqlite.driver import SQLiteDriver

APPLICATION_ID = 0x6B637263  # "kcrc"
VERSION = 4

_UNCHANGED = {
    "vectors": "CREATE TABLE vectors (id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    "thumbnails": "CREATE TABLE thumbnails (id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    "examples_by_content": "CREATE INDEX examples_by_content ON examples (content)",
}

_VERSION_2 = {
    **_UNCHANGED,
    "settings": "CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL, "
    "checksum INTEGER NOT NULL) WITHOUT ROWID",
    "feature_state": "CREATE TABLE feature_state (name TEXT PRIMARY KEY, data BLOB NOT NULL, "
    "checksum INTEGER NOT NULL) WITHOUT ROWID",
    "examples": "CREATE TABLE examples ("
    "id INTEGER PRIMARY KEY, label TEXT NOT NULL, source TEXT NOT NULL, "
    "content BLOB NOT NULL, added_at INTEGER NOT NULL, added_by INTEGER NOT NULL, removed_by INTEGER, "
    "vector_crc INTEGER NOT NULL, thumbnail_crc INTEGER, checksum INTEGER NOT NULL)",
    "history": "CREATE TABLE history ("
    "id INTEGER PRIMARY KEY, at INTEGER NOT NULL, action TEXT NOT NULL, "
    "summary TEXT NOT NULL, detail TEXT NOT NULL, undone_by INTEGER, checksum INTEGER NOT NULL)",
    "changes": "CREATE TABLE changes ("
    "act INTEGER NOT NULL, example INTEGER NOT NULL, before TEXT NOT NULL, "
    "checksum INTEGER NOT NULL, PRIMARY KEY (act, example)) WITHOUT ROWID",
    "seals": "CREATE TABLE seals (name TEXT PRIMARY KEY, row_count INTEGER NOT NULL, "
    "total INTEGER NOT NULL) WITHOUT ROWID",
}

_VERSION_3 = {
    **_VERSION_2,
    "tuned": "CREATE TABLE tuned (act INTEGER NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, "
    "checksum INTEGER NOT NULL, PRIMARY KEY (act, name)) WITHOUT ROWID",
}

STATEMENTS: dict[int, dict[str, str]] = {
    1: {
        **_UNCHANGED,
        "settings": "CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        "feature_state": "CREATE TABLE feature_state (name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID",
        "examples": "CREATE TABLE examples ("
        "id INTEGER PRIMARY KEY, label TEXT NOT NULL, source TEXT NOT NULL, "
        "content BLOB NOT NULL, added_at INTEGER NOT NULL, added_by INTEGER NOT NULL, removed_by INTEGER)",
        "history": "CREATE TABLE history ("
        "id INTEGER PRIMARY KEY, at INTEGER NOT NULL, action TEXT NOT NULL, "
        "summary TEXT NOT NULL, detail TEXT NOT NULL, undone_by INTEGER)",
        "changes": "CREATE TABLE changes ("
        "act INTEGER NOT NULL, example INTEGER NOT NULL, before TEXT NOT NULL, "
        "PRIMARY KEY (act, example)) WITHOUT ROWID",
    },
    2: _VERSION_2,
    3: _VERSION_3,
    4: _VERSION_3,
}


def create(db: sqlite3.Connection) -> None:
    """Make the tables of this version in an empty file (inside the caller's transaction)."""
    statements = STATEMENTS[VERSION]
    for name in sorted(statements, key=lambda name: statements[name].startswith("CREATE INDEX")):
        db.execute(statements[name])
    _begin_seals(db, COLUMNS)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {VERSION}")


def audit(db: sqlite3.Connection, path: str) -> int:
    """The version of the file, after making sure that it holds our tables and indexes and nothing else.

    A trigger or a view that someone put in would run inside our own statements: such a file is refused.
    """
    (application,) = db.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise FileError(f"'{path}' is not a kcrc gallery (it is some other SQLite file, or empty).")
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise FileError(
            f"'{path}' was written by a newer kcrc (file version {version}, this one reads up to {VERSION}). "
            "Upgrade kcrc to open it."
        )
    if version not in STATEMENTS:
        raise FileError(f"'{path}' has the unknown file version {version}; it is damaged.")
    expected = {name: _plain(statement) for name, statement in STATEMENTS[version].items()}
    present: set[str] = set()
    for kind, name, statement in db.execute("SELECT type, name, sql FROM sqlite_master"):
        if kind == "index" and statement is None and str(name).startswith("sqlite_autoindex_"):
            continue
        if name not in expected or _plain(str(statement)) != expected[name]:
            raise FileError(
                f"'{path}' holds a {kind} '{_short(name)}' that is not part of a kcrc gallery. "
                "Nothing was read from it; do not use a gallery from a source you do not trust."
            )
        present.add(name)
    missing = sorted(expected.keys() - present)
    if missing:
        raise FileError(f"'{path}' lacks the table '{missing[0]}'; it is damaged.")
    return int(version)


def migrate(db: sqlite3.Connection, version: int) -> None:
    """Bring a file from ``version`` to VERSION, step by step (inside the caller's transaction)."""
    for step in range(version, VERSION):
        _STEPS[step](db)
    db.execute(f"PRAGMA user_version = {VERSION}")


def _from_1_to_2(db: sqlite3.Connection) -> None:
    """Add the checksums: every checked table is created again with its last column, and filled from the old one."""
    new, tables = STATEMENTS[2], ("settings", "feature_state", "examples", "history", "changes")
    writing = RecordTransaction(SQLiteDriver(db))
    db.execute(new["seals"])
    _begin_seals(db, tables)
    db.execute("DROP INDEX examples_by_content")
    for table in tables:
        db.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
        db.execute(new[table])
    for table in ("settings", "feature_state", "history", "changes"):
        columns = ", ".join(COLUMNS[table])
        writing.insert_rows(table, db.execute(f"SELECT {columns} FROM old_{table}").fetchall())
    vector_crc = {key: zlib.crc32(data) for key, data in db.execute("SELECT id, data FROM vectors")}
    thumbnail_crc = {key: zlib.crc32(data) for key, data in db.execute("SELECT id, data FROM thumbnails")}
    old = db.execute("SELECT id, label, source, content, added_at, added_by, removed_by FROM old_examples")
    try:
        rows = [(*row, vector_crc[row[0]], thumbnail_crc.get(row[0])) for row in old.fetchall()]
    except KeyError as missing:
        raise FileError(f"Example {missing} of the older file has no vector; the file is damaged.") from None
    writing.insert_rows("examples", rows)
    for table in tables:
        db.execute(f"DROP TABLE old_{table}")
    db.execute(new["examples_by_content"])


def _from_2_to_3(db: sqlite3.Connection) -> None:
    """Add the place for the fitted classifier; there is none yet (act 0)."""
    db.execute(STATEMENTS[3]["tuned"])
    _begin_seals(db, ["tuned"])
    RecordTransaction(SQLiteDriver(db)).insert_rows("settings", [("tuned", "0")])


def _from_3_to_4(db: sqlite3.Connection) -> None:
    """Give every row the checksum that this version takes; a row that does not match its old one is damaged."""
    driver = SQLiteDriver(db)
    for table, columns in COLUMNS.items():
        rows: list[Row] = []
        for *values, crc in db.execute(f"SELECT {', '.join(columns)}, checksum FROM {table}").fetchall():
            row = tuple(values)
            new = checksum(table, row)
            # Rows that were brought up from a still older version in this transaction have the new one already.
            if tuple(map(type, row)) not in TYPES[table] or crc not in (_checksum_of_version_3(table, row), new):
                raise row_error(table, row)
            rows.append((*row, new))
        seal = driver.seal(table)
        if seal is None or seal[0] != len(rows):
            raise seal_error(table)
        driver.update(table, rows)
        driver.set_seal(table, len(rows), sum(row[-1] for row in rows) % MODULUS)


def _checksum_of_version_3(table: str, row: Row) -> int:
    """Return the checksum that rows had up to version 3: of what ``repr`` writes, which changes with Python's list of
    printable characters."""
    return zlib.crc32(repr((table, *row)).encode("utf-8", "backslashreplace"))


def _begin_seals(db: sqlite3.Connection, tables: Iterable[str]) -> None:
    db.executemany("INSERT INTO seals VALUES (?, 0, 0)", [(table,) for table in tables])


_STEPS: dict[int, Callable[[sqlite3.Connection], None]] = {
    1: _from_1_to_2,
    2: _from_2_to_3,
    3: _from_3_to_4,
}


def _plain(statement: str) -> str:
    """A CREATE statement without the quotes and spacing that a rename may have put in."""
    return " ".join(statement.replace('"', "").replace("(", " ( ").split())


def _short(name: object) -> str:
    return repr(str(name)[:60])[1:-1]
