"""Vectors in a Parquet file, by pyarrow: judged by what the file claims to hold before any of it is decoded.

A few hundred bytes of Parquet can stand for gigabytes. Numbers become arrays without a Python object each, and texts
stay as the dictionary the file has them in until they are known to be short.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, ParameterError
from kcrc.files.parquet_footer import opened_parquet
from kcrc.images.features.vector_columns import LABEL_KEYS, NAME_KEYS, check_width, column_of

_LONGEST = 65_536  # bytes of a name, a label or a number in words
_AT_ONCE = 1 << 20  # bytes of a column that are read ahead


@dataclass(frozen=True, eq=False)
class VectorRows:
    """vectors (n, d) float32, and labels and names where the file has them."""

    vectors: Array
    labels: list[Any] | None
    names: list[Any] | None


class ParquetVectors:
    """An open Parquet file of vectors: a column of lists, or a column for each number; a label and a name if wanted."""

    def __init__(self, file: Any, table: str, *, width: int | None = None) -> None:
        try:
            import pyarrow.parquet
        except ImportError:
            raise ParameterError(f"Reading {table} needs pyarrow. Install it: pip install 'kcrc[tables]'.") from None
        self._arrow, self._table = pyarrow, table
        try:
            self._file, schema = self._opened(file)
        except (pyarrow.ArrowException, KeyError) as problem:
            raise DataError(f"{table} cannot be read: {problem}.") from None
        header = list(schema.names)
        self._label, self._name = column_of(header, LABEL_KEYS), column_of(header, NAME_KEYS)
        self._numbers = [i for i in range(len(header)) if i not in (self._label, self._name)]
        if not self._numbers:
            raise DataError(f"{table} has no columns of numbers; its columns are: {', '.join(header[:5])}.")
        kinds = [schema.types[i] for i in self._numbers]
        self._lists = len(kinds) == 1 and _is_list(kinds[0])
        if not self._lists and any(map(pyarrow.types.is_nested, kinds)):
            raise DataError(f"{table}: its columns are not numbers, nor one column of lists of numbers.")
        self.width = self._claimed_width(width)

    def _opened(self, file: Any) -> tuple[Any, Any]:
        """The file, texts in dictionaries, and what it says of its columns."""
        first = opened_parquet(file, self._table, DataError)
        schema = first.schema_arrow
        texts = [field.name for field in schema if _is_text(field.type)]
        options = {"metadata": first.metadata, "read_dictionary": texts, "buffer_size": _AT_ONCE}
        return opened_parquet(file, self._table, DataError, **options), schema

    def _claimed_width(self, wanted: int | None) -> int:
        """How many numbers a vector has; an error where the file claims more of them than it has rows for."""
        width = None if self._lists else len(self._numbers)
        if width is not None:
            check_width(self._table, width, wanted)
        for group in map(self._file.metadata.row_group, range(self.groups)):
            most = max((group.column(i).num_values for i in range(group.num_columns)), default=0)
            if not group.num_rows:
                continue
            if width is None:
                width, over = divmod(most, group.num_rows)
                if over:
                    raise DataError(f"{self._table}: its lists are not numbers of equal length.")
                check_width(self._table, width, wanted)
            if most > group.num_rows * max(1, width):
                raise DataError(f"{self._table} claims {most} values in {group.num_rows} rows of {width} numbers.")
        if width is None or not self.rows:
            raise DataError(f"{self._table} has no rows; vectors (n, d) are needed.")
        return width

    @property
    def rows(self) -> int:
        return int(self._file.metadata.num_rows)

    @property
    def groups(self) -> int:
        return int(self._file.metadata.num_row_groups)

    def group_size(self, group: int) -> tuple[int, int]:
        """Rows of a row group, and its bytes before compression."""
        found = self._file.metadata.row_group(group)
        return found.num_rows, found.total_byte_size

    def read(self, group: int, step: int) -> Iterator[VectorRows]:
        """The rows of a row group, read once from its beginning, ``step`` at a time."""
        held: list[Any] = []
        count = 0
        try:
            for batch in self._file.iter_batches(batch_size=step, row_groups=[group]):
                held.append(batch)
                count += batch.num_rows
                while count >= step:
                    together = self._arrow.Table.from_batches(held)
                    yield self._decoded(together.slice(0, step))
                    held, count = together.slice(step).to_batches(), count - step
            if count:
                yield self._decoded(self._arrow.Table.from_batches(held))
        except self._arrow.ArrowException as problem:
            raise DataError(f"{self._table} cannot be read: {problem}.") from None

    def _decoded(self, rows: Any) -> VectorRows:
        if self._lists:
            vectors = self._from_lists(rows.column(self._numbers[0]))
        else:
            vectors = np.empty((rows.num_rows, self.width), np.float32)
            for place, column in enumerate(self._numbers):
                vectors[:, place] = self._floats(rows.column(column))
        return VectorRows(vectors, self._texts(rows, self._label), self._texts(rows, self._name))

    def _from_lists(self, column: Any) -> Array:
        import pyarrow.compute

        lengths = pyarrow.compute.fill_null(pyarrow.compute.list_value_length(column), -1)
        odd = np.flatnonzero(lengths.to_numpy() != self.width)
        if len(odd) or column.null_count:
            raise DataError(f"{self._table}: its lists are not numbers of equal length; {self.width} each are needed.")
        return self._floats(pyarrow.compute.list_flatten(column)).reshape(-1, self.width)

    def _floats(self, column: Any) -> Array:
        """Numbers as float32, NaN where there is none."""
        column = self._short(column)
        try:
            plain = column.cast(self._arrow.float32(), safe=False)
        except self._arrow.ArrowException as problem:
            raise DataError(f"{self._table}: its columns are not numbers of equal length ({problem}).") from None
        found: Array = plain.to_numpy()
        return found

    def _texts(self, rows: Any, column: int | None) -> list[Any] | None:
        return None if column is None else list(self._short(rows.column(column)).to_pylist())

    def _short(self, column: Any) -> Any:
        """A column of texts, none of them longer than a name may be; any other column as it is."""
        import pyarrow.compute

        kind = column.type
        for chunk in column.chunks:
            texts = chunk.dictionary if self._arrow.types.is_dictionary(kind) else chunk
            if _is_text(texts.type):
                longest = pyarrow.compute.max(pyarrow.compute.binary_length(texts)).as_py() or 0
                if longest > _LONGEST:
                    raise DataError(f"{self._table} holds a text of {longest} bytes; at most {_LONGEST} are read.")
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
