"""CSV read without trust, as people's spreadsheets save it: with a mark before it, or semicolons or tabs for commas."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator

from kcrc.errors import FileError
from kcrc.files.plain_file import read_plain


def read_table(path: str | os.PathLike[str], *, limit: int, what: str) -> Iterator[tuple[int, dict[str, str]]]:
    """(line number, cells by column) of every row of a CSV file in UTF-8 with a header line; cells as they are."""
    try:
        text = read_plain(path, limit=limit, what=what).decode("utf-8-sig")
        separator = max(",;\t", key=text.partition("\n")[0].count)
        for row in (table := csv.DictReader(io.StringIO(text, newline=""), delimiter=separator, strict=True)):
            yield table.line_num, {name: cell or "" for name, cell in row.items() if isinstance(name, str)}
    except (UnicodeDecodeError, csv.Error) as problem:
        raise FileError(f"The {what} '{path}' is not CSV in UTF-8: {problem}.") from None
