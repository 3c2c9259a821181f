"""What a run found, in words and columns for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from kcrc.report.tables import text_table
from lab.bench.compare import Change
from lab.bench.results import Requirement


def short(micros: float) -> str:
    """A time a query in three figures."""
    if micros >= 1e5:
        return f"{micros / 1e6:.3g} s"
    return f"{micros / 1e3:.3g} ms" if micros >= 1e3 else f"{micros:.3g} µs"


def claims(found: Sequence[Requirement]) -> str:
    lines = [
        [
            claim.text,
            f"{claim.value:.3g}",
            f"{'≥' if claim.at_least else '≤'} {claim.bound:g}",
            "holds" if claim.holds else "MISSED",
        ]
        for claim in found
    ]
    return text_table("What must hold", ["", "measured", "bound", ""], lines)


def comparison(changes: Sequence[Change], tolerance: float) -> str:
    lines = [
        [c.name, f"{c.old:.3g}", f"{c.new:.3g}", f"{c.factor:.2f}", "SLOWER" if c.factor > 1 + tolerance else ""]
        for c in changes
    ]
    return text_table("Ratios then and now (a factor above 1 is slower)", ["", "then", "now", "factor", ""], lines)
