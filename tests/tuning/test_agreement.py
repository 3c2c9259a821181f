"""What tuning says of a left-out example is what a model that never had it answers, whatever the parameters.

Every combination goes the way ``fit`` goes, up to the search, which is cut short to a few settings. Then the model of
each setting is built without the example (its duplicates, its fold), and asked about it.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from problems import problem
from scipy.linalg import cholesky, solve_triangular

from kcrc import KCRCClassifier, coding, kernels, projections, scaling
from kcrc.classifier.parameters import settings_of
from kcrc.method import local_problem, pipeline
from kcrc.method.distances import Unified
from kcrc.method.distances.custom import SlowDistanceWarning
from kcrc.method.fitted_model import FittedModel
from kcrc.method.scaling import Within
from kcrc.tuning import tune
from kcrc.tuning.search import Search

ROWS, MOST = 3, 37  # examples asked, and settings they are asked under
PENALTIES = (1e-6, 1e-4, 0.1)
BASE = {
    "n_neighbors": 7,
    "scaling": "plain",
    "kernel": "rbf",
    "gamma": 0.1,
    "mu": "auto",
    "form": "rkhs",
    "decision": "auto",
    "locality": "atoms",
}
LOCALITIES = {
    "nearest": {"n_neighbors": 7, "locality": "atoms"},
    "classes": {"n_neighbors": 2, "locality": "classes"},
    "global": {"n_neighbors": None, "locality": "atoms"},
}


class Short(Search):
    """A few settings of every geometry, on a few examples."""

    def run(self, *, brief=False):
        evaluator = self.evaluator
        mus = [self.candidates.fixed["mu"]] if "mu" in self.candidates.fixed else PENALTIES
        first = [s for name in self.candidates.makers for s in self.candidates.first(name)]
        settings = list(dict.fromkeys(replace(s, mu=mu) for s in first for mu in mus))
        settings = settings[:: -(-len(settings) // MOST)]
        evaluator.order = evaluator.order[: evaluator.fold if self.candidates.whole else ROWS]
        evaluator.evaluate(settings, np.arange(len(evaluator.order)), 1e9)
        Short.last = evaluator
        return settings[0]


@cache
def clouds():
    X, y, _ = problem(3, n=36, d=5, classes=4)
    return X + 1.0, y


def without(metric: Within, X, y, out) -> Within:
    """The metric whose covariance never saw the examples ``out``, by the definition
    (``kcrc.tuning.left_out.exclusion``)."""
    X = metric.ready(X).astype(np.float64)
    keep = np.setdiff1d(np.arange(len(X)), out)
    full = scaling.within_covariance(X, y)
    scatter = np.zeros_like(full)
    for c in np.unique(y[keep]):
        deviations = X[keep[y[keep] == c]]
        deviations = deviations - deviations.mean(axis=0)
        scatter += deviations.T @ deviations
    variance = np.trace(full) / len(full)
    S = (1 - metric.shrinkage) * scatter / (len(X) - len(np.unique(y))) + metric.shrinkage * variance * np.eye(
        len(full)
    )
    whitening = solve_triangular(cholesky(S, lower=True), np.eye(len(full)), lower=True).T
    return replace(metric, mean=X.mean(axis=0), whitening=whitening)


def asked(monkeypatch, options, X, y):
    """The short search that a fit with these options makes, and the method it would store."""
    monkeypatch.setattr(tune, "Search", Short)
    classifier = KCRCClassifier(**{**BASE, **options}, tuning_seconds=60, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowDistanceWarning)
        vectors, labels = classifier._validate(X, y, reset=True)
        result = tune.tune(settings_of(classifier), vectors, labels)
        return Short.last, result.settings.make_method(vectors, labels)[0]


def of_setting(setting, geometry, method, options):
    """The method with what a setting says in place of what was chosen."""
    distance = getattr(geometry, "distance", method.distance)
    made = {"linear": kernels.Linear(), "rbf": kernels.RBF(setting.gamma or 1.0), "given": method.kernel}
    kernel = made.get(setting.kernel) or kernels.Exponential(distance, setting.gamma)
    projection = method.projection
    if setting.share is not None:
        projection = replace(projections.resolve(options["projection"]), n_components=setting.share)
    return replace(
        method,
        distance=distance,
        coarse_distance=distance if method.coarse_distance is method.distance else method.coarse_distance,
        scaling=getattr(geometry, "scaling", method.scaling),
        kernel=kernel,
        space=local_problem.resolve(setting.form, normalize=options.get("normalize_columns", True)),
        coder=coding.resolve(options.get("coder", "ridge"), mu=setting.mu),
        projection=projection,
        n_neighbors=None if method.n_neighbors is None else setting.n_neighbors,
        locality=setting.locality,
        decision=setting.decision,
    )


def disagreements(monkeypatch, options, X, y):
    search, method = asked(monkeypatch, options, X, y)
    wrong = []
    for setting, margins in search.margins.items():
        geometry = search.geometry(setting.geometry)
        own = of_setting(setting, geometry, method, options)
        for at, margin in enumerate(margins[:ROWS]):
            i = search.order[at]
            out = search.order[: search.fold] if search.candidates.in_folds(setting.geometry) else [i]
            out = np.flatnonzero(np.isin(geometry.groups, geometry.groups[out]))
            keep = np.setdiff1d(np.arange(len(X)), out)
            metric = own.scaling
            if isinstance(metric, Within) and not scaling.is_fixed(options.get("scaling")):
                metric = without(metric, X, y, out)
            model = FittedModel.build(replace(own, scaling=metric), X[keep], np.arange(y.max() + 1), y[keep], keep)
            evidence = pipeline.classify(model, metric.transform(X[i : i + 1]))
            mine, other = evidence.residuals[0, y[i]], np.delete(evidence.residuals[0], y[i]).min()
            expected = np.log(other / mine) if np.isfinite(mine) else -np.inf
            near = margin == expected or abs(margin - expected) < 0.02 + 0.02 * abs(expected)
            if not near or (margin > 0) != (evidence.winner[0] == y[i]):
                wrong.append((setting, int(i), float(margin), float(expected)))
    assert sum(map(len, search.margins.values())) > 0
    return wrong


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("locality", LOCALITIES)
@pytest.mark.parametrize("form", ["rkhs", "gram", "raw"])
def test_forms_localities_kernels_metrics_and_distances(form, locality, normalize, monkeypatch):
    X, y = clouds()
    shared = {**LOCALITIES[locality], "form": form, "normalize_columns": normalize}
    named = product(("linear", "rbf", "polynomial", "exp"), ("plain", "unit", "standard", "within"))
    cases = [{"kernel": kernel, "scaling": metric} for kernel, metric in named]
    cases += [{"kernel": kernel, "distance": one} for kernel in ("exp", "rbf") for one in ("manhattan", "unified")]
    found = {str(case): disagreements(monkeypatch, {**shared, **case}, X, y) for case in cases}
    assert found == {str(case): [] for case in cases}


def laplacian(A, B):
    return np.exp(-0.3 * np.abs(A[:, None] - B[None]).sum(axis=-1))


OTHERS = {
    "a kernel by a function": {"kernel": laplacian},
    "a kernel by a function, gram": {"kernel": laplacian, "form": "gram"},
    "a kernel object under a metric": {"kernel": kernels.RBF(0.3), "scaling": "within"},
    "a polynomial under a metric": {"kernel": kernels.Polynomial(0.3, 2, 1.0), "scaling": "within", "form": "gram"},
    "a distance by a function": {
        "distance": lambda u, v: np.maximum(v - u, 0).sum() + 1e-3 * u[0] ** 2,
        "kernel": "exp",
    },
    "lasso": {"coder": "lasso", "form": "raw", "scaling": "within"},
    "robust": {"coder": "robust", "form": "raw", "scaling": "within"},
    "robust, any length": {"coder": "robust", "form": "raw", "scaling": Within(0.2, unit=False)},
    "robust, another distance": {"coder": "robust", "form": "raw", "distance": "manhattan"},
    "robust, gram": {"coder": "robust", "form": "gram"},
    "kpca": {"projection": "kpca", "form": "gram"},
    "kfda": {"projection": "kfda", "form": "gram"},
    "random": {"projection": "random", "form": "gram"},
    "vectors of any length": {"scaling": Within(0.05, unit=False), "kernel": "linear"},
    "vectors scaled first": {"scaling": Within(0.2, scaled=True)},
    "the scale of the data": {"gamma": "scale", "scaling": "within"},
    "the scale of a distance": {"gamma": "scale", "distance": "manhattan", "kernel": "exp"},
    "nothing resembles anything": {"gamma": 1e6},
    "nothing resembles anything, gram": {"gamma": 1e6, "form": "gram"},
    "nothing resembles anything, another distance": {"gamma": 1e6, "distance": "unified", "kernel": "exp"},
    "no penalty": {"mu": 0.0, "decision": "auto"},
    "no penalty, gram": {"mu": 0.0, "form": "gram"},
    "an indefinite kernel": {"kernel": "exp", "distance": "chessboard", "gamma": 3.0},
}


@pytest.mark.parametrize("locality", LOCALITIES)
@pytest.mark.parametrize("name", OTHERS)
def test_coders_projections_functions_and_edges(name, locality, monkeypatch):
    X, y = clouds()
    assert not disagreements(monkeypatch, {**LOCALITIES[locality], **OTHERS[name]}, X, y)


LOCAL = {
    "coarse to fine": {"n_candidates": 12, "coarse_distance": "manhattan"},
    "coarse to fine under a metric": {"n_candidates": 12, "coarse_distance": "chessboard", "scaling": "within"},
    "coarse to fine by others": {"n_candidates": 12, "coarse_distance": "chessboard", "distance": "manhattan"},
    "coarse to a union": {"n_candidates": 12, "distance": Unified(["manhattan", "euclidean"]), "kernel": "exp"},
    "learned weights": {"distance": Unified(["manhattan", "euclidean"], weights="auto"), "kernel": "exp"},
    "learned weights, a kernel": {"distance": Unified(["manhattan", "euclidean"], weights="auto"), "kernel": "rbf"},
    "learned weights, raw": {"distance": Unified(["manhattan", "euclidean"], weights="auto"), "form": "raw"},
    "all open": dict.fromkeys(BASE, "auto"),
    "all open, columns as they are": {**dict.fromkeys(BASE, "auto"), "normalize_columns": False},
}


@pytest.mark.parametrize("name", LOCAL)
def test_searches_and_what_is_left_open(name, monkeypatch):
    assert not disagreements(monkeypatch, LOCAL[name], *clouds())


def test_equal_distances_and_duplicates(monkeypatch):
    """Whole numbers, so that many examples are equally far and some are the same: ties go to the lower row."""
    X, y = clouds()
    X = np.round(X).clip(0, 3)
    for options in ({}, {"kernel": "linear"}, {"distance": "manhattan", "kernel": "exp"}, LOCALITIES["classes"]):
        assert not disagreements(monkeypatch, options, X, y)


def test_a_metric_fitted_elsewhere_stays_and_nobody_leaves_it(monkeypatch):
    X, y = clouds()
    elsewhere = problem(9, n=80, d=5)[:2]
    for metric in (Within(0.2).fit(*elsewhere), scaling.Standard().fit(*elsewhere)):
        _, method = asked(monkeypatch, {"scaling": metric}, X, y)
        assert method.scaling is metric
        assert not disagreements(monkeypatch, {"scaling": metric}, X, y)


def test_what_is_given_is_kept():
    X, y = clouds()
    options = {
        "distance": {"locality": "classes", "n_neighbors": 2, "distance": "manhattan", "kernel": "exp", "mu": "auto"},
        "polynomial": {"kernel": "polynomial", "gamma": 0.7, "mu": "auto"},
        "scale": {"kernel": "rbf", "gamma": "scale", "mu": "auto"},
        "many": {"n_neighbors": 500, "mu": "auto"},
    }
    fitted = {name: KCRCClassifier(**some, tuning_seconds=1).fit(X, y).model_.method for name, some in options.items()}
    assert (fitted["distance"].locality, fitted["distance"].n_neighbors) == ("classes", 2)
    assert fitted["polynomial"].kernel.gamma == 0.7
    scaled = fitted["scale"].scaling.transform(X)
    assert fitted["scale"].kernel.gamma == pytest.approx(0.5 / scaled.var(axis=0).sum())
    assert fitted["many"].n_neighbors == 500  # of examples to come, too
