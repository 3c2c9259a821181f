"""Contests of single parts, one file each: ``python -m lab bench --part NAME``.

A part's ``measure`` says a table and leaves ratios in the results, as the whole run does.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab.bench.results import Results

NAMES = (
    "pixel",
    "tangent",
    "robust",
    "lasso",
    "photographs",
    "asking",
    "box",
    "queries",
    "search",
    "indexes",
    "fitting",
    "changing",
    "serving",
    "server",
    "scaling",
    "mapped",
    "engines",
)


@dataclass(frozen=True)
class PartRun:
    """What the parts share; ``quick`` asks for as little as shows that a part works."""

    quick: bool
    folder: Path | None
    results: Results
    say: Callable[[str], None]


def load(name: str) -> Callable[[PartRun], None]:
    """How the part called ``name`` is measured."""
    measure: Callable[[PartRun], None] = importlib.import_module(f"lab.bench.parts.{name}").measure
    return measure
