"""The geometries a search tries: which scalings go with which distances, and which kernels with them.

Euclidean distances are the common case: all scalings, both kernels, whole classes too. Another distance brings its own
geometry and the exp kernel, under a scaling that is not fitted with labels where it is one of vectors. A kernel that is
given (an object, a function, a matrix) leaves size, penalty, form and decision to choose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, eq=False)
class Geometries:
    """What makes the geometries that a search tries among examples X (n, d), ``around`` which others lie."""

    settings: MethodSettings
    X: Array
    around: Surroundings
    progress: Callable[[float], None]

    def by_name(self, weightings: Mapping[str, Unified]) -> tuple[Makers, dict[str, Fit | None], tuple[str, ...]]:
        """Geometries by name, the scaling that belongs to each, and the kernels to try.

        ``weightings`` are the weights of a unified distance to try.
        """
        distance, member = self.settings.fine_distance, self.settings.member
        fits: dict[str, Fit]
        if self.settings.of_products:
            fits = dict(self._scalings())
            kernels = ("linear", "rbf") if is_open(member.kernel) else (str(member.kernel),)
            makers: Makers = {name: partial(self._of_vectors, fit) for name, fit in fits.items()}
            return makers, {**fits}, kernels if member.fitted_kernel is None else ("given",)
        if member.fitted_kernel is None and is_open(member.scaling):
            fits = {name: self._fit(part) for name, part in LABEL_FREE.items() if name != "unit" or _differ(self.X)}
            return {name: partial(self._of_scaled, fit) for name, fit in fits.items()}, {**fits}, ("exp",)
        alone = "given" if member.fitted_kernel is not None else type(distance).__name__.lower()
        named: Mapping[str, Distance] = weightings or {alone: distance}
        if member.fitted_kernel is not None:
            of_kernel = {name: partial(kernel_geometry, one, self.settings, self.around) for name, one in named.items()}
            return {**of_kernel}, dict.fromkeys(named), ("given",)
        labels, groups = self.around.labels, self.around.groups
        makers = {name: partial(DistanceGeometry, one, self.around, labels, groups) for name, one in named.items()}
        return makers, dict.fromkeys(named), ("exp",)

    def _of_vectors(self, fit: Fit) -> Geometry:
        """The geometry of vectors under a scaling, for the kernels of dot products."""
        fitted, member = fit(), self.settings.member
        assert member.fitted_kernel is None or isinstance(member.fitted_kernel, VectorKernel)
        geometry = VectorGeometry(
            fitted,
            self.X,
            self.around.labels,
            self.around.groups,
            kernel=member.fitted_kernel,
            candidates=self._coarse_candidates(fitted),
            fixed=scaling.is_fixed(member.scaling),
        )
        geometry.keeps_vectors = self.settings.reads_entries
        return geometry

    def _coarse_candidates(self, fitted: scaling.Scaling) -> Callable[[Array], Array] | None:
        """What gives the examples that may be neighbours, where another distance than the Euclidean searches first."""
        if self.around.coarse is None or self.around.coarse[0].is_euclidean:
            return None
        moved, coarse = fitted.transform(self.X), self.around.coarse
        if is_open(self.settings.member.scaling):
            coarse = fit_again(coarse[0], moved, self.around.labels), coarse[1]
        return replace(self.around, samples=Samples(moved), coarse=coarse, pairs={}).candidates

    def _of_scaled(self, fit: Fit) -> Geometry:
        """The geometry of a distance of vectors under a scaling."""
        moved, around = fit().transform(self.X), self.around
        distance = fit_again(self.settings.fine_distance, moved, around.labels)
        around = replace(around, samples=Samples(moved), pairs={})
        around = around.with_tables(distance, table_work(self.settings), self.settings.n_jobs)
        return DistanceGeometry(distance, around, around.labels, around.groups)

    def _fit(self, part: scaling.Scaling) -> Fit:
        return cache(lambda: part.fit(self.X, self.around.labels))

    def _scalings(self) -> list[tuple[str, Fit]]:
        """The scalings to try, by the name the table shows."""
        X, labels, given = self.X, self.around.labels, self.settings.member.scaling
        if not is_open(given):
            fitted = scaling.fit_scaling(given, X, labels)
            return [(given if isinstance(given, str) else type(fitted).__name__.lower(), lambda: fitted)]
        tried = [(name, self._fit(part)) for name, part in LABEL_FREE.items()]
        first = scaling.Standard().fit(X, labels) if units_differ(X) else None
        if first is not None:
            tried.append(("unit" + STANDARDISED, lambda: scaling.Unit(first)))
        spare = len(X) - len(np.unique(labels))
        if X.shape[1] <= constants.WIDEST_WITHIN and spare >= 2:
            tried += self._whitenings(first, scaled=False)
            if _differ(X if first is None else first.transform(X)):
                tried += self._whitenings(first, scaled=True)
        return tried

    def _whitenings(self, first: scaling.Standard | None, *, scaled: bool) -> list[tuple[str, Fit]]:
        """The within-class scalings to try, of vectors standardised ``first`` where units differ, since the shrinkage
        is one for all features; none where nothing varies inside classes."""
        X, labels, base = self.X, self.around.labels, scaling.Within(scaled=scaled, first=first)
        deviations, _ = scaling.within_deviations(base.ready(X), labels)
        if np.einsum("ij,ij->", deviations, deviations) <= 0:
            return []
        covariance = cache(lambda: scaling.within_covariance(base.ready(X), labels))
        before, after = "scaled, within" if scaled else "within", "" if first is None else STANDARDISED
        own = shrinkage_of(*X.shape)
        tried = {f"{before} {s:g}{after}": replace(base, shrinkage=s) for s in sorted({*constants.SHRINKAGES, own})}
        if not scaled:
            tried[f"within {own:g}, any length{after}"] = replace(base, shrinkage=own, unit=False)

        def whiten(part: scaling.Within) -> scaling.Scaling:
            self.progress(0.0)  # of many features each takes a while
            return part.fit_covariance(X, covariance())

        return [(name, cache(partial(whiten, part))) for name, part in tried.items()]


def kernel_geometry(distance: Distance, settings: MethodSettings, around: Surroundings) -> KernelGeometry:
    """The geometry of a kernel that is given with the distance."""
    kernel = settings.member.fitted_kernel
    assert kernel is not None
    geometry = KernelGeometry(distance, kernel, around, around.labels, around.groups)
    geometry.keeps_vectors = settings.reads_entries
    return geometry


def table_work(settings: MethodSettings) -> float:
    """The operations that a search may spend on measuring all pairs of examples once."""
    return constants.TABLES_SHARE * constants.SPEED * settings.tuning_seconds


def _differ(X: Array) -> bool:
    """Whether vectors differ in length, so that scaling them to length 1 changes something."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
    return bool(lengths.std() > constants.SAME_LENGTH * lengths.mean())


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


def favourite_geometry(names: Iterable[str], examples: int, features: int) -> str | None:
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
