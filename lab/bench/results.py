"""What a run found, as a file: ratios of times, the curves drawn, and facts of the machine without its name."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kcrc.errors import DataError
from kcrc.files.atomic import write_bytes
from lab.bench.scale.record import Record

FORMAT = "kcrc-bench-1"


@dataclass(frozen=True)
class Requirement:
    """A ratio (or share) that must not exceed a bound, or (``at_least``) not fall below it."""

    text: str
    value: float
    bound: float
    at_least: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound


@dataclass
class Results:
    """ratios: name -> time of this library over the time of another in the same run (smaller is better)."""

    quick: bool
    machine: dict[str, Any]
    ratios: dict[str, float] = field(default_factory=dict)
    claims: list[Requirement] = field(default_factory=list)
    curves: list[dict[str, Any]] = field(default_factory=list)
    agreement: list[dict[str, Any]] = field(default_factory=list)
    memory: list[dict[str, Any]] = field(default_factory=list)
    accuracy: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    scale: dict[str, Record] = field(default_factory=dict)
    """What was measured for ``docs/scale.md``, by the name of its section: a file each, beside this one."""

    def write(self, path: Path) -> None:
        content = {"format": FORMAT, **asdict(self)}
        del content["scale"]
        for name, record in self.scale.items():
            record.write(path.parent / "scale" / f"{name}.json")
        content["claims"] = [{**asdict(claim), "holds": claim.holds} for claim in self.claims]
        write_bytes(path, (json.dumps(content, indent=1, allow_nan=False) + "\n").encode())


def stored_ratios(path: Path) -> tuple[dict[str, float], bool]:
    """The ratios of a file that ``write`` made, and whether that run was quick."""
    try:
        content = json.loads(path.read_text())
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        return {str(name): float(value) for name, value in content["ratios"].items()}, bool(content["quick"])
    except FileNotFoundError:
        raise DataError(f"There is no file '{path}' to compare with.") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise DataError(f"'{path}' is not a result of python -m lab bench ({problem}). Give its bench.json.") from None
