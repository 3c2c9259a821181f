"""CSV (RFC 4180): commas, quotes where needed, CRLF; a text that a spreadsheet would run gets a ' before it.

Read: the tables of others too, packed by gzip, and without a header line; their columns are 1, 2 … then."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from kcrc.files.atomic import atomic_write
from kcrc.files.plain_files import escape_formula, read_table, unescape_formula
from kcrc.gallery.exchange.columns import is_image, read_rows
from kcrc.gallery.exchange.contract import BYTES, Labelled, Picture, to_mapping

COLUMNS = ("image", "label", "id", "sha256", "added_at")

MAKES_FOLDER = False
HAS_COLUMNS = True


def write(path: Path, rows: Sequence[Labelled], picture: Picture) -> int:
    with atomic_write(path) as file:
        text = io.StringIO(newline="")
        table = csv.DictWriter(text, COLUMNS, lineterminator="\r\n")
        table.writeheader()
        for row in rows:
            table.writerow({**to_mapping(row), "image": escape_formula(row.image), "label": escape_formula(row.label)})
        content = text.getvalue().encode()
        file.write(gzip.compress(content, mtime=0) if path.suffix.lower() == ".gz" else content)
    return len(rows)


def read(path: Path, label_column: str | None = None) -> Iterator[Labelled]:
    rows = read_table(path, limit=BYTES, what="file of labels", has_header=lambda first: not any(map(is_image, first)))
    plain = ((number, {name: unescape_formula(cell) for name, cell in row.items()}) for number, row in rows)
    return read_rows(((f"Line {number} of '{path}'", row) for number, row in plain), path, label_column)
