"""How far confidence can be trusted.

For each data set and split, with nothing tuned on test rows:
  log-loss and expected calibration error (15 bins) beside kNN votes (k by cross-validation) and SVC scaled
  by Platt's sigmoid and by one temperature;
  AUROC of "unknown" with three classes in ten left out of the examples, beside the distance to the nearest example;
  false alarms of predict(reject=0.05), and coverage and size of predict_set, for all classes together and by class
  (where queries have other shares of the classes than the examples, as in caltech101-spm, only the latter and the
  coverage with all classes of the queries balanced can hold).
  how many of the first 500 answers share their probability with one to another sample.
Must hold: coverage within 2 points of what was asked; calibration error below that of kNN; log-loss no more than 0.002
above what it is if equally clear answers are not told apart by distance; no probability shared.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC

from kcrc._base.arrays import Array
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.confidence.calibration import Familiarity
from kcrc.report.terminal import say
from lab.experiments.studies import command
from lab.experiments.studies.samples import at_hand, dataset, vectors

MOST = 2000  # queries
SETS = {  # the set it is read from, and how many a class are stored
    "digits": ("digits", 90),
    "mnist-500": ("mnist", 50),
    "usps": ("usps", 300),
    "yale-b-504": ("yaleb", 32),
    "caltech256-clip": ("caltech256_clip", 30),
    "scene15-spm": ("scene15_spm", 100),
    "caltech101-spm": ("caltech101_spm", 30),
}


def load(name: str, rng: np.random.Generator, data: Path | None) -> tuple[Array, Array, Array, Array]:
    """So many examples of each class (half of a smaller one), and at most ``MOST`` of the rest as queries.

    Faces (0 to 255) are seen by random projections; they and ready features are at unit length.
    """
    source, per_class = SETS[name]
    X, y = vectors(source, data)
    if source == "yaleb":
        images = dataset(source, data).images
        assert images is not None
        random = rng.normal(size=(X.shape[1], 504)).astype(np.float32)
        X = images.reshape(len(y), -1).astype(np.float32) @ (random / np.linalg.norm(random, axis=0))
    if source not in ("digits", "mnist", "usps"):
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
    train = np.concatenate(
        [
            rng.choice(rows, min(per_class, max(1, len(rows) // 2)), replace=False)
            for rows in (np.flatnonzero(y == c) for c in np.unique(y))
        ]
    )
    test = rng.permutation(np.setdiff1d(np.arange(len(y)), train))[:MOST]
    return X[train], y[train], X[test], y[test]


def log_loss(p: Array, truth: Array) -> float:
    return float(-np.log(np.maximum(p[np.arange(len(truth)), truth], 1e-6)).mean())


def calibration_error(p: Array, truth: Array, bins: int = 15) -> float:
    confidence, right = p.max(axis=1), p.argmax(axis=1) == truth
    bin_of = np.minimum((bins * confidence).astype(int), bins - 1)
    return float(
        sum(
            abs(confidence[bin_of == b].mean() - right[bin_of == b].mean()) * np.mean(bin_of == b)
            for b in np.unique(bin_of)
        )
    )


def sharing(p: Array, X: Array) -> int:
    """How many answers have the probability, of the best class, of an answer to another sample."""
    _, sample = np.unique(X, axis=0, return_inverse=True)
    _, value = np.unique(p.max(axis=1), return_inverse=True)
    pairs = np.unique(np.column_stack([value.ravel(), sample.ravel()]), axis=0)  # each sample once
    return int((np.bincount(pairs[:, 0])[value.ravel()] > 1).sum())


def knn(X: Array, y: Array) -> Any:
    sizes = [k for k in (1, 3, 5, 10, 20, 50) if k < 0.6 * len(y)]
    return GridSearchCV(KNeighborsClassifier(), {"n_neighbors": sizes}, cv=3).fit(X, y)


def svc(X: Array, y: Array) -> dict[str, Any]:
    """Width and penalty by cross-validation; then Platt's scaling, and one temperature, by cross-validation."""
    search = GridSearchCV(
        make_pipeline(Normalizer(), SVC()), {"svc__C": [1.0, 10.0], "svc__gamma": [0.5, 1.0, 3.0]}, cv=3
    ).fit(X, y)
    scalings = {"platt": "sigmoid", "temperature": "temperature"}
    return {
        name: CalibratedClassifierCV(search.best_estimator_, method=method, cv=3).fit(X, y)
        for name, method in scalings.items()
    }


def measured(name: str, seed: int, seconds: float, with_svc: bool, data: Path | None) -> dict[str, float]:
    X, y, Xq, yq = load(name, np.random.default_rng(seed), data)
    out: dict[str, float] = {}
    begun = time.perf_counter()
    clf = KCRCClassifier(tuning_seconds=seconds).fit(X, y)
    out["fit seconds"] = time.perf_counter() - begun
    truth = np.searchsorted(clf.classes_, yq)
    p = clf.predict_proba(Xq)
    out["accuracy"] = float(np.mean(p.argmax(axis=1) == truth))
    out["log-loss"], out["ece"] = log_loss(p, truth), calibration_error(p, truth)
    shared = replace(clf.confidence_.calibration, familiarity=Familiarity())
    by_residuals = shared.probabilities(clf.answerer_.answer(Xq).evidence.residuals)
    out["shared log-loss"], out["shared ece"] = log_loss(by_residuals, truth), calibration_error(by_residuals, truth)
    out["sharing"] = sharing(p[:500], Xq[:500])
    votes = knn(X, y).predict_proba(Xq)
    out["knn log-loss"], out["knn ece"] = log_loss(votes, truth), calibration_error(votes, truth)
    if with_svc:
        for scaling, scaled in svc(X, y).items():
            q = scaled.predict_proba(Xq)
            out[f"{scaling} log-loss"], out[f"{scaling} ece"] = log_loss(q, truth), calibration_error(q, truth)
    for asked in (0.9, 0.95):
        inside = clf.predict_set(Xq, coverage=asked)
        out[f"coverage {asked}"] = float(inside[np.arange(len(truth)), truth].mean())
        out[f"size {asked}"] = float(inside.sum(axis=1).mean())
        balanced = 1.0 / np.bincount(truth)[truth]  # every class of the queries counts the same
        out[f"balanced {asked}"] = float(np.average(inside[np.arange(len(truth)), truth], weights=balanced))
        inside = clf.predict_set(Xq, coverage=asked, class_conditional=True)
        out[f"coverage by class {asked}"] = float(inside[np.arange(len(truth)), truth].mean())
        out[f"size by class {asked}"] = float(inside.sum(axis=1).mean())
    answers = clf.predict(Xq, reject=0.05, unknown="unknown")
    out["false alarms"] = float(np.mean([a == "unknown" for a in answers.tolist()]))
    rng = np.random.default_rng(1000 + seed)
    strangers = rng.choice(clf.classes_, max(1, round(0.3 * len(clf.classes_))), replace=False)
    keep = ~np.isin(y, strangers)
    given = {**clf.get_params(), **_chosen(clf)}
    less = KCRCClassifier(**given).fit(X[keep], y[keep])
    strange = np.isin(yq, strangers)
    out["auroc"] = float(roc_auc_score(strange, less.unknown_score(Xq)))
    nearest = KNeighborsClassifier(1).fit(X[keep], y[keep]).kneighbors(Xq)[0][:, 0]
    out["knn auroc"] = float(roc_auc_score(strange, nearest))
    return out


def _chosen(clf: KCRCClassifier) -> dict[str, Any]:
    """What tuning chose with all classes, as parameters: strangers take no part in it but through that choice."""
    assert clf.tuning_ is not None
    best = clf.tuning_.best
    metric = type(clf.model_.method.scaling)
    options = {"shrinkage", "unit", "scaled"} & set(getattr(metric, "__dataclass_fields__", {}))
    return {
        "scaling": metric(**{name: getattr(clf.model_.method.scaling, name) for name in options}),
        "n_neighbors": best.n_neighbors,
        "kernel": best.kernel,
        "gamma": "scale" if best.gamma is None else best.gamma,
        "mu": best.mu,
        "form": best.form,
        "decision": best.decision,
        "locality": best.locality,
    }


def shown(name: str, runs: Sequence[dict[str, float]], with_svc: bool) -> bool:
    """Say the means of the splits of a set; whether what must hold does."""
    mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    say(f"{name} ({len(runs)} splits, fit {mean['fit seconds']:.0f} s, accuracy {mean['accuracy']:.2%})")
    others = ""
    if with_svc:
        others = f", SVC Platt-scaled {mean['platt log-loss']:.3f}, by temperature {mean['temperature log-loss']:.3f}"
    kept = mean["log-loss"] <= mean["shared log-loss"] + 0.002
    say(
        f"  log-loss           {mean['log-loss']:.3f}   not told apart {mean['shared log-loss']:.3f}, kNN votes "
        f"{mean['knn log-loss']:.3f}{others}   ({'holds' if kept else 'MISSED'})"
    )
    if with_svc:
        others = f", SVC by Platt {mean['platt ece']:.4f}, by temperature {mean['temperature ece']:.4f}"
    calibrated = mean["ece"] < mean["knn ece"]
    say(
        f"  calibration error  {mean['ece']:.4f}  not told apart {mean['shared ece']:.4f}, kNN votes "
        f"{mean['knn ece']:.4f}{others}   ({'holds' if calibrated else 'MISSED'})"
    )
    apart = mean["sharing"] == 0
    say(f"  sharing            {mean['sharing']:.1f} of 500 answers a probability   ({'holds' if apart else 'MISSED'})")
    say(
        f"  unknown AUROC      {mean['auroc']:.3f}   nearest distance {mean['knn auroc']:.3f};  "
        f"false alarms {mean['false alarms']:.1%} of 5 % asked"
    )
    covered = True
    for asked in (0.9, 0.95):
        got = [run[f"coverage {asked}"] for run in runs]
        near = bool(abs(np.mean(got) - asked) <= 0.02)
        covered &= near
        say(
            f"  sets {asked:.0%}           covered {np.mean(got):.1%} ± {np.std(got):.1%}, "
            f"{mean[f'size {asked}']:.2f} classes a set   ({'holds' if near else 'MISSED'}: within 2 points); "
            f"balanced {mean[f'balanced {asked}']:.1%}; "
            f"by class {mean[f'coverage by class {asked}']:.1%}, {mean[f'size by class {asked}']:.2f} classes"
        )
    return kept and calibrated and apart and covered


def study(given: argparse.Namespace) -> bool:
    held, seeds = True, range(given.first, given.first + given.seeds)
    for name in given.sets or SETS:
        if not at_hand(SETS[name][0], given.data):
            continue
        runs = [measured(name, seed, given.seconds, not given.no_svc, given.data) for seed in seeds]
        held &= shown(name, runs, not given.no_svc)
    return held


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command.options("confidence", __doc__)
    parser.add_argument("sets", nargs="*", choices=[*SETS, []], default=[])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seconds", type=float, default=30.0, help="for tuning")
    parser.add_argument("--no-svc", action="store_true")
    return command.run(study, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
