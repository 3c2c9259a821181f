"""CSV (RFC 4180): commas, quotes where needed, CRLF; a text that a spreadsheet would run gets a ' before it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from kcrc.files.aside import aside
from kcrc.files.plain_files import guarded, read_table, unguarded
from kcrc.gallery.exchange.contract import BYTES, Labelled, Picture, from_mapping, to_mapping

COLUMNS = ("image", "label", "id", "sha256", "added_at")

MAKES_FOLDER = False


def write(path: Path, rows: Sequence[Labelled], picture: Picture) -> int:
    with aside(path) as file:
        text = io.StringIO(newline="")
        table = csv.DictWriter(text, COLUMNS, lineterminator="\r\n")
        table.writeheader()
        for row in rows:
            table.writerow({**to_mapping(row), "image": guarded(row.image), "label": guarded(row.label)})
        file.write(text.getvalue().encode())
    return len(rows)


def read(path: Path) -> Iterator[Labelled]:
    for number, row in read_table(path, limit=BYTES, what="file of labels"):
        yield from_mapping({name: unguarded(cell) for name, cell in row.items()}, f"Line {number} of '{path}'")
