"""Text in the cell of a spreadsheet: one that begins like a formula is run when the file is opened, unless guarded.

A quote is put before it, which spreadsheets show as text; before what looks guarded already too, so that ``unguarded``
gives every text back.
"""

from __future__ import annotations

import re

_FORMULA = re.compile(r"'*\s*[=+\-@＝＋－＠]")


def guarded(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
