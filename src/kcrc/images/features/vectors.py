"""Vectors computed elsewhere: read from ``.npy``, ``.npz``, ``.csv`` or ``.parquet``, and used as a feature."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TextIO

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, FileError, ParameterError
from kcrc.files.archive import PACKED, SMALL, from_npy, read_npz
from kcrc.files.parquet import ParquetReader
from kcrc.files.plain_files import open_plain
from kcrc.images.features.base import Feature, Images, Pictures, register

# Names of the columns of a table of vectors.

LABEL_KEYS = ("labels", "label", "class", "y", "class_name", "category", "target", "choice")
NAME_KEYS = (
    *("name", "path", "file", "source", "id", "names", "paths"),
    *("filename", "filenames", "file_name", "image_path", "filepath", "image"),
)
VECTOR_KEYS = ("vectors", "features", "embeddings", "X", "vector", "embedding", "clip")


def column_of(header: Sequence[str], known: tuple[str, ...]) -> int | None:
    """Return the position of the first known name in the header, or None."""
    folded = [cell.lower() for cell in header]
    return next((folded.index(k.lower()) for k in known if k.lower() in folded), None)


def check_width(table: str, found: int, wanted: int | None) -> None:
    """Raise an error if the vectors of a table do not have the ``wanted`` length (None accepts any)."""
    if wanted is not None and found != wanted:
        raise DataError(f"{table} must hold vectors of {wanted} numbers, as the gallery does; got {found}.")


# Vectors in a Parquet file, read in the box (``parquet_vectors``).


@dataclass(frozen=True, eq=False)
class VectorRows:
    """vectors (n, d) float32, and labels and names if the file has them."""

    vectors: Array
    labels: list[Any] | None
    names: list[Any] | None


class ParquetVectors:
    """An open Parquet file of vectors: a column of lists, or one column per number; optionally a label and a name."""

    def __init__(self, file: Any, table: str, *, width: int | None = None) -> None:
        self._reader = ParquetReader(file, table, job="kcrc.images.features.parquet_vectors", width=width)
        self.width: int = self._reader.head["width"]
        self._groups: list[list[int]] = self._reader.head["groups"]

    @property
    def rows(self) -> int:
        return sum(rows for rows, _ in self._groups)

    @property
    def groups(self) -> int:
        return len(self._groups)

    def group_size(self, group: int) -> tuple[int, int]:
        """Return the rows of a row group, and its bytes before compression."""
        rows, size = self._groups[group]
        return rows, size

    def read(self, group: int, step: int) -> Iterator[VectorRows]:
        """Yield the rows of a row group, read once from its beginning, ``step`` at a time."""
        for (labels, names), numbers in self._reader.batches({"group": group, "rows": step}):
            yield VectorRows(np.frombuffer(numbers, np.float32).reshape(-1, self.width), labels, names)


_ROWS = 4096  # of a Parquet file that are decoded at a time
LINE = 16 << 20  # most characters of a row of a CSV


@dataclass(frozen=True, eq=False)
class VectorTable:
    """Vectors that were read from a file.

    Attributes
    ----------
    X : ndarray of float32 of shape (n, d)
        The vectors.
    labels : ndarray of str of shape (n,), or None
        Their labels, if the file has them.
    names : ndarray of str of shape (n,), or None
        Their names, if the file has them.
    """

    X: Array
    labels: Array | None = None
    names: Array | None = None


def read_vectors(path: str | os.PathLike[str]) -> VectorTable:
    """Read a table of vectors; raise an error that names the file unless all of them are finite.

    ``.npy``: one array (n, d). ``.npz``: an array called vectors, features, embeddings or X (or the only one with two
    axes), and labels (numbers into ``classes`` if there is such an array). ``.csv`` and ``.parquet``: optionally a
    column ``label`` and a column ``name`` or ``path``; all other columns are numbers. In Parquet a column of lists of
    numbers holds the vectors, and other columns are ignored.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    VectorTable
        Its vectors, labels and names.

    Raises
    ------
    ParameterError
        If the file has another ending.
    DataError
        If it does not contain what it should.

    Examples
    --------
    >>> import numpy as np
    >>> from kcrc import features
    >>> np.save("vectors.npy", np.eye(2, 512))
    >>> features.read_vectors("vectors.npy").X.shape
    (2, 512)
    """
    file = Path(path)
    readers = {".npy": _from_npy, ".npz": _from_npz, ".csv": _from_csv, ".parquet": _from_parquet}
    reader = readers.get(file.suffix.lower())
    if reader is None:
        raise ParameterError(f"Vectors can be read from {', '.join(readers)}; got {file}.")
    try:
        table = reader(file)
    except (DataError, ParameterError):
        raise
    except (OSError, ValueError, KeyError, csv.Error) as problem:
        raise DataError(f"{file} cannot be read: {problem}.") from problem
    return _check_table(file, table)


def _check_table(file: Path, table: VectorTable) -> VectorTable:
    X = np.asarray(table.X)
    if X.ndim != 2 or not X.size or X.dtype.kind not in "fiu":
        raise DataError(f"{file} must hold vectors (n, d) of numbers; got shape {X.shape} of {X.dtype}.")
    with np.errstate(over="ignore"):
        X = np.ascontiguousarray(X, np.float32)
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        raise DataError(f"{file} must hold finite numbers; row {bad[0]} (counted from 0) has NaN or infinity.")
    for what, column in (("labels", table.labels), ("names", table.names)):
        if column is not None and column.shape != (len(X),):
            raise DataError(f"{file} has {len(X)} vectors and {what} of shape {column.shape}.")
    return VectorTable(X, table.labels, table.names)


def _from_npy(file: Path) -> VectorTable:
    try:
        with open_plain(file) as stream:
            return VectorTable(from_npy(stream.read()))
    except FileError as problem:
        raise DataError(f"{file} cannot be read: {problem}") from None


def _from_npz(file: Path) -> VectorTable:
    arrays, _ = read_npz(file)
    matrices = [key for key, value in arrays.items() if value.ndim == 2]
    key = next((k for k in VECTOR_KEYS if k in arrays), matrices[0] if len(matrices) == 1 else None)
    if key is None:
        raise DataError(f"{file} must have an array called {', '.join(VECTOR_KEYS)}; got {', '.join(arrays)}.")
    labels = next((arrays[k] for k in LABEL_KEYS if k in arrays), None)
    classes = arrays.get("classes")
    if labels is not None and classes is not None and labels.dtype.kind in "iu":
        if classes.ndim != 1:
            raise DataError(f"{file}: classes must have one axis; got shape {classes.shape}.")
        if labels.size and not (labels.min() >= 0 and labels.max() < len(classes)):
            raise DataError(f"{file}: labels must be below the number of classes, {len(classes)}; got {labels.max()}.")
        labels = classes[labels]
    names = next((arrays[k] for k in NAME_KEYS if k in arrays), None)
    return VectorTable(arrays[key], _text(labels), _text(names))


def _from_csv(file: Path) -> VectorTable:
    with open_plain(file) as content, io.TextIOWrapper(content, "utf-8-sig", newline="") as stream:
        rows = list(rows_of_csv(stream, str(file)))
    if not rows:
        return VectorTable(np.empty((0, 0)))
    X, labels, names = zip(*rows, strict=True)
    texts = (None if column[0] is None else np.array(column) for column in (labels, names))
    return VectorTable(np.array(X), *texts)


def rows_of_csv(
    stream: TextIO, file: str, *, width: int | None = None
) -> Iterator[tuple[Array, str | None, str | None]]:
    """Yield the vector (d,), label and name of each line below the first; None if there is no such column.

    Rows longer than ``LINE``, and vectors that do not have the given ``width``, are an error.
    """
    length = 0  # of the current row: a text in quotes may span many lines

    def lines() -> Iterator[str]:
        nonlocal length
        while line := stream.readline(LINE + 1 - length):
            length += len(line)
            if length > LINE:
                raise DataError(f"{file} must have rows of at most {LINE} characters; got a longer one.")
            yield line

    rows = csv.reader(lines())
    header = [cell.strip() for cell in next(rows, [])]
    label, name = column_of(header, LABEL_KEYS), column_of(header, NAME_KEYS)
    kept = [i for i in range(len(header)) if i not in (label, name)]
    if not kept:
        raise DataError(f"{file} has no columns of numbers; its first line is: {', '.join(header[:5])}.")
    check_width(file, len(kept), width)
    length = 0
    for number, row in enumerate(rows, start=2):
        length = 0
        if not row:
            continue
        if len(row) != len(header):
            raise DataError(f"{file}, line {number} must have {len(header)} cells like the first; got {len(row)}.")
        try:
            vector = np.array([row[i] for i in kept], np.float32)
        except ValueError as problem:
            raise DataError(f"{file}, line {number}: {problem}.") from problem
        yield vector, None if label is None else row[label], None if name is None else row[name]


def _from_parquet(file: Path) -> VectorTable:
    with open_plain(file) as stream:
        table = ParquetVectors(stream, str(file))
        size = file.stat().st_size
        if table.rows * table.width * 4 > PACKED * size + SMALL:
            raise DataError(
                f"{file} must not unpack to more than {PACKED} times its size; got {table.rows} vectors of "
                f"{table.width} numbers."
            )
        parts = [part for group in range(table.groups) for part in table.read(group, _ROWS)]
    labels = [label for part in parts for label in part.labels or ()]
    names = [name for part in parts for name in part.names or ()]
    texts = [_text(np.array(column)) if column else None for column in (labels, names)]
    return VectorTable(np.concatenate([part.vectors for part in parts]), *texts)


def _text(values: Array | None) -> Array | None:
    return None if values is None else values.astype(str)


@register("vectors")
class Vectors(Feature):
    """v = x: vectors computed elsewhere. ``source`` names the program.

    Vectors of another ``source`` or length have another fingerprint.
    """

    kind: ClassVar[str] = "vectors"
    takes_rows: ClassVar[bool] = True

    def __init__(self, *, length: int, source: str = "given") -> None:
        self.length = length
        self.source = source

    @property
    def dim(self) -> int:
        return self.length

    def _check(self) -> None:
        if self.length < 1:
            raise ParameterError(f"length must be at least 1; got {self.length!r}.")

    def batches(self, images: Images) -> Iterator[Pictures]:
        try:
            rows = np.asarray(images)
        except ValueError:  # pictures of several sizes
            raise DataError(f"Vectors must have shape (n, {self.length}); got samples of several shapes.") from None
        if rows.ndim != 2 or rows.shape[1] != self.length or rows.dtype.kind not in "fiu":
            raise DataError(f"Vectors must have shape (n, {self.length}); got an array of shape {rows.shape}.")
        yield rows

    def _vectors(self, batch: Pictures) -> Array:
        return np.asarray(batch, np.float32)
