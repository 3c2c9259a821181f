"""Parquet, by pyarrow (the extra ``tables``): the same columns as the CSV.

Read: also what Hugging Face datasets writes, whose classes are numbers with their names in the footer, and tables with
columns of embeddings beside, which are passed over."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kcrc.errors import FileError, ParameterError
from kcrc.files.atomic import atomic_write
from kcrc.files.parquet_footer import class_names, open_parquet
from kcrc.files.plain_files import read_plain
from kcrc.gallery.exchange.columns import Columns
from kcrc.gallery.exchange.contract import BYTES, ROWS, Labelled, Picture, to_mapping

_UNPACKED = 1_000_000_000  # bytes that the columns may claim
_BATCH = 4096  # rows read at a time
_FEW = 16  # if there are pictures among them, and to look at

MAKES_FOLDER = False
HAS_COLUMNS = True


def write(path: Path, rows: Sequence[Labelled], picture: Picture) -> int:
    arrow, parquet = _pyarrow()
    text = arrow.string()
    columns = {"image": text, "label": text, "id": arrow.int64(), "sha256": text, "added_at": text}
    table = arrow.Table.from_pylist([to_mapping(row) for row in rows], schema=arrow.schema(columns))
    with atomic_write(path) as file:
        parquet.write_table(table, file)
    return len(rows)


def read(path: Path, label_column: str | None = None) -> Iterator[Labelled]:
    _pyarrow()
    content = read_plain(path, limit=BYTES, what="file of labels")
    try:
        yield from _rows(open_parquet(io.BytesIO(content), str(path), FileError), path, label_column)
    except FileError:
        raise
    except Exception as problem:  # pyarrow raises of many kinds for a damaged file
        raise FileError(f"'{path}' cannot be read as Parquet: {str(problem)[:200]}.") from None


def _rows(file: Any, path: Path, label_column: str | None) -> Iterator[Labelled]:
    schema = file.schema_arrow
    parts = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    if file.metadata.num_rows > ROWS or sum(part.total_byte_size for part in parts) > _UNPACKED:
        raise FileError(f"'{path}' has more than {ROWS} rows or {_UNPACKED} bytes; give it in parts.")
    plain = [field.name for field in schema if not _is_nested(field.type)]  # embeddings and boxes are not looked at
    first = next(file.iter_batches(_FEW, columns=plain), None)
    if first is None:
        return
    columns = Columns.of(first.to_pylist(), path, label_column)
    names = class_names(schema, FileError).get(columns.label)
    has_pictures = any(_is_picture(schema.field(name).type) for name in columns.images)
    number = held = 0
    for batch in file.iter_batches(_FEW if has_pictures else _BATCH, columns=list(columns.names)):
        for row in batch.to_pylist():
            number += 1
            place = f"Row {number} of '{path}'"
            if names is not None:
                row[columns.label] = names(row[columns.label], place)
            labelled = columns.labelled_row(row, place)
            held += len(labelled.content or b"")
            if held > _UNPACKED:
                raise FileError(f"'{path}' unpacks to more than {_UNPACKED} bytes of pictures; give it in parts.")
            yield labelled


def _is_nested(kind: Any) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_nested(kind)) and not _is_picture(kind)


def _is_picture(kind: Any) -> bool:
    """Whether a column is an image as Hugging Face datasets writes it: a struct of its bytes and its path."""
    import pyarrow

    return bool(pyarrow.types.is_struct(kind)) and {field.name for field in kind} == {"bytes", "path"}


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ParameterError("Parquet needs pyarrow. Install it: pip install 'kcrc[tables]'.") from None
    return pyarrow, pyarrow.parquet
