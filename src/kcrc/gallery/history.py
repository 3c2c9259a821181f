"""The history of a gallery: an entry for each command, whatever number of acts it took.

Acts are kept one by one, each as durable as any. Those of one command name its first act in their details
(``part_of``); only that one is shown, with a summary of the whole command.
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
# A clock may be wrong by decades and a file may be forged, so no number is a reason to refuse a gallery: a number
# outside the calendar is an unknown moment.

_BEGIN = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def moment(stored: int) -> datetime.datetime | None:
    """Return the moment of a stored number; None outside the years 1 to 9999."""
    try:
        return _BEGIN + datetime.timedelta(microseconds=stored)
    except OverflowError:
        return None


def format_moment(when: datetime.datetime | None, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Return a moment in local time, as text; "unknown" for None."""
    if when is None:
        return "unknown"
    try:
        return f"{when.astimezone():{form}}"
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
        When; None if it is not known.
    action : str
        What kind of command.
    summary : str
        What it did, in words.
    undone_by : int or None
        The later command that undid it; None if it stands.
    """

    id: int
    at: datetime.datetime | None
    action: str
    summary: str
    undone_by: int | None


def entries(reading: Snapshot, *, limit: int | None = None) -> list[Entry]:
    """Return the latest commands, newest first."""
    shown = (entry_of(act) for act in reading.acts() if first_of(act) == act.id)
    return list(itertools.islice(shown, limit))


def entry_of(act: ActRecord) -> Entry:
    return Entry(act.id, moment(act.at), act.action, act.summary, act.undone_by)


def detail_of(act: ActRecord) -> dict[str, Any]:
    """Return the details of an act; empty if they cannot be read."""
    try:
        detail = read_json(act.detail)
    except ValueError:
        return {}
    return detail if isinstance(detail, dict) else {}


def number_in(act: ActRecord, name: str) -> int | None:
    """Return the whole number of that name in the details of an act; None if there is none."""
    value = detail_of(act).get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def first_of(act: ActRecord) -> int:
    """Return the first act of the command that an act is part of; often itself."""
    first = number_in(act, "part_of")
    return act.id if first is None or not 0 < first < act.id else first


# Summaries of acts, and how names are removed from them.
#
# "added 3 examples of wren, owl" becomes "added 3 examples (names erased)" if the act concerned an erased example, or
# if it names a class that has no example left.

_SHOWN = 3  # classes that are named
_NAMING = ("build", "add", "remove", "relabel", "rename")  # acts whose summary names classes
_SUMMARY = re.compile(
    r"((?:undid: |redid: )*(?:built with|added|removed|relabelled) \d+ examples?)(?: of (.*))?\Z", re.DOTALL
)
_MORE = re.compile(r" and \d+ more\Z")
_ERASED = " (names erased)"


def count_examples(count: int) -> str:
    return f"{count} example" if count == 1 else f"{count} examples"


def summarise_add(count: int, labels: Iterable[str]) -> str:
    return f"added {count_examples(count)} of {_list_classes(labels)}"


def summarise_build(count: int, labels: Iterable[str]) -> str:
    return f"built with {count_examples(count)} of {_list_classes(labels)}"


def summarise_removal(count: int, labels: Iterable[str]) -> str:
    return f"removed {count_examples(count)} of {_list_classes(labels)}"


def summarise_relabelling(count: int, labels: Iterable[str], label: str) -> str:
    return f"relabelled {count_examples(count)} of {_list_classes(labels)} as {label}"


def summarise_correction(relabelled: int, removed: int) -> str:
    return f"corrected {count_examples(relabelled + removed)}: {relabelled} relabelled, {removed} removed"


def summarise_undo(summary: str) -> str:
    return f"undid: {summary}"


def summarise_redo(summary: str) -> str:
    return f"redid: {summary}"


def _list_classes(labels: Iterable[str]) -> str:
    classes = sorted(set(labels))
    more = f" and {len(classes) - _SHOWN} more" if len(classes) > _SHOWN else ""
    return ", ".join(classes[:_SHOWN]) + more


def without_names(summary: str, action: str, *, known: set[str], touched: bool) -> str:
    """Return the summary without names if the act was ``touched``, or if it names a class that is not ``known``."""
    match = _SUMMARY.match(summary)
    if match is None:
        plain = summary.endswith(_ERASED) or action not in _NAMING
        return summary if plain or not touched else f"{action}{_ERASED}"
    return match[1] + _ERASED if touched or not _names(match[2] or "") <= known else summary


def _names(text: str) -> set[str]:
    """Return the classes that the end of a summary names. A class name that looks like a list gives names that do not
    exist, so the summary loses its names rather than keeps them."""
    if not text:
        return set()
    before, _, after = text.rpartition(" as ")
    parts = _MORE.sub("", before or after).split(", ")
    return {*parts, after} if before else set(parts)
