"""Which examples are in a gallery: by class, date or source, in the order asked for."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kcrc.errors import ParameterError
from kcrc.gallery.examples import Example, checked_label

if TYPE_CHECKING:
    from kcrc.gallery.gallery import Gallery

_FIRST = datetime.datetime.min.replace(tzinfo=datetime.UTC)  # a moment that is not known comes before all others
ORDERS: dict[str, Callable[[Example], Any]] = {
    "id": lambda example: example.id,
    "label": lambda example: (example.label, example.id),
    "date": lambda example: (example.added_at or _FIRST, example.id),
    "source": lambda example: (example.source, example.id),
}


def listed(
    gallery: Gallery,
    *,
    label: str | None = None,
    since: datetime.datetime | None = None,
    source: str | None = None,
    by: str = "id",
) -> list[Example]:
    """The examples of a class, added at ``since`` or later, whose source holds the text ``source``, as far as given;
    ``by`` is one of ``ORDERS``."""
    if by not in ORDERS:
        raise ParameterError(f"Examples are listed by {', '.join(ORDERS)}; given {by!r}.")
    name = None if label is None else checked_label(label)
    now = gallery.contents
    found = (now.example(position) for position in range(len(now)))
    return sorted(
        (
            example
            for example in found
            if (name is None or example.label == name)
            and (since is None or (example.added_at is not None and example.added_at >= since))
            and (source is None or source in example.source)
        ),
        key=ORDERS[by],
    )


def moment_given(text: str) -> datetime.datetime:
    """A day or a moment as people write it (2026-05-01, "2026-05-01 14:30"), by the clock of this place."""
    try:
        return datetime.datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError, OSError):
        raise ParameterError(
            f"A day is written 2026-05-01, a moment 2026-05-01T14:30; given '{text[:60]}', which is neither."
        ) from None


def facts_of(example: Example) -> dict[str, Any]:
    """An example in plain values."""
    added = None if example.added_at is None else example.added_at.isoformat()
    return {
        "id": example.id,
        "label": example.label,
        "source": example.source,
        "added_at": added,
        "sha256": example.content.hex(),
    }
