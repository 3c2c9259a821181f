"""Writes what later work is measured against: `python tests/golden/write_baseline.py FOLDER`.

For each data set, ``NAME.npz`` holds the answers under given parameters; ``choices.json`` holds the parameters chosen
without arguments, by three samples of each of five data sets. The data themselves are not here: each file names its
data set by the SHA-256 of what it was read from (``$KCRC_DATA``, or shared/data beside the project).

``bench.json`` is not written here: it holds the ratios of ``python -m lab bench --quick`` at that time.

Written once, with the classifier as it was before its modules moved; ``test_baseline.py`` compares every later one with
it. Only the public interface is used, and ``PARAMETERS`` and ``choice`` alone know the names of parameters.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kcrc import KCRCClassifier

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("KCRC_DATA", ROOT.parent / "shared" / "data"))
QUERIES = 50
ATOMS, PARTS, CLASSES = 50, 20, 10  # kept per query: examples, contributions, and residuals of the best classes
SEEDS = (0, 1, 2)
CHOICES = "choices.json"

PARAMETERS: dict[str, dict[str, Any]] = {
    "paper": {  # KCRC-LCD
        "n_neighbors": 50,
        "scaling": "plain",
        "kernel": "rbf",
        "gamma": 1.0,
        "mu": 0.1,
        "form": "rkhs",
        "decision": "residual",
        "locality": "atoms",
    },
    "classes": {
        "n_neighbors": 3,
        "scaling": "within",
        "kernel": "rbf",
        "gamma": "scale",
        "mu": 0.05,
        "form": "rkhs",
        "decision": "ratio",
        "locality": "classes",
    },
    "global": {
        "n_neighbors": None,
        "scaling": "unit",
        "kernel": "rbf",
        "gamma": "scale",
        "mu": 0.001,
        "form": "gram",
        "decision": "residual",
        "locality": "atoms",
    },
    "manhattan": {
        "n_neighbors": 30,
        "distance": "manhattan",
        "scaling": "plain",
        "kernel": "exp",
        "gamma": "scale",
        "mu": 0.02,
        "form": "gram",
        "decision": "ratio",
        "locality": "atoms",
        "coder": "nonnegative",
    },
}
# Whitening, and a dictionary of all examples with a small penalty, are badly conditioned: in single precision residuals
# differ by 1e-5 from one BLAS kernel to the next, and a baseline would see little.
IN_DOUBLE = ("classes", "global")


class Samples(NamedTuple):
    """Unit rows, their labels, and groups of rows that belong together."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None = None


class Source(NamedTuple):
    """A file, how samples are read from it, and how many examples a class has."""

    file: str
    read: Callable[[Any], Samples]
    each: int


def _unit(X: np.ndarray) -> np.ndarray:
    X = X.reshape(len(X), -1).astype(np.float32)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def _faces(images: np.ndarray) -> np.ndarray:
    """Means of 8×8 pixels: 504 features."""
    return images.reshape(-1, 24, 8, 21, 8).mean(axis=(2, 4), dtype=np.float32)


SOURCES = {
    "caltech101_spm": Source("caltech101_spm", lambda z: Samples(_unit(z["features"]), z["labels"]), 3),
    "caltech256_clip": Source("caltech256_clip", lambda z: Samples(_unit(z["features"]), z["labels"]), 2),
    "mnist": Source("mnist", lambda z: Samples(_unit(z["images"][:10_000]), z["labels"][:10_000]), 40),
    "scene15_spm": Source("scene15_spm", lambda z: Samples(_unit(z["features"]), z["labels"]), 20),
    "usps": Source("usps", lambda z: Samples(_unit(z["images_x1000"]), z["labels"]), 40),
    "yaleb": Source("yaleb", lambda z: Samples(_unit(_faces(z["images"])), z["labels"]), 10),
    "flowers": Source("photos5_embedding", lambda z: Samples(_unit(z["flowers102_X"]), z["flowers102_y"]), 4),
    "speakers": Source("groups", lambda z: Samples(_unit(z["speakers_X"]), z["speakers_y"], z["speakers_group"]), 36),
}
CHOSEN = {"caltech256_clip": 2, "mnist": 30, "usps": 30, "yaleb": 8, "speakers": 24}  # examples per class


@cache
def digest(name: str) -> str:
    """The SHA-256 of the file that a data set is read from."""
    return hashlib.sha256((DATA / f"{SOURCES[name].file}.npz").read_bytes()).hexdigest()


@cache
def samples(name: str) -> Samples:
    with np.load(DATA / f"{SOURCES[name].file}.npz", allow_pickle=False) as stored:
        return SOURCES[name].read(stored)


def split(name: str, each: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of so many random examples per class, and of some of the others."""
    _, y, groups = samples(name)
    order = np.random.default_rng(seed).permutation(len(y))
    if groups is not None:  # those of the last third of the groups are the queries
        last = groups[order] > np.quantile(groups, 0.66)
        order = np.concatenate([order[~last], order[last]])
    rank = np.empty(len(y), int)
    for label in np.unique(y):
        of_class = order[y[order] == label]
        rank[of_class] = np.arange(len(of_class))
    rest = order[rank[order] >= each]
    return order[rank[order] < each], rest[-QUERIES:]


def answers(name: str, setting: str) -> dict[str, np.ndarray]:
    """The answers under given parameters."""
    X, y, _ = samples(name)
    X = X.astype(np.float64 if setting in IN_DOUBLE else np.float32)
    train, queries = split(name, SOURCES[name].each, 0)
    clf = KCRCClassifier(**PARAMETERS[setting], n_jobs=1, verbose=False).fit(X[train], y[train], groups=None)
    evidence = clf.explain(X[queries])
    names = ("labels", "how", "rows", "distances", "residuals", "contributions", "energy")
    return {
        **{one: getattr(evidence, one) for one in names},
        "probabilities": clf.predict_proba(X[queries]),
    }


def kept(found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The part of the answers that is written: of the nearest examples and the best classes."""
    best = found["residuals"].argsort(axis=1, kind="stable")[:, :CLASSES]
    return {
        "labels": found["labels"],
        "how": found["how"],
        "rows": found["rows"][:, :ATOMS],
        "contributions": found["contributions"][:, :PARTS],
        "energy": found["energy"],
        "classes": best,
        "residuals": np.take_along_axis(found["residuals"], best, axis=1),
        "probabilities": np.take_along_axis(found["probabilities"], best, axis=1),
    }


def choice(name: str, seed: int) -> dict[str, Any]:
    """What is chosen without arguments from examples drawn with this seed, and the answers with it."""
    X, y, groups = samples(name)
    train, queries = split(name, CHOSEN[name], seed)
    clf = KCRCClassifier(random_state=seed, n_jobs=1, verbose=False)
    clf.fit(X[train], y[train], groups=None if groups is None else groups[train])
    best = clf.tuning_.best
    return {
        "metric": best.geometry,
        "locality": best.locality,
        "n_neighbors": int(best.n_neighbors),
        "kernel": best.kernel,
        "gamma": None if best.gamma is None else float(best.gamma),
        "mu": float(best.mu),
        "form": best.form,
        "decision": best.decision,
        "accuracy": clf.tuning_.accuracy,
        "trials": clf.tuning_.trials,
        "labels": clf.predict(X[queries]).tolist(),
    }


def compact(value: np.ndarray) -> np.ndarray:
    """Half the bytes: single precision is finer than what is compared, and no number here needs 32 bits."""
    if value.dtype.kind == "f":
        return value.astype(np.float32)
    return value.astype(np.int16)


def main(target: str) -> None:
    goal = Path(target)
    goal.mkdir(parents=True, exist_ok=True)
    for name in SOURCES:
        stored = {
            f"{setting}/{key}": compact(value)
            for setting in PARAMETERS
            for key, value in kept(answers(name, setting)).items()
        }
        np.savez_compressed(goal / f"{name}.npz", sha256=np.array(digest(name)), **stored)
    chosen = {
        name: {"sha256": digest(name), "seeds": {str(seed): choice(name, seed) for seed in SEEDS}} for name in CHOSEN
    }
    lines = json.dumps(chosen, indent=1).replace(",\n     ", ", ")  # lists of labels take one line
    (goal / CHOICES).write_text(lines + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
