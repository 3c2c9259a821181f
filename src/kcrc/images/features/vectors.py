"""Vectors made elsewhere: read from ``.npy``, ``.npz``, ``.csv`` or ``.parquet``, and passed through as a feature."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TextIO

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, FileError, ParameterError
from kcrc.files.npy import from_npy
from kcrc.files.npz import PACKED, SMALL, read_npz
from kcrc.files.plain_file import open_plain
from kcrc.images.features.base import Feature, Images, Pictures, register
from kcrc.images.features.parquet_vectors import ParquetVectors
from kcrc.images.features.vector_columns import LABEL_KEYS, NAME_KEYS, check_width, column_of

_VECTOR_KEYS = ("vectors", "features", "embeddings", "X")
_ROWS = 4096  # of a Parquet file that are decoded at a time
LINE = 16 << 20  # characters of a row of a CSV


@dataclass(frozen=True, eq=False)
class VectorTable:
    """``X`` (n, d) float32, and labels and names (n,) as text where the file has them."""

    X: Array
    labels: Array | None = None
    names: Array | None = None


def read_vectors(path: str | os.PathLike[str]) -> VectorTable:
    """A table of vectors, whole and finite; else an error that names the file.

    ``.npy``: one array (n, d). ``.npz``: an array called vectors, features, embeddings or X (or the only one with
    two axes), and labels (numbers into ``classes`` where that is there). ``.csv`` and ``.parquet``: a column
    ``label`` and a column ``name`` or ``path`` if wanted; all other columns are numbers (in Parquet also one
    column of lists).
    """
    file = Path(path)
    readers = {".npy": _from_npy, ".npz": _from_npz, ".csv": _from_csv, ".parquet": _from_parquet}
    reader = readers.get(file.suffix.lower())
    if reader is None:
        raise ParameterError(f"Vectors are read from {', '.join(readers)}; got {file}.")
    try:
        table = reader(file)
    except (DataError, ParameterError):
        raise
    except (OSError, ValueError, KeyError, csv.Error) as problem:
        raise DataError(f"{file} cannot be read: {problem}.") from problem
    return _checked(file, table)


def _checked(file: Path, table: VectorTable) -> VectorTable:
    X = np.asarray(table.X)
    if X.ndim != 2 or not X.size or X.dtype.kind not in "fiu":
        raise DataError(f"{file} holds an array of shape {X.shape} of {X.dtype}; vectors (n, d) are needed.")
    with np.errstate(over="ignore"):
        X = np.ascontiguousarray(X, np.float32)
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        raise DataError(f"{file}: row {bad[0]} (counted from 0) holds a value that is not a finite number.")
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
    flat = [key for key, value in arrays.items() if value.ndim == 2]
    key = next((k for k in _VECTOR_KEYS if k in arrays), flat[0] if len(flat) == 1 else None)
    if key is None:
        raise DataError(f"{file} has no array called {', '.join(_VECTOR_KEYS)}; it has: {', '.join(arrays)}.")
    labels = next((arrays[k] for k in LABEL_KEYS if k in arrays), None)
    classes = arrays.get("classes")
    if labels is not None and classes is not None and labels.dtype.kind in "iu":
        if classes.ndim != 1:
            raise DataError(f"{file}: the names of classes have shape {classes.shape}; one axis is needed.")
        if labels.size and not (labels.min() >= 0 and labels.max() < len(classes)):
            raise DataError(f"{file}: labels run to {labels.max()}, but there are {len(classes)} classes.")
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
    """The vector (d,), label and name of each line below the first; None where the table has no such column.

    A row that is longer than ``LINE``, and vectors that are not of ``width`` where that is known, are an error."""
    length = 0  # of the row that is being read: a text in quotes may go over many lines

    def lines() -> Iterator[str]:
        nonlocal length
        while line := stream.readline(LINE + 1 - length):
            length += len(line)
            if length > LINE:
                raise DataError(f"{file} has a row of more than {LINE} characters; it is not read.")
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
            raise DataError(f"{file}, line {number} has {len(row)} cells; the first line has {len(header)}.")
        try:
            vector = np.array([row[i] for i in kept], np.float32)
        except ValueError as problem:
            raise DataError(f"{file}, line {number}: {problem}.") from problem
        yield vector, None if label is None else row[label], None if name is None else row[name]


def _from_parquet(file: Path) -> VectorTable:
    with open_plain(file) as stream:
        found = ParquetVectors(stream, str(file))
        size = file.stat().st_size
        if found.rows * found.width * 4 > PACKED * size + SMALL:
            raise DataError(
                f"{file} unpacks to {found.rows} vectors of {found.width} numbers, more than {PACKED} times its size; "
                "it is not read."
            )
        parts = [part for group in range(found.groups) for part in found.read(group, _ROWS)]
    labels = [label for part in parts for label in part.labels or ()]
    names = [name for part in parts for name in part.names or ()]
    texts = [_text(np.array(column)) if column else None for column in (labels, names)]
    return VectorTable(np.concatenate([part.vectors for part in parts]), *texts)


def _text(values: Array | None) -> Array | None:
    return None if values is None else values.astype(str)


@register("vectors")
class Vectors(Feature):
    """v = x: vectors that were made elsewhere, passed through. ``source`` names what made them.

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
            raise ParameterError(f"length is at least 1; got {self.length!r}.")

    def batches(self, images: Images) -> Iterator[Pictures]:
        try:
            rows = np.asarray(images)
        except ValueError:  # pictures of several sizes
            raise DataError(f"Vectors (n, {self.length}) are needed; got samples of several shapes.") from None
        if rows.ndim != 2 or rows.shape[1] != self.length or rows.dtype.kind not in "fiu":
            raise DataError(f"Vectors (n, {self.length}) are needed; got an array of shape {rows.shape}.")
        yield rows

    def _vectors(self, batch: Pictures) -> Array:
        return np.asarray(batch, np.float32)
