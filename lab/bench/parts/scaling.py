"""How time and memory of the ways to search grow with the examples, their width and K, beside faiss flat.

The labels of approximate searches are compared with those of the exact one at every size where there is one.

It is what ``docs/scale.md`` says about growth: see ``lab.bench.scale.page``.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from kcrc.report.tables import text_table
from lab.bench.parts import PartRun
from lab.bench.scale.point import FLAT, installed, make_data
from lab.bench.scale.point import measure as measured_in_a_process
from lab.bench.scale.record import Record

TYPICAL = {"n": 100_000, "width": 128, "K": 50}
ALONG: dict[str, tuple[int, ...]] = {
    "n": (10_000, 100_000, 1_000_000, 4_000_000),
    "width": (32, 128, 512),
    "K": (10, 50, 200),
}
GRAPHS = ("hnsw", "usearch")  # which take minutes to build: by n alone, and not for the most examples
MOST = {"mapped": 4_000_000, "hnsw": 100_000, "usearch": 100_000}
MOST_OF_OTHERS = 1_000_000
QUICK: dict[str, tuple[int, ...]] = {"n": (3000,)}
QUICK_TYPICAL = {"n": 2000, "width": 24, "K": 8}


def measure(run: PartRun) -> None:
    typical, along = (QUICK_TYPICAL, QUICK) if run.quick else (TYPICAL, ALONG)
    ways = installed()
    record = Record.begun("python -m lab bench --part scaling")
    record.measured.update(typical=typical, points=[])
    known: dict[tuple[int, ...], dict[str, Any]] = {}
    for name, sizes in along.items():
        for size in sizes:
            at = {**typical, name: size}
            key = tuple(at.values())
            if key not in known:
                known[key] = _at([way for way in ways if name == "n" or way not in GRAPHS], **at)
            record.measured["points"].append({"along": name, **at, "ways": known[key]})
        run.say(_table(name, [point for point in record.measured["points"] if point["along"] == name]))
    run.results.scale["growth"] = record


def _at(ways: list[str], n: int, width: int, K: int) -> dict[str, Any]:
    """What the ways take at one size, all of the same data."""
    with tempfile.TemporaryDirectory() as name:
        make_data(Path(name), n, width)
        there = [way for way in ways if n <= MOST.get(way, MOST_OF_OTHERS)]
        found = {way: measured_in_a_process(way, Path(name), K) for way in there}
    labels = {way: took.pop("labels") for way, took in found.items()}
    for way, told in labels.items():
        if way != FLAT and "exact" in labels:
            found[way]["agreement"] = float(np.mean(np.array(told) == np.array(labels["exact"])))
    return found


def _table(along: str, points: list[dict[str, Any]]) -> str:
    lines = []
    for point in points:
        flat = point["ways"].get(FLAT)
        for way, took in point["ways"].items():
            beside = [f"{took[what] / flat[what]:.2f}" if flat else "–" for what in ("one", "batch")]
            beside.append(f"{took['agreement']:.1%}" if "agreement" in took else "–")
            times = [f"{1e3 * took['one']:.2f} ms", f"{1e6 * took['batch']:.0f} µs", f"{took['build']:.1f} s"]
            lines.append([f"{along} = {point[along]:,}, {way}", *times, f"{1e-6 * took['memory']:.0f} MB", *beside])
    head = ["", "one query", "in a batch", "build", "memory", "one / flat", "batch / flat", "as exact"]
    return text_table(f"\nSearch and answer by {along}", head, lines)
