"""Tables that were made from the examples and can be made anew: which there are, whether they fit, and dropping them.

They hold one row for each example up to an id. Nobody signs for that, so whoever uses one looks first whether others
took rows out or put some in.
"""

from __future__ import annotations

from psycopg.sql import SQL

from kcrc.gallery.stores.postgres.rows import Tables
from kcrc.gallery.stores.postgres.schema import DERIVED

_NAMES = (
    "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s "
    "AND c.relkind = 'r' AND starts_with(c.relname, %s) AND (%s OR has_table_privilege(c.oid, 'SELECT')) ORDER BY 1"
)
_MISFITS = SQL(
    "SELECT EXISTS (SELECT 1 FROM {examples} e FULL JOIN {derived} d ON d.id = e.id "
    "WHERE e.id IS NULL OR (d.id IS NULL AND e.id < (SELECT max(id) FROM {derived})))"
)


def fits(tables: Tables, name: str) -> bool:
    """Whether a table has the ids of all examples up to its last, and no others: one query."""
    query = _MISFITS.format(examples=tables.name("examples"), derived=tables.name(name))
    return tables.db.execute(query).fetchone() == (False,)


def misfits(tables: Tables) -> list[str]:
    """A sentence for each table that does not fit, of those that may be read."""
    names = [str(name) for (name,) in tables.db.execute(_NAMES, (tables.schema, DERIVED, False)).fetchall()]
    return [
        f"The table '{name}' lacks coordinates of some examples, or has those of others. The examples are not touched "
        "by that: the next that asks the server to search, and may write, makes it anew."
        for name in names
        if not fits(tables, name)
    ]


def drop_derived(tables: Tables, *, but: str = "") -> None:
    """Drop what was made from the examples, ``but`` one table."""
    for (name,) in tables.db.execute(_NAMES, (tables.schema, DERIVED, True)).fetchall():
        if name != but:
            tables.db.execute(SQL("DROP TABLE {}").format(tables.name(str(name))))
