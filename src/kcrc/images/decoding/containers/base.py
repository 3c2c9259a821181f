"""What every format tells of a stored picture."""

from __future__ import annotations

from dataclasses import dataclass


class Damaged(Exception):
    """The parts of the file do not fit together."""


class TooMuch(Exception):
    """The file would take too long to go through; the text says of what it has too much."""


@dataclass(frozen=True)
class Stored:
    """One picture as it lies in a file: ``width`` and ``height`` before it is turned upright.

    ``bare`` is the file without anything a decoder does not need; ``beside`` the bytes that a decoder takes beside the
    decoded picture.
    """

    format: str
    width: int
    height: int
    bare: bytes
    orientation: int = 1
    beside: int = 0
