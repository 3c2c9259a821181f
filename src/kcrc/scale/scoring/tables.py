"""Tables of vectors, by ranges of rows: no more of one is in memory than is being answered."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kcrc.arrays import Array
from kcrc.errors import DataError, ParameterError
from kcrc.features.vectors import LABEL_KEYS, NAME_KEYS, column_of, rows_of_csv
from kcrc.scale.scoring.remote import file_system, is_remote, refusals, state

ENDINGS = (".npy", ".parquet", ".csv")
ROWS = 4096  # vectors in a piece, and
BYTES = 8 << 20  # how large they may be together
_HEADER = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


@dataclass(frozen=True)
class RowRange:
    """Rows of a table that a worker reads itself; ``group`` is the row group of a Parquet file, where rows count."""

    table: str
    start: int
    stop: int
    group: int = 0
    before: int = 0
    """Rows of the table before the group."""
    state: str | None = None
    """Of the table when it was divided into pieces (None: not compared)."""

    def read(self, folder: str) -> NamedVectors:
        """The rows; ``folder`` is the one that the table's name was given in."""
        place = self.table if is_remote(self.table) else os.path.join(folder, self.table)
        with opened(place) as file:
            rows = (_npy_rows if self.table.lower().endswith(".npy") else _parquet_rows)(file, self)
        if len(rows) != len(self) or self.state not in (None, state(place)):
            raise DataError(
                f"{self.table} was changed while it was being answered. Put it back and go on with --resume, or ask "
                "again from the start."
            )
        return rows

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, eq=False)
class NamedVectors:
    """vectors (n, d), and what each is called."""

    names: tuple[str, ...]
    vectors: Array

    def read(self, folder: str) -> NamedVectors:
        return self

    def __len__(self) -> int:
        return len(self.names)


def is_table(name: str) -> bool:
    return name.lower().endswith(ENDINGS)


def ranges(table: str) -> Iterator[RowRange | NamedVectors]:
    """The table in pieces, in its order. A CSV has no places to begin at: its rows come along."""
    if table.lower().endswith(".npy"):
        with opened(table) as file:
            (count, width), dtype, _ = _npy_header(file, table)
        known = state(table)
        for start in range(0, count, step := _rows(width * dtype.itemsize)):
            yield RowRange(table, start, min(count, start + step), state=known)
    elif table.lower().endswith(".parquet"):
        yield from _parquet_ranges(table)
    else:
        yield from _csv_pieces(table)


@contextlib.contextmanager
def opened(table: str) -> Iterator[Any]:
    """A table as a file of bytes, here or in an object store."""
    with refusals(table):
        if is_remote(table):
            system, path = file_system(table)
            with system.open(path, "rb") as file:
                yield file
        else:
            with Path(table).open("rb") as file:
                yield file


def _rows(bytes_each: int) -> int:
    return max(1, min(ROWS, BYTES // max(1, bytes_each)))


def _named(table: str, names: Any, vectors: Array, start: int) -> NamedVectors:
    """Rows from ``start`` on, each under its name, or else the table's and its number."""
    with np.errstate(over="ignore"):
        vectors = np.require(vectors, np.float32, ("C", "A"))
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise DataError(f"{table}: row {start + bad[0]} (counted from 0) holds a value that is not a finite number.")
    given = [f"{table}#{start + i}" for i in range(len(vectors))] if names is None else [str(name) for name in names]
    return NamedVectors(tuple(given), vectors)


def _npy_header(file: Any, table: str) -> tuple[tuple[int, int], np.dtype[Any], int]:
    """Shape, type, and where the numbers begin."""
    try:
        shape, fortran, dtype = _HEADER[np.lib.format.read_magic(file)](file)
    except (ValueError, KeyError) as problem:
        raise DataError(f"{table} cannot be read: {problem}.") from None
    if len(shape) != 2 or not min(shape) or dtype.kind not in "fiu" or fortran:
        order = ", columns first" if fortran else ""
        raise DataError(f"{table} holds an array of shape {shape} of {dtype}{order}; vectors (n, d) are needed.")
    begin = file.tell()
    if file.seek(0, io.SEEK_END) < begin + shape[0] * shape[1] * dtype.itemsize:
        raise DataError(f"{table} is cut off: it is shorter than its {shape[0]} vectors.")
    return shape, dtype, begin


def _npy_rows(file: Any, wanted: RowRange) -> NamedVectors:
    (_, width), dtype, begin = _npy_header(file, wanted.table)
    file.seek(begin + wanted.start * width * dtype.itemsize)
    data = file.read(len(wanted) * width * dtype.itemsize)
    whole = len(data) // (width * dtype.itemsize)  # rows: the file may have become shorter
    vectors = np.frombuffer(data, dtype, count=whole * width).reshape(-1, width)
    return _named(wanted.table, None, vectors, wanted.start)


def _parquet(file: Any, table: str) -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ParameterError(f"Reading {table} needs pyarrow. Install it: pip install 'kcrc[tables]'.") from None
    try:
        return pyarrow.parquet.ParquetFile(file)
    except pyarrow.ArrowException as problem:
        raise DataError(f"{table} cannot be read: {problem}.") from None


def _parquet_ranges(table: str) -> Iterator[RowRange]:
    with opened(table) as file:
        metadata = _parquet(file, table).metadata
        counts = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        sizes = [metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)]
    before, known = 0, state(table)
    for group, (count, size) in enumerate(zip(counts, sizes, strict=True)):
        step = _rows(size // max(1, count))
        for start in range(0, count, step):
            yield RowRange(table, start, min(count, start + step), group, before, known)
        before += count


def _parquet_rows(file: Any, wanted: RowRange) -> NamedVectors:
    table = _parquet(file, wanted.table)
    import pyarrow

    some, begin = [], 0
    try:  # in batches up to those wanted: a row group may hold a million rows
        for batch in table.iter_batches(batch_size=ROWS, row_groups=[wanted.group]):
            first, last = max(wanted.start - begin, 0), min(wanted.stop - begin, batch.num_rows)
            some += [batch.slice(first, last - first)] if first < last else []
            begin += batch.num_rows
            if begin >= wanted.stop:
                break
        found = pyarrow.Table.from_batches(some)
    except pyarrow.ArrowException as problem:
        raise DataError(f"{wanted.table} cannot be read: {problem}.") from None
    header = list(found.column_names)
    label, name = column_of(header, LABEL_KEYS), column_of(header, NAME_KEYS)
    numbers = [found.column(i) for i in range(len(header)) if i not in (label, name)]
    try:
        if len(numbers) == 1 and pyarrow.types.is_nested(numbers[0].type):
            vectors = np.array(numbers[0].to_pylist(), np.float32)
        else:
            vectors = np.array([column.to_pylist() for column in numbers], np.float32).T
    except (TypeError, ValueError) as problem:
        raise DataError(f"{wanted.table}: its columns are not numbers of equal length ({problem}).") from None
    names = None if name is None else found.column(name).to_pylist()
    return _named(wanted.table, names, vectors, wanted.before + wanted.start)


def _csv_pieces(table: str) -> Iterator[NamedVectors]:
    with opened(table) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as stream:
        vectors: list[Array] = []
        names: list[str] = []
        start = 0
        try:
            for vector, _, name in rows_of_csv(stream, table):
                vectors.append(vector)
                names += [] if name is None else [name]
                if len(vectors) == _rows(vector.nbytes):
                    yield _named(table, names or None, np.array(vectors), start)
                    start += len(vectors)
                    vectors, names = [], []
        except UnicodeDecodeError as problem:
            raise DataError(f"{table} cannot be read: {problem}.") from None
        if vectors:
            yield _named(table, names or None, np.array(vectors), start)
