"""From parameters of which some are "auto" to a search over them, and its outcome.

What can be searched depends on what the caller fixed. Euclidean distances under a metric are the common case: all
metrics, both kernels, whole classes too. Another distance brings its own geometry and the exp kernel; a kernel that
is given (an object, a function, a matrix) leaves size, penalty, form and decision to choose.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from kcrc import coding, metrics, projections
from kcrc.coding.ridge import Ridge
from kcrc.distances.base import Distance
from kcrc.distances.cache import PairCache
from kcrc.distances.pixel import SquaredEuclidean
from kcrc.distances.unified import Unified
from kcrc.kernels import Kernel
from kcrc.prepared import Array, Samples
from kcrc.projections.base import Identity, Projection
from kcrc.tuning.geometry import VectorGeometry
from kcrc.tuning.groups import duplicate_groups
from kcrc.tuning.judging import kernel_of, margins, staged_margins
from kcrc.tuning.measured import DistanceGeometry, KernelGeometry
from kcrc.tuning.search import Judge, Search, stratified
from kcrc.tuning.setting import Tuning
from kcrc.tuning.surroundings import Surroundings
from kcrc.tuning.trials import Geometry, Trials
from kcrc.tuning.weights import WeightSearch

AUTO = "auto"
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
SHRINKAGES = (0.05, 0.2, 0.5)
SAME_LENGTH = 0.01  # spread of the vectors' lengths over their mean, below which scaling them first changes nothing
WIDEST_WITHIN = 4096  # features; the within-class covariance is a matrix of that side
ITERATING = 30.0  # how much dearer the stages with another coder are than the compiled ridge, about
WHOLE = 1000  # examples a search for a global dictionary uses,
WHOLE_PROJECTED = 600  # and where eigenvectors are wanted of each


@dataclass(frozen=True, eq=False)
class Request:
    """What the caller wants: ``params`` by name (AUTO where open), the distance, and a kernel that is not searched."""

    params: Mapping[str, Any]
    distance: Distance
    given_kernel: Kernel | None
    coder: str | coding.Coder
    projection: str | Projection  # by name: its dimension is searched
    groups: Array | None
    seconds: float
    n_jobs: int | None
    seed: int
    progress: Callable[[float], None]
    coarse: tuple[Distance, int] | None = None
    pairs: Mapping[str, PairCache] = field(default_factory=dict)


def choose(request: Request, X: Array, labels: Array) -> tuple[dict[str, Any], Tuning | None]:
    """Values for all of SEARCHED, and the tuning they come from (None where nothing could be tried)."""
    params = dict(request.params)
    begun = time.perf_counter()
    groups = duplicate_groups(X, request.groups)
    whole = params["n_neighbors"] is None
    projection = projections.resolve(request.projection)
    most = len(X) if not whole else WHOLE if isinstance(projection, Identity) else WHOLE_PROJECTED
    rows = _subset(labels, most, request.seed) if len(X) > most else np.arange(len(X))
    X_used, labels_used, groups_used = X[rows], labels[rows], groups[rows]
    eligible = _answerable(labels_used, groups_used)
    if not eligible.any():
        # Among fewer examples than features, directions tell classes apart; in few dimensions lengths do too.
        safe = {**SAFE, "metric": "unit"} if X.shape[1] > len(X) else SAFE
        return {name: safe[name] if value == AUTO else value for name, value in params.items()}, None
    fixed = {name: value for name, value in params.items() if not _open(value) and name not in ("kernel", "metric")}
    if whole:
        fixed["n_neighbors"] = len(X_used) - 1
    if "n_neighbors" in fixed:
        fixed.setdefault("locality", "atoms")  # a given number counts examples, unless the caller says classes
    if fixed.get("gamma") == "scale":
        fixed.pop("gamma")
    if isinstance(request.projection, Projection) or not hasattr(projection, "n_components"):
        fixed["share"] = None
    judge = _judge(request, projection, fixed)
    iterates = request.coder != "ridge" and not isinstance(request.coder, Ridge)
    weightings: dict[str, Unified] = {}
    around = Surroundings(
        Samples(X_used), labels_used, groups_used, request.coarse, request.pairs if len(rows) == len(X) else {}
    )
    if isinstance(request.distance, Unified) and request.distance.learns_weights:
        order = stratified(labels_used, np.random.default_rng(request.seed), eligible)
        weightings = _weightings(request.distance, around, order, judge, fixed, 0.25 * request.seconds)
    geometries, fitted, kernels = _geometries(request, X_used, around, weightings, fixed)
    search = Search(
        geometries,
        labels_used,
        fixed=fixed,
        kernels=kernels,
        judge=judge,
        effort=1.0 if judge is margins or (whole and not iterates) else ITERATING,
        seconds=(0.75 if weightings else 1.0) * request.seconds,
        n_jobs=request.n_jobs,
        seed=request.seed,
        progress=request.progress,
        eligible=eligible,
        most=None if request.coarse is None else request.coarse[1],
        keep=tuple(weightings),
        whole=whole,
        iterates=iterates,
        projecting=projection.cost,
    )
    best = search.run()
    metric = fitted[best.geometry]
    if len(rows) < len(X) or X.dtype == np.float64:  # the search works in float32 where it can
        metric = metrics.refitted(metric, X, labels)
    values: dict[str, Any] = {
        "n_neighbors": None if whole else best.n_neighbors,
        "kernel": params["kernel"] if best.kernel == "given" else best.kernel,
        "gamma": "scale" if best.gamma is None else best.gamma,
        "mu": best.mu,
        "form": best.form,
        "decision": best.decision,
        "locality": best.locality,
        "metric": params["metric"] if metric is None else metric,
        "projection": _projected(projection, best.share),
    }
    weights = None
    if isinstance(request.distance, Unified):
        chosen = weightings.get(best.geometry, request.distance)
        values["distance"], weights = chosen, chosen.weights_
    return values, Tuning(best, search.scores, time.perf_counter() - begun, metric, weights=weights)


def _weightings(
    distance: Unified, around: Surroundings, order: Array, judge: Judge, fixed: Mapping[str, Any], seconds: float
) -> dict[str, Unified]:
    """The best single member, equal weights and learned weights, by the name the table shows."""
    form = str(fixed.get("form", "rkhs")).replace("raw", "rkhs")
    mus = (float(fixed["mu"]),) if "mu" in fixed else (1e-3, 1e-1)
    search = WeightSearch(distance, around, order, judge, form=form, mus=mus, seconds=seconds)
    single, learned = search.run()
    equal = dict.fromkeys(search.names, 1.0 / len(search.names))
    found = {f"{single} alone": {name: float(name == single) for name in search.names}}
    if len(equal) > 1:
        found["equal weights"] = equal
    if learned not in found.values():
        found["learned weights"] = learned
    return {name: distance.weighted(weights) for name, weights in found.items()}


def _narrowed(X: Array) -> Array:
    """In float32, which is twice as fast, where that loses nothing that a choice of settings could see."""
    if X.dtype != np.float64:
        return X
    spread = float(X.std(axis=0).max())
    return X.astype(np.float32) if float(np.abs(X).max()) <= 1e3 * spread else X


def _projected(projection: Projection, share: float | None) -> Projection:
    """With the share of the dimension that was chosen."""
    return projection if share is None else replace(projection, n_components=share)  # type: ignore[type-var]


def _open(value: Any) -> bool:
    return isinstance(value, str) and value == AUTO


def _answerable(labels: Array, groups: Array) -> Array:
    """(n,) whether an example has another of its class outside its group: else no setting can be right about it."""
    pairs = np.stack([labels, groups])
    _, at, in_both = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
    in_class = np.bincount(labels)
    return np.asarray(in_class[labels] > in_both[at.ravel()])


def _subset(labels: Array, size: int, seed: int) -> Array:
    return np.sort(stratified(labels, np.random.default_rng(seed), np.ones(len(labels), bool))[:size])


def _geometries(
    request: Request, X: Array, around: Surroundings, weightings: Mapping[str, Unified], fixed: dict[str, Any]
) -> tuple[dict[str, Callable[[], Geometry]], dict[str, metrics.Metric | None], tuple[str, ...]]:
    """Geometries by name, the metric that belongs to each, and the kernels to try."""
    metric, kernel = request.params["metric"], request.params["kernel"]
    distance = request.distance
    fitted: dict[str, metrics.Metric | None]
    labels, groups = around.labels, around.groups
    named: Mapping[str, Distance]
    if request.given_kernel is not None:
        given = request.given_kernel
        fixed["locality"] = "atoms"
        named = weightings or {"given": distance}
        return (
            {name: partial(KernelGeometry, one, given, around, labels, groups) for name, one in named.items()},
            dict.fromkeys(named),
            ("given",),
        )
    if not isinstance(distance, SquaredEuclidean):
        fixed["locality"] = "atoms"
        named = weightings or {type(distance).__name__.lower(): distance}
        return (
            {name: partial(DistanceGeometry, one, around, labels, groups) for name, one in named.items()},
            dict.fromkeys(named),
            ("exp",),
        )
    if kernel == "exp":
        kernels: tuple[str, ...] = ("exp",)
    elif _open(kernel):
        kernels = ("linear",) if request.params["form"] == "raw" else ("linear", "rbf")
    else:
        kernels = (kernel,)
    X = _narrowed(X)
    fitted = dict(_metrics(metric, X, labels))
    entries = request.coder != "ridge" and request.params["form"] == "raw"

    def geometry(one: metrics.Metric) -> Geometry:
        made = VectorGeometry(one, X, labels, groups)
        made.keeps_vectors = entries
        return made

    geometries: dict[str, Callable[[], Geometry]] = {
        name: partial(geometry, one) for name, one in fitted.items() if one
    }
    return geometries, fitted, kernels


def _metrics(metric: Any, X: Array, labels: Array) -> list[tuple[str, metrics.Metric]]:
    """The fitted metrics to try, by the name the table shows."""
    if not _open(metric):
        chosen = metrics.resolve(metric).fit(X, labels)
        return [(metric if isinstance(metric, str) else type(chosen).__name__.lower(), chosen)]
    found: list[tuple[str, metrics.Metric]] = [
        (name, metrics.make(name).fit(X, labels)) for name in ("plain", "unit", "standard")
    ]
    spare = len(X) - len(np.unique(labels))
    if X.shape[1] <= WIDEST_WITHIN and spare >= 2:
        found += _whitenings(X, labels, scaled=False)
        lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
        if lengths.std() > SAME_LENGTH * lengths.mean():
            found += _whitenings(X, labels, scaled=True)
    return found


def _whitenings(X: Array, labels: Array, *, scaled: bool) -> list[tuple[str, metrics.Metric]]:
    """The within-class metrics to try; none where nothing varies inside classes."""
    covariance = metrics.within_covariance(metrics.Within(scaled=scaled).ready(X), labels)
    if np.trace(covariance) <= 0:
        return []
    before = "scaled, within" if scaled else "within"
    tried = {f"{before} {s:g}": metrics.Within(s, scaled=scaled) for s in SHRINKAGES}
    if not scaled:
        tried["within 0.2, any length"] = metrics.Within(0.2, unit=False)
    return [(name, one.fit_covariance(X, covariance)) for name, one in tried.items()]


def _judge(request: Request, projection: Projection, fixed: dict[str, Any]) -> Judge:
    """The compiled ridge; else the stages with the caller's coder and projection."""
    plain = isinstance(projection, Identity)
    if request.coder == "ridge" and plain:
        return margins
    spec = request.coder

    def coder_of(mu: float) -> coding.Coder:
        return coding.resolve(spec, mu=mu) if isinstance(spec, str) else spec

    if not isinstance(spec, str):
        fixed["mu"] = getattr(spec, "mu", 0.01)
    if coder_of(0.01).needs_columns or not plain:
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
        psi = None if plain else _projected(projection, share)
        width = int(np.max(np.where(labels >= 0, np.arange(1, labels.shape[1] + 1), 1)))
        kernel = kernel_of(trials, gamma)
        local = (kernel[0][:, :width, :width], kernel[1][:, :width], kernel[2])
        vectors = None
        if form == "raw" and trials.asked is not None and trials.atoms is not None:
            vectors = (trials.asked, trials.atoms[:, :width])
        return staged_margins(
            local, labels[:, :width], trials.truth, sizes, mus, form, coder_of, psi, request.seed, vectors
        )

    return judged
