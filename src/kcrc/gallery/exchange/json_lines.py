"""JSON lines: an object a line, with every name exactly as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from kcrc.files.atomic import atomic_write
from kcrc.files.plain_files import read_json_lines
from kcrc.gallery.exchange.columns import read_rows
from kcrc.gallery.exchange.contract import BYTES, Labelled, Picture, to_mapping

MAKES_FOLDER = False
HAS_COLUMNS = True


def write(path: Path, rows: Sequence[Labelled], picture: Picture) -> int:
    with atomic_write(path) as file:
        for row in rows:
            file.write(json.dumps(to_mapping(row)).encode() + b"\n")
    return len(rows)


def read(path: Path, label_column: str | None = None) -> Iterator[Labelled]:
    rows = read_json_lines(path, limit=BYTES, what="file of labels")
    return read_rows(((f"Line {number} of '{path}'", row) for number, row in rows), path, label_column)
