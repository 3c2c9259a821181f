"""Tables as values, written as CSV (for programs), Markdown (for readers) and lined up (for a terminal)."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kcrc.files.atomic import write_bytes

MISSING = "–"


@dataclass(frozen=True)
class Table:
    """``rows`` hold plain values, as many as ``columns``; None is shown as a dash."""

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def csv(self) -> str:
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([["" if v is None else v for v in row] for row in self.rows])
        return file.getvalue()

    def markdown(self) -> str:
        lines = [
            "| " + " | ".join(_cell(c) for c in self.columns) + " |",
            "|" + "|".join(" ---: " if self._number(i) else " --- " for i in range(len(self.columns))) + "|",
        ]
        lines += ["| " + " | ".join(_cell(v) for v in row) + " |" for row in self.rows]
        return "\n".join(lines) + "\n"

    def _number(self, column: int) -> bool:
        """Whether a column is set to the right: numbers, with their ± or sign."""
        shown = [_cell(row[column]) for row in self.rows if row[column] is not None]
        return any(shown) and all(text[:1] in "0123456789+−-–×" and len(text) < 16 for text in shown)

    def write(self, folder: Path) -> None:
        write_bytes(folder / f"{self.name}.csv", self.csv().encode())
        write_bytes(folder / f"{self.name}.md", f"{self.caption}\n\n{self.markdown()}".encode())


def _cell(value: Any) -> str:
    if value is None:
        return MISSING
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")


def text_table(title: str, head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Columns for a terminal, the first to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [head, *lines]) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        return "  " + "   ".join(cells).rstrip()

    return "\n".join([title, line(head), "  " + "-" * (sum(widths) + 3 * (len(widths) - 1)), *map(line, lines)])


def mean_std(values: Sequence[float]) -> str:
    """``97.2 ± 0.4``; the standard deviation over the repeats, left out for a single one."""
    if not len(values):
        return MISSING
    mean = f"{np.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ± {np.std(values, ddof=1):.2f}"


def with_sign(value: float, digits: int = 2) -> str:
    """A difference with its sign: +0.41, −1.20."""
    return f"{value:+.{digits}f}".replace("-", "−")
