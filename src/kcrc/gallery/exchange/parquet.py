"""Parquet, by pyarrow (the extra ``tables``): the same columns as the CSV.

Read: also what Hugging Face datasets writes, whose classes are numbers with their names in the footer, and tables with
columns of embeddings beside, which are passed over."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kcrc.errors import DataError, FileError, ParameterError
from kcrc.files.atomic import atomic_write
from kcrc.files.parquet import ParquetReader, class_name
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
    content = read_plain(path, limit=BYTES, what="file of labels")
    try:
        yield from _rows(ParquetReader(io.BytesIO(content), f"'{path}'"), path, label_column)
    except FileError:
        raise
    except DataError as problem:
        said = str(problem)
        raise FileError(said if str(path) in said else f"'{path}': {said}") from None


def _rows(file: ParquetReader, path: Path, label_column: str | None) -> Iterator[Labelled]:
    if file.head["rows"] > ROWS or file.head["bytes"] > _UNPACKED:
        raise FileError(f"'{path}' has more than {ROWS} rows or {_UNPACKED} bytes; give it in parts.")
    kinds = dict(file.head["columns"])
    plain = [name for name, kind in kinds.items() if kind != "nested"]  # embeddings and boxes are not looked at
    first = next(file.batches({"rows": _FEW, "columns": plain}), None)
    if first is None:
        return
    columns = Columns.of(first[0], path, label_column)
    names = file.head["class_names"].get(columns.label)
    has_pictures = any(kinds[name] == "picture" for name in columns.images)
    step = {"rows": _FEW if has_pictures else _BATCH, "columns": list(columns.names)}
    number = held = 0
    for rows, pictures in file.batches(step):
        for row in rows:
            number += 1
            place = f"Row {number} of '{path}'"
            if names is not None:
                row[columns.label] = class_name(row[columns.label], names, place)
            for cell in row.values():
                if isinstance(cell, dict) and isinstance(cell.get("bytes"), list):
                    start, size = cell["bytes"]
                    cell["bytes"] = bytes(pictures[start : start + size])
            labelled = columns.labelled_row(row, place)
            held += len(labelled.content or b"")
            if held > _UNPACKED:
                raise FileError(f"'{path}' unpacks to more than {_UNPACKED} bytes of pictures; give it in parts.")
            yield labelled


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ParameterError("Parquet needs pyarrow. Install it: pip install 'kcrc[tables]'.") from None
    return pyarrow, pyarrow.parquet
