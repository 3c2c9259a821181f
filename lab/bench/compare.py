"""An old run beside a new one, by ratios alone: the machine may be another, or busy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """One ratio then and now; ``factor`` above 1 is slower."""

    name: str
    old: float
    new: float

    @property
    def factor(self) -> float:
        return self.new / self.old


def changes(old: Mapping[str, float], new: Mapping[str, float]) -> list[Change]:
    """Every ratio that both runs have, the worst first."""
    shared = [Change(name, old[name], new[name]) for name in new if name in old and old[name] > 0]
    return sorted(shared, key=lambda change: -change.factor)


def slower(found: list[Change], tolerance: float) -> list[Change]:
    """Those that grew by more than the share ``tolerance`` (0.25: a quarter)."""
    return [change for change in found if change.factor > 1.0 + tolerance]
