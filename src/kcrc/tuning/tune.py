"""From parameters of which some are "auto" to a search over them, and its outcome.

What can be searched depends on what the caller fixed. Euclidean distances under a metric are the common case: all
metrics, both kernels, whole classes too. Another distance brings its own geometry and the exp kernel, under a metric
that is not fitted with labels where it is one of vectors; a kernel that is given (an object, a function, a matrix)
leaves size, penalty, form and decision to choose. Where the weights of a unified distance are to be learned and the
Euclidean one is a member, that is tried alone with all it can do, so that learning weights does not end below it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method import scaling
from kcrc.method.distances.base import Distance
from kcrc.method.distances.pixel import SquaredEuclidean
from kcrc.method.distances.unified import Unified, to_be_weighted
from kcrc.method.preparation import Samples
from kcrc.method.scaling import units_differ
from kcrc.tuning.candidates import FAVOURITE
from kcrc.tuning.field import (
    SPEED,
    Field,
    Request,
    Scorer,
    SearchBudget,
    fixed_of,
    is_open,
    posing_cost,
    projected,
    scorer_for,
    solving_cost,
)
from kcrc.tuning.geometries import LABEL_FREE, TABLES, favoured, geometries_of, learned_anew, of_kernel
from kcrc.tuning.left_out.sample import class_stays, duplicate_groups
from kcrc.tuning.left_out.surroundings import Surroundings
from kcrc.tuning.result import Candidate, Tuning, loss
from kcrc.tuning.search import MOST, BriefSearch, Search, stratified
from kcrc.tuning.weights import WeightSearch

SAFE: dict[str, Any] = {  # where no class has a second example to ask
    "n_neighbors": 50,
    "kernel": "rbf",
    "gamma": "scale",
    "mu": 0.01,
    "form": "rkhs",
    "decision": "ratio",
    "locality": "atoms",
    "scaling": "plain",
}
# Seconds, seconds an example and seconds a number of it: where data are few, a longer search would fit their noise.
ENOUGH, ENOUGH_EACH, ENOUGH_ENTRY = 0.5, 2e-3, 4e-6
ENOUGH_PASSES = 20  # over all who are asked, with dictionaries of a size that is given
FOR_METRIC = 0.4  # of the time is for the metric, and the Euclidean member under it, where weights are learned
LEARNING = 0.25  # of the time is for the weights
ALONE = " alone"  # how the names of single members end in the table
WHOLE = 1000  # examples a search for a global dictionary uses,
WHOLE_PROJECTED = 600  # and where eigenvectors are wanted of each


class Found(NamedTuple):
    """Values for all that is searched, the tuning they come from and the margins of its best setting, which are None
    where nothing could be tried."""

    values: dict[str, Any]
    tuning: Tuning | None = None
    margins: Array | None = None


def tune(request: Request, X: Array, labels: Array) -> tuple[dict[str, Any], Tuning | None]:
    """Values for all that is searched, and the tuning they come from (None where nothing could be tried)."""
    distance, groups = request.distance, duplicate_groups(X, request.groups)
    weighted = to_be_weighted(distance)
    if weighted is not None and is_open(request.params["scaling"]):
        found = _weighted(replace(request, samples=None), weighted, X, labels, groups)  # a metric moves them
    else:
        found = _chosen(request, X, labels, groups)
    return found.values, found.tuning


def _weighted(request: Request, distance: Unified, X: Array, labels: Array, groups: Array) -> Found:
    """Learned weights under a metric; or the Euclidean member alone, where there is one and it is better.

    Only metrics that are not fitted with labels go with weights: to ask an example as if it were new, others would
    have to be fitted without it, which is known for Euclidean distances alone.
    """
    euclidean = next((name for name, member in distance.members if member.is_euclidean), None)
    first = replace(
        request,
        distance=SquaredEuclidean() if euclidean else distance.with_weights(dict.fromkeys(distance.weights_, 1.0)),
        seconds=FOR_METRIC * request.seconds,
        progress=lambda done: request.progress(FOR_METRIC * done),
    )
    before = _chosen(first, X, labels, groups)
    if before.tuning is None or before.margins is None:
        return _chosen(replace(request, params={**request.params, "scaling": "plain"}), X, labels, groups)
    free = {s: score for s, score in before.tuning.scores.items() if s.geometry in LABEL_FREE}
    leader = max(free, key=lambda s: (free[s].accuracy, -free[s].loss))
    metric = LABEL_FREE[leader.geometry].fit(X, labels)
    moved = metric.transform(X)
    together = replace(
        request,
        params={**request.params, "scaling": metric},
        distance=learned_anew(distance, moved, labels),
        seconds=(1.0 - FOR_METRIC) * request.seconds,
        progress=lambda done: request.progress(FOR_METRIC + (1.0 - FOR_METRIC) * done),
    )
    found = _chosen(together, moved, labels, groups)
    assert found.tuning is not None and found.margins is not None  # the same examples can be asked as before
    scores = {**before.tuning.scores, **found.tuning.scores}
    seconds = before.tuning.seconds + found.tuning.seconds
    both = ~np.isnan(before.margins) & ~np.isnan(found.margins)  # the examples stand in the same order
    alone, weighted = before.margins[both], found.margins[both]
    if euclidean and ((alone > 0).sum(), -loss(alone)) >= ((weighted > 0).sum(), -loss(weighted)):
        weights = {name: float(name == euclidean) for name in distance.weights_}
        tuning = replace(before.tuning, weights=weights, scores=scores, seconds=seconds)
        return Found({**before.values, "distance": SquaredEuclidean()}, tuning)
    return found._replace(tuning=replace(found.tuning, scaling=metric, scores=scores, seconds=seconds))


def _chosen(request: Request, X: Array, labels: Array, groups: Array) -> Found:
    """Whom to ask, what is fixed and who scores candidates, where to search, and what the best found there comes to."""
    begun = time.perf_counter()
    asked = _asked(request, X, labels, groups)
    if not asked.eligible.any():
        return Found(_safe(request, X))
    fixed = fixed_of(request, atoms=len(asked.labels) - 1)
    scorer = scorer_for(request)
    around, weightings = _ground(request, asked, scorer, fixed)
    geometries, fits, kernels = geometries_of(request, asked.X, around, weightings)
    field = Field(
        geometries,
        asked.labels,
        asked.eligible,
        kernels,
        fixed,
        most=None if request.coarse is None else request.coarse[1],
        whole=request.whole,
        favoured=favoured(fits, *asked.X.shape) if is_open(request.params["scaling"]) else None,
        keep=tuple(weightings),
        alone=tuple(name for name in weightings if name.endswith(ALONE)),
    )
    seconds = (1.0 - LEARNING if weightings else 1.0) * request.seconds
    if request.by_products and scorer.effort == 1.0 and not request.whole:
        seconds = min(seconds, max(ENOUGH + ENOUGH_EACH * len(X) + ENOUGH_ENTRY * X.size, _for_given(fixed, len(X))))
    kind = BriefSearch if request.brief else Search
    search = kind(field, scorer, SearchBudget(seconds, request.n_jobs, request.seed, request.progress))
    best = search.run()
    fit = fits[best.geometry]
    metric = None if fit is None else fit()
    wider = len(asked.labels) < len(X) or X.dtype == np.float64  # the search works in float32 where it can
    if metric is not None and wider and not scaling.is_fixed(request.params["scaling"]):
        metric = metric.fit(X, labels)
    distance = weightings.get(best.geometry, request.distance)
    if not distance.is_euclidean and metric is not None:
        distance = learned_anew(distance, metric.transform(X), labels)
    tuning = Tuning(best, search.scores, time.perf_counter() - begun, metric, weights=distance.weights_)
    if best.locality == "atoms" and best.n_neighbors == len(X) - 1 and request.coarse is None:
        # All that there were without the one left out: all of them then, and of more that come as many as usual.
        best = replace(best, n_neighbors=max(len(X), FAVOURITE["n_neighbors"]))
    return Found(_settled(request, best, metric, distance), tuning, search.margins[tuning.best])


def _for_given(fixed: Mapping[str, Any], n: int) -> float:
    """Seconds that are enough where the size of the dictionary is given, and no smaller one can be tried instead."""
    k = min(n, fixed.get("n_neighbors", 0)) if fixed.get("locality") == "atoms" else 0
    return ENOUGH_PASSES * min(n, MOST) * (posing_cost(k, "gram") + solving_cost(k)) / SPEED


class Asked(NamedTuple):
    """The examples a search works with, all or some of them, and which of them it can ask."""

    X: Array
    labels: Array
    groups: Array
    eligible: Array
    all: bool


def _asked(request: Request, X: Array, labels: Array, groups: Array) -> Asked:
    """Some of the examples where dictionaries are global and those would be too large."""
    most = WHOLE if request.projecting.identity else WHOLE_PROJECTED
    if not request.whole or request.distance.given_as_matrix:  # which stays square
        most = len(X)
    everyone = len(X) <= most
    rows = np.arange(len(X)) if everyone else _subset(labels, most, request.seed)
    return Asked(X[rows], labels[rows], groups[rows], class_stays(labels[rows], groups[rows]), everyone)


def _safe(request: Request, X: Array) -> dict[str, Any]:
    """What is taken where nobody can be asked.

    Among fewer examples than features, directions tell classes apart; in few dimensions lengths do too. Neither means
    anything where units differ.
    """
    wide = X.shape[1] > len(X) and request.distance.is_euclidean
    safe = {**SAFE, "scaling": "standard" if units_differ(X) else "unit" if wide else "plain"}
    if not request.distance.is_euclidean:
        safe["kernel"] = "exp"  # of the distance: the RBF is of vectors, and would not look at it
    return {name: safe[name] if is_open(value) else value for name, value in request.params.items()}


def _ground(
    request: Request, asked: Asked, scorer: Scorer, fixed: Mapping[str, Any]
) -> tuple[Surroundings, dict[str, Unified]]:
    """How the examples lie around each other, and the weights of a unified distance to try, by name."""
    samples = request.samples if asked.all and not request.by_products else None
    samples = samples or Samples(asked.X, columns=np.arange(len(asked.X)))
    around = Surroundings(samples, asked.labels, asked.groups, request.coarse, request.pairs if asked.all else {})
    if not request.distance.is_euclidean and not is_open(request.params["scaling"]):
        # A brief search asks everybody once, which measures all pairs anyway.
        work = np.inf if request.brief else TABLES * SPEED * request.seconds
        around = around.tabled(request.distance, work, request.n_jobs)
    weighted = to_be_weighted(request.distance)
    if weighted is None:
        return around, {}
    order = stratified(asked.labels, np.random.default_rng(request.seed), asked.eligible)
    return around, _weightings(weighted, around, order, scorer, fixed, request)


def _settled(request: Request, best: Candidate, metric: scaling.Scaling | None, distance: Distance) -> dict[str, Any]:
    """The values of the parameters: those given, and of the others what is best."""
    found: dict[str, Any] = {**vars(best), "gamma": "scale" if best.gamma is None else best.gamma}
    params = request.params
    values = {name: found[name] if is_open(value) else value for name, value in params.items() if name != "scaling"}
    values["scaling"] = params["scaling"] if metric is None else metric
    values["projection"] = projected(request.projecting, best.share)
    if not distance.is_euclidean:
        values["distance"] = distance
    return values


def _weightings(
    distance: Unified,
    around: Surroundings,
    order: Array,
    scorer: Scorer,
    fixed: Mapping[str, Any],
    request: Request,
) -> dict[str, Unified]:
    """Every member alone, equal weights and learned weights, by the name the table shows."""
    form = str(fixed.get("form", "rkhs"))
    mus = (float(fixed["mu"]),) if "mu" in fixed else (1e-3, 1e-1)
    search = WeightSearch(
        distance,
        around,
        order,
        scorer,
        form=form,
        mus=mus,
        seconds=LEARNING * request.seconds,
        given=None if request.given_kernel is None else of_kernel(distance, request, around),
    )
    learned = search.run()
    equal = dict.fromkeys(search.names, 1.0 / len(search.names))
    found = {f"{single}{ALONE}": {name: float(name == single) for name in search.names} for single in search.names}
    if len(equal) > 1:
        found["equal weights"] = equal
    if learned not in found.values():
        found["learned weights"] = learned
    return {name: distance.with_weights(weights) for name, weights in found.items()}


def _subset(labels: Array, size: int, seed: int) -> Array:
    return np.sort(stratified(labels, np.random.default_rng(seed), np.ones(len(labels), bool))[:size])
