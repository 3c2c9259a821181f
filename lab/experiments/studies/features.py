"""How well each feature tells photographs apart, and how fast: 25 a class to learn from, the others to ask.

Needs the photographs ``caltech101-20`` (lab.datasets says where to get them), or any folder of class folders by
--folder. Rows are scaled to unit length. 1-NN has no parameters; the ridge's is chosen by leave-one-out on the
training rows. Times are of this run and this machine: wall clock, with the processor's own beside it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifierCV

from kcrc._base.arrays import Array
from kcrc.errors import KCRCError
from kcrc.images import datasets, features
from kcrc.report.tables import Table
from kcrc.report.terminal import note, say
from lab import datasets as published
from lab.experiments.studies import command
from lab.experiments.studies.samples import unit

NAMES = ("pixels", "random-faces", "eigenfaces", "lbp", "hog", "pyramid", "embedding")
OPTIONS: dict[str, dict[str, Any]] = {"random-faces": {"size": (64, 64)}, "eigenfaces": {"size": (64, 64)}}
COLUMNS = ("feature", "length", "1-NN %", "ridge %", "images/s", "processor ms/image", "fit s")


def accuracies(train: Array, labels: Array, test: Array, truth: Array) -> tuple[float, float]:
    """(1-NN, ridge) in per cent."""
    train, test = unit(train), unit(test)
    nearest = labels[(test @ train.T).argmax(axis=1)]
    ridge = RidgeClassifierCV(alphas=np.logspace(-3, 2, 11)).fit(train, labels).predict(test)
    return 100.0 * float((nearest == truth).mean()), 100.0 * float((ridge == truth).mean())


def measured(name: str, photos: datasets.Dataset, n_train: int, seeds: int) -> list[Any]:
    """One row of the table."""
    paths = list(photos.paths or ())
    scores, spent = [], []
    for seed in range(seeds):
        train, test = datasets.split_per_class(photos.labels, n_train, seed)
        feature = features.make(name, **OPTIONS.get(name, {}))
        start = time.perf_counter()
        feature.fit([paths[i] for i in train])
        fitted, processor = time.perf_counter(), time.process_time()
        rows = feature.transform(paths)
        spent.append((fitted - start, time.perf_counter() - fitted, time.process_time() - processor))
        scores.append(accuracies(rows[train], photos.labels[train], rows[test], photos.labels[test]))
    (nn, ridge), (nn_sd, ridge_sd) = np.mean(scores, axis=0), np.std(scores, axis=0)
    fit, wall, busy = np.mean(spent, axis=0)
    n = len(paths)
    return [
        name, feature.dim, f"{nn:.1f} ± {nn_sd:.1f}", f"{ridge:.1f} ± {ridge_sd:.1f}", f"{n / wall:.0f}",
        f"{1000 * busy / n:.1f}", f"{fit:.1f}",
    ]  # fmt: skip


def study(given: argparse.Namespace) -> None:
    photos = datasets.from_folder(given.folder) if given.folder else published.load("caltech101-20", given.data)
    lines = []
    for name in given.features.split(","):
        try:
            lines.append(measured(name, photos, given.train, given.seeds))
            note(" ".join(map(str, lines[-1])))
        except (KCRCError, ImportError) as problem:
            note(f"{name} was not measured: {problem}")
            lines.append([name, *[None] * (len(COLUMNS) - 1)])
    caption = f"{photos!r}, {given.train} a class to learn from, {given.seeds} seeds"
    say(f"{caption}\n\n{Table('features', caption, COLUMNS, lines).markdown()}", end="")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command.options("features", __doc__)
    parser.add_argument("--folder", help="any folder of class folders instead")
    parser.add_argument("--features", default=",".join(NAMES))
    parser.add_argument("--train", type=int, default=25, help="images a class to learn from")
    parser.add_argument("--seeds", type=int, default=3)
    return command.run(study, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
