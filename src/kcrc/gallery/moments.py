"""Moments as a gallery stores them: microseconds since 1970 by the clock of the machine, whatever that said.

A clock may be wrong by decades and a file may be forged, so no number is a reason to refuse a gallery: one that no
calendar has is a moment that is not known.
"""

from __future__ import annotations

import datetime

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
