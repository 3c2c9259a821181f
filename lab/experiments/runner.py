"""Runs an experiment cell by cell: each is measured once and kept by its configuration, so an interrupted run goes on.

A result lies in ``OUT/cells/<experiment>/<hash of the cell>.json`` with its configuration, the commit and the machine;
it is written aside and renamed, so it is whole or not there. What a finished run left in ``OUT/<experiment>/runs.csv``
is as good: that file is committed, so a run can go on from it on another machine.
"""

from __future__ import annotations

import hashlib
import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kcrc._base.progress import count_bar
from kcrc.classifier import recipes
from kcrc.errors import KCRCError
from kcrc.files.atomic import write_bytes
from kcrc.method import distances
from lab import datasets as published
from lab.experiments import page
from lab.experiments.base import Cell, Experiment, Plan, Protocol, Report, Run
from lab.experiments.loader import Loader
from lab.experiments.provenance import origin, others_at_work


def reproduce(experiment: Experiment, plan: Plan, say: Callable[[str], None] = lambda text: None) -> Report | None:
    """Measure what is not measured yet, write tables, figures and the report; None where nothing could be measured."""
    loader = Loader(plan.data)
    protocol, notes = arranged(experiment, plan, loader, say)
    if protocol is None:
        return None
    cells, left_out = possible(experiment.cells(protocol))
    for note in left_out:
        say(f"{experiment.name}: {note}")
    runs, failed = measured(experiment, cells, loader, plan)
    for note in failed:
        say(f"{experiment.name}: {note}")
    if not runs:
        return None
    folder = plan.out / experiment.name
    report = experiment.report(runs, protocol, folder)
    report.notes[:0] = notes + left_out + failed
    if protocol.get("stand_in"):
        report.tables = [replace(table, caption=f"Digits standing in. {table.caption}") for table in report.tables]
    for table in report.tables:
        table.write(folder)
    page.write_report(folder, experiment, report, runs, plan)
    return report


def arranged(
    experiment: Experiment, plan: Plan, loader: Loader, say: Callable[[str], None]
) -> tuple[Protocol | None, list[str]]:
    """The protocol at the scale asked for, without the settings whose data are missing; and sentences on those.

    ``say`` is told where to put missing data; what is returned goes on the page, and names no folder of this machine.
    """
    scaled = experiment.quick if plan.quick else experiment.full if plan.full else {}
    protocol = {**experiment.protocol, **scaled}
    asked = {"seeds": plan.seeds, "queries": plan.queries}
    protocol |= {name: value for name, value in asked.items() if value is not None}
    missing = list(dict.fromkeys(s["dataset"] for s in protocol["settings"] if not loader.has(s["dataset"])))
    notes = []
    for name in missing:
        say(f"{experiment.name}: {loader.how_to_get(name)}")
        about = published.source(name)
        notes.append(f"the data set '{name}' was not at hand. Its owners publish it: {about.owner}.")
    there = tuple(s for s in protocol["settings"] if s["dataset"] not in missing)
    if there:
        return {**protocol, "settings": there}, notes
    if plan.quick and experiment.stand_in:
        notes.append(
            "scikit-learn's digits stand in for the missing data: this shows that the experiment runs, and nothing "
            "about the paper's numbers."
        )
        asked_for = {name: value for name, value in asked.items() if value is not None}
        return {**protocol, **experiment.stand_in, **asked_for, "stand_in": True}, notes
    return None, notes


def possible(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """The cells whose method and distance this version has, and a sentence for each it has not."""
    known_methods, known_distances = recipes.names(), distances.names()
    kept: list[Cell] = []
    notes: dict[str, None] = {}
    for cell in (json.loads(json.dumps(cell)) for cell in cells):  # as it will be read back: no tuples
        distance = cell.get("options", {}).get("distance")
        if cell.get("method") is not None and cell["method"] not in known_methods:
            notes[f"the method {cell['method']} is not registered in this version; its numbers are left out."] = None
        elif distance is not None and distance not in known_distances:
            notes[f"the distance '{distance}' is not registered in this version; its numbers are left out."] = None
        else:
            kept.append(cell)
    return kept, list(notes)


def key_of(cell: Cell) -> str:
    """The hash of a configuration: of its canonical JSON."""
    text = json.dumps(cell, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def measured(experiment: Experiment, cells: Sequence[Cell], loader: Loader, plan: Plan) -> tuple[list[Run], list[str]]:
    """A run for every cell, from the cache or measured now; a bar shows the time left.

    A cell that cannot be measured ends nothing: it is named in the sentences returned, and tried again next time.
    """
    folder = plan.out / "cells" / experiment.name
    found = found_before(experiment, cells, plan)
    due = sum(run is None for run in found)
    runs: list[Run] = []
    failed: dict[str, None] = {}
    with count_bar(experiment.name, due, unit=" cells", show=plan.progress if due else False) as bar:
        for cell, run in zip(cells, found, strict=True):
            if run is None:
                bar.set_postfix_str(_short(cell), refresh=True)
                others_at_work()  # counted from here on
                try:
                    values = experiment.measure(cell, loader)
                except KCRCError as problem:
                    failed[f"{_short(cell, seed=False)} could not be measured: {problem}"] = None
                    bar.update()
                    continue
                run = Run(cell, values, origin(), key_of(cell))
                write_bytes(folder / f"{run.key}.json", _json(run))
                bar.update()
            runs.append(run)
    return runs, list(failed)


def found_before(experiment: Experiment, cells: Sequence[Cell], plan: Plan) -> list[Run | None]:
    """What was measured of the cells in earlier runs, in their order."""
    if plan.fresh:
        return [None] * len(cells)
    folder = plan.out / "cells" / experiment.name
    listed = page.measured_before(plan.out / experiment.name)
    return [kept(folder, cell) or _same(listed.get(key_of(cell)), cell) for cell in cells]


def _same(run: Run | None, cell: Cell) -> Run | None:
    return run if run is not None and run.cell == json.loads(json.dumps(cell)) else None


@dataclass(frozen=True)
class Left:
    """How much of an experiment is measured, and about how long the rest takes (None: nothing like it was measured)."""

    name: str
    cells: int
    due: int
    seconds: float | None

    def __str__(self) -> str:
        if not self.due:
            return f"{self.name}: all {self.cells} cells are measured."
        minutes = None if self.seconds is None else math.ceil(self.seconds / 60.0)
        about = "" if minutes is None else f", about {minutes // 60} h {minutes % 60:02d} min"
        return f"{self.name}: {self.due} of {self.cells} cells are left{about}."


def left(experiment: Experiment, plan: Plan) -> Left | None:
    """What is left to measure; None where the data are missing."""
    protocol, _ = arranged(experiment, plan, Loader(plan.data), lambda text: None)
    if protocol is None:
        return None
    cells, _ = possible(experiment.cells(protocol))
    found = found_before(experiment, cells, plan)
    took: dict[str, list[float]] = {}
    for run in found:
        if run is not None:
            took.setdefault(_alike(run.cell), []).append(_seconds(run))
    due = [cell for cell, run in zip(cells, found, strict=True) if run is None]
    known = [statistics.fmean(took[_alike(cell)]) for cell in due if _alike(cell) in took]
    # Cells that nothing like was measured of count as those that something was.
    seconds = sum(known) * len(due) / len(known) if known else None
    return Left(experiment.name, len(cells), len(due), seconds)


def _alike(cell: Cell) -> str:
    """What cells have in common that take about as long: all but the seed."""
    return json.dumps({k: v for k, v in cell.items() if k not in ("seed", "evidence")}, sort_keys=True)


def _seconds(run: Run) -> float:
    return float(sum(run.values.get(k) or 0.0 for k in ("fit_seconds", "predict_seconds")))


def kept(folder: Path, cell: Cell) -> Run | None:
    """The stored run of a cell; None when there is none, or the file is not what it should be."""
    key = key_of(cell)
    try:
        stored: Any = json.loads((folder / f"{key}.json").read_bytes())
        if stored["cell"] != json.loads(json.dumps(cell)):
            return None
        return Run(stored["cell"], dict(stored["values"]), dict(stored["origin"]), key)
    except (OSError, ValueError, KeyError, TypeError):
        return None  # never run, or damaged: it is measured again


def _json(run: Run) -> bytes:
    record = {"cell": run.cell, "values": run.values, "origin": run.origin}
    return (json.dumps(record, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()


def _short(cell: Cell, seed: bool = True) -> str:
    parts = [str(cell[k]) for k in ("dataset", "method", "series", "x") if cell.get(k) is not None]
    return " ".join(dict.fromkeys(parts)) + (f" seed {cell.get('seed', 0)}" if seed else "")
