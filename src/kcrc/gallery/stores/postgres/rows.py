"""Rows with checksums in the tables of a server (``row_sums.py`` says what they are), written many at a time.

A value that is too long to be one is not fetched: the row then counts as damaged.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from psycopg.sql import SQL, Composable, Composed, Identifier, Literal

from kcrc.errors import FileError
from kcrc.gallery.stores.postgres import schema
from kcrc.gallery.stores.postgres.connections import Connection
from kcrc.gallery.stores.postgres.schema import DERIVED
from kcrc.gallery.stores.row_sums import (
    COLUMNS,
    MODULUS,
    TYPES,
    Row,
    checksum,
    key_of,
    row_error,
    seal_error,
)

_LONGEST = {"text": 4_000_000, "bytea": 256 * 1024 * 1024}  # bytes of a value
_FETCHED = 2000  # rows at a time
_COPY_TYPES = {"bigint": "int8", "text": "text", "bytea": "bytea"}
_EVERYTHING = SQL("")
_numbers = itertools.count()  # of cursors


class Tables:
    """The checked tables of one schema, in a transaction of ``db``."""

    def __init__(self, db: Connection, name: str) -> None:
        self.db, self.schema = db, name

    def name(self, table: str) -> Identifier:
        return schema.table(self.schema, table)

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        """Add rows to a table and to its seal."""
        sums = [checksum(table, row) for row in rows]
        self.copy_in(table, ((*row, total) for row, total in zip(rows, sums, strict=True)))
        self._reseal(table, len(rows), sum(sums))

    def copy_in(self, table: str, rows: Iterator[Row]) -> None:
        """Write rows as they come, in one stream."""
        kinds = [kind for kind, _ in schema.TABLES[table][0].values()]
        query = SQL("COPY {} FROM STDIN (FORMAT BINARY)").format(self.name(table))
        with self.db.cursor() as cursor, cursor.copy(query) as stream:
            stream.set_types([_COPY_TYPES[kind] for kind in kinds])
            for row in rows:
                stream.write_row(row)

    def replace(self, table: str, old: Sequence[Row], new: Sequence[Row]) -> None:
        """Write ``new`` over ``old``, pairs of rows of the same key, and move the seal by the difference."""
        columns, keys = (*COLUMNS[table], "checksum"), key_of(table)
        sums = [checksum(table, row) for row in new]
        setting = [SQL("{0} = given.{0}").format(Identifier(c)) for c in columns if c not in keys]
        query = SQL("UPDATE {} AS kept SET {} FROM {} WHERE {}").format(
            self.name(table), SQL(", ").join(setting), self._value_lists(table, columns), _same(keys)
        )
        rows = [(*row, total) for row, total in zip(new, sums, strict=True)]
        self._execute_for_all(table, query, rows)
        self._reseal(table, 0, sum(sums) - sum(checksum(table, row) for row in old))

    def delete(self, table: str, rows: Sequence[Row]) -> None:
        """Take rows out of a table and out of its seal."""
        self.drop(table, [row[: len(key_of(table))] for row in rows])
        self._reseal(table, -len(rows), -sum(checksum(table, row) for row in rows))

    def drop(self, table: str, keys: Sequence[Row]) -> None:
        """Take rows out by their keys."""
        columns = list(schema.TABLES[table][0])[: schema.TABLES[table][1]]
        query = SQL("DELETE FROM {} AS kept USING {} WHERE {}").format(
            self.name(table), self._value_lists(table, columns), _same(columns)
        )
        self._execute_for_all(table, query, keys)

    def _value_lists(self, table: str, columns: Sequence[str]) -> Composed:
        """A table of what is given: a list for each column."""
        kinds = schema.TABLES[table][0]
        lists = [SQL("%s::{}[]").format(SQL(kinds[column][0])) for column in columns]
        named = SQL(", ").join(map(Identifier, columns))
        return SQL("unnest({}) AS given({})").format(SQL(", ").join(lists), named)

    def _execute_for_all(self, table: str, query: Composed, rows: Sequence[Row]) -> None:
        done = self.db.execute(query, [list(column) for column in zip(*rows, strict=True)])
        if table not in ("vectors", "thumbnails") and done.rowcount != len(rows):
            raise seal_error(table)

    def select(
        self, table: str, where: Composable = _EVERYTHING, values: Sequence[Any] = (), *, descending: bool = False
    ) -> Iterator[Row]:
        """The rows by rising key, or ``descending``, each compared with its checksum as it is read."""
        order = SQL(", ").join(
            SQL("{} DESC" if descending else "{}").format(Identifier(column)) for column in key_of(table)
        )
        columns = SQL(", ").join(_limit_length(column, kind) for column, (kind, _) in schema.TABLES[table][0].items())
        query = SQL("SELECT {} FROM {} {} ORDER BY {}").format(columns, self.name(table), where, order)
        for *found, given in self._fetch(query, values):
            row = tuple(found)
            if tuple(map(type, row)) not in TYPES[table] or checksum(table, row) != given:
                raise row_error(table, row)
            yield row

    def _fetch(self, query: Composed, values: Sequence[Any]) -> Iterator[Row]:
        """Rows some at a time, by a cursor of the server's, which ends with the transaction: others may be asked for
        in between, and not all have to be taken."""
        name = Identifier(f"kcrc_{next(_numbers)}")
        self.db.execute(SQL("DECLARE {} NO SCROLL CURSOR FOR {}").format(name, query), values)
        fetch = SQL("FETCH {} FROM {}").format(Literal(_FETCHED), name)
        while True:
            rows = self.db.execute(fetch, binary=True).fetchall()
            yield from rows
            if len(rows) < _FETCHED:
                self.db.execute(SQL("CLOSE {}").format(name))
                return

    def select_all(self, table: str) -> list[Row]:
        """All rows by rising key, compared with their checksums and with the table's seal."""
        rows = list(self.select(table))
        if self.seal(table) != (len(rows), sum(checksum(table, row) for row in rows) % MODULUS):
            raise seal_error(table)
        return rows

    def seal(self, table: str) -> tuple[int, int]:
        """(rows, sum of checksums) as last written."""
        query = SQL("SELECT row_count, total FROM {} WHERE name = %s").format(self.name("seals"))
        found: Any = self.db.execute(query, (table,)).fetchone()
        if found is None:
            raise FileError(f"The seal of the table '{table}' is missing; the file is damaged.")
        return int(found[0]), int(found[1])

    def _reseal(self, table: str, rows: int, total: int) -> None:
        had_rows, had_total = self.seal(table)
        query = SQL("UPDATE {} SET row_count = %s, total = %s WHERE name = %s").format(self.name("seals"))
        self.db.execute(query, (had_rows + rows, (had_total + total) % MODULUS, table))


def _same(keys: Sequence[str]) -> Composed:
    return SQL(" AND ").join(SQL("kept.{0} = given.{0}").format(Identifier(key)) for key in keys)


def _limit_length(column: str, kind: str) -> Composable:
    """A column, NULL in place of a value that is too long to be one."""
    most = _LONGEST.get(kind)
    if most is None:
        return Identifier(column)
    return SQL("CASE WHEN octet_length({0}) <= {1} THEN {0} END").format(Identifier(column), Literal(most))


# Tables that were made from the examples and can be made anew: which there are, whether they fit, and dropping them.
#
# They hold one row for each example up to an id. Nobody signs for that, so whoever uses one looks first whether others
# took rows out or put some in.

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
