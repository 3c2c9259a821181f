"""Parquet, by pyarrow (the extra ``tables``): the same columns as the CSV."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kcrc.errors import FileError, ParameterError
from kcrc.files.aside import aside
from kcrc.files.parquet_footer import opened_parquet
from kcrc.files.plain_files import read_plain
from kcrc.gallery.exchange.contract import BYTES, IMAGE_NAMES, ROWS, Labelled, Picture, from_mapping, to_mapping

_UNPACKED = 1_000_000_000  # bytes that the columns may claim
_BATCH = 4096  # rows read at a time

MAKES_FOLDER = False


def write(path: Path, rows: Sequence[Labelled], picture: Picture) -> int:
    arrow, parquet = _pyarrow()
    text = arrow.string()
    columns = {"image": text, "label": text, "id": arrow.int64(), "sha256": text, "added_at": text}
    table = arrow.Table.from_pylist([to_mapping(row) for row in rows], schema=arrow.schema(columns))
    with aside(path) as file:
        parquet.write_table(table, file)
    return len(rows)


def read(path: Path) -> Iterator[Labelled]:
    _pyarrow()
    content = read_plain(path, limit=BYTES, what="file of labels")
    try:
        yield from _rows(opened_parquet(io.BytesIO(content), str(path), FileError), path)
    except FileError:
        raise
    except Exception as problem:  # pyarrow raises of many kinds for a damaged file
        raise FileError(f"'{path}' cannot be read as Parquet: {str(problem)[:200]}.") from None


def _rows(file: Any, path: Path) -> Iterator[Labelled]:
    known = file.schema_arrow.names
    columns = [name for name in ("label", "sha256", *IMAGE_NAMES) if name in known]
    parts = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    if file.metadata.num_rows > ROWS or sum(part.total_byte_size for part in parts) > _UNPACKED:
        raise FileError(f"'{path}' has more than {ROWS} rows or {_UNPACKED} bytes; give it in parts.")
    number = 0
    for batch in file.iter_batches(_BATCH, columns=columns):
        for row in batch.to_pylist():
            number += 1
            yield from_mapping(row, f"Row {number} of '{path}'")


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ParameterError("Parquet needs pyarrow. Install it: pip install 'kcrc[tables]'.") from None
    return pyarrow, pyarrow.parquet
