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
from kcrc.files.parquet_footer import class_names, open_parquet
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


# Vectors in a Parquet file, read by pyarrow. A few hundred bytes of Parquet can expand to gigabytes, so the sizes that
# the file claims are checked before anything is decoded. Numbers become arrays without a Python object each, and texts
# stay in the file's dictionary until they are known to be short.

_LONGEST = 65_536  # bytes of a name, a label or a number in text
_AT_ONCE = 1 << 20  # bytes of a column that are read ahead


@dataclass(frozen=True, eq=False)
class VectorRows:
    """vectors (n, d) float32, and labels and names if the file has them."""

    vectors: Array
    labels: list[Any] | None
    names: list[Any] | None


class ParquetVectors:
    """An open Parquet file of vectors: a column of lists, or one column per number; optionally a label and a name."""

    def __init__(self, file: Any, table: str, *, width: int | None = None) -> None:
        try:
            import pyarrow.parquet
        except ImportError:
            raise ParameterError(f"Reading {table} needs pyarrow. Install it: pip install 'kcrc[tables]'.") from None
        self._arrow, self._table = pyarrow, table
        try:
            self._file, schema = self._open(file)
        except (pyarrow.ArrowException, KeyError) as problem:
            raise DataError(f"{table} cannot be read: {problem}.") from None
        header = list(schema.names)
        plain = [
            "" if pyarrow.types.is_struct(field.type) else field.name for field in schema
        ]  # a picture, not its name
        self._label, self._name = column_of(plain, LABEL_KEYS), column_of(plain, NAME_KEYS)
        self._numbers = [i for i in range(len(header)) if i not in (self._label, self._name)]
        if not self._numbers:
            raise DataError(f"{table} has no columns of numbers; its columns are: {', '.join(header[:5])}.")
        lists = [i for i in self._numbers if _is_list(schema.types[i])]
        if len(lists) > 1:  # a table may have lists of boxes as well as embeddings
            lists = [i for i in lists if header[i].casefold() in map(str.casefold, VECTOR_KEYS)] or lists
        if len(lists) > 1:
            named = ", ".join(header[i] for i in lists[:5])
            raise DataError(
                f"{table} must have one column of lists of numbers; got {named}. Write it with one of them."
            )
        self._lists = bool(lists)
        self._numbers = lists or self._numbers  # columns beside the lists are not part of a vector
        if any(pyarrow.types.is_nested(schema.types[i]) for i in self._numbers if i not in lists):
            raise DataError(f"{table} must have columns of numbers, or one column of lists of numbers.")
        self._class_names = None if self._label is None else class_names(schema, DataError).get(header[self._label])
        self._columns: list[str] | None = None  # all
        if lists:
            self._choose([self._label, self._name, *lists], header)
        self.width = self._claimed_width(width)

    def _choose(self, kept: Sequence[int | None], header: Sequence[str]) -> None:
        """Read only these columns: the label and the name, if there are any, and the vectors."""
        names = [header[i] for i in kept if i is not None]
        if any(header.count(name) > 1 for name in names):
            raise DataError(f"{self._table} must have one column of each name; got several among {', '.join(names)}.")
        self._columns = names
        self._label, self._name, self._numbers = (
            *(None if i is None else names.index(header[i]) for i in kept[:2]),
            [len(names) - 1],
        )

    def _open(self, file: Any) -> tuple[Any, Any]:
        """Open the file with texts in dictionaries; return it and its schema."""
        first = open_parquet(file, self._table, DataError)
        schema = first.schema_arrow
        texts = [field.name for field in schema if _is_text(field.type)]
        options = {"metadata": first.metadata, "read_dictionary": texts, "buffer_size": _AT_ONCE}
        return open_parquet(file, self._table, DataError, **options), schema

    def _claimed_width(self, wanted: int | None) -> int:
        """Return the length of a vector; raise an error if the file claims more values than its rows can have."""
        width = None if self._lists else len(self._numbers)
        if width is not None:
            check_width(self._table, width, wanted)
        for group in map(self._file.metadata.row_group, range(self.groups)):
            pieces = map(group.column, range(group.num_columns))
            most = max((piece.num_values for piece in pieces if self._is_read(piece.path_in_schema)), default=0)
            if not group.num_rows:
                continue
            if width is None:
                width, over = divmod(most, group.num_rows)
                if over:
                    raise DataError(f"{self._table} must have lists of equal length.")
                check_width(self._table, width, wanted)
            if most > group.num_rows * max(1, width):
                raise DataError(f"{self._table} claims {most} values in {group.num_rows} rows of {width} numbers.")
        if width is None or not self.rows:
            raise DataError(f"{self._table} has no rows; vectors (n, d) are needed.")
        return width

    def _is_read(self, path: str) -> bool:
        return self._columns is None or any(f"{path}.".startswith(f"{name}.") for name in self._columns)

    @property
    def rows(self) -> int:
        return int(self._file.metadata.num_rows)

    @property
    def groups(self) -> int:
        return int(self._file.metadata.num_row_groups)

    def group_size(self, group: int) -> tuple[int, int]:
        """Return the rows of a row group, and its bytes before compression."""
        metadata = self._file.metadata.row_group(group)
        return metadata.num_rows, metadata.total_byte_size

    def read(self, group: int, step: int) -> Iterator[VectorRows]:
        """Yield the rows of a row group, read once from its beginning, ``step`` at a time."""
        held: list[Any] = []
        count = 0
        try:
            for batch in self._file.iter_batches(batch_size=step, row_groups=[group], columns=self._columns):
                held.append(batch if self._columns is None else batch.select(self._columns))
                count += batch.num_rows
                while count >= step:
                    table = self._arrow.Table.from_batches(held)
                    yield self._decode(table.slice(0, step))
                    held, count = table.slice(step).to_batches(), count - step
            if count:
                yield self._decode(self._arrow.Table.from_batches(held))
        except self._arrow.ArrowException as problem:
            raise DataError(f"{self._table} cannot be read: {problem}.") from None

    def _decode(self, rows: Any) -> VectorRows:
        if self._lists:
            vectors = self._from_lists(rows.column(self._numbers[0]))
        else:
            vectors = np.empty((rows.num_rows, self.width), np.float32)
            for place, column in enumerate(self._numbers):
                vectors[:, place] = self._floats(rows.column(column))
        labels = self._texts(rows, self._label)
        if labels is not None and self._class_names is not None:
            labels = [self._class_names(number, f"A row of {self._table}") or "" for number in labels]
        return VectorRows(vectors, labels, self._texts(rows, self._name))

    def _from_lists(self, column: Any) -> Array:
        import pyarrow.compute

        lengths = pyarrow.compute.fill_null(pyarrow.compute.list_value_length(column), -1)
        odd = np.flatnonzero(lengths.to_numpy() != self.width)
        if len(odd) or column.null_count:
            raise DataError(f"{self._table} must have lists of {self.width} numbers each.")
        return self._floats(pyarrow.compute.list_flatten(column)).reshape(-1, self.width)

    def _floats(self, column: Any) -> Array:
        """Return numbers as float32, NaN for missing ones."""
        column = self._short(column)
        try:
            plain = column.cast(self._arrow.float32(), safe=False)
        except self._arrow.ArrowException as problem:
            raise DataError(f"{self._table} must have columns of numbers ({problem}).") from None
        values: Array = plain.to_numpy()
        return values

    def _texts(self, rows: Any, column: int | None) -> list[Any] | None:
        return None if column is None else list(self._short(rows.column(column)).to_pylist())

    def _short(self, column: Any) -> Any:
        """Return a column; raise an error if it has texts longer than a name may be."""
        import pyarrow.compute

        kind = column.type
        for chunk in column.chunks:
            texts = chunk.dictionary if self._arrow.types.is_dictionary(kind) else chunk
            if _is_text(texts.type):
                longest = pyarrow.compute.max(pyarrow.compute.binary_length(texts)).as_py() or 0
                if longest > _LONGEST:
                    raise DataError(f"{self._table} must hold texts of at most {_LONGEST} bytes; got {longest}.")
        return column.cast(kind.value_type) if self._arrow.types.is_dictionary(kind) else column


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind)
    )


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    listed = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(listed) and not types.is_nested(kind.value_type) and not _is_text(kind.value_type)


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
    return _checked(file, table)


def _checked(file: Path, table: VectorTable) -> VectorTable:
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
