"""Table 5: KCRC-LCD with different distances on four databases (paper, section 6.5)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kcrc.report.tables import Table
from lab.experiments import accuracy, figures, statements
from lab.experiments.base import Cell, Claim, Experiment, Protocol, Report, Run

PAPER = {
    "USPS": {"Euclidean": 95.49, "Manhattan": 94.88, "Correlation": 95.57, "Tangent": 97.67, "Unified": 97.17},
    "Extended Yale B": {
        "Euclidean": 96.93,
        "Manhattan": 96.26,
        "Manhattan, RBF": 96.26,
        "Correlation": 97.01,
        "LBP-χ²": 98.53,
        "Unified": 98.22,
    },
    "MNIST": {"Euclidean": 85.31, "Manhattan": 84.93, "Correlation": 85.17, "Unified": 86.52},
    "Caltech101": {"Euclidean": 72.83, "Manhattan": 70.92, "Correlation": 72.55, "Unified": 73.05},
}
DISTANCES = {
    "Euclidean": "euclidean", "Manhattan": "manhattan", "Correlation": "correlation", "Tangent": "tangent",
    "LBP-χ²": "lbp-chi2", "Unified": "unified", "Manhattan, RBF": "manhattan",
}  # fmt: skip
# Neighbours by the distance, the kernel of the vectors: the paper may have meant this, as exp(−γ Manhattan) is far off.
OF_VECTORS = ("Manhattan, RBF",)
# Distances that look at the picture, not at a feature of it.
OF_PICTURES = ("Tangent", "LBP-χ²")
PROTOCOL: Protocol = {
    "settings": (
        {"dataset": "usps", "x": "USPS", "feature": "none", "gallery": None, "per_class": None, "K": 50},
        {
            "dataset": "yaleb", "x": "Extended Yale B", "feature": "random-faces", "gallery": 32, "per_class": 32,
            "K": 200,
        },
        {"dataset": "mnist", "x": "MNIST", "feature": "none", "gallery": 20, "per_class": 20, "K": 50},
        {"dataset": "caltech101_spm", "x": "Caltech101", "feature": "none", "gallery": 30, "per_class": 30, "K": 500},
    ),
    "seeds": 3,
    "queries": 500,
    "candidates": 300,  # of Euclidean distance, for those that look at pictures
    "tuning_seconds": 15,
    "tune_at": 200,
}  # fmt: skip
QUICK: Protocol = {"seeds": 1, "queries": 150, "tuning_seconds": 3, "candidates": 250}
FULL: Protocol = {"seeds": 5, "queries": None, "local_work": 2e11, "least_queries": 200}
STAND_IN: Protocol = {
    "settings": ({"dataset": "digits", "x": "digits", "feature": "none", "gallery": 20, "per_class": 20, "K": 50},),
    "queries": 100,
}  # fmt: skip

WHY = {
    "USPS": "the paper gives no K, kernel or μ for USPS; ours are K = 50 and leave-one-out's choice.",
    "Extended Yale B": "other splits and projections; K = 200 as in the paper's Table 3, μ by leave-one-out.",
    "MNIST": "200 other random digits; μ and the kernel's width by leave-one-out.",
    "Caltech101": "the features are our own spatial pyramids, not the published file the paper used.",
}

WHY_ONE = {
    ("Extended Yale B", "Manhattan"): "exp(−γ Manhattan) is far off here; with the RBF kernel of the vectors (next "
    "row) Manhattan neighbours reach the paper's figure.",
    ("Extended Yale B", "Unified"): "the 200 nearest by each of four distances are up to 800 of 1216 examples. With 50 "
    "of each, 200 in all, the first two splits gave 97.40 ± 0.28 (commit c610367).",
}
CAUSES = {
    "Caltech101: Unified is better than Euclidean.": "On these features Manhattan alone is eight points behind "
    "Euclidean (two in the paper), and brings its own 500 neighbours into the dictionary.",
    "USPS: Euclidean is better than Manhattan.": "The paper gives neither K nor the kernel for USPS. With K = 50, and "
    "the kernel's width chosen by leave-one-out for each distance, the two are within a few digits of 2,007.",
}


def cells(protocol: Protocol) -> list[Cell]:
    found: list[Cell] = []
    for setting in protocol["settings"]:
        wanted = PAPER.get(setting["x"], {"Euclidean": 0, "Manhattan": 0, "Correlation": 0})
        # A set with a fixed split and no draw gives the same answer for every seed.
        fixed = setting["gallery"] is None
        for seed in range(1) if fixed else accuracy.seeds_of(protocol):
            for series in wanted:
                single = [name for name in wanted if name != "Unified" and name not in OF_VECTORS]
                members = [DISTANCES[name] for name in single] if series == "Unified" else []
                pictures = any(DISTANCES[name] in (*members, DISTANCES[series]) for name in OF_PICTURES)
                options: dict[str, Any] = {
                    "distance": DISTANCES[series], "kernel": "rbf" if series in OF_VECTORS else "exp",
                    "n_neighbors": setting["K"],  # of a unified distance: the K nearest of each, put together
                    "scaling": "unit",
                }  # fmt: skip
                if pictures and setting["dataset"] == "usps":
                    options["n_candidates"] = protocol["candidates"]
                found.append(
                    {
                        "experiment": "table5", "series": series, "method": "KCRC-LCD", "seed": seed,
                        "queries": accuracy.affordable(protocol["queries"], setting["K"], protocol),
                        "options": options,
                        "tuning_seconds": protocol["tuning_seconds"], "tune_at": protocol["tune_at"], **setting,
                        **({"feature": "images"} if pictures else {}), **({"members": members} if members else {}),
                    }
                )  # fmt: skip
    return found


def report(runs: Sequence[Run], protocol: Protocol, folder: Path) -> Report:
    rows: list[list[Any]] = []
    for x in accuracy.in_order(runs, "x"):
        for series in accuracy.in_order(runs, "series", x=x):
            paper = PAPER.get(x, {}).get(series)
            ours = accuracy.repeats(runs, x=x, series=series)
            rows.append([x, series, *accuracy.compared(ours, paper, WHY_ONE.get((x, series), WHY.get(x, "")))])
    table = Table(
        "table5",
        "Accuracy (%) of KCRC-LCD by distance.",
        ("database", "distance", "ours", "paper", "difference", "why"),
        rows,
    )
    found = Report([table], claims=[] if protocol.get("stand_in") else _claims(runs))
    found.figures.append(
        (_draw(runs, folder), "Table 5 as a figure: ours (dots, ± standard deviation), the paper's (crosses).")
    )
    if not protocol.get("stand_in"):
        found.notes.append(
            "USPS is tested on its own split, so it has one repeat; the tangent distance looks at the "
            f"{protocol['candidates']} Euclidean nearest (the paper's coarse to fine, Algorithm 4). Unified puts the "
            "K nearest of each of a set's distances together, as the paper does; beside a distance that looks at "
            "pictures the others look at the pixels."
        )
    return found


def _claims(runs: Sequence[Run]) -> list[Claim]:
    found = []
    for x, better, worse in (
        ("USPS", "Tangent", "Euclidean"), ("Extended Yale B", "LBP-χ²", "Euclidean"),
        ("USPS", "Euclidean", "Manhattan"), ("MNIST", "Unified", "Euclidean"), ("Caltech101", "Unified", "Euclidean"),
    ):  # fmt: skip
        first, second = (accuracy.where(runs, x=x, series=name) for name in (better, worse))
        text = f"{x}: {better} is better than {worse}."
        found.append(statements.compared(text, first, second, cause=CAUSES.get(text, "")))
    return found


def _draw(runs: Sequence[Run], folder: Path) -> str:
    sets = accuracy.in_order(runs, "x")
    with figures.style():
        figure, axes = figures.panels(1, len(sets), height=2.2)
        for axis, x in zip(axes[0], sets, strict=True):
            names = accuracy.in_order(runs, "series", x=x)
            for place, name in enumerate(names):
                figures.point(axis, place, accuracy.repeats(runs, x=x, series=name))
                if name in PAPER.get(x, {}):
                    axis.plot(place + 0.2, PAPER[x][name], "x", color=figures.COLOURS[1])
            axis.set_xticks(range(len(names)), names, rotation=60, ha="right")
            axis.set_title(x)
        axes[0, 0].set_ylabel("accuracy (%)")
        return figures.save(figure, folder, "table5")


EXPERIMENT = Experiment(
    "table5", "Table 5: distances", "section 6.5, Table 5", PROTOCOL, QUICK, STAND_IN, cells, accuracy.measure, report,
    FULL,
)  # fmt: skip
