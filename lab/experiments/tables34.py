"""Tables 3 and 4: running time of one answer in four settings (paper, section 6.4), beside the paper's.

The paper names no machine, so its milliseconds and ours are on different ones. What compares are the ratios between
the methods, printed beside the paper's own. Parameters are fixed here: they hardly change the time of an answer.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kcrc.report.tables import Table
from lab.experiments import accuracy, figures, statements
from lab.experiments.base import Cell, Claim, Experiment, Protocol, Report, Run
from lab.experiments.loader import Loader

BUSY = 0.2  # share of the cores at work for others, above which a measurement counts as disturbed
PAPER = {  # ms per query
    "MNIST": {"KCRC-LCD": 2.2618, "KCRC-GD": 3.4723, "CRC-GD": 2.5451, "SRC-GD": 338.69},
    "Extended Yale B": {"KCRC-LCD": 90.434, "KCRC-GD": 367.31, "CRC-GD": 200.48, "SRC-GD": 587.31},
    "Caltech101": {"KCRC-LCD": 3016.1, "KCRC-GD": 9863.3, "CRC-GD": 2350.9, "SRC-GD": 19147.0},
    "15 scenes": {"KCRC-LCD": 246.64, "KCRC-GD": 2516.7, "CRC-GD": 430.48, "SRC-GD": 5943.8},
}
RBF: dict[str, Any] = {"gamma": "scale", "mu": 0.01}
PROTOCOL: Protocol = {
    "settings": (
        {"dataset": "mnist", "x": "MNIST", "feature": "none", "gallery": 50, "K": 50},
        {"dataset": "yaleb", "x": "Extended Yale B", "feature": "random-faces", "gallery": 32, "K": 200},
        {"dataset": "caltech101_spm", "x": "Caltech101", "feature": "none", "gallery": 30, "K": 510},
        {"dataset": "scene15_spm", "x": "15 scenes", "feature": "none", "gallery": 100, "K": 200},
    ),
    "methods": {
        "KCRC-LCD": ("KCRC-LCD", {**RBF, "form": "gram"}),
        "KCRC-LCD, rkhs form": ("KCRC-LCD", {**RBF, "form": "rkhs"}),
        "KCRC-GD": ("KCRC-GD", {**RBF, "form": "gram"}),
        "CRC-GD": ("CRC-GD", {"gamma": "scale", "mu": 0.01}),
        "SRC-GD": ("SRC-GD", {"gamma": "scale", "mu": 0.05}),
    },
    "queries": 1000,
    "slow_queries": 100,  # SRC-GD
    "rounds": 3,
    "seeds": 1,
}
QUICK: Protocol = {"queries": 200, "slow_queries": 20, "rounds": 1}
CAUSES = {
    "SRC-GD": "The paper solves SRC-GD by basis pursuit. Ours is a compiled lasso over products of the dictionary that "
    "are made once, at fit; it costs little more than finding the few examples that take part.",
    "KCRC-GD": "A global dictionary is the same for every query, so ours is factorised once, at fit, and a query costs "
    "products alone. A local dictionary is another one for every query, and has to be factorised for it: at K = {K} "
    "that costs more than products with all {n} examples.",
    "CRC-GD": "The dictionary is factorised once, at fit, as for KCRC-GD.",
}
FULL: Protocol = {"rounds": 7, "slow_queries": 1000}
STAND_IN: Protocol = {
    "settings": ({"dataset": "digits", "x": "digits", "feature": "none", "gallery": 50, "K": 50},),
}  # fmt: skip


def cells(protocol: Protocol) -> list[Cell]:
    found: list[Cell] = []
    for setting in protocol["settings"]:
        for series, (method, options) in protocol["methods"].items():
            local = {"n_neighbors": setting["K"]} if method.endswith("LCD") else {}
            queries = protocol["slow_queries"] if method == "SRC-GD" else protocol["queries"]
            for threads in ("all", "one"):
                found.append(
                    {
                        "experiment": "tables34", "series": series, "method": method, "threads": threads, "seed": 0,
                        "queries": queries, "rounds": protocol["rounds"], "per_class": setting["gallery"],
                        "options": {**options, **local, **({"n_jobs": 1} if threads == "one" else {})}, **setting,
                    }
                )  # fmt: skip
    return found


def measure(cell: Cell, loader: Loader) -> dict[str, Any]:
    """Milliseconds a query of one call with all queries, the median of the rounds; and the seconds of ``fit``."""
    split = loader.split(cell)
    limit = 1 if cell["threads"] == "one" else None
    with threadpool_limits(limits=limit):
        model = accuracy.estimator(cell)
        begun = time.perf_counter()
        model.fit(split.X, split.y)
        fitted = time.perf_counter() - begun
        model.predict(split.queries[:8])  # threads started, code in memory
        rounds = []
        for _ in range(cell["rounds"]):
            begun = time.perf_counter()
            answers = model.predict(split.queries)
            rounds.append(1000.0 * (time.perf_counter() - begun) / len(split.queries))
    return {
        "ms": statistics.median(rounds), "rounds": rounds, "fit_seconds": fitted, "n_queries": len(split.queries),
        "n_train": len(split.y), "n_features": int(split.X.shape[1]), "n_classes": split.n_classes,
        "accuracy": 100.0 * float(np.mean(answers == split.truth)),
    }  # fmt: skip


def report(runs: Sequence[Run], protocol: Protocol, folder: Path) -> Report:
    settings = accuracy.in_order(runs, "x")
    first = [
        [x, *(accuracy.where(runs, x=x)[0].values[k] for k in ("n_features", "n_classes", "n_train", "n_queries")),
         accuracy.where(runs, x=x)[0].cell["K"]]
        for x in settings
    ]  # fmt: skip
    rows = [row for x in settings for row in _rows(runs, x)]
    tables = [
        Table("table3", "Settings.", ("database", "dimension", "classes", "atoms", "queries", "K"), first),
        Table(
            "table4",
            "Milliseconds an answer (fit is done once, before), and every method's time as a multiple of KCRC-LCD's.",
            (
                "database", "method", "ours, all cores", "ours, one core", "paper", "paper / ours",
                "times KCRC-LCD, ours", "times KCRC-LCD, paper", "fit, s",
            ),
            rows,
        ),
    ]  # fmt: skip
    found = Report(tables, claims=_claims(runs, settings) if not protocol.get("stand_in") else [])
    found.figures.append(
        (
            _draw(runs, settings, folder),
            "Table 4 as a figure: milliseconds an answer, ours (all cores) and the paper's.",
        )
    )
    loads = [run.origin["load"] for run in runs if run.origin.get("load") is not None]
    if loads and statistics.median(loads) > BUSY:
        found.notes.append(
            f"Measured on a busy machine ({statistics.median(loads):.0%} of its cores at work for others): the "
            "milliseconds are disturbed. Run `python -m lab reproduce tables34 --fresh` on a quiet one."
        )
    fewer = " SRC-GD is timed on fewer queries." if protocol["slow_queries"] < protocol["queries"] else ""
    found.notes.append(f"The paper does not name its machine.{fewer} The paper solves SRC-GD by basis pursuit.")
    return found


def _ms(runs: Sequence[Run], x: str, series: str, threads: str = "all") -> float | None:
    found = accuracy.repeats(runs, "ms", x=x, series=series, threads=threads)
    return found[0] if found else None


def _rows(runs: Sequence[Run], x: str) -> list[list[Any]]:
    base, paper = _ms(runs, x, "KCRC-LCD"), PAPER.get(x, {})
    rows = []
    for series in accuracy.in_order(runs, "series", x=x):
        ours, theirs = _ms(runs, x, series), paper.get(series.split(",")[0])
        one = _ms(runs, x, series, "one")
        rows.append(
            [
                x, series, _digits(ours), _digits(one), theirs,
                None if theirs is None or ours is None else f"{theirs / ours:.0f}×",
                None if base is None or ours is None else f"{ours / base:.2f}×",
                None if theirs is None else f"{theirs / paper['KCRC-LCD']:.2f}×",
                f"{accuracy.repeats(runs, 'fit_seconds', x=x, series=series, threads='all')[0]:.2f}",
            ]
        )  # fmt: skip
    return rows


def _digits(ms: float | None) -> str | None:
    return None if ms is None else f"{ms:.3g}"


def _rounds(runs: Sequence[Run], x: str, series: str) -> list[float] | None:
    """Milliseconds an answer, round by round, on all cores."""
    found = accuracy.where(runs, x=x, series=series, threads="all")
    return [float(ms) for ms in found[0].values.get("rounds") or [found[0].values["ms"]]] if found else None


def _claims(runs: Sequence[Run], settings: Sequence[str]) -> list[Claim]:
    claims = []
    for x in settings:
        ours = _rounds(runs, x, "KCRC-LCD")
        if ours is None or x not in PAPER:
            continue
        first = accuracy.where(runs, x=x)[0]
        sizes = {"K": first.cell["K"], "n": first.values["n_train"]}
        gain = statements.ratio([PAPER[x]["KCRC-LCD"]], ours)
        text = f"{x}: KCRC-LCD answers at least 20 times as fast as in the paper (our aim: 100)."
        claims.append(statements.decided(text, gain.mean >= 20, f"{gain.mean:.0f}×", gain, 20.0))
        for rival in ("SRC-GD", "KCRC-GD", "CRC-GD"):
            other = _rounds(runs, x, rival)
            if other is not None and PAPER[x][rival] > PAPER[x]["KCRC-LCD"]:
                times = statements.ratio(other, ours)
                text = f"{x}: KCRC-LCD is faster than {rival}."
                detail = f"{rival} takes {times.mean:.2f}× as long"
                cause = CAUSES[rival].format(**sizes)
                claims.append(statements.decided(text, times.mean > 1.0, detail, times, 1.0, cause))
    return claims


def _draw(runs: Sequence[Run], settings: Sequence[str], folder: Path) -> str:
    with figures.style():
        figure, axes = figures.panels(1, len(settings), height=2.2)
        for axis, x in zip(axes[0], settings, strict=True):
            names = accuracy.in_order(runs, "series", x=x)
            paper = PAPER.get(x, {})
            for place, name in enumerate(names):
                axis.bar(
                    place - 0.2, _ms(runs, x, name), 0.38, color=figures.COLOURS[0], label="ours" if not place else None
                )
                if name in paper:
                    axis.bar(
                        place + 0.2, paper[name], 0.38, color=figures.COLOURS[7], label="paper" if not place else None
                    )
            axis.set_yscale("log")
            axis.set_xticks(range(len(names)), [n.replace("KCRC-LCD, ", "") for n in names], rotation=60, ha="right")
            axis.set_title(x)
        axes[0, 0].set_ylabel("ms an answer")
        axes[0, 0].legend()
        return figures.save(figure, folder, "table4")


EXPERIMENT = Experiment(
    "tables34", "Tables 3 and 4: running time", "section 6.4, Tables 3 and 4", PROTOCOL, QUICK, STAND_IN, cells,
    measure, report, FULL,
)  # fmt: skip
