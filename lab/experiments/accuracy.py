"""The measurement most experiments share: fit a method on a split, ask the queries, count the right answers.

Whatever a method leaves "auto" it chooses by leave-one-out inside its training rows, within ``tuning_seconds``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from kcrc.classifier import recipes as methods
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.method import distances, projections
from kcrc.report.tables import Table, mean_std, with_sign
from lab.experiments.base import Cell, Protocol, Run
from lab.experiments.loader import Loader, Split

SHOWN = ("experiment", "panel", "series", "x", "title")  # what a cell says of its place on a page alone
QUICK_FAMILY = ("CRC", "KCRC")  # what begins so has a closed form, and the repeats of the paper


def measure(cell: Cell, loader: Loader) -> dict[str, Any]:
    """Accuracy (%) of the method named by the cell, with the parameters it chose and its times.

    Two cells that differ only in where a page shows them are one measurement.
    """
    key = json.dumps({k: v for k, v in cell.items() if k not in SHOWN}, sort_keys=True)
    if key not in loader.measured:
        loader.measured[key] = measured_model(cell, loader)[0]
    return dict(loader.measured[key])


def measured_model(cell: Cell, loader: Loader) -> tuple[dict[str, Any], Any, Split]:
    """The same, with the fitted method and the split for what else is asked of them."""
    split = loader.split(cell)
    begun = time.perf_counter()
    model = fitted_model(cell, split, loader)
    fitted = time.perf_counter()
    answers = model.predict(split.queries)
    done = time.perf_counter()
    right = answers == split.truth
    values: dict[str, Any] = {
        "accuracy": round(100.0 * float(np.mean(right)), 4),
        "n_train": len(split.y),
        "n_queries": len(split.truth),
        "fit_seconds": round(fitted - begun, 4),
        "predict_seconds": round(done - fitted, 4),
        "chosen": chosen(model),
        # Bits in the order of the draw: who is asked fewer queries is compared with others on the same ones.
        "right": np.packbits(right[split.drawn]).tobytes().hex(),
    }
    if cell.get("confusion"):
        values["confusion"] = confusion_matrix(split.truth, answers, labels=np.arange(len(split.classes))).tolist()
        values["classes"] = list(split.classes)
    return values, model, split


def estimator(cell: Cell) -> Any:
    """The method with the cell's options (``members`` are the distances of a unified one); a KCRC classifier is told
    the seed and how long it may tune."""
    options = dict(cell.get("options", {}))
    if "members" in cell:
        options["distance"] = distances.Unified(tuple(cell["members"]))
    model = methods.make(cell["method"], **options)
    if isinstance(model, KCRCClassifier):
        model.set_params(random_state=cell["seed"], verbose=False)
        if "tuning_seconds" in cell:
            model.set_params(tuning_seconds=cell["tuning_seconds"])
    elif "random_state" in model.get_params():
        model.set_params(random_state=cell["seed"])
        if "verbose" in model.get_params():
            model.set_params(verbose=False)
    return model


def fitted_model(cell: Cell, split: Split, loader: Loader) -> Any:
    """The method fitted on the split.

    With ``tune_at`` what is open is chosen at that K where the cell's is larger (a leave-one-out trial costs K³), and
    kept. Cells that ask for the same choice share it.
    """
    model = estimator(cell)
    if not isinstance(model, KCRCClassifier) or model.scaling == "auto" or model.kernel == "auto":
        return model.fit(split.X, split.y)
    size = model.n_neighbors
    if cell.get("tune_at") and isinstance(size, int):
        size = min(size, cell["tune_at"])
    rows = {k: cell.get(k) for k in ("dataset", "feature", "gallery", "per_class", "seed", "tuning_seconds")}
    options = {**model.get_params(deep=False), "n_neighbors": size}
    key = json.dumps([rows, options], sort_keys=True, default=repr)
    if key not in loader.choices:
        probe = estimator(cell).set_params(n_neighbors=size).fit(split.X, split.y)
        loader.choices[key] = probe.tuning_
        if size == model.n_neighbors:
            return probe
    tuning = loader.choices[key]
    if tuning is not None:
        best = tuning.best
        found = {"mu": best.mu, "gamma": "scale" if best.gamma is None else best.gamma, "form": best.form}
        found |= {"decision": best.decision, "locality": best.locality, "n_neighbors": best.n_neighbors}
        model.set_params(**{name: v for name, v in found.items() if getattr(model, name) == "auto"})
        if best.share is not None and isinstance(model.projection, str):
            model.set_params(projection=projections.make(model.projection, n_components=best.share))
    model.fit(split.X, split.y)
    model.tuning_ = tuning
    return model


def chosen(model: Any) -> dict[str, Any]:
    """What leave-one-out chose, as plain values; empty where nothing was left open."""
    tuning = getattr(model, "tuning_", None)
    if tuning is None:
        return {}
    best = tuning.best
    return {
        "scaling": best.geometry, "n_neighbors": int(best.n_neighbors), "kernel": best.kernel,
        "gamma": None if best.gamma is None else float(best.gamma), "mu": float(best.mu), "form": best.form,
        "decision": best.decision, "share": best.share, "leave_one_out": round(100.0 * tuning.accuracy, 2),
    }  # fmt: skip


def where(runs: Iterable[Run], **wanted: Any) -> list[Run]:
    """The runs whose cells have these values."""
    return [run for run in runs if all(run.cell.get(name) == value for name, value in wanted.items())]


def repeats(runs: Iterable[Run], value: str = "accuracy", **wanted: Any) -> list[float]:
    """One value of the runs whose cells have these values, by seed."""
    found = sorted(where(runs, **wanted), key=lambda run: int(run.cell["seed"]))
    return [float(run.values[value]) for run in found]


def in_order(runs: Iterable[Run], name: str, **wanted: Any) -> list[Any]:
    """The different values of a cell's entry, in the order they were measured."""
    return list(dict.fromkeys(run.cell[name] for run in where(runs, **wanted)))


def lines(runs: Sequence[Run], **wanted: Any) -> dict[str, tuple[list[float], list[list[float]]]]:
    """Series of a figure: name -> (x, repeats at each x)."""
    found: dict[str, tuple[list[float], list[list[float]]]] = {}
    for name in in_order(runs, "series", **wanted):
        xs = sorted(in_order(runs, "x", series=name, **wanted))
        found[name] = (xs, [repeats(runs, series=name, x=x, **wanted) for x in xs])
    return found


def compared(ours: Sequence[float], paper: float | None, why: str) -> list[Any]:
    """Ours, the paper's, the difference, and why it is there where it is more than a point; whether the repeats differ
    by as much among themselves is said with it."""
    if not len(ours):
        return [None, paper, None, "not measured"]
    if paper is None:
        return [mean_std(ours), None, None, ""]
    difference = float(np.mean(ours)) - paper
    if abs(difference) <= 1.0:
        return [mean_std(ours), paper, with_sign(difference), "agrees"]
    within = len(ours) > 1 and abs(difference) <= 2.0 * float(np.std(ours, ddof=1))
    return [mean_std(ours), paper, with_sign(difference), f"within two standard deviations; {why}" if within else why]


def beside_paper(
    name: str, caption: str, runs: Sequence[Run], methods: Iterable[str], paper: Mapping[str, float], why: str
) -> Table:
    """A table of the methods' accuracies, ours and the paper's (none where digits stand in)."""
    rows = [[method, *compared(repeats(runs, series=method), paper.get(method), why)] for method in methods]
    return Table(name, caption, ("method", "ours", "paper", "difference", "why"), rows)


def mean_of(runs: Iterable[Run], **wanted: Any) -> float | None:
    """The mean accuracy, None where nothing was measured."""
    found = repeats(runs, **wanted)
    return float(np.mean(found)) if found else None


def seeds_of(protocol: Protocol, method: str = "CRC") -> range:
    """The repeats of a method: ``seeds``, of those that take long no more than ``slow_seeds``."""
    seeds = int(protocol["seeds"])
    quick = method.startswith(QUICK_FAMILY)
    return range(seeds if quick else min(seeds, int(protocol.get("slow_seeds", seeds))))


def affordable(n_queries: int | None, n_neighbors: int, protocol: Protocol) -> int | None:
    """How many of the queries (None: all) a local dictionary of K is asked: a query costs about K³ products, and all
    together may come to ``local_work`` of them, or to ``least_queries``."""
    if "local_work" not in protocol:
        return n_queries
    most = max(int(protocol["least_queries"]), int(protocol["local_work"] / float(n_neighbors) ** 3))
    return most if n_queries is None else min(most, n_queries)
