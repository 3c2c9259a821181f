"""The history of a gallery: an entry for each command, whatever number of acts it took.

Acts are kept one by one, each as durable as any; those of one command name its first in their details
(``part_of``), and only the first is shown, with a summary of the whole.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kcrc.files.plain_files import read_json
from kcrc.gallery.contract import ActRecord, Snapshot

# Moments as a gallery stores them: microseconds since 1970 by the clock of the machine, whatever that said.
#
# A clock may be wrong by decades and a file may be forged, so no number is a reason to refuse a gallery: one that no
# calendar has is a moment that is not known.

_BEGIN = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def moment(stored: int) -> datetime.datetime | None:
    """The moment of a stored number; None outside the years 1 to 9999."""
    try:
        return _BEGIN + datetime.timedelta(microseconds=stored)
    except OverflowError:
        return None


def in_words(at: datetime.datetime | None, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A moment by the clock of this place; "unknown" where there is none."""
    if at is None:
        return "unknown"
    try:
        return f"{at.astimezone():{form}}"
    except (OverflowError, ValueError, OSError):  # the first and last hours of the calendar in some time zones
        return "unknown"


@dataclass(frozen=True)
class Entry:
    """One command in the history of a gallery.

    Attributes
    ----------
    id : int
        Its number.
    at : datetime or None
        When; None where it is not known.
    action : str
        What kind of command.
    summary : str
        What it did, in words.
    undone_by : int or None
        The later command that undid it; None where it stands.
    """

    id: int
    at: datetime.datetime | None
    action: str
    summary: str
    undone_by: int | None


def entries(reading: Snapshot, *, limit: int | None = None) -> list[Entry]:
    """The latest commands, newest first."""
    shown = (entry_of(act) for act in reading.acts() if first_of(act) == act.id)
    return list(itertools.islice(shown, limit))


def entry_of(act: ActRecord) -> Entry:
    return Entry(act.id, moment(act.at), act.action, act.summary, act.undone_by)


def detail_of(act: ActRecord) -> dict[str, Any]:
    """What an act keeps beside its summary; nothing where that cannot be read."""
    try:
        found = read_json(act.detail)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def number_in(act: ActRecord, name: str) -> int | None:
    """The whole number of that name in the details of an act; None where there is none."""
    value = detail_of(act).get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def first_of(act: ActRecord) -> int:
    """The first act of the command that an act is part of: often itself."""
    first = number_in(act, "part_of")
    return act.id if first is None or not 0 < first < act.id else first


# The history's words: what an act says of itself, and how that forgets names.
#
# "added 3 examples of wren, owl" becomes "added 3 examples (names erased)" where the act had to do with an erased
# example, or where it names a class of which nothing is left.

_SHOWN = 3  # classes that are named
_NAMING = ("build", "add", "remove", "relabel", "rename")  # acts whose summary names classes
_SUMMARY = re.compile(
    r"((?:undid: |redid: )*(?:built with|added|removed|relabelled) \d+ examples?)(?: of (.*))?\Z", re.DOTALL
)
_MORE = re.compile(r" and \d+ more\Z")
_ERASED = " (names erased)"


def examples(count: int) -> str:
    return f"{count} example" if count == 1 else f"{count} examples"


def added(count: int, labels: Iterable[str]) -> str:
    return f"added {examples(count)} of {_named(labels)}"


def built(count: int, labels: Iterable[str]) -> str:
    return f"built with {examples(count)} of {_named(labels)}"


def removed(count: int, labels: Iterable[str]) -> str:
    return f"removed {examples(count)} of {_named(labels)}"


def relabelled(count: int, labels: Iterable[str], label: str) -> str:
    return f"relabelled {examples(count)} of {_named(labels)} as {label}"


def corrected(relabelled: int, removed: int) -> str:
    return f"corrected {examples(relabelled + removed)}: {relabelled} relabelled, {removed} removed"


def undone(summary: str) -> str:
    return f"undid: {summary}"


def redone(summary: str) -> str:
    return f"redid: {summary}"


def _named(labels: Iterable[str]) -> str:
    classes = sorted(set(labels))
    more = f" and {len(classes) - _SHOWN} more" if len(classes) > _SHOWN else ""
    return ", ".join(classes[:_SHOWN]) + more


def forgetful(summary: str, action: str, *, known: set[str], touched: bool) -> str:
    """A summary without names, if the act was ``touched`` or it names a class that is not ``known``."""
    found = _SUMMARY.match(summary)
    if found is None:
        plain = summary.endswith(_ERASED) or action not in _NAMING
        return summary if plain or not touched else f"{action}{_ERASED}"
    return found[1] + _ERASED if touched or not _names(found[2] or "") <= known else summary


def _names(text: str) -> set[str]:
    """The classes that the end of a summary names. One whose name looks like two gives names that are not there, and
    is forgotten rather than kept."""
    if not text:
        return set()
    before, _, after = text.rpartition(" as ")
    parts = _MORE.sub("", before or after).split(", ")
    return {*parts, after} if before else set(parts)
