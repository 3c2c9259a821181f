"""What the history tells of examples, and how it forgets: an act keeps its number, its moment and its count.

"added 3 examples of wren, owl" becomes "added 3 examples (names erased)" where the act had, or may have had, to do with
an erased example, or where it names a class of which nothing is left.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

from kcrc.files.plain_json import read_json
from kcrc.gallery import sealed, settings

_EXAMPLES = ("add", "remove", "relabel", "rename")  # acts whose summary names classes
_SUMMARY = re.compile(r"((?:undid: )*(?:added|removed|relabelled) \d+ examples?)(?: of (.*))?\Z", re.DOTALL)
_MORE = re.compile(r" and \d+ more\Z")
_ERASED = " (names erased)"


def touched(db: sqlite3.Connection, rows: Sequence[sealed.Row], changes: Sequence[sealed.Row]) -> set[int]:
    """The acts that had, or may have had, to do with these examples; ``changes`` are those of the examples.

    A ``remove`` that was undone left no trace at the examples it took, nor did a ``relabel`` before a ``compact``: such
    acts since the first of the examples came count as well.
    """
    first = min((row[5] for row in rows), default=0)
    found = {row[5] for row in rows} | {row[6] for row in rows if row[6] is not None} | {row[0] for row in changes}
    history = list(sealed.select(db, "history", "ORDER BY id"))
    compacted = max((row[0] for row in history if row[2] == "compact"), default=0)
    for act, _, action, _, detail, undone_by in history:
        undone = action == "remove" and undone_by is not None
        forgotten = action in ("relabel", "rename") and act < compacted
        if act > first and (undone or forgotten):
            found.add(act)
        if action == "undo" and _number(detail, "of") in found:
            found.add(act)
    return found


def forget(db: sqlite3.Connection, touched: set[int], stale: set[int]) -> None:
    """Shorten what is said of the ``touched`` acts and of classes that are no more; no act goes back to a ``stale``
    choice of parameters."""
    known = {row[0] for row in db.execute("SELECT DISTINCT label FROM examples")}
    known |= {row[0] for row in db.execute("SELECT DISTINCT before FROM changes")}
    old, new = [], []
    for row in sealed.select(db, "history", "ORDER BY id"):
        act, at, action, summary, detail, undone_by = row
        if action in (*_EXAMPLES, "undo"):
            summary = _shortened(summary, action, named=known, always=act in touched)
        elif action in ("tune", "first tune") and _number(detail, "tuned") in stale:
            detail = settings.to_json({**read_json(detail), "tuned": 0})
        if (summary, detail) != (row[3], row[4]):
            old.append(row)
            new.append((act, at, action, summary, detail, undone_by))
    sealed.replace(db, "history", old, new)


def _shortened(summary: str, action: str, *, named: set[str], always: bool) -> str:
    found = _SUMMARY.match(summary)
    if found is None:
        plain = summary.endswith(_ERASED) or action not in _EXAMPLES
        return summary if plain or not always else f"{action}{_ERASED}"
    return found[1] + _ERASED if always or not _names(found[2] or "") <= named else summary


def _names(text: str) -> set[str]:
    """The classes that the end of a summary names. One whose name looks like two gives names that are not there, and
    is forgotten rather than kept."""
    if not text:
        return set()
    before, _, after = text.rpartition(" as ")
    parts = _MORE.sub("", before or after).split(", ")
    return {*parts, after} if before else set(parts)


def _number(detail: str, name: str) -> int | None:
    """The number of that name in the details of an act; None where there is none."""
    try:
        found = read_json(detail)
    except ValueError:
        return None
    value = found.get(name) if isinstance(found, dict) else None
    return value if isinstance(value, int) else None
