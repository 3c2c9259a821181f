"""The tables of a gallery on a server, the version of them, and the audit of what a schema holds.

::

    about          the version of the tables and the mark of this gallery: one row, locked by the writer
    writers        the latest turn of every writer, by which one that lost its connection learns whether it was kept
    settings, feature_state, examples, history, changes, tuned
                   as in a file (docs/formats.md): rows with checksums
    vectors        the example's feature vector, raw little-endian numbers
    thumbnails     a small picture of it
    seals          for each checked table: how many rows and the sum of their checksums

Columns are kept out of the server's statistics, which would hold values after they were erased.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from psycopg.sql import SQL, Composed, Identifier

from kcrc.errors import FileError
from kcrc.gallery.stores.postgres.address import Address
from kcrc.gallery.stores.postgres.connections import Connection
from kcrc.gallery.stores.records import COLUMNS

VERSION = 1
_INT, _TEXT, _BYTES = "bigint", "text", "bytea"

# table: {column: (type, may be NULL)}, the first columns that are its key
_CHECKSUM = {"checksum": (_INT, False)}
TABLES: dict[str, tuple[dict[str, tuple[str, bool]], int]] = {
    "about": ({"version": (_INT, False), "mark": (_TEXT, False)}, 1),
    "writers": ({"writer": (_TEXT, False), "turn": (_INT, False), "at": (_INT, False)}, 1),
    "settings": ({"key": (_TEXT, False), "value": (_TEXT, False), **_CHECKSUM}, 1),
    "feature_state": ({"name": (_TEXT, False), "data": (_BYTES, False), **_CHECKSUM}, 1),
    "examples": (
        {
            "id": (_INT, False),
            "label": (_TEXT, False),
            "source": (_TEXT, False),
            "content": (_BYTES, False),
            "added_at": (_INT, False),
            "added_by": (_INT, False),
            "removed_by": (_INT, True),
            "vector_crc": (_INT, False),
            "thumbnail_crc": (_INT, True),
            **_CHECKSUM,
        },
        1,
    ),
    "history": (
        {
            "id": (_INT, False),
            "at": (_INT, False),
            "action": (_TEXT, False),
            "summary": (_TEXT, False),
            "detail": (_TEXT, False),
            "undone_by": (_INT, True),
            **_CHECKSUM,
        },
        1,
    ),
    "changes": ({"act": (_INT, False), "example": (_INT, False), "before": (_TEXT, False), **_CHECKSUM}, 2),
    "tuned": ({"act": (_INT, False), "name": (_TEXT, False), "data": (_BYTES, False), **_CHECKSUM}, 2),
    "vectors": ({"id": (_INT, False), "data": (_BYTES, False)}, 1),
    "thumbnails": ({"id": (_INT, False), "data": (_BYTES, False)}, 1),
    "seals": ({"name": (_TEXT, False), "row_count": (_INT, False), "total": (_INT, False)}, 1),
}
STEPS: dict[int, Callable[[Connection, str], None]] = {}
"""What brings the schema of a version to the next; there has been one version so far."""
DERIVED = "coordinates_"  # how the tables begin that are made from the others (``searching.py``)
_BY_CONTENT = "examples_by_content"


def table(address: Address | str, name: str) -> Identifier:
    """A table by its whole name."""
    return Identifier(address if isinstance(address, str) else address.schema, name)


def create(db: Connection, schema: str) -> str:
    """Make a schema with the tables of this version (inside the caller's transaction); the mark of it."""
    db.execute(SQL("CREATE SCHEMA {}").format(Identifier(schema)))
    for name, (columns, key_width) in TABLES.items():
        db.execute(_creation(schema, name, columns, key_width))
        for column, (kind, _) in columns.items():
            quiet = SQL("ALTER TABLE {} ALTER COLUMN {} SET STATISTICS 0")
            db.execute(quiet.format(table(schema, name), Identifier(column)))
            if kind == _BYTES:  # numbers and pictures do not compress
                plain = SQL("ALTER TABLE {} ALTER COLUMN {} SET STORAGE EXTERNAL")
                db.execute(plain.format(table(schema, name), Identifier(column)))
    by_content = SQL("CREATE INDEX {} ON {} (content)")
    db.execute(by_content.format(Identifier(_BY_CONTENT), table(schema, "examples")))
    seals = SQL("INSERT INTO {} VALUES (%s, 0, 0)").format(table(schema, "seals"))
    for name in COLUMNS:
        db.execute(seals, (name,))
    about = SQL("INSERT INTO {} VALUES (%s, %s)").format(table(schema, "about"))
    mark = secrets.token_hex(16)
    db.execute(about, (VERSION, mark))
    return mark


def _creation(schema: str, name: str, columns: dict[str, tuple[str, bool]], key_width: int) -> Composed:
    parts = [
        SQL("{} {}{}{}").format(
            Identifier(column),
            SQL(kind),
            SQL(' COLLATE "C"' if kind == _TEXT else ""),
            SQL("" if nullable else " NOT NULL"),
        )
        for column, (kind, nullable) in columns.items()
    ]
    key = SQL(", ").join(map(Identifier, list(columns)[:key_width]))
    return SQL("CREATE TABLE {} ({}, PRIMARY KEY ({}))").format(table(schema, name), SQL(", ").join(parts), key)


def is_there(db: Connection, schema: str) -> bool:
    """Whether a schema of that name is there, whatever is in it."""
    return db.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone() is not None


def audit(db: Connection, address: Address) -> tuple[int, str]:
    """Return the version and the mark of a gallery, after making sure that its schema holds nothing but what a gallery
    does (``_NOT_ALLOWED``). Whatever else somebody put in could run inside our own statements, with our rights: such a
    schema is refused, and nothing is read from it before."""
    where = {"schema": address.schema}
    for query, what in _NOT_ALLOWED:
        found = db.execute(query, where).fetchone()
        if found is not None:
            raise _foreign(address, what, found[0])
    present = {str(name) for (name,) in db.execute(_NAMES, where) if not str(name).startswith(DERIVED)}
    if "about" not in present:
        raise FileError(f"'{address}' is not a kcrc gallery: it is some other schema of the database.")
    version, mark = about(db, address)
    if present - TABLES.keys():
        raise _foreign(address, "table", min(present - TABLES.keys()))
    if TABLES.keys() - present:
        raise FileError(f"'{address}' lacks the table '{min(TABLES.keys() - present)}'; it is damaged.")
    for name, (columns, _) in TABLES.items():
        rows = db.execute(_ATTRIBUTES, {**where, "table": name}).fetchall()
        wanted = {column: (kind, not nullable) for column, (kind, nullable) in columns.items()}
        if {str(column): (kind, filled) for column, kind, filled in rows} != wanted:
            raise FileError(f"The table '{name}' of '{address}' has other columns than a gallery's; it is damaged.")
    odd = db.execute(_ODD_COORDINATES, {**where, "begins": DERIVED}).fetchone()
    if odd is not None:
        raise _foreign(address, "table", odd[0])
    return version, mark


def about(db: Connection, address: Address) -> tuple[int, str]:
    """The version and the mark of a gallery; an error where the version is not ours."""
    rows = db.execute(SQL("SELECT version, mark FROM {} LIMIT 2").format(table(address, "about"))).fetchall()
    if len(rows) != 1:
        raise FileError(f"'{address}' does not say what version it has; it is damaged.")
    version, mark = int(str(rows[0][0])), str(rows[0][1])
    if version > VERSION:
        raise FileError(
            f"'{address}' was written by a newer kcrc (version {version}, this one reads up to {VERSION}). "
            "Upgrade kcrc to open it."
        )
    if version < 1:
        raise FileError(f"'{address}' has the unknown version {version}; it is damaged.")
    return version, mark


def migrate(db: Connection, address: Address) -> None:
    """Bring a gallery to this version, step by step, in one transaction; other programs wait for its end."""
    with db.transaction():
        db.execute(SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(table(address, "about")))
        version, _ = about(db, address)  # another program may have done it
        for step in range(version, VERSION):
            STEPS[step](db, address.schema)
        db.execute(SQL("UPDATE {} SET version = %s").format(table(address, "about")), (VERSION,))


_IN_SCHEMA = "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %(schema)s"
_NAMES = f"SELECT c.relname {_IN_SCHEMA} AND c.relkind = 'r'"
_ATTRIBUTES = (
    "SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull "
    "FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = %(schema)s AND c.relname = %(table)s AND a.attnum > 0 AND NOT a.attisdropped"
)
# A type that somebody made brings casts along, which are functions: only numbers, and vectors of pgvector itself.
_ODD_COORDINATES = (
    "SELECT c.relname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %(schema)s AND c.relkind = 'r' "
    "AND starts_with(c.relname, %(begins)s) AND a.attnum > 0 AND NOT a.attisdropped "
    "AND NOT (a.attname = 'id' AND a.atttypid = 'bigint'::regtype) AND NOT (a.attname = 'place' AND EXISTS ("
    "SELECT 1 FROM pg_type t JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = t.oid "
    "AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass JOIN pg_extension e ON e.oid = d.refobjid "
    "WHERE t.oid = a.atttypid AND t.typname = 'vector' AND e.extname = 'vector')) LIMIT 1"
)
# What a schema may hold: plain tables, their row types and keys, and indexes over columns by operator classes of the
# server itself or of pgvector. All else may run functions of somebody else with our rights: triggers, rules, defaults,
# policies, statistics over expressions, operators, functions. ``audit`` refuses whatever is not on this list, also
# kinds of objects that a later version of the server adds. Publications and default privileges run nothing of ours.
_OF_VECTOR = (
    "EXISTS (SELECT 1 FROM pg_depend v JOIN pg_extension e ON v.refobjid = e.oid "
    "WHERE v.refclassid = 'pg_extension'::regclass AND v.deptype = 'e' AND e.extname = 'vector' "
    "AND v.classid = '{}'::regclass AND v.objid = {})"
)
_NOT_ALLOWED: tuple[tuple[Any, str], ...] = (
    (
        f"SELECT c.relname {_IN_SCHEMA} AND (c.relkind NOT IN ('r', 'i') OR c.relpersistence <> 'p' "
        "OR c.relrowsecurity OR c.relispartition) LIMIT 1",
        "relation",
    ),
    (
        "SELECT pg_describe_object(d.classid, d.objid, d.objsubid) FROM pg_depend d "
        "JOIN pg_namespace n ON n.nspname = %(schema)s WHERE d.deptype <> 'e' "
        "AND d.classid::regclass::text NOT IN ('pg_class', 'pg_type', 'pg_constraint', 'pg_default_acl', "
        "'pg_publication_rel', 'pg_publication_namespace') AND ((d.refclassid = 'pg_namespace'::regclass "
        "AND d.refobjid = n.oid) OR (d.refclassid = 'pg_class'::regclass AND d.deptype <> 'n' "
        "AND d.refobjid IN (SELECT oid FROM pg_class WHERE relnamespace = n.oid))) LIMIT 1",
        "object",
    ),
    (
        "SELECT t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %(schema)s LIMIT 1",
        "trigger",
    ),
    (
        "SELECT t.typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace "
        "LEFT JOIN pg_type item ON item.oid = t.typelem WHERE n.nspname = %(schema)s "
        "AND NOT EXISTS (SELECT 1 FROM pg_class c WHERE c.oid IN (t.typrelid, item.typrelid) AND c.relkind = 'r') "
        "LIMIT 1",
        "type",
    ),
    (
        "SELECT k.conname FROM pg_constraint k JOIN pg_namespace n ON n.oid = k.connamespace "
        "WHERE n.nspname = %(schema)s AND k.contype NOT IN ('p', 'n') LIMIT 1",
        "constraint",
    ),
    (
        "SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_namespace n "
        "ON n.oid = i.relnamespace JOIN pg_am a ON a.oid = i.relam WHERE n.nspname = %(schema)s "
        "AND (x.indexprs IS NOT NULL OR x.indpred IS NOT NULL "
        f"OR NOT (a.amname = 'btree' OR {_OF_VECTOR.format('pg_am', 'a.oid')}) "
        "OR EXISTS (SELECT 1 FROM pg_opclass o JOIN pg_namespace s ON s.oid = o.opcnamespace "
        "WHERE o.oid = ANY(x.indclass) AND s.nspname <> 'pg_catalog' "
        f"AND NOT {_OF_VECTOR.format('pg_opclass', 'o.oid')})) LIMIT 1",
        "index",
    ),
    (
        "SELECT c.relname FROM pg_inherits h JOIN pg_class c ON c.oid IN (h.inhrelid, h.inhparent) "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %(schema)s AND c.relkind = 'r' LIMIT 1",
        "inheritance of",
    ),
)


def _foreign(address: Address, kind: str, name: object) -> FileError:
    return FileError(
        f"'{address}' holds a {kind} '{repr(str(name)[:60])[1:-1]}' that is not part of a kcrc gallery. "
        "Nothing was read from it; do not use a gallery from a source you do not trust."
    )
