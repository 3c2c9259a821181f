"""KCRCClassifier() with no argument against its own best setting and against tuned baselines: one table.

``--out FILE`` also writes one line a split, ``--compare FILE`` sets this run beside such a file, split by split: the
same rows were stored and asked, so only the difference counts. ``benchmarks/selftuned-27effd8.csv`` is the run that
later changes are compared with.

No parameter of any method is chosen on test rows: ours by leave-one-out, the baselines by cross-validation on the
training rows (kNN 5-fold, the slow rivals 3-fold). ``--decision`` names a rule that the search does not try by itself;
all else it chooses for that rule. ``--grid`` also measures the settings the search tried last (its
finalists) on the test rows, to show how far the choice is from the best of them; nothing is chosen by it. kNN is tuned
on every split, the slow rivals on the first ``--rivals`` of them. The study full_grid has a whole grid.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC, LinearSVC

from kcrc._base.arrays import Array
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.files.atomic import write_bytes
from kcrc.method import decisions
from kcrc.report.tables import Table
from kcrc.report.terminal import say
from kcrc.tuning.geometries import scaling_named
from lab.experiments.studies import command
from lab.experiments.studies.seven_sets import SETS, load

OURS = "kcrc, no arguments"
RIVALS: dict[str, tuple[Any, dict[str, list[Any]]]] = {  # each with its grid, for rows of unit length
    "kNN": (KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 10, 20], "weights": ["uniform", "distance"]}),
    "SVC": (SVC(), {"C": [1, 10, 100], "gamma": [0.5, 2, 5]}),
    "LinearSVC": (LinearSVC(dual=True), {"C": [0.1, 1, 10]}),
    "logistic": (LogisticRegression(max_iter=300), {"C": [1, 10, 100]}),
}


def grid_search(name: str, y: Array, *, n_jobs: int | None = None) -> GridSearchCV:
    """A rival that is tuned by cross-validation: kNN in 5 folds, the slow ones in 3, fewer where a class is small."""
    folds = int(np.clip(np.bincount(y)[np.bincount(y) > 0].min(), 2, 5))
    return GridSearchCV(*RIVALS[name], cv=folds if name == "kNN" else min(folds, 3), n_jobs=n_jobs)


def baselines(X: Array, y: Array, *, slow: bool) -> Iterator[tuple[str, Any]]:
    """Tuned on the training rows, on rows of unit length."""
    for name in RIVALS:
        if name != "kNN" and not slow:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield name, grid_search(name, y, n_jobs=2).fit(X, y)


def finalists(clf: KCRCClassifier, X: Array, y: Array, Xq: Array, yq: Array, count: int) -> float:
    """Best test accuracy of the settings that came last through the search."""
    best = 0.0
    assert clf.tuning_ is not None
    most = max(score.trials for score in clf.tuning_.scores.values())
    leading = sorted(clf.tuning_.table, key=lambda row: (-(row["trials"] >= most // 2), -row["accuracy"]))[:count]
    for row in leading:
        metric: Any = scaling_named(row["geometry"])
        names = ("n_neighbors", "kernel", "mu", "form", "decision", "locality")
        other = KCRCClassifier(scaling=metric, gamma=row["gamma"] or "scale", **{n: row[n] for n in names}).fit(X, y)
        best = max(best, float(np.mean(other.predict(Xq) == yq)))
    return best


def compare(runs: Sequence[dict[str, Any]], path: Path) -> None:
    """Points of accuracy gained on the splits that both have, with the standard error of their mean."""
    with path.open(newline="") as file:
        before = {(row["set"], int(row["seed"])): float(row["accuracy"]) for row in csv.DictReader(file)}
    gains: dict[str, list[float]] = {}
    for run in runs:
        if (run["set"], run["seed"]) in before:
            gain = 100 * (run["accuracy"] - before[run["set"], run["seed"]])
            gains.setdefault(run["set"], []).append(gain)
    say(f"points gained since {path.name}, split by split")
    for name, each in gains.items():
        error = np.std(each, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan
        splits = "  ".join(f"{gain:+.2f}" for gain in each)
        say(f"  {name:18}{np.mean(each):+6.2f} ± {error:.2f}   {splits}")
    say(f"  {'mean of all sets':18}{np.mean([np.mean(each) for each in gains.values()]):+6.2f}")


def measured(name: str, given: argparse.Namespace) -> tuple[list[dict[str, Any]], dict[str, list[float]]]:
    """Of one set: a line for every split, and the accuracies of every method."""
    runs: list[dict[str, Any]] = []
    rows: dict[str, list[float]] = {}
    for seed in range(given.splits):
        X, Xq, y, yq = load(name, seed, given.data)
        if given.queries and len(yq) > given.queries:
            some = np.random.default_rng(seed).permutation(len(yq))[: given.queries]
            Xq, yq = Xq[some], yq[some]
        start = time.perf_counter()
        clf = KCRCClassifier(decision=given.decision).fit(X, y)
        seconds = time.perf_counter() - start
        accuracy = float(np.mean(clf.predict(Xq) == yq))
        rows.setdefault(OURS, []).append(accuracy)
        found = {"set": name, "seed": seed, "accuracy": round(accuracy, 6), "seconds": round(seconds, 1)}
        runs.append({**found, "setting": str(clf.tuning_).removeprefix("Tuning: ")})
        say(f"    {name} {seed}: {accuracy:.4f} {seconds:.1f} s {clf.tuning_}")
        if given.grid:
            best = max(finalists(clf, X, y, Xq, yq, given.grid), accuracy)
            rows.setdefault("best finalist on test", []).append(best)
        unit = Normalizer()
        for rival, model in baselines(unit.transform(X), y, slow=seed < given.rivals):
            rows.setdefault(f"tuned {rival}", []).append(float(np.mean(model.predict(unit.transform(Xq)) == yq)))
    return runs, rows


def study(given: argparse.Namespace) -> None:
    runs = []
    for name in given.sets.split(","):
        found, rows = measured(name, given)
        runs += found
        say(f"{name}, {given.splits} splits")
        for method, values in rows.items():
            few = f" ({len(values)} split)" if len(values) < given.splits else ""
            say(f"  {method:24}{100 * np.mean(values):7.2f} ± {100 * np.std(values):.2f}{few}")
    if given.out:
        lines = [list(run.values()) for run in runs]
        write_bytes(given.out, Table("runs", "One line a split.", list(runs[0]), lines).csv().encode())
    if given.compare:
        compare(runs, given.compare)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command.options("selftuned", __doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--queries", type=int, default=0, help="at most this many test rows (0: all)")
    parser.add_argument("--decision", default="auto", choices=["auto", *decisions.names()], help="the rule of ours")
    parser.add_argument("--grid", type=int, default=0, metavar="N", help="measure N finalists on the test rows too")
    parser.add_argument("--rivals", type=int, default=5, metavar="N", help="tune the slow rivals on N splits only")
    parser.add_argument("--out", type=Path, help="write set, seed, accuracy, seconds and setting to this CSV file")
    parser.add_argument("--compare", type=Path, help="a file that --out wrote before")
    return command.run(study, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
