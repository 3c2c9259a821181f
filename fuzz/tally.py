"""The counts of a run: cases and failures by area and kind, as a table and as JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from fuzz.failure import KINDS, last_line
from fuzz.watcher import Case

_SHOWN = 8  # failures of an area that are printed; all are counted


@dataclass
class Line:
    """The counts of one area."""

    asked: int = 0
    cases: int = 0
    cpu: float = 0.0
    slowest: float = 0.0
    peak: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[int, str, str]] = field(default_factory=list)


class Tally:
    """What a run found."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.lines: dict[str, Line] = {}

    def add(self, area: str, case: Case) -> list[str]:
        """Count a case; lines to print of what went wrong in it."""
        line = self.lines.setdefault(area, Line())
        line.cases += 1
        line.cpu += case.cpu
        line.slowest, line.peak = max(line.slowest, case.cpu), max(line.peak, case.peak)
        told = []
        for failure in case.failures:
            line.kinds[failure.kind] += 1
            line.failed.append((case.number, failure.kind, failure.detail))
            if len(line.failed) <= _SHOWN:
                command = f"python -m fuzz --area {area} --seed {self.seed} --case {case.number}"
                told.append(f"{failure.kind}: {last_line(failure.detail)}\n    {command}")
        return told

    @property
    def failures(self) -> int:
        return sum(sum(line.kinds.values()) for line in self.lines.values())

    @property
    def cases(self) -> int:
        return sum(line.cases for line in self.lines.values())

    @property
    def whole(self) -> bool:
        """Whether every case that was asked for was run."""
        return all(line.cases == line.asked for line in self.lines.values())

    def table(self) -> str:
        """One line an area, a column for each kind of failure."""
        head = f"{'area':<12}{'cases':>7}" + "".join(f"{kind:>11}" for kind in KINDS) + f"{'slowest':>9}{'peak MB':>9}"
        rows = [head]
        for area, line in sorted(self.lines.items()):
            counts = "".join(f"{line.kinds[kind]:>11}" for kind in KINDS)
            rows.append(f"{area:<12}{line.cases:>7}{counts}{line.slowest:>8.1f}s{line.peak >> 20:>9}")
        total: Counter[str] = sum((line.kinds for line in self.lines.values()), Counter())
        rows.append(f"{'all':<12}{self.cases:>7}" + "".join(f"{total[kind]:>11}" for kind in KINDS))
        return "\n".join(rows)

    def to_dict(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "cases": self.cases,
            "failures": self.failures,
            "areas": {
                area: {
                    "cases": line.cases,
                    "asked": line.asked,
                    **{kind: line.kinds[kind] for kind in KINDS},
                    "slowest_seconds": round(line.slowest, 3),
                    "cpu_seconds": round(line.cpu, 1),
                    "peak_bytes": line.peak,
                    "failed": [{"case": n, "kind": k, "detail": d} for n, k, d in line.failed],
                }
                for area, line in sorted(self.lines.items())
            },
        }
