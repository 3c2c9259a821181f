"""What a worker of the box does with a Parquet file of vectors.

The sizes that the file claims are checked before anything is decoded. Numbers become arrays without a Python object
each, and texts stay in the file's dictionary until they are known to be short.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute
from pyarrow import types

from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.files.boxed import Head, Reply
from kcrc.files.parquet import as_reply, attach, class_name, class_names, open_parquet, prepare
from kcrc.images.features.vectors import LABEL_KEYS, NAME_KEYS, VECTOR_KEYS, check_width, column_of

__all__ = ["answer", "attach", "prepare"]  # the job

_LONGEST = 65_536  # bytes of a name, a label or a number in text
_AT_ONCE = 1 << 20  # bytes of a column that are read ahead

_file: _Vectors
_batches: Iterator[tuple[Any, bytes]]


def answer(head: Head, content: bytearray) -> Reply:
    """Open a file, or give the next rows of a row group."""
    global _file, _batches
    if head["do"] == "open":
        _file = _Vectors(head["size"], head["name"], width=head["width"])
        return Reply({"width": _file.width, "groups": [_file.group_size(number) for number in range(_file.groups)]})
    if head["do"] == "begin":
        _batches = _file.read(head["group"], head["rows"])
    return as_reply(_batches)


class _Vectors:
    """An open Parquet file of vectors: a column of lists, or one column per number; optionally a label and a name."""

    def __init__(self, size: int, table: str, *, width: int | None = None) -> None:
        self._table = table
        try:
            self._file, schema = self._open(size)
        except (pyarrow.ArrowException, OSError, KeyError) as problem:
            raise self._unreadable(problem) from None
        header = list(schema.names)
        plain = ["" if types.is_struct(field.type) else field.name for field in schema]  # a picture, not its name
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
        if any(types.is_nested(schema.types[i]) for i in self._numbers if i not in lists):
            raise DataError(f"{table} must have columns of numbers, or one column of lists of numbers.")
        self._class_names = None if self._label is None else class_names(schema).get(header[self._label])
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

    def _open(self, size: int) -> tuple[Any, Any]:
        """Open the file with texts in dictionaries; return it and its schema."""
        first = open_parquet(size)
        schema = first.schema_arrow
        texts = [field.name for field in schema if _is_text(field.type)]
        options = {"metadata": first.metadata, "read_dictionary": texts, "buffer_size": _AT_ONCE}
        return open_parquet(size, **options), schema

    def _unreadable(self, problem: Exception) -> DataError:
        return DataError(f"{self._table} cannot be read as Parquet: {str(problem)[:300]}.")

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

    def read(self, group: int, step: int) -> Iterator[tuple[Any, bytes]]:
        """Yield labels and names, and the vectors, of ``step`` rows at a time of a row group."""
        held: list[Any] = []
        count = 0
        try:
            for batch in self._file.iter_batches(batch_size=step, row_groups=[group], columns=self._columns):
                held.append(batch if self._columns is None else batch.select(self._columns))
                count += batch.num_rows
                while count >= step:
                    table = pyarrow.Table.from_batches(held)
                    yield self._decode(table.slice(0, step))
                    held, count = table.slice(step).to_batches(), count - step
            if count:
                yield self._decode(pyarrow.Table.from_batches(held))
        except (pyarrow.ArrowException, OSError) as problem:
            raise self._unreadable(problem) from None

    def _decode(self, rows: Any) -> tuple[Any, bytes]:
        if self._lists:
            vectors = self._from_lists(rows.column(self._numbers[0]))
        else:
            vectors = np.empty((rows.num_rows, self.width), np.float32)
            for place, column in enumerate(self._numbers):
                vectors[:, place] = self._floats(rows.column(column))
        labels = self._texts(rows, self._label)
        if labels is not None and self._class_names is not None:
            labels = [class_name(number, self._class_names, f"A row of {self._table}") or "" for number in labels]
        return [labels, self._texts(rows, self._name)], vectors.astype(np.float32, copy=False).tobytes()

    def _from_lists(self, column: Any) -> Array:
        lengths = pyarrow.compute.fill_null(pyarrow.compute.list_value_length(column), -1)
        odd = np.flatnonzero(lengths.to_numpy() != self.width)
        if len(odd) or column.null_count:
            raise DataError(f"{self._table} must have lists of {self.width} numbers each.")
        return self._floats(pyarrow.compute.list_flatten(column)).reshape(-1, self.width)

    def _floats(self, column: Any) -> Array:
        """Return numbers as float32, NaN for missing ones."""
        column = self._short(column)
        try:
            plain = column.cast(pyarrow.float32(), safe=False)
        except pyarrow.ArrowException as problem:
            raise DataError(f"{self._table} must have columns of numbers ({problem}).") from None
        values: Array = plain.to_numpy()
        return values

    def _texts(self, rows: Any, column: int | None) -> list[Any] | None:
        return None if column is None else list(self._short(rows.column(column)).to_pylist())

    def _short(self, column: Any) -> Any:
        """Return a column; raise an error if it has texts longer than a name may be."""
        kind = column.type
        for chunk in column.chunks:
            texts = chunk.dictionary if types.is_dictionary(kind) else chunk
            if _is_text(texts.type):
                longest = pyarrow.compute.max(pyarrow.compute.binary_length(texts)).as_py() or 0
                if longest > _LONGEST:
                    raise DataError(f"{self._table} must hold texts of at most {_LONGEST} bytes; got {longest}.")
        return column.cast(kind.value_type) if types.is_dictionary(kind) else column


def _is_text(kind: Any) -> bool:
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind)
    )


def _is_list(kind: Any) -> bool:
    listed = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(listed) and not types.is_nested(kind.value_type) and not _is_text(kind.value_type)
