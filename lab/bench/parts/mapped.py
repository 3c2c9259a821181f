"""A dictionary larger than memory under a hard limit: build, query, add, forget; its answers beside exact ones.

``lab.bench.scale.limited`` says what the limit is. The neighbours are compared with those that measuring every example
gives, and at a size where both fit every label with that of examples in memory.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from kcrc.report.tables import text_table
from lab.bench.parts import PartRun
from lab.bench.results import Requirement
from lab.bench.scale.limited import measure as measured_under_a_limit
from lab.bench.scale.limited import nearest_by_all
from lab.bench.scale.point import make_data
from lab.bench.scale.record import Record

LARGE = {"n": 4_000_000, "width": 256, "limit": 1_500_000_000, "budget": 512_000_000}
SMALL = {"n": 100_000, "width": 256}  # where both fit
QUICK = {"n": 20_000, "width": 32, "limit": 1_500_000_000, "budget": 8_000_000}
QUICK_SMALL = {"n": 3000, "width": 32}
K = 50
CHECKED = 3  # queries whose neighbours are compared with all examples measured


def measure(run: PartRun) -> None:
    large, small = (QUICK, QUICK_SMALL) if run.quick else (LARGE, SMALL)
    record = Record.begun("python -m lab bench --part mapped")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_data(folder, large["n"], large["width"], "float16")
        found = measured_under_a_limit(folder, K, limit=large["limit"], budget=large["budget"])
        rows = found.pop("rows")[:CHECKED]
        same = sum(ours == theirs for ours, theirs in zip(rows, nearest_by_all(folder, K, CHECKED), strict=True))
    found.pop("labels")
    record.measured.update(
        found, checked=len(rows), with_right_neighbours=same, **_beside_memory(small, large["budget"])
    )
    run.say(_table(record.measured))
    most = max(step["memory"] for step in found["steps"])
    run.results.ratios["mapped, most memory of its own / examples"] = most / found["data"]
    claims = run.results.claims
    claims.append(Requirement("queries with other neighbours than measuring all gives", float(len(rows) - same), 0.0))
    claims.append(Requirement("labels unlike those of examples in memory", float(record.measured["different"]), 0.0))
    claims.append(Requirement("forgotten examples that were found again", float(found["found_again"]), 0.0))
    run.results.scale["mapped"] = record


def _beside_memory(size: dict[str, int], budget: int) -> dict[str, Any]:
    """Of all steps, how many labels differ from those of the same steps in memory."""
    with tempfile.TemporaryDirectory() as name:
        make_data(Path(name), size["n"], size["width"], "float16")
        ours, theirs = (
            measured_under_a_limit(Path(name), K, budget=budget, mapped=mapped)["labels"] for mapped in (True, False)
        )
    pairs = [pair for one, other in zip(ours, theirs, strict=True) for pair in zip(one, other, strict=True)]
    return {"compared": len(pairs), "compared_n": size["n"], "different": sum(one != other for one, other in pairs)}


def _table(found: dict[str, Any]) -> str:
    lines = [[s["step"], f"{s['seconds']:.2f} s", f"{1e-6 * s['memory']:.0f} MB"] for s in found["steps"]]
    title = (
        f"\n{found['n']:,} × {found['width']} {found['dtype']} ({1e-6 * found['data']:,.0f} MB), at most "
        f"{1e-6 * found['limit']:,.0f} MB of memory, memory_budget {1e-6 * found['budget']:,.0f} MB"
    )
    return text_table(title, ["", "time", "memory of its own"], lines)
