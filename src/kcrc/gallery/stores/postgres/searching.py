"""Nearest neighbours on the server: coordinates of the examples in a pgvector column, a table per way to prepare them.

A classifier searches vectors that were scaled or whitened as it was tuned, so they are kept as it prepares them, in
single precision. They are derived from the examples and never replace them: candidates are measured again with the
stored vectors. A table holds all examples with ids up to one, removed examples included, since they may come back; the
later examples are read in addition. A table that does not fit is made again (``driver.fits``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from psycopg.sql import SQL, Identifier, Literal

from kcrc._base.arrays import Array
from kcrc.errors import FileError
from kcrc.gallery.contract import ExampleRecord
from kcrc.gallery.stores.postgres.connections import Connection
from kcrc.gallery.stores.postgres.driver import PostgresDriver, drop_derived, fits
from kcrc.gallery.stores.postgres.schema import DERIVED
from kcrc.gallery.stores.records import RecordSnapshot

WIDEST = 16_000  # numbers in a vector of pgvector
WIDEST_GRAPH = 2000  # numbers in one that its graph takes
FEWEST_LOOKED_AT, MOST_LOOKED_AT = 400, 1000  # candidates that hnsw.ef_search names: 100 found 93 % where 400 found 99
_IN_ROW = 1900  # numbers that fit into a page of the server, beside the rest of a row
_AT_ONCE = 5000  # examples
_GRAPH = "_graph"
_COPY_HEAD = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_COPY_END = struct.pack(">h", -1)


def extension(db: Connection) -> str | None:
    """The schema that pgvector is in; None where the database has none."""
    query = (
        "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
    )
    found = db.execute(query).fetchone()
    return None if found is None else str(found[0])


class ServerCoordinates:
    """The coordinates under one mark, which stands for how they are prepared, in one state of the gallery."""

    def __init__(self, reading: RecordSnapshot, mark: str) -> None:
        driver = reading.driver
        assert isinstance(driver, PostgresDriver)
        self._reading, self._driver, self._db = reading, driver, driver.db
        self._name = f"{DERIVED}{mark}"
        self.table = self._driver.name(self._name)
        self.graph = self._driver.name(f"{DERIVED}{mark}{_GRAPH}")
        self._pgvector = extension(self._db)

    def upto(self) -> int:
        """All examples with smaller ids have coordinates."""
        if self._db.execute("SELECT to_regclass(%s)", (self.table.as_string(),)).fetchone() == (None,):
            return 0
        found: Any = self._db.execute(SQL("SELECT max(id) FROM {}").format(self.table)).fetchone()
        return 0 if found[0] is None else int(found[0]) + 1

    def are_whole(self) -> bool:
        """Whether there are coordinates, of all examples that they should be of."""
        return self.upto() > 0 and fits(self._driver, self._name)

    def has_graph(self) -> bool:
        """Whether there is an HNSW graph over them."""
        return self._db.execute("SELECT to_regclass(%s)", (self.graph.as_string(),)).fetchone() != (None,)

    def nearest(self, query: Array, count: int, *, graph: bool = False) -> tuple[Array, Array]:
        """The ids of ``count`` examples (or all) nearest to a query (d,) by what the server measures in single
        precision, and how far each is, nearest first; by the ``graph``, most of them, and fewer where it ends."""
        assert self._pgvector is not None
        # Both ways are said: a server may plan either, and its graph gives 40 rows unless it is told to look at more.
        looked_at = min(MOST_LOOKED_AT, max(2 * count, FEWEST_LOOKED_AT))
        self._db.execute(
            f"SET LOCAL enable_indexscan = {'on' if graph else 'off'}; SET LOCAL enable_seqscan = "
            f"{'off' if graph else 'on'}; SET LOCAL hnsw.ef_search = {looked_at}; "
            "SET LOCAL hnsw.iterative_scan = strict_order"
        )
        distance = SQL("place OPERATOR({}.<->) {}").format(Identifier(self._pgvector), self._vector(query))
        asked = SQL("SELECT id, {} AS far FROM {} ORDER BY far LIMIT {}").format(distance, self.table, Literal(count))
        found: list[Any] = self._db.execute(asked, binary=True).fetchall()
        return np.array([row[0] for row in found], np.int64), np.array([row[1] for row in found], np.float64)

    def longest(self, count: int) -> tuple[Array, float]:
        """The ids of the ``count`` longest coordinates, and how long the longest are."""
        assert self._pgvector is not None
        length = SQL("{}(place)").format(Identifier(self._pgvector, "vector_norm"))
        asked = SQL("SELECT id, {} AS length FROM {} ORDER BY length DESC, id LIMIT {}")
        found: list[Any] = self._db.execute(asked.format(length, self.table, Literal(count))).fetchall()
        return np.array([row[0] for row in found], np.int64), float(found[0][1])

    def _vector(self, query: Array) -> Any:
        assert self._pgvector is not None
        numbers = ",".join(map(repr, query.astype(np.float32).tolist()))
        return SQL("{}::{}").format(Literal(f"[{numbers}]"), Identifier(self._pgvector, "vector"))

    def from_id(self, first: int) -> list[ExampleRecord]:
        """The examples from an id on, removed ones included."""
        query = SQL("SELECT id FROM {} WHERE id >= %s").format(self._driver.name("examples"))
        ids = [example for (example,) in self._db.execute(query, (first,))]
        return sorted(self._reading.find(ExampleRecord, id=ids))

    def counts(self, before: int) -> tuple[int, int]:
        """How many examples are in, with ids below ``before`` and from there on."""
        asked = SQL("SELECT count(*) FILTER (WHERE id < %s), count(*) FILTER (WHERE id >= %s) FROM {} WHERE {}")
        query = asked.format(self._driver.name("examples"), SQL("removed_by IS NULL"))
        found: Any = self._db.execute(query, (before, before)).fetchone()
        return int(found[0]), int(found[1])

    def labels(self) -> set[str]:
        """The classes of the examples that are in. The rows are not compared with their checksums: those that decide
        something are."""
        asked = SQL("SELECT DISTINCT label FROM {} WHERE removed_by IS NULL").format(self._driver.name("examples"))
        return {str(label) for (label,) in self._db.execute(asked)}


def extend(
    driver: PostgresDriver, mark: str, width: int, prepare: Callable[[Array], Array], *, graph: bool = False
) -> None:
    """Give the examples that have none yet coordinates, ``prepare`` of their vectors (n, dim), in the caller's
    transaction, and drop those of other marks: an undo that goes back to one makes them again. ``graph``: with an HNSW
    graph over them, which follows them from then on."""
    if extension(driver.db) is None:
        driver.db.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    reading = RecordSnapshot(driver)
    known = ServerCoordinates(reading, mark)
    drop_derived(driver, but=f"{DERIVED}{mark}" if known.are_whole() else "")
    first = known.upto()
    if first == 0:
        _create(driver, known.table, width)
    records = known.from_id(first)
    for start in range(0, len(records), _AT_ONCE):
        some = records[start : start + _AT_ONCE]
        _copy_in(driver, known.table, np.array([one.id for one in some]), prepare(reading.vectors(some)), width)
    if graph and width <= WIDEST_GRAPH and not known.has_graph():
        pgvector = extension(driver.db)
        assert pgvector is not None
        made = SQL("CREATE INDEX {} ON {} USING hnsw (place {})")
        name, by = Identifier(f"{DERIVED}{mark}{_GRAPH}"), Identifier(pgvector, "vector_l2_ops")
        driver.db.execute(made.format(name, known.table, by))


def _create(driver: PostgresDriver, name: Identifier, width: int) -> None:
    pgvector = extension(driver.db)
    if pgvector is None:
        raise FileError("pgvector is not where it was put.")
    kind = SQL("{}({})").format(Identifier(pgvector, "vector"), Literal(width))
    made = SQL("CREATE TABLE IF NOT EXISTS {} (id bigint PRIMARY KEY, place {} NOT NULL)")
    driver.db.execute(made.format(name, kind))
    driver.db.execute(SQL("ALTER TABLE {} ALTER COLUMN place SET STATISTICS 0").format(name))
    if width <= _IN_ROW:
        driver.db.execute(SQL("ALTER TABLE {} ALTER COLUMN place SET STORAGE PLAIN").format(name))


def _copy_in(driver: PostgresDriver, name: Identifier, ids: Array, places: Array, width: int) -> None:
    """As the server's own bytes: text would take three times as long as all the rest."""
    single = np.ascontiguousarray(places, np.float32)
    if single.shape != (len(ids), width) or not np.isfinite(single).all():
        raise FileError("The coordinates of some examples are no numbers in single precision.")
    head: list[Any] = [("fields", ">i2"), ("id_bytes", ">i4"), ("id", ">i8"), ("place_bytes", ">i4")]
    rows = np.zeros(len(ids), [*head, ("width", ">i2"), ("unused", ">i2"), ("place", ">f4", (width,))])
    rows["fields"], rows["id_bytes"], rows["id"] = 2, 8, ids
    rows["place_bytes"], rows["width"], rows["place"] = 4 + 4 * width, width, single
    query = SQL("COPY {} (id, place) FROM STDIN (FORMAT BINARY)").format(name)
    with driver.db.cursor() as cursor, cursor.copy(query) as stream:
        stream.write(_COPY_HEAD + rows.tobytes() + _COPY_END)
