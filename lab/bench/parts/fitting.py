"""A fit with no arguments beside grid searches of rivals on the same rows, in the same run: support vector machines
(nine settings), nearest neighbours (ten) and logistic regression (five, of standardised features).

All choose their parameters on the training rows alone and use two cores; the workers of the grids are up, and what a
fit needs is loaded, before they are timed. The accuracy on the test rows stands beside, so that no speed is bought with
answers.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kcrc._base.arrays import Array
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.report.tables import text_table
from lab.bench.parts import PartRun
from lab.bench.results import Requirement
from lab.bench.samples import Problem, clusters, digits

GRIDS: dict[str, dict[str, list[Any]]] = {
    "SVC": {"C": [1, 10, 100], "gamma": ["scale", 1e-3, 1e-2]},
    "neighbours": {"n_neighbors": [1, 3, 5, 10, 20], "weights": ["uniform", "distance"]},
    "logistic regression": {"logisticregression__C": [0.01, 0.1, 1, 10, 100]},
}
FOLDS = 5
STORED = {  # how often the grid's time a fit may take, by set
    "mnist500": 2.5, "usps": 1.0, "yaleb": 1.0, "caltech256_clip": 1.0, "scene15_spm": 1.0,
}  # fmt: skip


class Timed(NamedTuple):
    seconds: float
    accuracy: float


def measure(run: PartRun) -> None:
    few = np.arange(40.0)[:, None], np.arange(40) % 2
    grid("neighbours", *few)  # starts the workers
    KCRCClassifier(verbose=False).fit(*few)  # loads what a fit needs
    lines = []
    for problem, bound in problems(run):
        ours = timed(problem, lambda X, y: KCRCClassifier(verbose=False).fit(X, y))
        theirs = {name: timed(problem, partial(grid, name)) for name in GRIDS}
        for name, one in theirs.items():
            run.results.ratios[f"fit with no arguments / grid of {name}, {problem.name}"] = ours.seconds / one.seconds
            run.results.accuracy[f"{problem.name}, {name}"] = one.accuracy
        run.results.accuracy[f"{problem.name}, no arguments"] = ours.accuracy
        ratio = ours.seconds / theirs["SVC"].seconds
        run.results.claims.append(Requirement(f"fit / grid of SVC, {problem.name}", ratio, bound))
        told = ", ".join(f"{name} {one.seconds:.1f} s" for name, one in theirs.items())
        run.say(f"{problem.name}: {ours.seconds:.1f} s; grids: {told}")
        lines.append([
            f"{problem.name}, {problem.atoms.shape[0]:,} × {problem.atoms.shape[1]}", f"{ratio:.2f}",
            *(f"{one.seconds:.2f} s, {one.accuracy:.2%}" for one in (ours, *theirs.values())),
        ])  # fmt: skip
    head = ["", "fit / SVC", "fit, accuracy", *GRIDS]
    run.say(text_table(f"\nA fit with no arguments beside grids in {FOLDS} folds", head, lines))


def problems(run: PartRun) -> Iterator[tuple[Problem, float]]:
    """What is fitted, and how many times the grid's time that may take."""
    if run.quick:
        yield clusters(60, 8, 20, classes=3), 2.5
        return
    yield digits(), 2.5
    yield clusters(500, 64, 1000), 2.5
    yield clusters(8000, 64, 1000), 1.0
    from lab.experiments.studies.samples import at_hand
    from lab.experiments.studies.seven_sets import load

    for name, bound in STORED.items():
        if at_hand(name.removesuffix("500"), run.folder):
            X, queries, y, truth = load(name, 0, run.folder)
            yield Problem(name, X, y, queries, truth), bound


def timed(problem: Problem, fit: Any) -> Timed:
    """Seconds to fit, and the share of the queries that are answered right then."""
    begun = time.perf_counter()
    model = fit(problem.atoms, problem.labels)
    seconds = time.perf_counter() - begun
    return Timed(seconds, float(np.mean(model.predict(problem.queries) == problem.truth)))


def grid(name: str, X: Array, y: Array) -> Any:
    """A rival with the best of its settings, fitted."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    rivals = {
        "SVC": SVC(),
        "neighbours": KNeighborsClassifier(),
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer members than folds, iterations that come to their end
        return GridSearchCV(rivals[name], GRIDS[name], cv=FOLDS, n_jobs=2).fit(X, y)
