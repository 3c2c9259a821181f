"""Tables of vectors, by ranges of rows: no more of one is in memory than is being answered."""

from __future__ import annotations

import contextlib
import csv
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, FileError
from kcrc.files.npy import HEADER_BYTES, NpyHeader, npy_header
from kcrc.files.plain_file import open_plain
from kcrc.images.features.parquet_vectors import ParquetVectors
from kcrc.images.features.vector_columns import check_width
from kcrc.images.features.vectors import rows_of_csv
from kcrc.scale.scoring.remote import UNFIT, file_system, is_remote, refusals, state

ENDINGS = (".npy", ".parquet", ".csv")
ROWS = 4096  # vectors in a piece, and
BYTES = 8 << 20  # how large they may be together


@dataclass(frozen=True)
class RowRange:
    """Rows of an ``.npy`` table that a worker reads itself."""

    table: str
    start: int
    stop: int
    state: str | None = None
    """Of the table when it was divided into pieces (None: not compared)."""

    def read(self, folder: str) -> NamedVectors:
        """The rows; ``folder`` is the one that the table's name was given in."""
        place = self.table if is_remote(self.table) else os.path.join(folder, self.table)
        with opened(place) as file:
            rows = _npy_rows(file, self)
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


def ranges(table: str, width: int | None = None) -> Iterator[RowRange | NamedVectors]:
    """The table in pieces, in its order; its vectors must have ``width`` numbers (None: as many as they have).

    A CSV and a row group of Parquet have no places to begin at: their rows come along."""
    if table.lower().endswith(".npy"):
        yield from _npy_ranges(table, width)
    elif table.lower().endswith(".parquet"):
        yield from _parquet_pieces(table, width)
    else:
        yield from _csv_pieces(table, width)


@contextlib.contextmanager
def opened(table: str) -> Iterator[Any]:
    """A table as a file of bytes, here or in an object store."""
    if is_remote(table):
        system, path = file_system(table)
        with refusals(table):
            file = system.open(path, "rb")
    else:
        file = open_plain(table)
    with refusals(table, UNFIT), file as ready:  # other errors, of what is done with it, are faults of ours
        yield ready


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


def _npy_header(file: Any, table: str, width: int | None = None) -> NpyHeader:
    """What the file claims, once it is known to be vectors, and all there."""
    try:
        header = npy_header(file.read(HEADER_BYTES))
    except FileError as problem:
        raise DataError(f"{table} cannot be read: {problem}") from None
    shape, dtype = header.shape, header.dtype
    if len(shape) != 2 or min(shape) < 1 or dtype.kind not in "fiu" or header.fortran:
        order = ", columns first" if header.fortran else ""
        raise DataError(f"{table} holds an array of shape {shape} of {dtype}{order}; vectors (n, d) are needed.")
    check_width(table, shape[1], width)
    if file.seek(0, io.SEEK_END) < header.begin + shape[0] * shape[1] * dtype.itemsize:
        raise DataError(f"{table} is cut off: it is shorter than its {shape[0]} vectors.")
    return header


def _npy_ranges(table: str, width: int | None) -> Iterator[RowRange]:
    with opened(table) as file:
        header = _npy_header(file, table, width)
    count, known = header.shape[0], state(table)
    for start in range(0, count, step := _rows(header.shape[1] * header.dtype.itemsize)):
        yield RowRange(table, start, min(count, start + step), known)


def _npy_rows(file: Any, wanted: RowRange) -> NamedVectors:
    header = _npy_header(file, wanted.table)
    width, size = header.shape[1], header.shape[1] * header.dtype.itemsize
    file.seek(header.begin + wanted.start * size)
    data = file.read(len(wanted) * size)
    whole = len(data) // size  # rows: the file may have become shorter
    vectors = np.frombuffer(data, header.dtype, count=whole * width).reshape(-1, width)
    return _named(wanted.table, None, vectors, wanted.start)


def _parquet_pieces(table: str, width: int | None) -> Iterator[NamedVectors]:
    """Row groups have no places to begin at either: each is read once, from its beginning."""
    with opened(table) as file:
        found = ParquetVectors(file, table, width=width)
        start = 0
        for group in range(found.groups):
            count, size = found.group_size(group)
            step = _rows(max(size // max(1, count), 4 * found.width))
            for part in found.read(group, step):
                yield _named(table, part.names, part.vectors, start)
                start += len(part.vectors)


def _csv_pieces(table: str, width: int | None) -> Iterator[NamedVectors]:
    with opened(table) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as stream:
        vectors: list[Array] = []
        names: list[str] = []
        start = 0
        try:
            for vector, _, name in rows_of_csv(stream, table, width=width):
                vectors.append(vector)
                names += [] if name is None else [name]
                if len(vectors) == _rows(vector.nbytes):
                    yield _named(table, names or None, np.array(vectors), start)
                    start += len(vectors)
                    vectors, names = [], []
        except (UnicodeDecodeError, csv.Error) as problem:
            raise DataError(f"{table} cannot be read: {problem}.") from None
        if vectors:
            yield _named(table, names or None, np.array(vectors), start)
        elif not start:
            raise DataError(f"{table} has no rows below its first line; vectors (n, d) are needed.")
