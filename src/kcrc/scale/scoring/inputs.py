"""The input in pieces: images by name, or tables of vectors; and what tells one input from another."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import itertools
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, FileError, KCRCError, ParameterError, StateError
from kcrc.files.archive import HEADER_BYTES, NpyHeader, npy_header
from kcrc.files.plain_files import open_plain
from kcrc.images.decoding.limits import EXTENSION_FORMATS, Content, ImageError, Limits, too_many_bytes
from kcrc.images.features.vectors import ParquetVectors, check_width, rows_of_csv

# Files in object stores, by fsspec: only those named on the command line, or below a folder named there.

# Errors of libraries that read archives and tables, if these are damaged or none.
UNFIT = (ValueError, zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError)


def is_remote(name: str) -> bool:
    return "://" in name


def file_system(address: str) -> tuple[Any, str]:
    """The file system that an address is in, and the path there."""
    try:
        import fsspec
    except ImportError:
        raise ParameterError(f"Reading '{address}' needs fsspec. Install it: pip install 'kcrc[remote]'.") from None
    with refusals(address):
        try:
            system, path = fsspec.core.url_to_fs(address)
        except ImportError as problem:  # the package for this kind of address; fsspec says which
            raise StateError(f"'{address}' cannot be read: {problem}") from None
        except (ValueError, TypeError) as problem:  # TypeError: an address that says too little
            raise ParameterError(f"'{address}' cannot be read: {problem}.") from None
    return system, path


def files_below(address: str) -> list[str]:
    """The image files of a folder, by address, in the order of their names; the address itself where it is a file."""
    system, path = file_system(address)
    with refusals(address):
        if not system.isdir(path):
            return [address]
        inside = sorted(system.find(path))
    pictures = [name for name in inside if any(name.lower().endswith(ending) for ending in EXTENSION_FORMATS)]
    if not pictures:
        raise DataError(f"The folder '{address}' has no image files.")
    return [system.unstrip_protocol(name) for name in pictures]


def state(address: str) -> str:
    """What tells a file from a later version of it: its size and time, or the mark that its store gives it."""
    if not is_remote(address):
        try:
            found = os.stat(address)
        except OSError:
            return "missing"  # an error says so when it is read
        return f"{found.st_size} {found.st_mtime_ns}"
    system, path = file_system(address)
    with refusals(address):
        return f"{system.size(path)} {system.ukey(path)}"


def fetch_remote(address: str) -> Content | ImageError:
    """The bytes of a picture, and no more than a picture may have; or why not."""
    limits = Limits.usual()
    try:
        system, path = file_system(address)
        with refusals(address):
            size = system.size(path)
            if size is not None and size > limits.max_bytes:
                return too_many_bytes(address, size, limits)
            with system.open(path, "rb") as file:
                data: bytes = file.read(limits.max_bytes + 1)
    except DataError as problem:
        return ImageError(address, "unreadable", str(problem))
    return too_many_bytes(address, len(data), limits) if len(data) > limits.max_bytes else Content(address, data)


@contextlib.contextmanager
def refusals(address: str, kinds: tuple[type[Exception], ...] = (Exception,)) -> Iterator[None]:
    """Raise what a store refuses as an error of ours.

    Every store has errors of its own, and some fail in odd ways for an address that says too little: all ``kinds`` of
    error are taken for the store's.
    """
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"'{address}' is not there.") from None
    except OSError as problem:
        raise DataError(f"'{address}' cannot be read: {problem.strerror or problem}.") from None
    except (KCRCError, MemoryError):
        raise
    except kinds as problem:
        said = str(problem) or type(problem).__name__
        raise DataError(f"'{address}' cannot be read: {said.rstrip('.')}.") from None


# Tables of vectors, by ranges of rows: no more of one is in memory than is being answered.

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
        with open_table(place) as file:
            rows = _npy_rows(file, self)
        if len(rows) != len(self) or self.state not in (None, state(place)):
            raise DataError(
                f"{self.table} was changed while it was being answered. Put it back and go on with --resume, or run "
                "the command again from the start."
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
def open_table(table: str) -> Iterator[Any]:
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


def _name_rows(table: str, names: Any, vectors: Array, start: int) -> NamedVectors:
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
    with open_table(table) as file:
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
    return _name_rows(wanted.table, None, vectors, wanted.start)


def _parquet_pieces(table: str, width: int | None) -> Iterator[NamedVectors]:
    """Row groups have no places to begin at either: each is read once, from its beginning."""
    with open_table(table) as file:
        found = ParquetVectors(file, table, width=width)
        start = 0
        for group in range(found.groups):
            count, size = found.group_size(group)
            step = _rows(max(size // max(1, count), 4 * found.width))
            for part in found.read(group, step):
                yield _name_rows(table, part.names, part.vectors, start)
                start += len(part.vectors)


def _csv_pieces(table: str, width: int | None) -> Iterator[NamedVectors]:
    with open_table(table) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as stream:
        vectors: list[Array] = []
        names: list[str] = []
        start = 0
        try:
            for vector, _, name in rows_of_csv(stream, table, width=width):
                vectors.append(vector)
                names += [] if name is None else [name]
                if len(vectors) == _rows(vector.nbytes):
                    yield _name_rows(table, names or None, np.array(vectors), start)
                    start += len(vectors)
                    vectors, names = [], []
        except (UnicodeDecodeError, csv.Error) as problem:
            raise DataError(f"{table} cannot be read: {problem}.") from None
        if vectors:
            yield _name_rows(table, names or None, np.array(vectors), start)
        elif not start:
            raise DataError(f"{table} has no rows below its first line; vectors (n, d) are needed.")


IMAGES = 256  # in a piece
LIST = ".txt"
LIST_BYTES, LIST_LINES, LONGEST = 1 << 30, 10_000_000, 65_536  # of a list, and bytes of a line of it


@dataclass(frozen=True)
class Piece:
    """A share of the input: images by their names, or rows of a table."""

    number: int
    images: tuple[str, ...] = ()
    rows: RowRange | NamedVectors | None = None

    def __len__(self) -> int:
        return len(self.images) if self.rows is None else len(self.rows)


@dataclass(frozen=True)
class Input:
    """Either images, or tables of vectors: names in the order in which they are answered."""

    images: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    width: int | None = None
    """Numbers that a vector of the tables must have (None: as many as it has)."""

    def pieces(self) -> Iterator[Piece]:
        """All of it, numbered from 0, the same way every time."""
        if self.images:
            for number, start in enumerate(range(0, len(self.images), IMAGES)):
                yield Piece(number, images=self.images[start : start + IMAGES])
        every = itertools.chain.from_iterable(ranges(table, self.width) for table in self.tables)
        for number, rows in enumerate(every):
            yield Piece(number, rows=rows)

    def identity(self) -> str:
        """A digest of the names, sizes and times of all files: another input has another."""
        digest = hashlib.sha256()
        for name in (*self.images, *self.tables):
            digest.update(f"{name}\0{state(name)}\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()


def read_input(given: Sequence[str], files_of: Callable[[Sequence[str]], Sequence[str]]) -> Input:
    """The input that names stand for, in their order; ``files_of`` opens up the folders and patterns of this machine. A
    text file is a list of names, a line each, all of files of this machine."""
    tables = [name for name in given if is_table(name)]
    images: list[str] = []
    for name in given:
        if is_table(name):
            continue
        if is_remote(name):
            images += files_below(name)
        else:
            images += _read_list(name) if name.lower().endswith(LIST) else files_of([name])
    if bool(tables) == bool(images):
        what = "both images and tables of vectors" if tables else "no images and no tables of vectors"
        raise DataError(f"The input must be images or tables of vectors; got {what}.")
    return Input(tuple(images), tuple(tables))


def _read_list(name: str) -> list[str]:
    """The names in a list."""
    names: list[str] = []
    try:
        with open_plain(name) as file:
            if os.fstat(file.fileno()).st_size > LIST_BYTES:
                raise DataError(f"The list '{name}' has more than {LIST_BYTES} bytes; give it in parts.")
            for number in itertools.count(1):
                line = file.readline(LONGEST + 1)
                if not line:
                    break
                if len(line) > LONGEST or number > LIST_LINES:
                    raise DataError(
                        f"The list '{name}' has a line of more than {LONGEST} bytes, or more than {LIST_LINES} lines; "
                        "a list has one file name per line. Give a long one in parts."
                    )
                names += [os.fsdecode(part) for part in line.splitlines() if part.strip()]
    except OSError as problem:
        raise DataError(f"The list '{name}' cannot be read: {problem.strerror or problem}.") from None
    foreign = next((one for one in names if is_remote(one)), None)
    if foreign is not None:
        raise DataError(f"The list '{name}' names '{foreign}'; only the command line names addresses elsewhere.")
    return names
