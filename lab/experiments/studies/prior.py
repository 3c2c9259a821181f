"""What tends to win before anything is asked: the table behind ``kcrc.tuning.candidates``.

Fixed settings, the same for all data, learn from few examples a class of many sets and answer others: public ones that
are at hand, and made-up clusters of several dimensions. Both halves are training rows; test rows have no part in it.
A setting's regret is how many points it is below the best of all on the same rows; the table has the settings with the
least mean regret, sets counting alike, for each number of examples a class.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from kcrc._base.arrays import Array
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.method import scaling
from kcrc.report.tables import text_table
from kcrc.report.terminal import say
from kcrc.tuning.geometries import shrinkage_of
from lab.bench.samples import clusters
from lab.experiments.studies import command
from lab.experiments.studies.samples import at_hand, per_class
from lab.experiments.studies.seven_sets import load

PUBLIC = ("digits", "mnist500", "usps", "yaleb", "scene15_spm", "caltech256_clip")
MADE_UP = {"clusters of 16": 16, "clusters of 64": 64, "clusters of 256": 256}
ASKED = 300
METRICS = ("plain", "unit", "standard", "within own", "within own, any length", "scaled, within own")
SIZES, KERNELS, PENALTIES, DECISIONS = (25, 50), ("linear", "rbf"), (0.01, 0.1, 1.0), ("ratio", "residual")


class FixedSetting(NamedTuple):
    metric: str
    n_neighbors: int
    kernel: str
    mu: float
    decision: str


def metric_of(name: str, X: Array, y: Array) -> scaling.Scaling:
    """Fitted; "own" is the shrinkage that goes by the number of examples."""
    if "own" not in name:
        return scaling.make(name).fit(X, y)
    shrinkage, free, scaled = shrinkage_of(*X.shape), "any length" in name, name.startswith("scaled")
    return scaling.Within(shrinkage, unit=not free, scaled=scaled).fit(X, y)


def accuracies(X: Array, y: Array, asked: Array, truth: Array) -> dict[FixedSetting, float]:
    found = {}
    for name in METRICS:
        metric = metric_of(name, X, y)
        for size, kernel, mu, decision in itertools.product(SIZES, KERNELS, PENALTIES, DECISIONS):
            clf: Any = KCRCClassifier(
                size, scaling=metric, kernel=kernel, gamma="scale", mu=mu, form="rkhs", decision=decision,
                locality="atoms",
            ).fit(X, y)  # fmt: skip
            found[FixedSetting(name, size, kernel, mu, decision)] = 100.0 * float(np.mean(clf.predict(asked) == truth))
    return found


def training_rows(given: argparse.Namespace) -> Iterator[tuple[str, Array, Array]]:
    """Of every set the rows that may be learned from."""
    for name in given.sets.split(",") if given.sets else ():
        if at_hand(name.removesuffix("500"), given.data):
            X, _, y, _ = load(name, 0, given.data)
            yield name, X, y
    for name, width in MADE_UP.items():
        made = clusters(2000, width, 1)
        yield name, made.atoms, made.labels


def study(given: argparse.Namespace) -> None:
    sizes = [int(size) for size in given.sizes.split(",")]
    regrets: dict[int, dict[FixedSetting, list[float]]] = {size: {} for size in sizes}
    for name, X, y in training_rows(given):
        for size in sizes:
            if np.median(np.bincount(y)[np.unique(y)]) < size + 2:
                continue  # too few to be asked
            means: dict[FixedSetting, list[float]] = {}
            for seed in range(given.draws):
                stored, others = per_class(y, size, seed)
                others = np.random.default_rng(seed).permutation(others)[:ASKED]
                for candidate, accuracy in accuracies(X[stored], y[stored], X[others], y[others]).items():
                    means.setdefault(candidate, []).append(accuracy)
            best = max(float(np.mean(each)) for each in means.values())
            for candidate, each in means.items():
                regrets[size].setdefault(candidate, []).append(best - float(np.mean(each)))
            say(f"    {name}, {size} a class: best {best:.1f}")
    for size in sizes:
        ranked = sorted(regrets[size].items(), key=lambda item: float(np.mean(item[1])))
        lines = [
            [*map(str, one), f"{np.mean(each):.2f}", " ".join(f"{r:.1f}" for r in each)]
            for one, each in ranked[: given.show]
        ]
        head = ["metric", "K", "kernel", "mu", "decision", "mean regret", "by set"]
        say(text_table(f"\n{size} a class", head, lines))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command.options("prior", __doc__)
    parser.add_argument("--sets", default=",".join(PUBLIC), help="public sets, beside the made-up ones")
    parser.add_argument("--sizes", default="2,4,8,16")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--show", type=int, default=8, help="lines of each table")
    return command.run(study, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
