"""Text in the cell of a spreadsheet: one that begins like a formula is run when the file is opened, unless guarded.

A quote is put before it, which spreadsheets show as text; before what looks guarded already too, so that ``unguarded``
gives every text back.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

from kcrc.report.words import one_line

_FORMULA = re.compile(r"'*\s*[=+\-@＝＋－＠]")


def guarded(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def cell(value: Any) -> Any:
    """A text in one line, control characters as escapes; one that a spreadsheet would run gets a quote before it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        value = " | ".join(map(str, value))
    if not isinstance(value, str):
        return value
    return guarded(one_line(value))


def csv_line(values: Sequence[Any]) -> str:
    """One line of a CSV, with its end."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([cell(value) for value in values])
    return line.getvalue()
