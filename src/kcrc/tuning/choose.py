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
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kcrc import coding, metrics, projections
from kcrc.arrays import Array
from kcrc.distances.pixel import SquaredEuclidean
from kcrc.distances.unified import Unified, to_be_weighted
from kcrc.left_out.groups import duplicate_groups
from kcrc.left_out.surroundings import Surroundings
from kcrc.left_out.trials import Trials
from kcrc.moments import units_differ
from kcrc.prepared import Samples
from kcrc.projections.base import Projection
from kcrc.tuning.costs import SPEED
from kcrc.tuning.geometries import LABEL_FREE, TABLES, geometries_of, learned_anew, of_kernel
from kcrc.tuning.judging import kernel_of, margins, nearest_atom, needs_double, shares_dictionary, staged_margins
from kcrc.tuning.loss import loss
from kcrc.tuning.request import Request, is_open
from kcrc.tuning.search import Judge, Search, stratified
from kcrc.tuning.setting import Tuning
from kcrc.tuning.weights import WeightSearch

SEARCHED = ("n_neighbors", "kernel", "gamma", "mu", "form", "decision", "locality", "metric")
SAFE: dict[str, Any] = {  # where no class has a second example to ask
    "n_neighbors": 50,
    "kernel": "rbf",
    "gamma": "scale",
    "mu": 0.01,
    "form": "rkhs",
    "decision": "ratio",
    "locality": "atoms",
    "metric": "plain",
}
ITERATING = 30.0  # how much dearer the stages with another coder are than the compiled ridge, about
FOR_METRIC = 0.4  # of the time is for the metric, and the Euclidean member under it, where weights are learned
ALONE = " alone"  # how the names of single members end in the table
WHOLE = 1000  # examples a search for a global dictionary uses,
WHOLE_PROJECTED = 600  # and where eigenvectors are wanted of each


class Found(NamedTuple):
    """Values for all of SEARCHED, the tuning they come from and the margins of its best setting, which are None where
    nothing could be tried."""

    values: dict[str, Any]
    tuning: Tuning | None = None
    margins: Array | None = None


def choose(request: Request, X: Array, labels: Array) -> tuple[dict[str, Any], Tuning | None]:
    """Values for all of SEARCHED, and the tuning they come from (None where nothing could be tried)."""
    distance, groups = request.distance, duplicate_groups(X, request.groups)
    weighted = to_be_weighted(distance)
    if weighted is not None and is_open(request.params["metric"]):
        found = _weighted(request, weighted, X, labels, groups)
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
        distance=SquaredEuclidean() if euclidean else distance.weighted(dict.fromkeys(distance.weights_, 1.0)),
        seconds=FOR_METRIC * request.seconds,
        progress=lambda done: request.progress(FOR_METRIC * done),
    )
    before = _chosen(first, X, labels, groups)
    if before.tuning is None or before.margins is None:
        return _chosen(replace(request, params={**request.params, "metric": "plain"}), X, labels, groups)
    free = {s: score for s, score in before.tuning.scores.items() if s.geometry in LABEL_FREE}
    leader = max(free, key=lambda s: (free[s].accuracy, -free[s].loss))
    metric = metrics.make(leader.geometry).fit(X, labels)
    moved = metric.transform(X)
    together = replace(
        request,
        params={**request.params, "metric": metric},
        distance=learned_anew(distance, moved, labels),
        seconds=(1.0 - FOR_METRIC) * request.seconds,
        progress=lambda done: request.progress(FOR_METRIC + (1.0 - FOR_METRIC) * done),
    )
    found = _chosen(together, moved, labels, groups)
    assert found.tuning is not None and found.margins is not None  # the same examples can be asked as before
    scores = {**before.tuning.scores, **found.tuning.scores}
    seconds = before.tuning.seconds + found.tuning.seconds
    asked = min(len(before.margins), len(found.margins))  # both asked the same examples in the same order
    alone, weighted = before.margins[:asked], found.margins[:asked]
    if euclidean and ((alone > 0).sum(), -loss(alone)) >= ((weighted > 0).sum(), -loss(weighted)):
        weights = {name: float(name == euclidean) for name in distance.weights_}
        tuning = replace(before.tuning, weights=weights, scores=scores, seconds=seconds)
        return Found({**before.values, "distance": SquaredEuclidean()}, tuning)
    return found._replace(tuning=replace(found.tuning, metric=metric, scores=scores, seconds=seconds))


def _chosen(request: Request, X: Array, labels: Array, groups: Array) -> Found:
    params = dict(request.params)
    begun = time.perf_counter()
    whole = params["n_neighbors"] is None
    projection = projections.resolve(request.projection)
    most = WHOLE if projection.identity else WHOLE_PROJECTED
    if not whole or request.distance.given_as_matrix:  # which stays square
        most = len(X)
    rows = _subset(labels, most, request.seed) if len(X) > most else np.arange(len(X))
    X_used, labels_used, groups_used = X[rows], labels[rows], groups[rows]
    eligible = _answerable(labels_used, groups_used)
    if not eligible.any():
        # Among fewer examples than features, directions tell classes apart; in few dimensions lengths do too. Neither
        # means anything where units differ.
        wide = X.shape[1] > len(X) and request.distance.is_euclidean
        safe = {**SAFE, "metric": "standard" if units_differ(X) else "unit" if wide else "plain"}
        return Found({name: safe[name] if is_open(value) else value for name, value in params.items()})
    fixed = {name: value for name, value in params.items() if not is_open(value) and name not in ("kernel", "metric")}
    if whole:
        fixed["n_neighbors"] = len(X_used) - 1
    if "n_neighbors" in fixed:
        fixed.setdefault("locality", "atoms")  # a given number counts examples, unless the caller says classes
    if isinstance(request.projection, Projection) or not projection.has_components:
        fixed["share"] = None
    judge = _judge(request, projection, fixed)
    compiled = request.coder == "ridge" and projection.identity
    iterates = coding.resolve(request.coder).iterates
    effort = 1.0 if compiled or (whole and not iterates) else ITERATING
    weightings: dict[str, Unified] = {}
    around = Surroundings(
        Samples(X_used, columns=np.arange(len(X_used))),
        labels_used,
        groups_used,
        request.coarse,
        request.pairs if len(rows) == len(X) else {},
    )
    if not request.distance.is_euclidean and not is_open(params["metric"]):
        around = around.tabled(request.distance, TABLES * SPEED * request.seconds, request.n_jobs)
    weighted = to_be_weighted(request.distance)
    if weighted is not None:
        order = stratified(labels_used, np.random.default_rng(request.seed), eligible)
        weightings = _weightings(weighted, around, order, judge, fixed, effort, request)
    geometries, fitted, kernels = geometries_of(request, X_used, around, weightings, fixed)
    search = Search(
        geometries,
        labels_used,
        fixed=fixed,
        kernels=kernels,
        judge=judge,
        effort=effort,
        seconds=(0.75 if weightings else 1.0) * request.seconds,
        n_jobs=request.n_jobs,
        seed=request.seed,
        progress=request.progress,
        eligible=eligible,
        most=None if request.coarse is None else request.coarse[1],
        keep=tuple(weightings),
        alone=tuple(name for name in weightings if name.endswith(ALONE)),
        whole=whole,
        iterates=iterates,
        projecting=projection.cost,
    )
    best = search.run()
    metric = fitted[best.geometry]
    wider = len(rows) < len(X) or X.dtype == np.float64  # the search works in float32 where it can
    if metric is not None and wider and not metrics.is_fixed(params["metric"]):
        metric = metric.fit(X, labels)
    found: dict[str, Any] = {**vars(best), "gamma": "scale" if best.gamma is None else best.gamma}
    values: dict[str, Any] = {
        name: found[name] if is_open(value) else value for name, value in params.items() if name != "metric"
    }
    values["metric"] = params["metric"] if metric is None else metric
    values["projection"] = _projected(projection, best.share)
    distance = weightings.get(best.geometry, request.distance)
    if not distance.is_euclidean:
        values["distance"] = distance if metric is None else learned_anew(distance, metric.transform(X), labels)
    tuning = Tuning(best, search.scores, time.perf_counter() - begun, metric, weights=distance.weights_)
    return Found(values, tuning, np.concatenate(search.margins[best]))


def _weightings(
    distance: Unified,
    around: Surroundings,
    order: Array,
    judge: Judge,
    fixed: Mapping[str, Any],
    effort: float,
    request: Request,
) -> dict[str, Unified]:
    """Every member alone, equal weights and learned weights, by the name the table shows."""
    form = str(fixed.get("form", "rkhs"))
    mus = (float(fixed["mu"]),) if "mu" in fixed else (1e-3, 1e-1)
    search = WeightSearch(
        distance,
        around,
        order,
        judge,
        form=form,
        mus=mus,
        effort=effort,
        seconds=0.25 * request.seconds,
        given=None if request.given_kernel is None else of_kernel(distance, request, around),
    )
    learned = search.run()
    equal = dict.fromkeys(search.names, 1.0 / len(search.names))
    found = {f"{single}{ALONE}": {name: float(name == single) for name in search.names} for single in search.names}
    if len(equal) > 1:
        found["equal weights"] = equal
    if learned not in found.values():
        found["learned weights"] = learned
    return {name: distance.weighted(weights) for name, weights in found.items()}


def _projected(projection: Projection, share: float | None) -> Projection:
    """With the share of the dimension that was chosen."""
    return projection if share is None else projection.with_components(share)


def _answerable(labels: Array, groups: Array) -> Array:
    """(n,) whether an example has another of its class outside its group: else no setting can be right about it."""
    pairs = np.stack([labels, groups])
    _, at, in_both = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
    in_class = np.bincount(labels)
    return np.asarray(in_class[labels] > in_both[at.ravel()])


def _subset(labels: Array, size: int, seed: int) -> Array:
    return np.sort(stratified(labels, np.random.default_rng(seed), np.ones(len(labels), bool))[:size])


def _judge(request: Request, projection: Projection, fixed: dict[str, Any]) -> Judge:
    """The compiled ridge; else the stages with the caller's coder and projection."""
    plain = projection.identity
    if request.coder == "ridge" and plain:
        return partial(margins, normalize=request.normalize)
    spec = request.coder

    def coder_of(mu: float) -> coding.Coder:
        return coding.resolve(spec, mu=mu) if isinstance(spec, str) else spec

    if not isinstance(spec, str):
        fixed["mu"] = getattr(spec, "mu", 0.01)
    needs_columns = coder_of(0.01).needs_columns
    if needs_columns or not plain:
        fixed.setdefault("form", "gram")

    def judged(
        trials: Trials,
        gamma: float | None,
        labels: Array,
        sizes: list[int],
        mus: list[float],
        form: str,
        share: float | None = None,
    ) -> Array:
        if form == "raw" and not needs_columns:
            form = "rkhs"  # the same problem, in the linear kernel's own space
        width = int(np.max(np.where(labels >= 0, np.arange(1, labels.shape[1] + 1), 1)))
        if any(needs_double(width, mu, request.normalize) for mu in mus):
            trials = trials.in_double(width)
        kernel = kernel_of(trials, gamma)
        local = (kernel[0][:, :width, :width], kernel[1][:, :width], kernel[2])
        vectors = None
        if trials.asked is not None and trials.atoms is not None:
            vectors = (trials.asked, trials.atoms[:, :width])
        return staged_margins(
            local,
            labels[:, :width],
            trials.truth,
            sizes,
            mus,
            form,
            coder_of,
            None if plain else _projected(projection, share),
            request.seed,
            vectors,
            nearest=nearest_atom(trials) if shares_dictionary(trials) else None,
            normalize=request.normalize,
        )

    return judged
