"""The sections of ``docs/scale.md``, one file each, and what a section is made of.

A section's file has a ``TITLE`` and a function ``pieces(measured)`` that gives, of what was measured, paragraphs
(Markdown), tables and drawings in the order they are read. Every number in it comes from the measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kcrc.report.tables import Table


@dataclass(frozen=True)
class Drawing:
    """``draw`` fills the axes of a figure; it is the file ``name`` with the ending .svg."""

    name: str
    caption: str
    draw: Callable[[Any], None]


Piece = str | Table | Drawing
Pieces = Callable[[dict[str, Any]], Sequence[Piece]]
