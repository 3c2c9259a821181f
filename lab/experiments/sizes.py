"""What Figs. 4 to 7 share: (a) accuracy by dictionary size, (b) KCRC-LCD by K for galleries of several sizes.

A global method has s examples a class as its dictionary. A learned one has as many atoms, learned from the whole
gallery. A local one has the K nearest of the whole gallery, K being the same number: s times the classes. Where K
reaches the gallery the local method is the global one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kcrc.report.tables import Table, mean_std
from lab.experiments import accuracy, figures, statements
from lab.experiments.base import Cell, Claim, Experiment, Protocol, Report, Run

# All queries and the paper's repeats. Local dictionaries of K above 300 or so are asked a part of the queries: with all
# of them the four figures would take a week.
FULL: Protocol = {"seeds": 10, "slow_seeds": 5, "queries": None, "local_work": 2e11, "least_queries": 200}


def cells(name: str, protocol: Protocol) -> list[Cell]:
    found: list[Cell] = []
    for setting in protocol["settings"]:
        for seed in accuracy.seeds_of(protocol):
            common = {"experiment": name, "seed": seed, **setting}
            due = _by_size(common, protocol) + _by_neighbours(common, protocol)
            found += [cell for cell in due if seed in accuracy.seeds_of(protocol, cell["method"])]
    return found


def _by_size(common: Cell, protocol: Protocol) -> list[Cell]:
    classes, gallery = common["classes"], common["gallery"]
    found: list[Cell] = []
    for size in protocol["sizes"]:
        part = {**common, "panel": "a", "x": size * classes}
        for series in protocol["local"]:
            found.append(_local({**part, "series": series, "method": series}, size * classes, gallery, protocol))
        for series in protocol["global"]:
            found.append(
                {
                    **part, "series": series, "method": series, "per_class": size, "queries": protocol["queries"],
                    "options": {}, "tuning_seconds": protocol["tuning_seconds"],
                }
            )  # fmt: skip
        for series, method in protocol["learned"].items():
            if size <= protocol["largest_learned"]:
                options = {"n_atoms": size * classes, **protocol["learning"]}
                found.append(
                    {
                        **part, "series": series, "method": method, "per_class": gallery, "options": options,
                        "queries": protocol["queries"],
                    }
                )  # fmt: skip
    return found


def _by_neighbours(common: Cell, protocol: Protocol) -> list[Cell]:
    """KCRC-LCD at several K, for the galleries of panel (b)."""
    found: list[Cell] = []
    for gallery in protocol["galleries"]:
        total = gallery * common["classes"]
        for neighbours in protocol["neighbours"]:
            if neighbours <= total:
                part = {**common, "panel": "b", "x": neighbours, "series": f"gallery {total}", "method": "KCRC-LCD"}
                found.append(_local(part, neighbours, gallery, protocol))
    return found


def _local(part: Cell, neighbours: int, per_class: int | None, protocol: Protocol) -> Cell:
    """``per_class`` None is a gallery of uneven classes, all of it."""
    whole = per_class is not None and neighbours >= per_class * part["classes"]
    return {
        **part,
        "method": part["method"].replace("-LCD", "-GD") if whole else part["method"],
        "per_class": per_class,
        "queries": protocol["queries"] if whole else accuracy.affordable(protocol["queries"], neighbours, protocol),
        "options": {} if whole else {"n_neighbors": neighbours},
        "tuning_seconds": protocol["tuning_seconds"],
        "tune_at": protocol["tune_at"],
    }


def experiment(
    name: str,
    title: str,
    source: str,
    protocol: Protocol,
    quick: Protocol,
    stand_in: Protocol,
    *,
    claims: Callable[[Sequence[Run], Protocol], list[Claim]],
    note: str,
) -> Experiment:
    """Such a figure; ``claims`` says what holds of the runs, ``note`` what a reader must know."""

    def made(runs: Sequence[Run], protocol: Protocol, folder: Path) -> Report:
        held = [] if protocol.get("stand_in") else claims(runs, protocol)
        found = report(name, title, runs, folder, held)
        found.notes.append(note)
        return found

    return Experiment(
        name, title, source, protocol, quick, stand_in, partial(cells, name), accuracy.measure, made, FULL
    )


def report(name: str, title: str, runs: Sequence[Run], folder: Path, claims: Sequence[Claim]) -> Report:
    """The table of panel (a), that of panel (b) where there is one, and the figure."""
    first, second = accuracy.where(runs, panel="a"), accuracy.where(runs, panel="b")
    tables = [_table(name, "a", f"{title}: accuracy (%) by dictionary size (K for the local methods).", first)]
    if second:
        tables.append(
            _table(name, "b", f"{title}: accuracy (%) of KCRC-LCD by K, for galleries of several sizes.", second)
        )
    caption = f"{title}. (a) Accuracy by dictionary size." + (
        " (b) KCRC-LCD by K, for galleries of several sizes." if second else ""
    )
    return Report(tables, [(_draw(name, first, second, folder), caption)], list(claims))


def _table(name: str, panel: str, caption: str, runs: Sequence[Run]) -> Table:
    series = accuracy.in_order(runs, "series")
    rows: list[list[Any]] = []
    for x in sorted(accuracy.in_order(runs, "x")):
        cells = [accuracy.repeats(runs, series=s, x=x) for s in series]
        rows.append([x, *(mean_std(values) if values else None for values in cells)])
    first = "dictionary size" if panel == "a" else "K"
    return Table(f"{name}{panel}", caption, (first, *series), rows)


def _draw(name: str, first: Sequence[Run], second: Sequence[Run], folder: Path) -> str:
    with figures.style():
        width = figures.PAGE if second else figures.COLUMN
        figure, axes = figures.panels(1, 2 if second else 1, width=width, height=2.6)
        for axis, runs, label in zip(axes[0], (first, second), ("dictionary size", "K"), strict=False):
            figures.curves(axis, accuracy.lines(runs))
            axis.set_xlabel(label)
            axis.set_ylabel("accuracy (%)")
            axis.legend()
        if second:
            axes[0, 0].set_title("(a)", loc="left")
            axes[0, 1].set_title("(b) KCRC-LCD", loc="left")
        return figures.save(figure, folder, name)


# What the paper says of such figures ----------------------------------------------------------------------------------


def best_at(runs: Sequence[Run], winner: str, x: int, text: str, *, cause: str = "") -> Claim:
    """That no other method has a higher mean than ``winner`` at one dictionary size."""
    rival = _next_to(runs, winner, x)
    if rival is None:
        return Claim(text, None, "not enough was measured")
    first, second = (accuracy.where(runs, panel="a", x=x, series=name) for name in (winner, rival))
    claim = statements.compared(text, first, second, cause=cause, strictly=False)
    return replace(claim, detail=f"{winner} and {rival}, at {x}: {claim.detail}")


def no_lead_at(runs: Sequence[Run], name: str, x: int, text: str, *, cause: str = "") -> Claim:
    """That a method is less than one point ahead of the next at one dictionary size."""
    claim = best_at(runs, name, x, text)
    rival = _next_to(runs, name, x)
    if claim.held is None or rival is None:
        return claim
    ahead = statements.lead(*(accuracy.where(runs, panel="a", x=x, series=s) for s in (name, rival)))
    assert ahead is not None
    return statements.decided(text, ahead.mean < 1.0, claim.detail, ahead, 1.0, cause)


def _next_to(runs: Sequence[Run], winner: str, x: int) -> str | None:
    """The best of the other methods at one dictionary size; a local dictionary of all examples is no other method than
    the global one."""
    first = accuracy.where(runs, panel="a", x=x)
    methods = {run.cell.get("method") for run in accuracy.where(first, series=winner)}
    others = {
        s: float(np.mean(accuracy.repeats(first, series=s)))
        for s in accuracy.in_order(first, "series")
        if s != winner and accuracy.where(first, series=s)[0].cell.get("method", s) not in methods
    }
    return max(others, key=lambda s: others[s]) if methods and others else None


def flat_in_k(runs: Sequence[Run], text: str, *, within: float, from_k: int = 0, cause: str = "") -> Claim:
    """That K, of ``from_k`` or more, hardly matters for the largest gallery: between the best K and the worst lie no
    more than ``within`` points."""
    second = accuracy.where(runs, panel="b")
    names = accuracy.in_order(second, "series")
    if not names:
        return Claim(text, None, "not measured")
    largest = max(names, key=lambda s: int(s.split()[-1]))
    means = {k: float(np.mean(v)) for k, v in zip(*accuracy.lines(second)[largest], strict=True) if k >= from_k}
    if len(means) < 2:
        return Claim(text, None, "not measured")
    best, worst = max(means, key=lambda k: means[k]), min(means, key=lambda k: means[k])
    runs_of = [accuracy.where(second, series=largest, x=k) for k in (best, worst)]
    apart, told = statements.lead(*runs_of), statements.compared(text, *runs_of)
    if apart is None:
        return Claim(text, None, "not measured on the same splits")
    since = f" from K = {from_k} on" if from_k else ""
    detail = f"K = {best:g} and K = {worst:g} for {largest}{since}: {told.detail}"
    return statements.decided(text, apart.mean <= within, detail, apart, within, cause)
