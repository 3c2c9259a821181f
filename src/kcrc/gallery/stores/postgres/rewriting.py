"""Tables written anew, so that nothing is left in their files of what was taken out.

Deleting rows is not enough: the server keeps them in its files until it cleans up. So in the transaction that takes
them out, what is left is set aside, every table is emptied (which gives it a new file), and filled again; the old files
go when it is kept, and a kill leaves the gallery from before or the one after. The server's log of changes (WAL), its
replicas and its backups are not the gallery's, and keep what they keep: docs/postgres.md.
"""

from __future__ import annotations

from psycopg.sql import SQL, Identifier

from kcrc.gallery.stores.postgres import schema
from kcrc.gallery.stores.postgres.rows import Tables, drop_derived

_ASIDE = Identifier("pg_temp", "kcrc_kept")


def rewrite(tables: Tables) -> None:
    """Give every table with something of the examples in it a new file, in the caller's transaction."""
    tables.db.execute("CLOSE ALL")  # what was read in part holds its table
    drop_derived(tables)
    for name in schema.TABLES:
        if name in ("about", "writers"):
            continue
        for step in (
            "CREATE TEMPORARY TABLE {aside} ON COMMIT DROP AS SELECT * FROM {table}",
            "TRUNCATE {table}",
            "INSERT INTO {table} SELECT * FROM {aside}",
            "DROP TABLE {aside}",
        ):
            tables.db.execute(SQL(step).format(aside=_ASIDE, table=tables.name(name)))
