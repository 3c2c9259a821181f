"""Text in the cell of a spreadsheet: one that begins like a formula is run when the file is opened, unless guarded.

A quote is put before it, which spreadsheets show as text; before what looks guarded already too, so that ``unguarded``
gives every text back. A spreadsheet that takes ';', tabs or '|' for the ends of cells begins others in the middle of a
text, so a quote is put there too.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

from kcrc._base.words import one_line

_FORMULA = r"(?=['\s]*[=+\-@＝＋－＠])"
_OPEN = re.compile(rf"\A{_FORMULA}|(?<=[;\t|]){_FORMULA}")
_GUARD = re.compile(rf"\A'{_FORMULA}|(?<=[;\t|])'{_FORMULA}")


def guarded(text: str) -> str:
    return _OPEN.sub("'", text)


def unguarded(cell: str) -> str:
    return _GUARD.sub("", cell)


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
