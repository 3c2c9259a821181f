"""The records of a gallery as rows of tables, written once for every store: checksums, seals, settings, blobs.

A store brings a ``Driver``, which keeps rows and blobs in one transaction and knows nothing of what they mean.
``RecordSnapshot`` and ``RecordTransaction`` make of it the ``Snapshot`` and ``Transaction`` of the contract.

Rows can tell when they were damaged: ``checksum(row) = crc32(table, values)``, over bytes that are spelled out here, so
that every Python and every other program computes the same. The seal of a table is the number of its rows and the sum
of their checksums modulo 2^62, so that a row that is lost or doubled shows too, at a cost that grows with the rows an
act touches and not with the table. This guards against damage, not against a forger: a forged gallery is data too.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import FileError, ParameterError
from kcrc.files.archive import from_npy, to_npy
from kcrc.files.plain_files import read_json
from kcrc.gallery.contract import ActRecord, ExampleRecord, LabelRecord, R, TunedRecord
from kcrc.gallery.examples import THUMBNAIL_LIMIT
from kcrc.gallery.settings import DTYPES, TEXT_LIMIT, Settings, to_json

Row = tuple[Any, ...]

COLUMNS: dict[str, tuple[str, ...]] = {
    "settings": ("key", "value"),
    "feature_state": ("name", "data"),
    "examples": ExampleRecord._fields,
    "history": ActRecord._fields,
    "changes": LabelRecord._fields,
    "tuned": TunedRecord._fields,
}
TABLES = {ExampleRecord: "examples", ActRecord: "history", LabelRecord: "changes", TunedRecord: "tuned"}
KEY_WIDTH = {"changes": 2, "tuned": 2}  # how many of the first columns name a row; one for the others
MODULUS = 1 << 62
_BYTES_AT_ONCE = 8 * 1024 * 1024  # of vectors in one query
_BOUNDLESS = 1 << 62
_MAYBE = (int, type(None))


def _alternatives(*columns: tuple[type, ...]) -> frozenset[tuple[type, ...]]:
    return frozenset(itertools.product(*columns))


TYPES: dict[str, frozenset[tuple[type, ...]]] = {
    "settings": _alternatives((str,), (str,)),
    "feature_state": _alternatives((str,), (bytes,)),
    "examples": _alternatives((int,), (str,), (str,), (bytes,), (int,), (int,), _MAYBE, (int,), _MAYBE),
    "history": _alternatives((int,), (int,), (str,), (str,), (str,), _MAYBE),
    "changes": _alternatives((int,), (int,), (str,)),
    "tuned": _alternatives((int,), (str,), (bytes,)),
}


def key_of(table: str) -> tuple[str, ...]:
    """Return the columns that name a row of a table."""
    return COLUMNS[table][: KEY_WIDTH.get(table, 1)] if table in COLUMNS else ("id",)


def checksum(table: str, row: Row) -> int:
    """Return the crc32 of the table's name and the row's values; a value of another type counts as another value."""
    return zlib.crc32(as_bytes(table, row))


def as_bytes(table: str, row: Row) -> bytes:
    """Return each value, the table's name first, as a letter for its type, its length in bytes, and the bytes: text in
    UTF-8, whole numbers as decimal digits."""
    return b"".join(_value_as_bytes(value) for value in (table, *row))


def _value_as_bytes(value: Any) -> bytes:
    if value is None:
        return b"n0:"
    if isinstance(value, str):
        kind, data = b"t", value.encode("utf-8", "surrogatepass")
    elif isinstance(value, bytes):
        kind, data = b"b", value
    elif isinstance(value, int):
        kind, data = b"i", str(value).encode("ascii")
    else:  # a type that no table has: the row is refused for it
        kind, data = b"?", type(value).__name__.encode()
    return b"%b%d:%b" % (kind, len(data), data)


def row_error(table: str, row: Row) -> FileError:
    return FileError(f"A row of the table '{table}' is damaged (key {str(row[0])[:60]!r}).")


def seal_error(table: str) -> FileError:
    return FileError(f"The table '{table}' does not match its seal: rows were lost or changed.")


class Driver(Protocol):
    """The tables of one gallery, in one transaction.

    The rows of the tables in ``COLUMNS`` end with their checksum; those of ``vectors`` and ``thumbnails`` are
    (id, bytes)."""

    values_at_once: int
    """How many values ``select`` takes in ``among``, and ``blobs`` in ``ids``."""

    def select(
        self, table: str, where: Mapping[str, Any], among: tuple[str, Sequence[Any]] | None, *, descending: bool
    ) -> Iterable[Row]:
        """Return the rows with these values (None: no value), and with one of the values that ``among`` gives for a
        column, by rising key or ``descending``."""

    def keys(self, table: str) -> Iterable[Row]:
        """Return the keys of all rows of a table, in any order."""

    def insert(self, table: str, rows: Iterable[Row]) -> None:
        """Add rows."""

    def update(self, table: str, rows: Sequence[Row]) -> None:
        """Write rows over those of the same keys."""

    def delete(self, table: str, keys: Sequence[Row]) -> None:
        """Remove rows by their keys."""

    def blobs(self, table: str, ids: Sequence[int], longest: int) -> Sequence[tuple[int, bytes | None]]:
        """Return (id, bytes) by rising id; None instead of more than ``longest`` bytes, so that a forged length never
        becomes memory."""

    def seal(self, table: str) -> tuple[int, int] | None:
        """Return (rows, sum of checksums) as last written; None if there is none."""

    def set_seal(self, table: str, rows: int, total: int) -> None:
        """Write the seal of a table."""

    def room(self, table: str) -> int | None:
        """Return how many bytes the values of a table can have at most, written out; None if the store cannot lie."""

    def damage(self) -> list[str]:
        """Return what is wrong with the structure of the store, a sentence each."""


class RecordSnapshot:
    """One state of a gallery: every row is compared with its checksum, every whole table with its seal."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._settings: Settings | None = None

    def settings(self) -> Settings:
        if self._settings is None:
            self._settings = self._read_settings()
        return self._settings

    def _read_settings(self) -> Settings:
        """Read the settings. Unknown ones, of a later version, are skipped, and missing ones are derived from the
        examples: no version's way of writing them may cost an example."""
        values: dict[str, Any] = {}
        known = set(Settings.__dataclass_fields__)
        for key, text in self._whole_table("settings"):
            if key not in known:
                continue
            if len(text) > TEXT_LIMIT:
                raise FileError(f"The gallery setting '{key}' is too long to be one.")
            try:
                values[key] = read_json(text)
            except ValueError:
                raise FileError(f"The gallery setting '{key}' is not readable.") from None
        if known - values.keys():
            values = {**self._derive_settings(values), **values}
        try:
            return Settings(**values)
        except ParameterError as problem:
            raise FileError(f"{problem} The gallery is damaged.") from None

    def _derive_settings(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return every setting as far as it follows from the other tables."""
        dtype = values.get("dtype", DTYPES[0])
        last = max((int(example) for (example,) in self.driver.keys("examples")), default=0)
        blobs = self.driver.blobs("vectors", [last], self._room("vectors"))
        length = max((len(data) for _, data in blobs if isinstance(data, bytes)), default=0)
        dim = length // np.dtype(dtype if dtype in DTYPES else DTYPES[0]).itemsize or 1
        return {
            "identity": "0" * 32,
            "created_at": 0,
            "feature": "vectors",
            "values": {},
            "fingerprint": f"vectors-{dim}",
            "dim": dim,
            "dtype": DTYPES[0],
            "parameters": {},
            "next_id": last + 1,
            "revision": max((int(act) for (act,) in self.driver.keys("history")), default=0),
            "tuned": 0,
        }

    def all(self, kind: type[R]) -> list[R]:
        return [kind._make(row) for row in self._whole_table(TABLES[kind])]

    def find(self, kind: type[R], **where: Any) -> Iterator[R]:
        table = TABLES[kind]
        listed = next((column for column, value in where.items() if isinstance(value, list)), None)
        if listed is None:
            for row, _ in self._select(table, where):
                yield kind._make(row)
            return
        values = where.pop(listed)
        for start in range(0, len(values), self.driver.values_at_once):
            some = values[start : start + self.driver.values_at_once]
            for row, _ in self._select(table, where, (listed, some)):
                yield kind._make(row)

    def keys(self, kind: type[R]) -> Iterator[tuple[Any, ...]]:
        return iter(self.driver.keys(TABLES[kind]))

    def acts(self) -> Iterator[ActRecord]:
        return (ActRecord._make(row) for row, _ in self._select("history", {}, descending=True))

    def vectors(self, examples: Sequence[ExampleRecord]) -> Array:
        ids = np.array([example.id for example in examples], np.int64)
        return self.read_vectors(ids, np.array([example.vector_crc for example in examples]))

    def read_vectors(self, ids: Array, crcs: Array) -> Array:
        """Return the vectors (n, dim) of ``ids`` (n,), rising, whose crc32 have to be ``crcs`` (n,)."""
        had = self.settings()
        self.check_room(len(ids))
        out = np.empty((len(ids), had.dim), np.dtype(had.dtype).newbyteorder("<"))
        self.fill_vectors(ids, crcs, out)
        return out

    def check_room(self, count: int) -> None:
        """Raise an error if so many vectors are more than the store can hold: a forged width never becomes memory."""
        had = self.settings()
        if count * had.dim * np.dtype(had.dtype).itemsize > self._room("vectors"):
            raise FileError("The gallery claims more vectors than it can hold; it is damaged.")

    def _room(self, table: str) -> int:
        room = self.driver.room(table)
        return _BOUNDLESS if room is None else room

    def fill_vectors(self, ids: Array, crcs: Array, out: Array) -> None:
        """Fill ``out`` (n, dim) with the vectors of ``ids`` (n,), rising; ``crcs`` (n,) are those they have to have."""
        row_bytes = out.dtype.itemsize * out.shape[1]
        at_once = max(1, min(self.driver.values_at_once, _BYTES_AT_ONCE // row_bytes))
        for start in range(0, len(ids), at_once):
            some = ids[start : start + at_once].tolist()
            rows = self.driver.blobs("vectors", some, row_bytes)
            if [example for example, _ in rows] != some:
                raise FileError(f"The vectors of examples {some[0]} to {some[-1]} are incomplete; the file is damaged.")
            for offset, (example, data) in enumerate(rows):
                fits = isinstance(data, bytes) and len(data) == row_bytes
                if not fits or zlib.crc32(data or b"") != crcs[start + offset]:
                    raise FileError(f"The vector of example {example} is damaged.")
                out[start + offset] = np.frombuffer(data or b"", out.dtype)

    def thumbnail(self, example: ExampleRecord) -> bytes | None:
        if example.thumbnail_crc is None:
            return None
        data = next((data for _, data in self.driver.blobs("thumbnails", [example.id], THUMBNAIL_LIMIT)), None)
        if not isinstance(data, bytes) or zlib.crc32(data) != example.thumbnail_crc:
            raise FileError(f"The picture of example {example.id} is damaged.")
        return data

    def feature_state(self) -> dict[str, Array]:
        rows = self._whole_table("feature_state")
        return {name: from_npy(data, what=f"feature array '{name}'") for name, data in rows}

    def feature_learned(self) -> bool:
        return next(iter(self.driver.keys("feature_state")), None) is not None

    def damage(self) -> list[str]:
        return self.driver.damage() or self._strays()

    def _strays(self) -> list[str]:
        """Return a sentence for each table of blobs with a row that belongs to no example."""
        examples = self.all(ExampleRecord)
        owners = {
            "vectors": {example.id for example in examples},
            "thumbnails": {example.id for example in examples if example.thumbnail_crc is not None},
        }
        strays = {table: {key for (key,) in self.driver.keys(table)} - ids for table, ids in owners.items()}
        return [
            f"The table '{table}' has a row {min(ids)} that belongs to no example."
            for table, ids in strays.items()
            if ids
        ]

    def _whole_table(self, table: str) -> list[Row]:
        """Return all rows by rising key, compared with the table's seal."""
        rows: list[Row] = []
        total = 0
        for row, crc in self._select(table, {}):
            rows.append(row)
            total += crc
        if self._seal(table) != (len(rows), total % MODULUS):
            raise seal_error(table)
        return rows

    def _select(
        self,
        table: str,
        where: Mapping[str, Any],
        among: tuple[str, Sequence[Any]] | None = None,
        *,
        descending: bool = False,
    ) -> Iterator[tuple[Row, int]]:
        """Yield rows and their checksums, which are compared.

        The room of the store bounds what a forged file can make us hold: a tree whose pages point at one another can
        yield rows without end, so keys have to rise (or fall) and the values to be no larger than what they are in."""
        width, kinds, room = KEY_WIDTH.get(table, 1), TYPES[table], self._room(table)
        previous: Row | None = None
        held = 0
        for *values, crc in self.driver.select(table, where, among, descending=descending):
            row = tuple(values)
            encoded = as_bytes(table, row)
            if tuple(map(type, row)) not in kinds or zlib.crc32(encoded) != crc:
                raise row_error(table, row)
            held += len(encoded)
            key = row[:width]
            repeats = previous is not None and (key >= previous if descending else key <= previous)
            if repeats or held > room:
                raise FileError(f"The table '{table}' repeats itself; the file is damaged.")
            previous = key
            yield row, crc

    def _seal(self, table: str) -> tuple[int, int]:
        seal = self.driver.seal(table)
        if seal is None:
            raise FileError(f"The seal of the table '{table}' is missing; the file is damaged.")
        return seal


class RecordTransaction(RecordSnapshot):
    """A transaction that writes: every change of rows moves the seal of their table."""

    def begin(self, settings: Settings, state: Mapping[str, Array]) -> None:
        """Write the settings and the fitted feature of a new gallery."""
        self.insert_rows("settings", _rows_of(settings))
        self.insert_rows("feature_state", [(name, to_npy(array)) for name, array in sorted(state.items())])

    def set_settings(self, new: Settings) -> None:
        stored: dict[str, str] = {
            row[0]: row[1] for row in self._whole_table("settings")
        }  # as written, perhaps by a version that wrote it otherwise
        changed = [(key, text) for key, text in _rows_of(new) if stored.get(key, text) != text]
        self.replace_rows("settings", [(key, stored[key]) for key, _ in changed], changed)
        self.insert_rows("settings", [row for row in _rows_of(new) if row[0] not in stored])
        self._settings = None

    def insert(self, records: Sequence[R]) -> None:
        if records:
            self.insert_rows(TABLES[type(records[0])], records)

    def insert_examples(
        self, examples: Sequence[ExampleRecord], vectors: Array, thumbnails: Sequence[bytes | None]
    ) -> None:
        self.insert(examples)
        pairs = zip(examples, vectors, strict=True)
        pictures = zip(examples, thumbnails, strict=True)
        self.driver.insert("vectors", ((example.id, vector.tobytes()) for example, vector in pairs))
        self.driver.insert("thumbnails", ((example.id, data) for example, data in pictures if data is not None))

    def replace(self, old: Sequence[R], new: Sequence[R]) -> None:
        if new:
            self.replace_rows(TABLES[type(new[0])], old, new)

    def delete(self, records: Sequence[R]) -> None:
        if not records:
            return
        table = TABLES[type(records[0])]
        keys = [record[: KEY_WIDTH.get(table, 1)] for record in records]
        self.driver.delete(table, keys)
        self._move_seal(table, -len(records), -sum(checksum(table, record) for record in records))
        if table == "examples":
            self.driver.delete("vectors", keys)
            self.driver.delete("thumbnails", keys)

    def insert_rows(self, table: str, rows: Sequence[Row]) -> None:
        """Add rows to a table and to its seal."""
        if not rows:
            return
        sums = [checksum(table, row) for row in rows]
        self.driver.insert(table, ((*row, crc) for row, crc in zip(rows, sums, strict=True)))
        self._move_seal(table, len(rows), sum(sums))

    def replace_rows(self, table: str, old: Sequence[Row], new: Sequence[Row]) -> None:
        """Write ``new`` over ``old``, pairs of rows of the same key, and move the seal by the difference."""
        if not new:
            return
        sums = [checksum(table, row) for row in new]
        self.driver.update(table, [(*row, crc) for row, crc in zip(new, sums, strict=True)])
        self._move_seal(table, 0, sum(sums) - sum(checksum(table, row) for row in old))

    def _move_seal(self, table: str, rows: int, total: int) -> None:
        had_rows, had_total = self._seal(table)
        self.driver.set_seal(table, had_rows + rows, (had_total + total) % MODULUS)


def _rows_of(settings: Settings) -> list[tuple[str, str]]:
    return [(key, to_json(getattr(settings, key))) for key in sorted(Settings.__dataclass_fields__)]
