"""KCRCClassifier() with no argument against its own best setting and against tuned baselines.

`python benchmarks/selftuned.py [--sets digits,…] [--splits 5] [--grid N] [--queries N] [--rivals N]`: one table.
``--out FILE`` also writes one line a split, ``--compare FILE`` sets this run beside such a file, split by split: the
same rows were stored and asked, so only the difference counts. ``selftuned-27effd8.csv`` beside this script is the
run that later changes are compared with.
No parameter of any method is chosen on test rows: ours by leave-one-out, the baselines by cross-validation on the
training rows (kNN 5-fold, the slow rivals 3-fold). ``--grid`` also measures the settings the search tried last (its
finalists) on the test rows, to show how far the choice is from the best of them; nothing is chosen by it. kNN is tuned
on every split, the slow rivals on the first ``--rivals`` of them. ``benchmarks/full_grid.py`` has a whole grid.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC, LinearSVC

from kcrc import KCRCClassifier

DATA = Path(os.environ.get("KCRC_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SETS = ("digits", "mnist500", "usps", "yaleb", "scene15_spm", "caltech256_clip", "caltech101_spm")


def per_class(y, count, seed):
    rng = np.random.default_rng(seed)
    train = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:count] for c in np.unique(y)])
    return train, np.setdiff1d(np.arange(len(y)), train)


def load(name, seed):
    """Training and test samples and labels of one split; seed 0 is the published split where there is one."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        train, test = train_test_split(np.arange(len(y)), test_size=0.5, random_state=seed, stratify=y)
        return X[train], X[test], y[train], y[test]
    stored = np.load(DATA / f"{name.removesuffix('500')}.npz", allow_pickle=False)
    y = stored["labels"].astype(int)
    if name == "mnist500":
        X = stored["images"].reshape(len(y), -1).astype(np.float32) / 255
        pool, test = np.flatnonzero(stored["split"] == 0), np.flatnonzero(stored["split"] == 1)
        train = stored["author500_train"] if seed == 0 else pool[per_class(y[pool], 50, seed)[0]]
    elif name == "usps":
        X = stored["images_x1000"].reshape(len(y), -1).astype(np.float32) / 1000
        train, test = np.flatnonzero(stored["split"] == 0), np.flatnonzero(stored["split"] == 1)
        if seed:
            train, test = train_test_split(np.arange(len(y)), test_size=2007, random_state=seed, stratify=y)
    elif name == "yaleb":
        pixels = stored["images"].reshape(len(y), -1).astype(np.float32) / 255
        faces = np.random.default_rng(1000 + seed).normal(size=(pixels.shape[1], 504)).astype(np.float32)
        X = pixels @ (faces / np.linalg.norm(faces, axis=0))
        train, test = per_class(y, 32, seed)
    else:
        X = stored["features"].astype(np.float32)
        if name == "caltech256_clip":
            train, test = np.flatnonzero(stored["split"] == 0), np.flatnonzero(stored["split"] == 1)
            if seed:
                train, test = train_test_split(np.arange(len(y)), train_size=len(train), random_state=seed, stratify=y)
        else:
            train, test = per_class(y, 100 if name == "scene15_spm" else 30, seed)
    return X[train], X[test], y[train], y[test]


def baselines(X, y, *, slow):
    """Tuned on the training rows, on rows of unit length."""
    folds = int(np.clip(np.bincount(y)[np.bincount(y) > 0].min(), 2, 5))
    spaces = {
        "kNN": (KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 10, 20], "weights": ["uniform", "distance"]}),
        "SVC": (SVC(), {"C": [1, 10, 100], "gamma": [0.5, 2, 5]}),
        "LinearSVC": (LinearSVC(dual=True), {"C": [0.1, 1, 10]}),
        "logistic": (LogisticRegression(max_iter=300), {"C": [1, 10, 100]}),
    }
    for name, (model, grid) in spaces.items():
        if name != "kNN" and not slow:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cv = folds if name == "kNN" else min(folds, 3)
            yield name, GridSearchCV(model, grid, cv=cv, n_jobs=2).fit(X, y)


def finalists(clf, X, y, Xq, yq, count):
    """Test accuracy of the settings that came last through the search."""
    best = 0.0
    most = max(score.trials for score in clf.tuning_.scores.values())
    leading = sorted(clf.tuning_.table, key=lambda row: (-(row["trials"] >= most // 2), -row["accuracy"]))[:count]
    from kcrc import metrics

    for row in leading:
        named = row["geometry"].removesuffix(", standard")
        first = metrics.Standard() if named != row["geometry"] else None
        kind, _, amount = named.removeprefix("scaled, ").partition(" ")
        metric = kind if first is None else metrics.Unit(first)
        if kind == "within":
            shrinkage, scaled = float(amount.split(",")[0]), named.startswith("scaled")
            metric = metrics.Within(shrinkage, unit="any" not in amount, scaled=scaled, first=first)
        names = ("n_neighbors", "kernel", "mu", "form", "decision", "locality")
        other = KCRCClassifier(metric=metric, gamma=row["gamma"] or "scale", **{n: row[n] for n in names}).fit(X, y)
        best = max(best, float(np.mean(other.predict(Xq) == yq)))
    return best


def compare(runs, path):
    """Points of accuracy gained on the splits that both have, with the standard error of their mean."""
    with path.open(newline="") as file:
        before = {(row["set"], int(row["seed"])): float(row["accuracy"]) for row in csv.DictReader(file)}
    gains = {}
    for run in runs:
        if (run["set"], run["seed"]) in before:
            gain = 100 * (run["accuracy"] - before[run["set"], run["seed"]])
            gains.setdefault(run["set"], []).append(gain)
    print(f"points gained since {path.name}, split by split")
    for name, each in gains.items():
        error = np.std(each, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan
        splits = "  ".join(f"{gain:+.2f}" for gain in each)
        print(f"  {name:18}{np.mean(each):+6.2f} ± {error:.2f}   {splits}")
    print(f"  {'mean of all sets':18}{np.mean([np.mean(each) for each in gains.values()]):+6.2f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--queries", type=int, default=0, help="at most this many test rows (0: all)")
    parser.add_argument("--grid", type=int, default=0, metavar="N", help="measure N finalists on the test rows too")
    parser.add_argument("--rivals", type=int, default=5, metavar="N", help="tune the slow rivals on N splits only")
    parser.add_argument("--out", type=Path, help="write set, seed, accuracy, seconds and setting to this CSV file")
    parser.add_argument("--compare", type=Path, help="a file that --out wrote before")
    arguments = parser.parse_args()
    runs = []
    for name in arguments.sets.split(","):
        rows = {}
        for seed in range(arguments.splits):
            X, Xq, y, yq = load(name, seed)
            if arguments.queries and len(yq) > arguments.queries:
                some = np.random.default_rng(seed).permutation(len(yq))[: arguments.queries]
                Xq, yq = Xq[some], yq[some]
            start = time.perf_counter()
            clf = KCRCClassifier().fit(X, y)
            seconds = time.perf_counter() - start
            rows.setdefault("kcrc, no arguments", []).append(np.mean(clf.predict(Xq) == yq))
            runs.append(
                {
                    "set": name,
                    "seed": seed,
                    "accuracy": round(float(rows["kcrc, no arguments"][-1]), 6),
                    "seconds": round(seconds, 1),
                    "setting": str(clf.tuning_).removeprefix("Tuning: "),
                }
            )
            print(f"    {name} {seed}: {rows['kcrc, no arguments'][-1]:.4f} {seconds:.1f} s {clf.tuning_}", flush=True)
            if arguments.grid:
                best = max(finalists(clf, X, y, Xq, yq, arguments.grid), rows["kcrc, no arguments"][-1])
                rows.setdefault("best finalist on test", []).append(best)
            unit = Normalizer()
            for rival, model in baselines(unit.transform(X), y, slow=seed < arguments.rivals):
                rows.setdefault(f"tuned {rival}", []).append(np.mean(model.predict(unit.transform(Xq)) == yq))
        print(f"{name}, {arguments.splits} splits")
        for method, values in rows.items():
            few = f" ({len(values)} split)" if len(values) < arguments.splits else ""
            print(f"  {method:24}{100 * np.mean(values):7.2f} ± {100 * np.std(values):.2f}{few}", flush=True)
    if arguments.out:
        with arguments.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(runs[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(runs)
    if arguments.compare:
        compare(runs, arguments.compare)


if __name__ == "__main__":
    main()
