"""What an experiment is: a protocol as data, the cells it consists of, how one is measured, and what is made of them.

A **cell** is one measurement: a mapping of plain values (data set, method, sizes, seed) that says all there is to
know to repeat it. Its values are kept under the hash of that mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcrc.report.tables import Table

if TYPE_CHECKING:
    from lab.experiments.loader import Loader

Cell = dict[str, Any]
Protocol = Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """What was asked for: the scale, where data are and results go. None leaves a number to the protocol."""

    out: Path
    data: Path | None = None
    quick: bool = False
    full: bool = False
    seeds: int | None = None
    queries: int | None = None
    fresh: bool = False
    progress: bool | None = None

    @property
    def scale(self) -> str:
        return "quick" if self.quick else "full" if self.full else "standard"


@dataclass(frozen=True)
class Run:
    """One measured cell: what was measured, the values, and where they come from."""

    cell: Cell
    values: Mapping[str, Any]
    origin: Mapping[str, Any]
    key: str


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, whether our numbers bear it out (None: they cannot say), and the numbers.

    ``interval`` is where, with 95 % confidence, the number lies that decides, and ``beyond_chance`` whether all of it
    is on one side; ``cause`` is why the statement does not hold here, where it does not.
    """

    text: str
    held: bool | None
    detail: str = ""
    interval: tuple[float, float] | None = None
    beyond_chance: bool | None = None
    cause: str = ""


@dataclass
class Report:
    """What an experiment hands to the page: tables, figures by file name, claims, and what a reader must know."""

    tables: list[Table] = field(default_factory=list)
    figures: list[tuple[str, str]] = field(default_factory=list)  # (stem of the file, caption)
    claims: list[Claim] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper (or beyond it).

    ``protocol["settings"]`` lists what is measured, each with the ``dataset`` it needs; ``quick`` overrides the
    protocol for a short run, ``full`` for one with the paper's own repeats and queries; ``stand_in`` overrides it once
    more where none of the data are there (digits instead).
    """

    name: str
    title: str
    source: str
    protocol: Protocol
    quick: Protocol
    stand_in: Protocol
    cells: Callable[[Protocol], list[Cell]]
    measure: Callable[[Cell, Loader], dict[str, Any]]
    report: Callable[[Sequence[Run], Protocol, Path], Report]
    full: Protocol = field(default_factory=dict)
