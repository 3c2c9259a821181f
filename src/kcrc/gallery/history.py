"""The history of a gallery: an entry for each command, whatever number of acts it took.

Acts are kept one by one, each as durable as any; those of one command name its first in their details
(``part_of``), and only the first is shown, with a summary of the whole.
"""

from __future__ import annotations

import datetime
import itertools
from dataclasses import dataclass
from typing import Any

from kcrc.files.plain_json import read_json
from kcrc.gallery.contract import ActRecord, Snapshot
from kcrc.gallery.moments import moment


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
