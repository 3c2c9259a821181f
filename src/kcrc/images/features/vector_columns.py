"""The columns of a table of vectors, by their names, and how many numbers a vector has."""

from __future__ import annotations

from collections.abc import Sequence

from kcrc.errors import DataError

LABEL_KEYS = ("labels", "label", "class", "y")
NAME_KEYS = ("name", "path", "file", "source", "id", "names", "paths")


def column_of(header: Sequence[str], known: tuple[str, ...]) -> int | None:
    folded = [cell.lower() for cell in header]
    return next((folded.index(k.lower()) for k in known if k.lower() in folded), None)


def check_width(table: str, found: int, wanted: int | None) -> None:
    """An error where the vectors of a table are not as long as those ``wanted`` (None: as long as they are)."""
    if wanted is not None and found != wanted:
        raise DataError(f"{table} holds vectors of {found} numbers; those of the gallery have {wanted}.")
