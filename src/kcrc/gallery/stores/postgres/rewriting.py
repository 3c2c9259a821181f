"""Rewrite tables, so that nothing of deleted rows is left in their files.

Deleting rows is not enough: the server keeps them in its files until it cleans up. So in the transaction that deletes
them, the other rows are copied aside, every table is truncated (which gives it a new file) and filled again. The old
files go with the commit; a kill leaves the gallery from before or the one after. The server's log of changes (WAL), its
replicas and its backups are not the gallery's, and keep what they keep: docs/postgres.md.
"""

from __future__ import annotations

from psycopg.sql import SQL, Identifier

from kcrc.gallery.stores.postgres import schema
from kcrc.gallery.stores.postgres.driver import PostgresDriver, drop_derived

_ASIDE = Identifier("pg_temp", "kcrc_kept")


def rewrite(driver: PostgresDriver) -> None:
    """Give every table with something of the examples in it a new file, in the caller's transaction."""
    driver.db.execute("CLOSE ALL")  # what was read in part holds its table
    drop_derived(driver)
    for name in schema.TABLES:
        if name in ("about", "writers"):
            continue
        for step in (
            "CREATE TEMPORARY TABLE {aside} ON COMMIT DROP AS SELECT * FROM {table}",
            "TRUNCATE {table}",
            "INSERT INTO {table} SELECT * FROM {aside}",
            "DROP TABLE {aside}",
        ):
            driver.db.execute(SQL(step).format(aside=_ASIDE, table=driver.name(name)))
