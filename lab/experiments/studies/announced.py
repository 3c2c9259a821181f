"""What a fit announces beside what is true of queries it has not seen, where rows are independent and where not.

For each set, number of examples per class and draw, with nothing given but the data: accuracy on the queries; the share
of left-out answers that are right (what the commands print); the mean probability of the answers; and of the answers
announced at 97 % or more, how many there are and how many of them are wrong. Nothing is tuned on queries.

Independent: digits and photographs' vectors, so many per class. Dependent: speakers and patients of groups.npz, all
training rows in stored order, and the first digits in stored order, which is by writer.
``--groups`` none and given compare with groups that are found. Must hold: on the mean of the draws and of all sets of
independent rows the announced probability is within 3 points of the truth at every size; on dependent rows within 12.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kcrc._base.arrays import Array
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.errors import DataError
from kcrc.report.terminal import note, say
from lab.datasets.catalogue import roots
from lab.experiments.studies import command
from lab.experiments.studies.samples import at_hand, vectors

PHOTOGRAPHS = ("hymen", "steel", "flowers", "trash", "flowers102")
INDEPENDENT = ("digits", "scene15_spm", "caltech256_clip", *PHOTOGRAPHS)
DEPENDENT = ("speakers", "patients", "digits by writer")
CLASSES, FEATURES, QUERIES = 40, 300, 400  # of a set at most, drawn by lot; features of the scenes: the first
SURE = 0.97
BY_WRITER, REST = 400, 900  # digits in stored order: the first are stored, those from the second number on are asked


class Draw(NamedTuple):
    """Examples and queries; ``groups`` of the examples where they are known."""

    X: Array
    y: Array
    queries: Array
    truth: Array
    groups: Array | None = None


def rows_of(name: str, data: Path | None) -> tuple[Array, Array]:
    if name in PHOTOGRAPHS:
        found = _file("photos5_embedding", data)
        return found[f"{name}_X"].astype(np.float32), found[f"{name}_y"].astype(int)
    X, y = vectors(name, data)
    return (X[:, :FEATURES] if name == "scene15_spm" else X), y


def independent(name: str, size: int, seed: int, data: Path | None) -> Draw | None:
    """None where no class has so many examples and queries."""
    X, y = rows_of(name, data)
    rng = np.random.default_rng([seed, size])
    classes = np.flatnonzero(np.bincount(y) >= size + 2)
    classes = rng.permutation(classes)[:CLASSES]
    if len(classes) < 2:
        return None
    drawn = [rng.permutation(np.flatnonzero(y == c)) for c in np.sort(classes)]
    stored = rng.permutation(np.concatenate([rows[:size] for rows in drawn]))
    asked = rng.permutation(np.concatenate([rows[size:][: max(2, QUERIES // len(drawn))] for rows in drawn]))
    return Draw(X[stored], y[stored], X[asked], y[asked])


def dependent(name: str, data: Path | None) -> Draw:
    if name == "digits by writer":
        X, y = vectors("digits", data)
        return Draw(X[:BY_WRITER], y[:BY_WRITER], X[REST:], y[REST:])
    found = _file("groups", data)
    X, y, split, group = (found[f"{name}_{part}"] for part in ("X", "y", "split", "group"))
    return Draw(X[split == 0], y[split == 0], X[split == 1], y[split == 1], group[split == 0])


def has_groups(data: Path | None) -> bool:
    """Whether speakers and patients can be read; where not, a line says so."""
    if _places("groups", data):
        return True
    note(_MISSING.format(name="groups"))
    return False


_MISSING = "{name}.npz is not here: give its folder by --data or KCRC_DATA."


def _file(name: str, data: Path | None) -> Any:
    found = _places(name, data)
    if not found:
        raise DataError(_MISSING.format(name=name))
    return np.load(found[0])


def _places(name: str, data: Path | None) -> list[Path]:
    return [root / f"{name}.npz" for root in roots(data) if (root / f"{name}.npz").exists()]


def figures(draw: Draw, groups: Any, seconds: float) -> dict[str, float]:
    begun = time.perf_counter()
    given = {} if groups == "found" else {"groups": draw.groups if groups == "given" else None}
    clf = KCRCClassifier(tuning_seconds=seconds, n_jobs=1).fit(draw.X, draw.y, **given)
    fitted = time.perf_counter() - begun
    p = clf.predict_proba(draw.queries)
    best, right = p.max(axis=1), clf.classes_[p.argmax(axis=1)] == draw.truth
    left, sets = clf.confidence_.left_out, clf.confidence_.sets
    nan = float("nan")
    inside = None if sets is None else clf.predict_set(draw.queries, coverage=0.9)
    at = np.searchsorted(clf.classes_, draw.truth)
    return {
        "left out": nan if left is None else float(left.right.mean()),
        "announced": float(best.mean()),
        "true": float(right.mean()),
        "sure": float((best >= SURE).mean()),
        "sure and wrong": float(((best >= SURE) & ~right).mean()),
        "covered": nan if inside is None else float(inside[np.arange(len(at)), at].mean()),
        "seconds": fitted,
    }


def measured(given: argparse.Namespace) -> Iterator[tuple[str, str, list[dict[str, float]]]]:
    for name in given.sets or INDEPENDENT:
        if name in DEPENDENT or not (name in PHOTOGRAPHS or at_hand(name, given.data)):
            continue
        for size in given.sizes:
            draws = [independent(name, size, seed, given.data) for seed in range(given.draws)]
            runs = [figures(draw, given.groups, given.seconds) for draw in draws if draw is not None]
            if runs:
                yield name, str(size), runs
    for name in given.sets or DEPENDENT:
        if name in DEPENDENT:
            yield name, "all", [figures(dependent(name, given.data), given.groups, given.seconds)]


def study(given: argparse.Namespace) -> bool:
    say(f"{'set':18}{'each':>5}  left out  announced  true  error  sure: share, wrong of them  90 % sets  seconds")
    apart: dict[str, list[float]] = {}
    for name, size, runs in measured(given):
        mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        error = np.mean([run["announced"] - run["true"] for run in runs])
        apart.setdefault(size, []).append(float(error))
        wrong = mean["sure and wrong"] / mean["sure"] if mean["sure"] else 0.0
        say(
            f"{name:18}{size:>5}  {mean['left out']:8.1%}  {mean['announced']:9.1%}  {mean['true']:5.1%}  "
            f"{error:+6.1%}  {mean['sure']:10.1%}  {wrong:14.1%}  {mean['covered']:9.1%}  {mean['seconds']:7.2f}"
        )
    for size, errors in apart.items():
        say(f"{size:>5} per class: announced minus true {np.mean(errors):+.1%}, absolute {np.mean(np.abs(errors)):.1%}")
    return all(abs(np.mean(errors)) <= (0.12 if size == "all" else 0.03) for size, errors in apart.items())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command.options("announced", __doc__)
    parser.add_argument("sets", nargs="*", choices=[*INDEPENDENT, *DEPENDENT, []], default=[])
    parser.add_argument("--sizes", nargs="*", type=int, default=[2, 3, 5, 8, 15])
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20.0, help="for tuning")
    parser.add_argument("--groups", choices=("found", "none", "given"), default="found")
    return command.run(study, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
