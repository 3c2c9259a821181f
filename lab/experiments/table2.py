"""Table 2 and Fig. 8: the 15 scenes, spatial-pyramid features, dictionary and K of 450 (paper, section 6.3.5)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lab.experiments import accuracy, figures, statements
from lab.experiments.base import Cell, Claim, Experiment, Protocol, Report, Run

PAPER = {
    "KCRC-LCD": 98.05, "KCRC-GD": 97.21, "CRC-LCD": 92.13, "CRC-GD": 90.92, "LC-KSVD": 92.94, "D-KSVD": 89.16,
    "KSRC-LCD": 96.97, "KSRC-GD": 95.21,
}  # fmt: skip
PROTOCOL: Protocol = {
    "settings": ({"dataset": "scene15_spm", "feature": "none", "gallery": 100, "classes": 15},),
    "per_class": 30,  # of the global dictionaries: 450 atoms
    "local": ("KCRC-LCD", "CRC-LCD", "KSRC-LCD"),
    "smaller": 200,  # neighbours of one more row, to see what the paper's K of 450 costs
    "global": ("KCRC-GD", "CRC-GD", "KSRC-GD"),
    "learned": {"LC-KSVD": "LC-KSVD2", "D-KSVD": "D-KSVD"},
    "learning": {"n_iter": 5, "init_iter": 5, "sparsity": 30},
    "seeds": 3,
    "queries": 600,
    "tuning_seconds": 15,
    "tune_at": 200,
}
QUICK: Protocol = {
    "seeds": 1, "queries": 200, "tuning_seconds": 4, "learned": {}, "local": ("KCRC-LCD", "CRC-LCD"),
    "global": ("KCRC-GD", "CRC-GD"),
}  # fmt: skip
FULL: Protocol = {"seeds": 10, "slow_seeds": 5, "queries": None}
STAND_IN: Protocol = {
    "settings": ({"dataset": "digits", "feature": "none", "gallery": 30, "classes": 10},), "per_class": 10,
    "queries": 100,
}  # fmt: skip

WHY = (
    "the paper's features are one published file that cannot be had; our own spatial pyramids (dense SIFT, 1024 words, "
    "LLC, 1+4+16 cells, PCA to 3000) give every method less. Compare the methods with each other."
)

CAUSES = {
    "KCRC-LCD is better than KSRC-LCD.": "K = 450 of 1500 examples is past what helps KCRC-LCD on these features: with "
    "K = 200 it is half as far behind KSRC-LCD (last row of the table). A sparse code takes few of its 450 examples by "
    "itself.",
    "LC-KSVD is better than D-KSVD.": "The two differ by one term, which asks for alike codes within a class; on these "
    "features, with the same weights for both, it is worth less than the spread over splits.",
}


def cells(protocol: Protocol) -> list[Cell]:
    (setting,) = protocol["settings"]
    atoms = protocol["per_class"] * setting["classes"]
    found: list[Cell] = []
    for seed in accuracy.seeds_of(protocol):
        common = {
            "experiment": "table2", "seed": seed, "queries": protocol["queries"], "confusion": True, **setting,
        }  # fmt: skip
        tuned = {**common, "tuning_seconds": protocol["tuning_seconds"], "tune_at": protocol["tune_at"]}
        for name in protocol["local"]:
            part = {"series": name, "method": name, "per_class": setting["gallery"]}
            found.append({**tuned, **part, "options": {"n_neighbors": atoms}})
        smaller = {"series": f"KCRC-LCD, K = {protocol['smaller']}", "method": "KCRC-LCD"}
        options = {"n_neighbors": protocol["smaller"]}
        found.append({**tuned, **smaller, "per_class": setting["gallery"], "options": options})
        for name in protocol["global"]:
            found.append({**tuned, "series": name, "method": name, "per_class": protocol["per_class"], "options": {}})
        for name, method in protocol["learned"].items():
            options = {"n_atoms": atoms, **protocol["learning"]}
            found.append(
                {**common, "series": name, "method": method, "per_class": setting["gallery"], "options": options}
            )
    return [cell for cell in found if cell["seed"] in accuracy.seeds_of(protocol, cell["method"])]


def report(runs: Sequence[Run], protocol: Protocol, folder: Path) -> Report:
    real = not protocol.get("stand_in")
    there = [name for name in PAPER if accuracy.repeats(runs, series=name)]
    there += [name for name in accuracy.in_order(runs, "series") if name not in PAPER]
    caption = "Accuracy (%) on the 15 scenes; dictionary size and K 450, local dictionaries from 1500 examples."
    table = accuracy.beside_paper("table2", caption, runs, there, PAPER if real else {}, WHY)
    found = Report(tables=[table])
    if real:
        found.claims = _claims(runs)
    shown = [name for name in ("KCRC-LCD", "CRC-GD") if accuracy.repeats(runs, series=name)]
    if shown:
        found.figures.append((_draw(runs, shown, folder), "Fig. 8. Confusion matrices (% of each true class)."))
    return found


def _claims(runs: Sequence[Run]) -> list[Claim]:
    """The order of the paper's table, pair by pair."""
    found = []
    for better, worse in (
        ("KCRC-LCD", "KCRC-GD"), ("KCRC-LCD", "CRC-LCD"), ("KCRC-LCD", "KSRC-LCD"), ("KCRC-LCD", "LC-KSVD"),
        ("KCRC-GD", "CRC-GD"), ("CRC-LCD", "CRC-GD"), ("KSRC-LCD", "KSRC-GD"), ("LC-KSVD", "D-KSVD"),
    ):  # fmt: skip
        first, second = (accuracy.where(runs, series=name) for name in (better, worse))
        text = f"{better} is better than {worse}."
        found.append(statements.compared(text, first, second, cause=CAUSES.get(text, "")))
    return found


def _draw(runs: Sequence[Run], shown: Sequence[str], folder: Path) -> str:
    with figures.style():
        figure, axes = figures.panels(1, len(shown), height=3.7)
        for axis, name, letter in zip(axes[0], shown, "ab", strict=False):
            of_it = accuracy.where(runs, series=name)
            total = np.sum([run.values["confusion"] for run in of_it], axis=0)
            classes = [c.removeprefix("MIT").removeprefix("CAL") for c in of_it[0].values["classes"]]
            figures.heat(axis, total, classes, title=f"({letter}) {name}")
        return figures.save(figure, folder, "fig8")


EXPERIMENT = Experiment(
    "table2", "Table 2 and Fig. 8: 15 scenes", "section 6.3.5, Table 2, Fig. 8", PROTOCOL, QUICK, STAND_IN, cells,
    accuracy.measure, report, FULL,
)  # fmt: skip
