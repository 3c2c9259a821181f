"""Beyond the paper: modern features and few examples, KCRC-LCD as it comes against the usual ways.

Every contender gets the same rows. Those of scikit-learn get them at unit length and their parameters by
cross-validation on the training rows, where a class has two examples to do it with; with one they keep the middle
value. The time of that search is part of their fit, as leave-one-out is part of KCRC's.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC

from kcrc.classifier.estimator import KCRCClassifier
from kcrc.errors import ParameterError
from kcrc.method import scaling
from kcrc.report.tables import Table, mean_std, with_sign
from kcrc.tuning.geometries import shrinkage_of
from lab.experiments import accuracy, figures
from lab.experiments.base import Cell, Experiment, Protocol, Report, Run
from lab.experiments.loader import Loader, Split

OURS = "KCRC-LCD, no arguments"
FIXED = "best fixed setting in hindsight"
FEW = 8  # examples a class: up to there draws differ so much that all seeds are measured, above it the first two
PROTOCOL: Protocol = {
    "settings": (
        {"dataset": "caltech256_clip", "title": "Caltech256, CLIP ViT-B/32", "feature": "none", "gallery": None},
        {"dataset": "caltech101-20", "title": "Caltech101-20, embedding", "feature": "embedding", "gallery": 15},
    ),
    "sizes": (1, 2, 4, 8, 15),
    "contenders": (
        OURS,
        "1-NN",
        "tuned kNN",
        "nearest class mean",
        "logistic regression",
        "logistic regression, C = 1",
        "SVC",
        FIXED,
    ),
    "seeds": 10,
    "queries": 1000,
    "folds": 3,
    "tuning_seconds": None,  # KCRC's own default
}
QUICK: Protocol = {
    "sizes": (1, 4, 15), "seeds": 1, "queries": 300, "folds": 2, "tuning_seconds": 6,
    "contenders": (OURS, "1-NN", "tuned kNN", "nearest class mean", "logistic regression"),
}  # fmt: skip
STAND_IN: Protocol = {
    "settings": ({"dataset": "digits", "title": "digits", "feature": "none", "gallery": 15},), "sizes": (1, 4, 15),
    "queries": 200,
}  # fmt: skip


def cells(protocol: Protocol) -> list[Cell]:
    return [
        {
            "experiment": "beyond", "series": name, "x": size, "per_class": size, "seed": seed, **setting,
            "queries": protocol["queries"],
            **({"tuning_seconds": protocol["tuning_seconds"]} if name == OURS else {"folds": protocol["folds"]}),
        }
        for setting in protocol["settings"]
        for size in protocol["sizes"]
        for seed in accuracy.seeds_of(protocol)[: None if size <= FEW else 2]
        for name in protocol["contenders"]
        if name != FIXED or 1 < size <= FEW
    ]  # fmt: skip


def contender(name: str, smallest: int, folds: int) -> Any:
    """A scikit-learn classifier, with its search where the smallest class has two examples or more."""
    searched: dict[str, tuple[Any, dict[str, list[Any]]]] = {
        "1-NN": (KNeighborsClassifier(n_neighbors=1), {}),
        "tuned kNN": (
            KNeighborsClassifier(n_neighbors=1),
            {"n_neighbors": [1, 3, 5, 10, 20], "weights": ["uniform", "distance"]},
        ),
        "nearest class mean": (NearestCentroid(), {}),
        "logistic regression": (LogisticRegression(C=10.0, max_iter=200), {"C": [1.0, 10.0, 100.0]}),
        "logistic regression, C = 1": (LogisticRegression(max_iter=200), {}),
        "SVC": (SVC(C=10.0, kernel="linear"), {"C": [1.0, 10.0], "kernel": ["linear", "rbf"]}),
    }
    if name not in searched:
        raise ParameterError(f"There is no contender '{name}'. Known: {OURS}, {', '.join(searched)}.")
    model, grid = searched[name]
    whole = make_pipeline(Normalizer(), model)
    if not grid or smallest < 2:
        return whole
    step = whole.steps[-1][0]
    splits = StratifiedKFold(min(folds, smallest), shuffle=True, random_state=0)
    return GridSearchCV(whole, {f"{step}__{key}": values for key, values in grid.items()}, cv=splits)


def measure(cell: Cell, loader: Loader) -> dict[str, Any]:
    split = loader.split(cell)
    if cell["series"] == FIXED:
        by_setting = fixed_settings(split)
        return {"accuracy": max(by_setting.values()), "by_setting": by_setting, "n_train": len(split.y)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # iterations that end early, classes of one example: the same for all
        begun = time.perf_counter()
        if cell["series"] == OURS:
            seconds = {} if cell["tuning_seconds"] is None else {"tuning_seconds": cell["tuning_seconds"]}
            model: Any = KCRCClassifier(random_state=cell["seed"], verbose=False, **seconds)
        else:
            model = contender(cell["series"], int(np.bincount(split.y)[np.unique(split.y)].min()), cell["folds"])
        model.fit(split.X, split.y)
        fitted = time.perf_counter() - begun
        begun = time.perf_counter()
        answers = model.predict(split.queries)
        asked = time.perf_counter() - begun
        added = _time_to_add(model, split)
    return {
        "accuracy": 100.0 * float(np.mean(answers == split.truth)), "fit_seconds": fitted, "add_seconds": added,
        "query_ms": 1000.0 * asked / len(split.truth), "n_train": len(split.y), "n_queries": len(split.truth),
        "chosen": accuracy.chosen(model) if isinstance(model, KCRCClassifier) else _found(model),
    }  # fmt: skip


def fixed_settings(split: Split) -> dict[str, float]:
    """Accuracy (%) of settings that are the same for all data, by what they are."""
    shrinkage, found = shrinkage_of(*split.X.shape), {}
    whitened = {
        "within": scaling.Within(shrinkage), "scaled, within": scaling.Within(shrinkage, scaled=True),
        "within, any length": scaling.Within(shrinkage, unit=False), "unit": scaling.Unit(),
    }  # fmt: skip
    for name, metric in whitened.items():
        fitted = metric.fit(split.X, split.y)
        for kernel, mu, decision in itertools.product(("linear", "rbf"), (0.1, 1.0), ("ratio", "residual")):
            model = KCRCClassifier(
                50, scaling=fitted, kernel=kernel, gamma="scale", mu=mu, form="rkhs", decision=decision,
                locality="atoms",
            ).fit(split.X, split.y)  # fmt: skip
            answers = model.predict(split.queries)
            found[f"{name}, {kernel}, mu {mu:g}, {decision}"] = 100.0 * float(np.mean(answers == split.truth))
    return found


def in_hindsight(runs: Sequence[Run]) -> tuple[str, list[float]]:
    """The fixed setting with the best mean of these runs, and its accuracies."""
    names = runs[0].values["by_setting"]
    each = {name: [float(run.values["by_setting"][name]) for run in runs] for name in names}
    best = max(each, key=lambda name: float(np.mean(each[name])))
    return best, each[best]


def _repeats(runs: Sequence[Run], series: str, x: int) -> list[float]:
    """Accuracies by seed; of the fixed settings those of the best."""
    fixed = accuracy.where(runs, series=FIXED, x=x) if series == FIXED else []
    return in_hindsight(fixed)[1] if fixed else accuracy.repeats(runs, series=series, x=x)


def _time_to_add(model: Any, split: Split) -> float:
    """Seconds to know one more class: KCRC takes its examples in, the others learn anew with the parameters found."""
    last = split.y.max()
    new = split.y == last
    if isinstance(model, KCRCClassifier):
        model.forget_class(last)
        begun = time.perf_counter()
        model.partial_fit(split.X[new], split.y[new])
        return time.perf_counter() - begun
    again = clone(model.best_estimator_ if isinstance(model, GridSearchCV) else model)
    begun = time.perf_counter()
    again.fit(split.X, split.y)
    return time.perf_counter() - begun


def _found(model: Any) -> dict[str, Any]:
    if not isinstance(model, GridSearchCV):
        return {}
    return {key.split("__")[1]: value for key, value in model.best_params_.items()}


def report(runs: Sequence[Run], protocol: Protocol, folder: Path) -> Report:
    found = Report()
    for place, (dataset, title) in enumerate({r.cell["dataset"]: r.cell["title"] for r in runs}.items()):
        of_it = accuracy.where(runs, dataset=dataset)
        wanted = accuracy.in_order(of_it, "series")
        series, xs = [s for s in wanted if s != FIXED], sorted(accuracy.in_order(of_it, "x"))
        draws = {x: len(accuracy.in_order(of_it, "seed", x=x)) for x in xs}
        rows = [[x, draws[x], *(mean_std(_repeats(of_it, s, x)) or None for s in wanted)] for x in xs]
        caption = f"{title}: accuracy (%) by examples a class, mean of so many draws."
        found.tables.append(Table(f"accuracy{place + 1}", caption, ("a class", "draws", *wanted), rows))
        found.tables.append(_times(f"times{place + 1}", title, of_it, series, xs[-1]))
        found.notes.append(_winners(title, of_it, series, xs))
        for x in accuracy.in_order(of_it, "x", series=FIXED):
            best, _ = in_hindsight(accuracy.where(of_it, series=FIXED, x=x))
            found.notes.append(f"{title}, {x} a class: the best fixed setting is {best}.")
    caption = "Accuracy by examples a class, and milliseconds an answer at the largest number."
    found.figures.append((_draw([run for run in runs if run.cell["series"] != FIXED], folder), caption))
    return found


def _times(name: str, title: str, runs: Sequence[Run], series: Sequence[str], x: int) -> Table:
    rows = []
    for s in series:
        values = [accuracy.repeats(runs, key, series=s, x=x) for key in ("fit_seconds", "add_seconds", "query_ms")]
        fit, add, ask = (float(np.median(v)) if v else float("nan") for v in values)
        rows.append([s, f"{fit:.3g}", f"{1000 * add:.3g}", f"{ask:.3g}"])
    caption = f"{title}, {x} a class: time to fit (with the choice of parameters), to add a class, and to answer."
    return Table(name, caption, ("method", "fit, s", "add a class, ms", "answer, ms"), rows)


def _winners(title: str, runs: Sequence[Run], series: Sequence[str], xs: Sequence[int]) -> str:
    """One sentence on who is best where."""
    best = []
    for x in xs:
        means = {s: accuracy.mean_of(runs, series=s, x=x) for s in series}
        known = {s: mean for s, mean in means.items() if mean is not None}
        first = max(known, key=lambda s: known[s])
        ours = known.get(OURS)
        behind = "" if first == OURS or ours is None else f", {OURS} {with_sign(ours - known[first], 1)}"
        best.append(f"{x} a class: {first} ({known[first]:.1f}{behind})")
    quick = []
    for key, what in (
        ("fit_seconds", "fits fastest"),
        ("add_seconds", "adds a class fastest"),
        ("query_ms", "answers fastest"),
    ):
        at = {s: accuracy.repeats(runs, key, series=s, x=xs[-1]) for s in series}
        first = min((s for s in series if at[s]), key=lambda s: float(np.median(at[s])))
        quick.append(f"{first} {what}")
    return f"{title}: best at {'; '.join(best)}. At {xs[-1]} a class {', '.join(quick)}."


def _draw(runs: Sequence[Run], folder: Path) -> str:
    sets = accuracy.in_order(runs, "dataset")
    with figures.style():
        figure, axes = figures.panels(1, len(sets) + 1, height=2.6)
        for axis, dataset in zip(axes[0], sets, strict=False):
            figures.curves(axis, accuracy.lines(runs, dataset=dataset))
            axis.set_xscale("log", base=2)
            xs = sorted(accuracy.in_order(runs, "x", dataset=dataset))
            axis.set_xticks(xs, [str(x) for x in xs])
            axis.set_xlabel("examples a class")
            axis.set_title(accuracy.where(runs, dataset=dataset)[0].cell["title"])
        axes[0, 0].set_ylabel("accuracy (%)")
        axes[0, 0].legend()
        of_it = accuracy.where(runs, dataset=sets[0])
        names, x = accuracy.in_order(of_it, "series"), max(accuracy.in_order(of_it, "x"))
        times = [float(np.median(accuracy.repeats(of_it, "query_ms", series=s, x=x))) for s in names]
        axes[0, -1].barh(names, times, color=figures.COLOURS[: len(names)])
        axes[0, -1].set_xscale("log")
        axes[0, -1].minorticks_off()
        axes[0, -1].invert_yaxis()
        axes[0, -1].set_xlabel("ms an answer")
        return figures.save(figure, folder, "beyond")


EXPERIMENT = Experiment(
    "beyond", "Beyond the paper: modern features, few examples", "not in the paper", PROTOCOL, QUICK, STAND_IN, cells,
    measure, report,
)  # fmt: skip
