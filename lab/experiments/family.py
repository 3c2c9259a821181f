"""The family, grown: methods that came after the paper beside the paper's own, on the same rows of six sets.

Each is one mask, one diagonal or one rule away from the paper's (``kcrc.coding``, ``kcrc.decisions``), so what a table
can show is what that one change is worth. What a method leaves open (μ, γ of the kernel) is chosen by leaving examples
out. Local methods have the K nearest examples as their dictionary, global ones all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kcrc.report.tables import Table, mean_std
from lab.experiments import accuracy, figures
from lab.experiments.base import Cell, Experiment, Protocol, Report, Run
from lab.experiments.statements import lead

PAPER = ("NN", "CRC-GD", "CRC-LCD", "KCRC-GD", "KCRC-LCD")
SINCE = (
    "ProCRC-GD", "ProCRC-LCD", "CRT-GD", "CRT-LCD", "KCRT-LCD", "NRS-GD", "NRC-GD", "NRC-LCD", "SA-CRC-GD", "CROC-GD",
    "KCRC-Sum-GD", "KCRC-Sum-LCD",
)  # fmt: skip
REFERENCE = "KCRC-LCD"
PROTOCOL: Protocol = {
    "settings": (
        {"dataset": "digits", "title": "digits", "feature": "none", "gallery": 50},
        {"dataset": "mnist", "title": "MNIST", "feature": "none", "gallery": 50},
        {"dataset": "usps", "title": "USPS", "feature": "none", "gallery": 60},
        {"dataset": "yaleb", "title": "Yale B", "feature": "random-faces", "gallery": 20},
        {"dataset": "scene15_spm", "title": "15 scenes", "feature": "none", "gallery": 50},
        {"dataset": "caltech101_spm", "title": "Caltech101", "feature": "none", "gallery": 10},
    ),
    "methods": (*PAPER, *SINCE),
    "n_neighbors": 50,
    "seeds": 5,
    "queries": 400,
    "tuning_seconds": 3,
}
QUICK: Protocol = {"seeds": 1, "queries": 100, "tuning_seconds": 0.5}
STAND_IN: Protocol = {"settings": ({"dataset": "digits", "title": "digits", "feature": "none", "gallery": 10},)}


def cells(protocol: Protocol) -> list[Cell]:
    found: list[Cell] = []
    for setting in protocol["settings"]:
        for seed in accuracy.seeds_of(protocol):
            for name in protocol["methods"]:
                options = {"n_neighbors": protocol["n_neighbors"]} if name.endswith("-LCD") else {}
                found.append(
                    {
                        "experiment": "family", "seed": seed, **setting, "per_class": setting["gallery"],
                        "series": name, "method": name, "options": options, "queries": protocol["queries"],
                        "tuning_seconds": protocol["tuning_seconds"],
                    }
                )  # fmt: skip
    return found


def report(runs: Sequence[Run], protocol: Protocol, folder: Path) -> Report:
    sets = {run.cell["dataset"]: run.cell["title"] for run in runs}
    rows: list[list[Any]] = []
    for name in accuracy.in_order(runs, "series"):
        values = [accuracy.repeats(runs, series=name, dataset=dataset) for dataset in sets]
        rows.append([name, *(mean_std(v) if v else None for v in values)])
    K = protocol["n_neighbors"]
    caption = f"Accuracy (%) of the family; local dictionaries of K = {K}, global ones of all examples."
    return Report(
        tables=[Table("family", caption, ("method", *sets.values()), rows)],
        figures=[(_draw(runs, sets, folder), f"Accuracy of each method less that of {REFERENCE}, a dot a set.")],
        notes=[_gained(runs, dataset, title) for dataset, title in sets.items()],
    )


def _gained(runs: Sequence[Run], dataset: str, title: str) -> str:
    """What the methods since bring beyond the best of the paper's on one set, paired by split."""
    means = {name: accuracy.repeats(runs, series=name, dataset=dataset) for name in (*PAPER, *SINCE)}
    old, new = (
        max((n for n in names if means[n]), key=lambda n: float(np.mean(means[n])), default="")
        for names in (PAPER, SINCE)
    )
    ahead = lead(*(accuracy.where(runs, series=name, dataset=dataset) for name in (new, old)))
    if ahead is None:
        return f"{title}: not enough was measured to compare."
    low, high = ahead.interval or (-np.inf, np.inf)
    gained = "something is gained" if low > 0 else "nothing is gained beyond chance"
    spread = f" (95 % interval {low:+.2f} to {high:+.2f})" if ahead.interval else ""
    return (
        f"{title}: best of the paper's {old} ({np.mean(means[old]):.2f}), best since {new} "
        f"({np.mean(means[new]):.2f}); difference {ahead.mean:+.2f}{spread}, both picked in hindsight: {gained}."
    )


def _draw(runs: Sequence[Run], sets: Mapping[str, str], folder: Path) -> str:
    names = [name for name in accuracy.in_order(runs, "series") if name != REFERENCE]
    with figures.style():
        figure, axes = figures.panels(1, 1, width=figures.COLUMN, height=0.22 * len(names) + 0.8)
        axis = axes[0, 0]
        for dataset, title in sets.items():
            base = accuracy.mean_of(runs, series=REFERENCE, dataset=dataset)
            means = [accuracy.mean_of(runs, series=name, dataset=dataset) for name in names]
            there = [(mean - base, at) for at, mean in enumerate(means) if mean is not None and base is not None]
            axis.plot(*zip(*there, strict=True), "o", markersize=3, label=title)
        axis.axvline(0.0, color="0.6", linewidth=0.8)
        axis.set_yticks(range(len(names)), names)
        axis.invert_yaxis()
        axis.set_xlabel(f"points above {REFERENCE}")
        axis.legend(fontsize=5)
        return figures.save(figure, folder, "family")


EXPERIMENT = Experiment(
    "family", "The family, grown: methods since the paper", "beyond the paper", PROTOCOL, QUICK, STAND_IN, cells,
    accuracy.measure, report,
)  # fmt: skip
