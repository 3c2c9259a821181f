"""The section on engines: what is projected follows from the fitted costs, and the page shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.bench.cost_model import CostModel
from lab.bench.scale import page
from lab.bench.scale.projected import SIZES, projected
from lab.bench.scale.record import Record

MODEL = CostModel(2e-9, 3e-5, 4e-4)


def measured() -> dict[str, object]:
    sizes = [(1000, 1), (2000, 2), (4000, 3)]
    return {
        "beside": {"queries": 100, "examples": 50, "share": 0.9, "rate": 10.0, "took": {"bare": [0.9], "ray": [1.0]}},
        "lost": {"queries": 100, "examples": 50, "calm": 1.0, "took": 3.0, "faults": 0},
        "slopes": {
            "width": 8,
            "neighbours": 5,
            "points": [[n, s, MODEL.seconds(n, s)] for n, s in sizes],
            "fitted": 2,
            "model": [2e-9, 3e-5, 4e-4],
            "nodes": {"1": 10.0, "2": 18.0},
            "nodes_examples": 4000,
        },
        "projected": projected(MODEL, width=8, neighbours=5, queries=2000),
    }


def test_more_takes_more_and_trouble_takes_longer() -> None:
    found = projected(MODEL, width=64, neighbours=25, queries=50_000)
    machines = {(plan["examples"], plan["rate"]): plan["machines"] for plan in found["plans"]}
    assert list(machines) == SIZES
    assert machines[1e7, 1e3] < machines[1e7, 1e5] < machines[1e9, 1e5]
    calm, slow = (row[2:] for row in found["simulated"]["rows"][:2])
    assert all(now <= later for now, later in zip(calm, slow, strict=True))


def test_the_page_has_the_section_and_its_drawing(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    record = Record.begun("python -m lab bench --part engines")
    record.measured.update(measured())
    record.write(tmp_path / "scale" / "engines.json")
    page.write(tmp_path / "scale")
    text = (tmp_path / "scale.md").read_text("utf-8")
    assert "3.0 s: 2.0 s lost" in text
    assert "| 4,000 | 3 | held out | 0.498 | 0.498 | +0% |" in text
    assert (tmp_path / "scale" / "cost-by-shards.svg").exists()
