"""The tables of a gallery on a server: the ``Driver`` of ``kcrc.gallery.stores.records``, with many rows per query.

A value that is too long to be one is not fetched: the row then counts as damaged.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from psycopg.sql import SQL, Composable, Composed, Identifier, Literal

from kcrc.gallery.stores.postgres import schema
from kcrc.gallery.stores.postgres.connections import Connection
from kcrc.gallery.stores.postgres.schema import DERIVED
from kcrc.gallery.stores.records import COLUMNS, Row, key_of, seal_error

_LONGEST = {"text": 4_000_000, "bytea": 256 * 1024 * 1024}  # bytes of a value
_FETCHED = 2000  # rows at a time
_COPY_TYPES = {"bigint": "int8", "text": "text", "bytea": "bytea"}
_numbers = itertools.count()  # of cursors


class PostgresDriver:
    """The tables of one schema, in a transaction of ``db``."""

    values_at_once = 5000

    def __init__(self, db: Connection, name: str) -> None:
        self.db, self.schema = db, name

    def name(self, table: str) -> Identifier:
        return schema.table(self.schema, table)

    def select(
        self, table: str, where: Mapping[str, Any], among: tuple[str, Sequence[Any]] | None, *, descending: bool
    ) -> Iterator[Row]:
        conditions = [
            SQL("{} IS NULL" if value is None else "{} = %s").format(Identifier(c)) for c, value in where.items()
        ]
        values = [value for value in where.values() if value is not None]
        if among is not None:
            conditions.append(SQL("{} = ANY(%s)").format(Identifier(among[0])))
            values.append(list(among[1]))
        clause = SQL("WHERE {}").format(SQL(" AND ").join(conditions)) if conditions else SQL("")
        order = SQL(", ").join(
            SQL("{} DESC" if descending else "{}").format(Identifier(column)) for column in key_of(table)
        )
        columns = SQL(", ").join(_limit_length(column, kind) for column, (kind, _) in schema.TABLES[table][0].items())
        query = SQL("SELECT {} FROM {} {} ORDER BY {}").format(columns, self.name(table), clause, order)
        return self._fetch(query, values)

    def _fetch(self, query: Composed, values: Sequence[Any]) -> Iterator[Row]:
        """Yield rows by a cursor of the server, which ends with the transaction: other queries may come in between,
        and not all rows have to be taken."""
        name = Identifier(f"kcrc_{next(_numbers)}")
        self.db.execute(SQL("DECLARE {} NO SCROLL CURSOR FOR {}").format(name, query), values)
        fetch = SQL("FETCH {} FROM {}").format(Literal(_FETCHED), name)
        while True:
            rows = self.db.execute(fetch, binary=True).fetchall()
            yield from rows
            if len(rows) < _FETCHED:
                self.db.execute(SQL("CLOSE {}").format(name))
                return

    def keys(self, table: str) -> Iterable[Row]:
        columns = SQL(", ").join(map(Identifier, key_of(table)))
        return self.db.execute(SQL("SELECT {} FROM {}").format(columns, self.name(table)))

    def insert(self, table: str, rows: Iterable[Row]) -> None:
        """Write rows as they come, in one stream."""
        kinds = [kind for kind, _ in schema.TABLES[table][0].values()]
        query = SQL("COPY {} FROM STDIN (FORMAT BINARY)").format(self.name(table))
        with self.db.cursor() as cursor, cursor.copy(query) as stream:
            stream.set_types([_COPY_TYPES[kind] for kind in kinds])
            for row in rows:
                stream.write_row(row)

    def update(self, table: str, rows: Sequence[Row]) -> None:
        columns, keys = (*COLUMNS[table], "checksum"), key_of(table)
        setting = [SQL("{0} = given.{0}").format(Identifier(column)) for column in columns if column not in keys]
        query = SQL("UPDATE {} AS kept SET {} FROM {} WHERE {}").format(
            self.name(table), SQL(", ").join(setting), self._value_lists(table, columns), _same(keys)
        )
        self._execute_for_all(table, query, rows)

    def delete(self, table: str, keys: Sequence[Row]) -> None:
        columns = key_of(table)
        query = SQL("DELETE FROM {} AS kept USING {} WHERE {}").format(
            self.name(table), self._value_lists(table, columns), _same(columns)
        )
        self._execute_for_all(table, query, keys)

    def _value_lists(self, table: str, columns: Sequence[str]) -> Composed:
        """Return a table of values to fill in: a list for each column."""
        kinds = schema.TABLES[table][0]
        lists = [SQL("%s::{}[]").format(SQL(kinds[column][0])) for column in columns]
        named = SQL(", ").join(map(Identifier, columns))
        return SQL("unnest({}) AS given({})").format(SQL(", ").join(lists), named)

    def _execute_for_all(self, table: str, query: Composed, rows: Sequence[Row]) -> None:
        done = self.db.execute(query, [list(column) for column in zip(*rows, strict=True)])
        if table in COLUMNS and done.rowcount != len(rows):
            raise seal_error(table)

    def blobs(self, table: str, ids: Sequence[int], longest: int) -> Sequence[tuple[int, bytes | None]]:
        columns = SQL("id, CASE WHEN octet_length(data) <= %s THEN data END")
        query = SQL("SELECT {} FROM {} WHERE id = ANY(%s) ORDER BY id").format(columns, self.name(table))
        rows: list[Any] = self.db.execute(query, (longest, list(ids)), binary=True).fetchall()
        return rows

    def seal(self, table: str) -> tuple[int, int] | None:
        query = SQL("SELECT row_count, total FROM {} WHERE name = %s").format(self.name("seals"))
        seal: Any = self.db.execute(query, (table,)).fetchone()
        return None if seal is None else (int(seal[0]), int(seal[1]))

    def set_seal(self, table: str, rows: int, total: int) -> None:
        query = SQL("UPDATE {} SET row_count = %s, total = %s WHERE name = %s").format(self.name("seals"))
        self.db.execute(query, (rows, total, table))

    def room(self, table: str) -> int | None:
        if table != "vectors":
            return None
        size = SQL("SELECT pg_total_relation_size(%s::regclass)")
        (room,) = self.db.execute(size, (self.name(table).as_string(),)).fetchone() or (0,)
        return int(str(room))

    def damage(self) -> list[str]:
        return misfits(self)


def _same(keys: Sequence[str]) -> Composed:
    return SQL(" AND ").join(SQL("kept.{0} = given.{0}").format(Identifier(key)) for key in keys)


def _limit_length(column: str, kind: str) -> Composable:
    """Return a column, with NULL in place of a value that is too long to be one."""
    most = _LONGEST.get(kind)
    if most is None:
        return Identifier(column)
    return SQL("CASE WHEN octet_length({0}) <= {1} THEN {0} END").format(Identifier(column), Literal(most))


# Tables derived from the examples, which can be made again: which there are, whether they fit, and dropping them.
#
# They hold one row for each example up to an id. No seal says so, so they are compared with the examples before use.

_NAMES = (
    "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s "
    "AND c.relkind = 'r' AND starts_with(c.relname, %s) AND (%s OR has_table_privilege(c.oid, 'SELECT')) ORDER BY 1"
)
_MISFITS = SQL(
    "SELECT EXISTS (SELECT 1 FROM {examples} e FULL JOIN {derived} d ON d.id = e.id "
    "WHERE e.id IS NULL OR (d.id IS NULL AND e.id < (SELECT max(id) FROM {derived})))"
)


def fits(driver: PostgresDriver, name: str) -> bool:
    """Return whether a table has the ids of all examples up to its last, and no others: one query."""
    query = _MISFITS.format(examples=driver.name("examples"), derived=driver.name(name))
    return driver.db.execute(query).fetchone() == (False,)


def misfits(driver: PostgresDriver) -> list[str]:
    """Return a sentence for each table that does not fit, of those that may be read."""
    names = [str(name) for (name,) in driver.db.execute(_NAMES, (driver.schema, DERIVED, False)).fetchall()]
    return [
        f"The table '{name}' lacks coordinates of some examples, or has those of others. The examples are not touched "
        "by that: the next search on the server by a program that may write makes it again."
        for name in names
        if not fits(driver, name)
    ]


def drop_derived(driver: PostgresDriver, *, but: str = "") -> None:
    """Drop what was derived from the examples, ``but`` one table."""
    for (name,) in driver.db.execute(_NAMES, (driver.schema, DERIVED, True)).fetchall():
        if name != but:
            driver.db.execute(SQL("DROP TABLE {}").format(driver.name(str(name))))
