"""The page of all experiments, generated from what they left in the output folder: ours, the paper's, why they differ.

An experiment leaves ``OUT/<name>/report.json`` (all the page shows), ``runs.csv`` (every measured cell with its seed,
configuration, commit and machine), its tables and its figures. The page is made from the reports that are there.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kcrc.errors import DataError
from kcrc.files.atomic import write_bytes
from kcrc.report.tables import Table
from lab.experiments.base import Experiment, Plan, Report, Run

ORIGIN = ("commit", "machine", "load", "when")
COLUMNS = ("key", "seed", "configuration", "measured", *ORIGIN)
HELD = {True: "holds", False: "does not hold here", None: "cannot be said"}


def write_report(folder: Path, experiment: Experiment, report: Report, runs: Sequence[Run], plan: Plan) -> None:
    """Leave what the page needs."""
    record = {
        "name": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "scale": plan.scale,
        "command": _command(experiment.name, plan),
        "seeds": sorted({int(run.cell.get("seed", 0)) for run in runs}),
        "repeats": _repeats(runs),
        "cells": len(runs),
        "queries": sorted({int(run.values["n_queries"]) for run in runs if "n_queries" in run.values}),
        "commits": _distinct(runs, "commit"),
        "machines": _distinct(runs, "machine"),
        "when": sorted(_distinct(runs, "when"))[-1:],
        "tables": [{"name": t.name, "caption": t.caption, "columns": t.columns, "rows": t.rows} for t in report.tables],
        "figures": report.figures,
        "claims": [asdict(claim) for claim in report.claims],
        "notes": report.notes,
    }
    write_bytes(folder / "report.json", (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())
    write_bytes(folder / "runs.csv", _runs_csv(runs).encode())


def _command(name: str, plan: Plan) -> str:
    asked = {
        "--quick": plan.quick or None,
        "--full": plan.full or None,
        "--seeds": plan.seeds,
        "--queries": plan.queries,
    }
    options = [option if value is True else f"{option} {value}" for option, value in asked.items() if value is not None]
    return " ".join(["python -m lab reproduce", name, *options])


def _distinct(runs: Sequence[Run], name: str) -> list[str]:
    return list(dict.fromkeys(str(run.origin[name]) for run in runs))


def _runs_csv(runs: Sequence[Run]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for run in runs:
        texts = [json.dumps(part, ensure_ascii=False, sort_keys=True) for part in (run.cell, run.values)]
        about = [run.origin.get(k) for k in ORIGIN]
        writer.writerow((run.key, run.cell.get("seed", 0), *texts, *about))
    return file.getvalue()


def measured_before(folder: Path) -> dict[str, Run]:
    """The runs of ``runs.csv``, by key: what was measured and committed need not be measured again.

    Rows that are damaged, and files of versions that left some of the values out, are passed over.
    """
    found: dict[str, Run] = {}
    try:
        text = (folder / "runs.csv").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return found
    for row in csv.DictReader(io.StringIO(text)):
        try:
            cell, values = json.loads(row["configuration"]), json.loads(row["measured"])
            load = float(row["load"]) if row["load"] else None
            found[row["key"]] = Run(cell, values, {**{k: row[k] for k in ORIGIN}, "load": load}, row["key"])
        except (KeyError, TypeError, ValueError):
            continue
    return found


def compose(out: Path, page: Path, order: Sequence[str]) -> Path:
    """Write the page of all reports in ``out``, in this order; figures are linked relative to the page."""
    reports = [_read(out / name / "report.json") for name in order if (out / name / "report.json").is_file()]
    if not reports:
        raise DataError(f"{out} holds no report yet. Run `python -m lab reproduce` first.")
    missing = [name for name in order if not (out / name / "report.json").is_file()]
    base = Path(os.path.relpath(out, page.parent)).as_posix()
    parts = [_head(reports, missing, base), *(_section(report, base) for report in reports)]
    write_bytes(page, ("\n".join(parts).rstrip() + "\n").encode())
    return page


def _read(path: Path) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(path.read_bytes())
        missing = {"name", "title", "command", "tables", "claims", "repeats"} - set(record)
    except (ValueError, TypeError) as problem:
        raise DataError(f"{path} is damaged: {problem}. Run the experiment again.") from problem
    if missing:
        raise DataError(
            f"{path} was left by another version (no {', '.join(sorted(missing))}). Run the experiment again."
        )
    return record


def _head(reports: Sequence[dict[str, Any]], missing: Sequence[str], base: str) -> str:
    claims = [claim for report in reports for claim in report["claims"]]
    counts = {held: sum(claim["held"] is held for claim in claims) for held in HELD}
    close = {held: sum(claim["held"] is held and claim["beyond_chance"] is False for claim in claims) for held in HELD}
    lines = [
        "# The paper's experiments, run again",
        "",
        "<!-- Generated by `python -m lab reproduce`; do not edit by hand. -->",
        "",
        "Liu, Yu, Lu, Wen, Li, Zou: “KCRC-LCD: Discriminative Kernel Collaborative Representation with Locality "
        "Constrained Dictionary for Visual Categorization”. The figures under “paper” are the paper's; all others were "
        "measured by `python -m lab reproduce`. Accuracies are means ± standard deviations over seeded splits. "
        "Parameters were chosen inside the training rows. Every measured number is listed with its seed, "
        f"configuration, commit and machine in the `runs.csv` of its folder ([{base}]({base})).",
        "",
        f"Of {len(claims)} statements checked, {counts[True]} hold ({close[True]} of them not beyond chance), "
        f"{counts[False]} do not hold here ({close[False]} of them not beyond chance), and {counts[None]} could not be "
        "checked. Beside each stands the number that decides it with its 95 % interval: for two methods the mean of "
        "their differences on the same splits, for times the ratio of the rounds. A statement is not beyond chance "
        "where that interval reaches over to the other side.",
        "",
        "| experiment | scale | repeats | queries | statements that hold | commit |",
        "| --- | --- | ---: | ---: | ---: | --- |",
    ]
    for report in reports:
        held = [claim["held"] for claim in report["claims"]]
        lines.append(
            f"| [{report['title']}](#{_anchor(report['title'])}) | {report['scale']} | {_span(report['repeats'])} | "
            f"{_span(report['queries'])} | {held.count(True)} of {len(held)} | {', '.join(report['commits'])} |"
        )
    if missing:
        lines += ["", f"Not run yet, or without data: {', '.join(missing)}."]
    return "\n".join(lines) + "\n"


def _repeats(runs: Sequence[Run]) -> list[int]:
    """How many seeds the measurements were repeated with, the fewest and the most."""
    seeds: dict[str, set[int]] = {}
    for run in runs:
        rest = {name: value for name, value in run.cell.items() if name not in ("seed", "evidence", "queries")}
        seeds.setdefault(json.dumps(rest, sort_keys=True), set()).add(int(run.cell.get("seed", 0)))
    return sorted({len(of_one) for of_one in seeds.values()})


def _statement(claim: dict[str, Any]) -> str:
    verdict = HELD[claim["held"]].capitalize()
    if claim["beyond_chance"] is False:
        verdict += ", but not beyond chance"
    details = [claim["detail"]] if claim["detail"] else []
    if claim["interval"] is not None:
        low, high = (f"{end:.2f}".replace("-", "−") for end in claim["interval"])
        details.append(f"95 % interval {low} to {high}")
    beside = f" ({'; '.join(details)})" if details else ""
    cause = f" Why: {claim['cause']}" if claim["cause"] else ""
    return f"- {claim['text']} **{verdict}**{beside}.{cause}"


def _span(numbers: Sequence[int]) -> str:
    if not numbers:
        return "–"
    return str(numbers[0]) if numbers[0] == numbers[-1] else f"{numbers[0]}–{numbers[-1]}"


def _anchor(title: str) -> str:
    """The anchor a Markdown heading gets: small letters, spaces as hyphens, no other signs."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")


def _section(report: dict[str, Any], base: str) -> str:
    folder = f"{base}/{report['name']}"
    seeds = report["seeds"]
    lines = [
        f"## {report['title']}",
        "",
        f"Paper: {report['source']}. Command: `{report['command']}`. {_span(report['repeats'])} "
        f"{'repeat' if len(seeds) == 1 else 'repeats'} (seeds {_span(seeds)}), {_span(report['queries'])} queries "
        f"each; commit {', '.join(report['commits'])}; {'; '.join(report['machines'])}; {report['when'][0]}. "
        f"[All {report['cells']} measurements]({folder}/runs.csv).",
        "",
    ]
    for table in report["tables"]:
        made = Table(table["name"], table["caption"], table["columns"], table["rows"])
        lines += [f"{made.caption} ([CSV]({folder}/{made.name}.csv))", "", made.markdown()]
    for name, caption in report["figures"]:
        lines += [f"![{caption}]({folder}/{name}.png)", "", f"*{caption}*", ""]
    if report["claims"]:
        lines += ["What the paper says, and whether it holds here:", ""]
        lines += [_statement(claim) for claim in report["claims"]]
        lines.append("")
    lines += [f"- Note: {note}" for note in report["notes"]]
    return "\n".join(lines) + "\n"
