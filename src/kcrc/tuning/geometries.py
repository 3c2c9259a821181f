"""The geometries a search tries: which metrics go with which distances, and which kernels with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method import scaling
from kcrc.method.distances.base import Distance
from kcrc.method.distances.unified import Unified
from kcrc.method.kernels import VectorKernel
from kcrc.method.preparation import Samples
from kcrc.method.scaling import moments, units_differ, varying
from kcrc.tuning.field import SPEED, Request, is_open
from kcrc.tuning.left_out.distance_geometry import DistanceGeometry, KernelGeometry
from kcrc.tuning.left_out.surroundings import Surroundings
from kcrc.tuning.left_out.trials import Geometry
from kcrc.tuning.left_out.vector_geometry import VectorGeometry

LABEL_FREE: Mapping[str, scaling.Scaling] = {
    "plain": scaling.Plain(), "unit": scaling.Unit(), "standard": scaling.Standard(bounded=True),
}  # fmt: skip
SHRINKAGES = (0.05, 0.5)  # beside that of the examples' number
SAME_LENGTH = 0.01  # spread of the vectors' lengths over their mean, below which scaling them first changes nothing
TABLES = 0.15  # of the arithmetic a search may spend, for measuring all pairs of examples
WIDEST_WITHIN = 4096  # features; the within-class covariance is a matrix of that side
STANDARDISED = ", standard"  # how the names of metrics end that standardise first
SQUARED_FITS = 1e15  # sums of squares of such numbers are far within float32


Makers = dict[str, Callable[[], Geometry]]
Fit = Callable[[], scaling.Scaling]
"""A metric, fitted when first asked for: a search that asks few geometries pays for few whitenings."""


def geometries_of(
    request: Request, X: Array, around: Surroundings, weightings: Mapping[str, Unified]
) -> tuple[Makers, dict[str, Fit | None], tuple[str, ...]]:
    """Geometries by name, the metric that belongs to each, and the kernels to try."""
    distance, given = request.distance, request.given_kernel
    if request.by_products:
        return _euclidean(request, _narrowed(X), around)
    labels, groups = around.labels, around.groups
    makers: Makers
    if given is None and is_open(request.params["scaling"]):
        tried = {name: _fit(one, X, labels) for name, one in LABEL_FREE.items() if name != "unit" or _differ(X)}
        return {name: partial(_under, one, request, X, around) for name, one in tried.items()}, {**tried}, ("exp",)
    alone = "given" if given is not None else type(distance).__name__.lower()
    named: Mapping[str, Distance] = weightings or {alone: distance}
    if given is None:
        makers = {name: partial(DistanceGeometry, one, around, labels, groups) for name, one in named.items()}
    else:
        makers = {name: partial(of_kernel, one, request, around) for name, one in named.items()}
    return makers, dict.fromkeys(named), ("exp" if given is None else "given",)


def _euclidean(
    request: Request, X: Array, around: Surroundings
) -> tuple[Makers, dict[str, Fit | None], tuple[str, ...]]:
    """Of vectors under each metric, with the kernels of dot products."""
    kernel, given = request.params["kernel"], request.given_kernel
    kernels: tuple[str, ...] = ("linear", "rbf") if is_open(kernel) else (kernel,)
    assert given is None or isinstance(given, VectorKernel)

    def geometry(fit: Fit) -> Geometry:
        one = fit()
        made = VectorGeometry(
            one,
            X,
            around.labels,
            around.groups,
            kernel=given,
            candidates=_candidates(one, request, X, around),
            fixed=scaling.is_fixed(request.params["scaling"]),
        )
        made.keeps_vectors = request.reads_entries
        return made

    found = dict(_metrics(request, X, around.labels))
    return (
        {name: partial(geometry, one) for name, one in found.items()},
        {**found},
        kernels if given is None else ("given",),
    )


def _candidates(
    metric: scaling.Scaling, request: Request, X: Array, around: Surroundings
) -> Callable[[Array], Array] | None:
    """Where the search is coarse to fine by another distance than the Euclidean: who may be a neighbour of examples."""
    if request.coarse is None or request.coarse[0].is_euclidean:
        return None
    moved, coarse = metric.transform(X), request.coarse
    if is_open(request.params["scaling"]):
        coarse = learned_anew(coarse[0], moved, around.labels), coarse[1]
    return replace(around, samples=Samples(moved), coarse=coarse, pairs={}).candidates


def of_kernel(distance: Distance, request: Request, around: Surroundings) -> KernelGeometry:
    """The geometry of a kernel that is given beside the distance."""
    assert request.given_kernel is not None
    made = KernelGeometry(distance, request.given_kernel, around, around.labels, around.groups)
    made.keeps_vectors = request.reads_entries
    return made


def _under(fit: Fit, request: Request, X: Array, around: Surroundings) -> Geometry:
    """The geometry of a distance of vectors under a metric."""
    moved = fit().transform(X)
    distance = learned_anew(request.distance, moved, around.labels)
    around = replace(around, samples=Samples(moved), pairs={})
    around = around.tabled(distance, TABLES * SPEED * request.seconds, request.n_jobs)
    return DistanceGeometry(distance, around, around.labels, around.groups)


def _differ(X: Array) -> bool:
    """Whether vectors differ in length, so that scaling them to length 1 changes something."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
    return bool(lengths.std() > SAME_LENGTH * lengths.mean())


def _fit(metric: scaling.Scaling, X: Array, labels: Array) -> Fit:
    return cache(lambda: metric.fit(X, labels))


def _metrics(request: Request, X: Array, labels: Array) -> list[tuple[str, Fit]]:
    """The metrics to try, by the name the table shows."""
    metric = request.params["scaling"]
    if not is_open(metric):
        chosen = scaling.fit_scaling(metric, X, labels)
        return [(metric if isinstance(metric, str) else type(chosen).__name__.lower(), lambda: chosen)]
    found = [(name, _fit(one, X, labels)) for name, one in LABEL_FREE.items()]
    first = scaling.Standard().fit(X, labels) if units_differ(X) else None
    if first is not None:
        found.append(("unit" + STANDARDISED, lambda: scaling.Unit(first)))
    spare = len(X) - len(np.unique(labels))
    if X.shape[1] <= WIDEST_WITHIN and spare >= 2:
        found += _whitenings(request, X, labels, first, scaled=False)
        if _differ(X if first is None else first.transform(X)):
            found += _whitenings(request, X, labels, first, scaled=True)
    return found


def _whitenings(
    request: Request, X: Array, labels: Array, first: scaling.Standard | None, *, scaled: bool
) -> list[tuple[str, Fit]]:
    """The within-class metrics to try, of vectors standardised ``first`` where units differ, since the shrinkage is one
    for all features; none where nothing varies inside classes."""
    base = scaling.Within(scaled=scaled, first=first)
    deviations, _ = scaling.within_deviations(base.ready(X), labels)
    if np.einsum("ij,ij->", deviations, deviations) <= 0:
        return []
    covariance = cache(lambda: scaling.within_covariance(base.ready(X), labels))
    before, after = "scaled, within" if scaled else "within", "" if first is None else STANDARDISED
    own = shrinkage_of(*X.shape)
    tried = {f"{before} {s:g}{after}": replace(base, shrinkage=s) for s in sorted({*SHRINKAGES, own})}
    if not scaled:
        tried[f"within {own:g}, any length{after}"] = replace(base, shrinkage=own, unit=False)

    def whitened(one: scaling.Within) -> scaling.Scaling:
        request.progress(0.0)  # of many features each takes a while
        return one.fit_covariance(X, covariance())

    return [(name, cache(partial(whitened, one))) for name, one in tried.items()]


def shrinkage_of(examples: int, features: int) -> float:
    """d / (n − 1 + d) with two digits: much where a covariance is of few examples."""
    return float(f"{features / (examples - 1 + features):.2g}")


def metric_named(name: str) -> scaling.Scaling | None:
    """The metric of a name that the table shows, not fitted; None where the name is of something else."""
    plain = name.removesuffix(STANDARDISED)
    first = None if plain == name else scaling.Standard()
    if name in LABEL_FREE:
        return LABEL_FREE[name]
    if plain == "unit":
        return scaling.Unit(first)
    kind, _, amount = plain.removeprefix("scaled, ").removesuffix(", any length").partition(" ")
    if kind != "within" or not amount:
        return None
    unit, scaled = not plain.endswith("any length"), plain.startswith("scaled")
    return scaling.Within(float(amount), unit=unit, scaled=scaled, first=first)


def favoured(names: Iterable[str], examples: int, features: int) -> str | None:
    """The name of the within-class metric with the shrinkage of the examples' number; of vectors scaled to length 1
    where they differ in it."""
    own, found = shrinkage_of(examples, features), None
    for name in names:
        metric = metric_named(name)
        within = None if metric is None else metric.by_class
        if within is not None and within.shrinkage == own and within.unit:
            found = name if found is None or within.scaled else found
    return found


def _narrowed(X: Array) -> Array:
    """In float32, which is twice as fast, where that loses nothing that a choice of settings could see: of the whole
    vectors, and of each feature by itself, which a metric may bring to the size of the others."""
    if X.dtype != np.float64:
        return X
    mean, spread = moments(X)
    alone = varying(X)
    whole = SQUARED_FITS > float(np.abs(X).max()) <= 1e3 * float(spread.max())
    each = (np.abs(mean) <= 1e4 * spread) & (spread >= 1 / SQUARED_FITS)
    return X.astype(np.float32) if whole and each[alone].all() else X


def learned_anew(distance: Distance, moved: Array, labels: Array) -> Distance:
    """A distance of vectors for examples that were ``moved`` by a metric."""
    return distance.fit(moved, labels, sample_shape=moved.shape[1:])
