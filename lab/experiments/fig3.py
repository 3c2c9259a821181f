"""Fig. 3: data with the same direction distribution, made as the paper says (section 6.2).

Every feature of one class is uniform on [1, 3], of the other on [−3, −1], plus Gaussian noise of variance 0.15. Both
classes span the same line through the origin, so a linear representation cannot tell them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.report.tables import Table, mean_std
from lab.experiments import accuracy, figures, statements
from lab.experiments.base import Cell, Experiment, Protocol, Report, Run
from lab.experiments.loader import SYNTHETIC, Loader

PROTOCOL: Protocol = {
    "settings": ({"dataset": SYNTHETIC, "n_train": 100, "n_test": 200, "noise_variance": 0.15},),  # a class
    "dimensions": (2, 4, 8, 16, 32, 64, 128, 256),
    "methods": {
        "CRC-GD": {"scaling": "plain"},
        "KCRC-GD": {"scaling": "plain"},
        "KCRC-LCD": {"scaling": "plain", "n_neighbors": 50},
    },
    "seeds": 10,
    "grid": 121,
    "tuning_seconds": 2,
}
QUICK: Protocol = {"seeds": 2, "dimensions": (2, 16, 256), "grid": 61, "tuning_seconds": 1}


PERFECT, NEAR_CHANCE = 99.9, 65.0  # accuracies (%): at least, and at most
EDGE = 4.5  # of the square that is asked


def cells(protocol: Protocol) -> list[Cell]:
    (setting,) = protocol["settings"]
    common = {"experiment": "fig3", "tuning_seconds": protocol["tuning_seconds"], **setting}
    found: list[Cell] = [
        {**common, "series": name, "method": name, "options": options, "x": dimension, "seed": seed}
        for name, options in protocol["methods"].items()
        for dimension in protocol["dimensions"]
        for seed in accuracy.seeds_of(protocol)
    ]
    return found + [
        {**common, "series": name, "method": name, "options": options, "x": 2, "seed": 0, "grid": protocol["grid"]}
        for name, options in protocol["methods"].items()
    ]


def same_direction(n: int, dimension: int, variance: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """n samples of each of the two classes."""
    upper, lower = rng.uniform(1, 3, (n, dimension)), rng.uniform(-3, -1, (n, dimension))
    X = np.concatenate([upper, lower]) + rng.normal(0, np.sqrt(variance), (2 * n, dimension))
    return X, np.repeat([0, 1], n)


def measure(cell: Cell, loader: Loader) -> dict[str, Any]:
    rng = np.random.default_rng([cell["seed"], cell["x"]])
    X, y = same_direction(cell["n_train"], cell["x"], cell["noise_variance"], rng)
    model = accuracy.estimator(cell).fit(X, y)
    if "grid" in cell:
        side = np.linspace(-EDGE, EDGE, cell["grid"])
        surface = model.predict(np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2))
        lines = ["".join(str(int(v)) for v in line) for line in surface.reshape(len(side), -1)]
        return {"surface": lines, "X": np.round(X, 3).tolist(), "y": y.tolist(), "chosen": accuracy.chosen(model)}
    Q, truth = same_direction(cell["n_test"], cell["x"], cell["noise_variance"], rng)
    right = 100.0 * float(np.mean(model.predict(Q) == truth))
    return {"accuracy": right, "n_queries": len(truth), "chosen": accuracy.chosen(model)}


def report(runs: Sequence[Run], protocol: Protocol, folder: Path) -> Report:
    measured = [run for run in runs if "accuracy" in run.values]
    names = accuracy.in_order(measured, "series")
    rows = [
        [m, *(mean_std(accuracy.repeats(measured, series=name, x=m)) for name in names)]
        for m in accuracy.in_order(measured, "x")
    ]
    rows.append(["paper, all m", *(("near chance (50)" if name == "CRC-GD" else "100") for name in names)])
    table = Table("fig3", "Accuracy (%) by dimension m on data with the same direction.", ("m", *names), rows)
    found = {
        name: [statements.estimate(accuracy.repeats(measured, series=name, x=row[0])) for row in rows[:-1]]
        for name in names
    }
    lowest, highest = ({n: pick(found[n], key=lambda e: e.mean) for n in names} for pick in (min, max))
    claims = [
        statements.decided(
            f"{name} separates the classes perfectly at every dimension.", lowest[name].mean >= PERFECT,
            f"lowest {lowest[name].mean:.2f}", lowest[name], PERFECT,
        )
        for name in names
        if name.startswith("KCRC")
    ]  # fmt: skip
    claims.append(
        statements.decided(
            "CRC-GD is near chance at every dimension.", highest["CRC-GD"].mean < NEAR_CHANCE,
            f"{lowest['CRC-GD'].mean:.1f} to {highest['CRC-GD'].mean:.1f}", highest["CRC-GD"], NEAR_CHANCE,
        )
    )  # fmt: skip
    caption = (
        "Fig. 3. Answers over the plane (grey, white) and the training samples of CRC-GD, KCRC-GD and KCRC-LCD, and "
        "accuracy by dimension."
    )
    return Report([table], [(_draw(runs, measured, folder), caption)], claims)


def _draw(runs: Sequence[Run], measured: Sequence[Run], folder: Path) -> str:
    surfaces = [run for run in runs if "surface" in run.values]
    with figures.style():
        figure, axes = figures.panels(1, len(surfaces) + 1, height=2.0)
        for place, (axis, run) in enumerate(zip(axes[0], surfaces, strict=False)):
            answers = np.array([[int(v) for v in line] for line in run.values["surface"]])
            axis.imshow(
                answers,
                origin="lower",
                extent=(-EDGE, EDGE, -EDGE, EDGE),
                cmap="Greys",
                vmin=-0.2,
                vmax=3,
                aspect="equal",
            )
            X, y = np.array(run.values["X"]), np.array(run.values["y"])
            for label, marker in ((0, "o"), (1, "^")):
                axis.scatter(*X[y == label].T, s=3, marker=marker, color=figures.COLOURS[label], linewidths=0)
            axis.set_title(f"({'abc'[place]}) {run.cell['series']}")
        figures.curves(axes[0, -1], accuracy.lines(measured))
        axes[0, -1].set_xscale("log", base=2)
        xs = sorted(accuracy.in_order(measured, "x"))
        axes[0, -1].set_xticks(xs, [str(x) for x in xs])
        axes[0, -1].set_title(f"({'abcd'[len(surfaces)]}) accuracy (%)")
        axes[0, -1].set_xlabel("dimension m")
        axes[0, -1].legend()
        return figures.save(figure, folder, "fig3")


EXPERIMENT = Experiment(
    "fig3", "Fig. 3: data with the same direction", "section 6.2, Fig. 3", PROTOCOL, QUICK, {}, cells, measure, report
)
