"""How well each feature tells photographs apart, and how fast: 25 a class to learn from, the others to ask.

    python benchmarks/features.py [--data DIR] [--features hog,embedding] [--seeds 3]

Needs the photographs ``caltech101-20`` (kcrc.datasets says where to get them), or any folder of class folders by
--folder. Rows are scaled to unit length. 1-NN has no parameters; the ridge's is chosen by leave-one-out on the
training rows. Times are of this run and this machine: wall clock, with the processor's own beside it.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np

from kcrc import datasets, features
from kcrc.arrays import Array
from kcrc.errors import KCRCError

NAMES = ("pixels", "random-faces", "eigenfaces", "lbp", "hog", "pyramid", "embedding")
OPTIONS = {"random-faces": {"size": (64, 64)}, "eigenfaces": {"size": (64, 64)}}


def unit(rows: Array) -> Array:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def accuracies(train: Array, labels: Array, test: Array, truth: Array) -> tuple[float, float]:
    """(1-NN, ridge) in per cent."""
    from sklearn.linear_model import RidgeClassifierCV

    train, test = unit(train), unit(test)
    nearest = labels[(test @ train.T).argmax(axis=1)]
    ridge = RidgeClassifierCV(alphas=np.logspace(-3, 2, 11)).fit(train, labels).predict(test)
    return 100.0 * float((nearest == truth).mean()), 100.0 * float((ridge == truth).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder that holds caltech101-20")
    parser.add_argument("--folder", help="any folder of class folders instead")
    parser.add_argument("--features", default=",".join(NAMES))
    parser.add_argument("--train", type=int, default=25, help="images a class to learn from")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    photos = datasets.from_folder(given.folder) if given.folder else datasets.load("caltech101-20", given.data)
    paths = list(photos.paths or ())
    print(f"{photos!r}, {given.train} a class to learn from, {given.seeds} seeds, {os.cpu_count()} cores\n")
    print(
        "| feature | length | 1-NN % | ridge % | images/s | processor ms/image | fit s |\n|---|---|---|---|---|---|---|"
    )
    for name in given.features.split(","):
        scores, spent = [], []
        try:
            for seed in range(given.seeds):
                train, test = datasets.split_per_class(photos.labels, given.train, seed)
                feature = features.make(name, **OPTIONS.get(name, {}))
                start = time.perf_counter()
                feature.fit([paths[i] for i in train])
                fitted, processor = time.perf_counter(), time.process_time()
                rows = feature.transform(paths)
                spent.append((fitted - start, time.perf_counter() - fitted, time.process_time() - processor))
                scores.append(accuracies(rows[train], photos.labels[train], rows[test], photos.labels[test]))
        except (KCRCError, ImportError) as problem:
            print(f"| {name} | not measured: {problem} | | | | | |")
            continue
        (nn, ridge), (nn_sd, ridge_sd) = np.mean(scores, axis=0), np.std(scores, axis=0)
        fit, wall, processor = np.mean(spent, axis=0)
        n = len(paths)
        print(
            f"| {name} | {feature.dim} | {nn:.1f} ± {nn_sd:.1f} | {ridge:.1f} ± {ridge_sd:.1f} | {n / wall:.0f} | "
            f"{1000 * processor / n:.1f} | {fit:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
