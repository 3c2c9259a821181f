"""The geometries a search tries: which scalings go with which distances, and which kernels with them.

Euclidean distances are the common case: all scalings, both kernels, whole classes too. Another distance brings its own
geometry and the exp kernel, under a scaling that is not fitted with labels where it is one of vectors. A kernel that is
given (an object, a function, a matrix) leaves size, penalty, form and decision to choose.
"""

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
from kcrc.tuning import constants
from kcrc.tuning.left_out.distance_geometry import DistanceGeometry, KernelGeometry
from kcrc.tuning.left_out.surroundings import Surroundings
from kcrc.tuning.left_out.trials import Geometry
from kcrc.tuning.left_out.vector_geometry import VectorGeometry
from kcrc.tuning.settings import MethodSettings, is_open

LABEL_FREE: Mapping[str, scaling.Scaling] = {
    "plain": scaling.Plain(), "unit": scaling.Unit(), "standard": scaling.Standard(bounded=True),
}  # fmt: skip
STANDARDISED = ", standard"  # how the names of scalings end that standardise first

Makers = dict[str, Callable[[], Geometry]]
Fit = Callable[[], scaling.Scaling]
"""A scaling, fitted when it is first needed: a search that tries few geometries pays for few whitenings."""


def geometries_of(
    settings: MethodSettings,
    X: Array,
    around: Surroundings,
    weightings: Mapping[str, Unified],
    progress: Callable[[float], None],
) -> tuple[Makers, dict[str, Fit | None], tuple[str, ...]]:
    """Geometries by name, the scaling that belongs to each, and the kernels to try."""
    distance, given = settings.fine_distance, settings.member.fitted_kernel
    if settings.of_products:
        return _euclidean(settings, narrow(X), around, progress)
    labels, groups = around.labels, around.groups
    makers: Makers
    if given is None and is_open(settings.member.scaling):
        tried = {name: _fit(one, X, labels) for name, one in LABEL_FREE.items() if name != "unit" or _differ(X)}
        makers = {name: partial(_scaled_geometry, fit, settings, X, around) for name, fit in tried.items()}
        return makers, {**tried}, ("exp",)
    alone = "given" if given is not None else type(distance).__name__.lower()
    named: Mapping[str, Distance] = weightings or {alone: distance}
    if given is None:
        makers = {name: partial(DistanceGeometry, one, around, labels, groups) for name, one in named.items()}
    else:
        makers = {name: partial(kernel_geometry, one, settings, around) for name, one in named.items()}
    return makers, dict.fromkeys(named), ("exp" if given is None else "given",)


def _euclidean(
    settings: MethodSettings, X: Array, around: Surroundings, progress: Callable[[float], None]
) -> tuple[Makers, dict[str, Fit | None], tuple[str, ...]]:
    """Of vectors under each scaling, with the kernels of dot products."""
    kernel, given = settings.member.kernel, settings.member.fitted_kernel
    kernels: tuple[str, ...] = ("linear", "rbf") if is_open(kernel) else (str(kernel),)
    assert given is None or isinstance(given, VectorKernel)

    def geometry(fit: Fit) -> Geometry:
        one = fit()
        made = VectorGeometry(
            one,
            X,
            around.labels,
            around.groups,
            kernel=given,
            candidates=_coarse_candidates(one, settings, X, around),
            fixed=scaling.is_fixed(settings.member.scaling),
        )
        made.keeps_vectors = settings.reads_entries
        return made

    fits = dict(_scalings(settings, X, around.labels, progress))
    return (
        {name: partial(geometry, fit) for name, fit in fits.items()},
        {**fits},
        kernels if given is None else ("given",),
    )


def _coarse_candidates(
    fitted: scaling.Scaling, settings: MethodSettings, X: Array, around: Surroundings
) -> Callable[[Array], Array] | None:
    """What gives the examples that may be neighbours, where another distance than the Euclidean searches first."""
    if around.coarse is None or around.coarse[0].is_euclidean:
        return None
    moved, coarse = fitted.transform(X), around.coarse
    if is_open(settings.member.scaling):
        coarse = fit_again(coarse[0], moved, around.labels), coarse[1]
    return replace(around, samples=Samples(moved), coarse=coarse, pairs={}).candidates


def kernel_geometry(distance: Distance, settings: MethodSettings, around: Surroundings) -> KernelGeometry:
    """The geometry of a kernel that is given with the distance."""
    kernel = settings.member.fitted_kernel
    assert kernel is not None
    made = KernelGeometry(distance, kernel, around, around.labels, around.groups)
    made.keeps_vectors = settings.reads_entries
    return made


def table_work(settings: MethodSettings) -> float:
    """The operations that a search may spend on measuring all pairs of examples once."""
    return constants.TABLES_SHARE * constants.SPEED * settings.tuning_seconds


def _scaled_geometry(fit: Fit, settings: MethodSettings, X: Array, around: Surroundings) -> Geometry:
    """The geometry of a distance of vectors under a scaling."""
    moved = fit().transform(X)
    distance = fit_again(settings.fine_distance, moved, around.labels)
    around = replace(around, samples=Samples(moved), pairs={})
    around = around.tabled(distance, table_work(settings), settings.n_jobs)
    return DistanceGeometry(distance, around, around.labels, around.groups)


def _differ(X: Array) -> bool:
    """Whether vectors differ in length, so that scaling them to length 1 changes something."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
    return bool(lengths.std() > constants.SAME_LENGTH * lengths.mean())


def _fit(part: scaling.Scaling, X: Array, labels: Array) -> Fit:
    return cache(lambda: part.fit(X, labels))


def _scalings(
    settings: MethodSettings, X: Array, labels: Array, progress: Callable[[float], None]
) -> list[tuple[str, Fit]]:
    """The scalings to try, by the name the table shows."""
    given = settings.member.scaling
    if not is_open(given):
        fitted = scaling.fit_scaling(given, X, labels)
        return [(given if isinstance(given, str) else type(fitted).__name__.lower(), lambda: fitted)]
    tried = [(name, _fit(one, X, labels)) for name, one in LABEL_FREE.items()]
    first = scaling.Standard().fit(X, labels) if units_differ(X) else None
    if first is not None:
        tried.append(("unit" + STANDARDISED, lambda: scaling.Unit(first)))
    spare = len(X) - len(np.unique(labels))
    if X.shape[1] <= constants.WIDEST_WITHIN and spare >= 2:
        tried += _whitenings(X, labels, first, progress, scaled=False)
        if _differ(X if first is None else first.transform(X)):
            tried += _whitenings(X, labels, first, progress, scaled=True)
    return tried


def _whitenings(
    X: Array,
    labels: Array,
    first: scaling.Standard | None,
    progress: Callable[[float], None],
    *,
    scaled: bool,
) -> list[tuple[str, Fit]]:
    """The within-class scalings to try, of vectors standardised ``first`` where units differ, since the shrinkage is
    one for all features; none where nothing varies inside classes."""
    base = scaling.Within(scaled=scaled, first=first)
    deviations, _ = scaling.within_deviations(base.ready(X), labels)
    if np.einsum("ij,ij->", deviations, deviations) <= 0:
        return []
    covariance = cache(lambda: scaling.within_covariance(base.ready(X), labels))
    before, after = "scaled, within" if scaled else "within", "" if first is None else STANDARDISED
    own = shrinkage_of(*X.shape)
    tried = {f"{before} {s:g}{after}": replace(base, shrinkage=s) for s in sorted({*constants.SHRINKAGES, own})}
    if not scaled:
        tried[f"within {own:g}, any length{after}"] = replace(base, shrinkage=own, unit=False)

    def whiten(one: scaling.Within) -> scaling.Scaling:
        progress(0.0)  # of many features each takes a while
        return one.fit_covariance(X, covariance())

    return [(name, cache(partial(whiten, one))) for name, one in tried.items()]


def shrinkage_of(examples: int, features: int) -> float:
    """d / (n − 1 + d) with two digits: much where a covariance is of few examples."""
    return float(f"{features / (examples - 1 + features):.2g}")


def scaling_named(name: str) -> scaling.Scaling | None:
    """The scaling of a name that the table shows, not fitted; None where the name is of something else."""
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
    """The name of the within-class scaling with the shrinkage of the examples' number; of vectors scaled to length 1
    where they differ in it."""
    own, best = shrinkage_of(examples, features), None
    for name in names:
        part = scaling_named(name)
        within = None if part is None else part.by_class
        if within is not None and within.shrinkage == own and within.unit:
            best = name if best is None or within.scaled else best
    return best


def narrow(X: Array) -> Array:
    """Return X in float32, which is twice as fast, where that loses nothing that a choice of settings could see: of the
    whole vectors, and of each feature by itself, which a scaling may bring to the size of the others."""
    if X.dtype != np.float64:
        return X
    mean, spread = moments(X)
    alone = varying(X)
    largest = float(np.abs(X).max())
    whole = constants.SQUARES_FIT > largest <= constants.OFFSET_FITS * float(spread.max())
    each = (np.abs(mean) <= constants.OFFSET_FITS_FEATURE * spread) & (spread >= 1 / constants.SQUARES_FIT)
    return X.astype(np.float32) if whole and each[alone].all() else X


def fit_again(distance: Distance, moved: Array, labels: Array) -> Distance:
    """A distance of vectors for examples that were ``moved`` by a scaling."""
    return distance.fit(moved, labels, sample_shape=moved.shape[1:])
