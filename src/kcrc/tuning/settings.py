"""Settings: what is given of a classifier's parameters, what is open, and the parts that they make of examples.

A value that is never changed. ``kcrc.tuning.tune`` takes settings with something open and returns settings with nothing
open; ``MethodSettings.make_method`` makes the parts of these, each once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, ParameterError
from kcrc.method import coding, kernels, local_problem, projections, scaling
from kcrc.method.coding.base import Coder
from kcrc.method.distances.base import Distance
from kcrc.method.distances.unified import to_be_weighted
from kcrc.method.fitted_model import Method
from kcrc.method.kernels import Kernel, VectorKernel, definite
from kcrc.method.kernels.base import check_positive
from kcrc.method.kernels.definite import check_definite
from kcrc.method.neighbours.searches import check_searchable
from kcrc.method.preparation import Samples
from kcrc.method.projections.base import Projection
from kcrc.method.samples import SampleForm
from kcrc.method.scaling import Scaling
from kcrc.native import native

AUTO = "auto"
WIDTH = "the width of the kernel"


def is_open(value: Any) -> bool:
    """Return whether a parameter is left to be chosen."""
    return isinstance(value, str) and value == AUTO


@dataclass(frozen=True, eq=False)
class MemberSettings:
    """A value for each parameter that may be searched, and the weight of its answers.

    Attributes
    ----------
    n_neighbors, scaling, kernel, gamma, mu, form, decision, locality, projection : object
        As the constructor takes them, "auto" where a value is open.
    distances : tuple of Distance, or None
        The one for neighbours and the coarse one, where a search has fitted them to the examples.
    fitted_kernel : Kernel or None
        The kernel, where a search has fitted it to the examples.
    weight : float
        Of this member among several; theirs add up to 1.
    """

    n_neighbors: int | str | None
    scaling: str | Scaling
    kernel: str | Kernel | Callable[..., Array]
    gamma: float | str
    mu: float | str
    form: str
    decision: str
    locality: str
    projection: str | Projection
    distances: tuple[Distance, Distance] | None = None
    fitted_kernel: Kernel | None = None
    weight: float = 1.0


SEARCHED = ("n_neighbors", "scaling", "kernel", "gamma", "mu", "form", "decision", "locality")
"""The parameters that may be left "auto"."""


@dataclass(frozen=True, eq=False)
class MethodSettings:
    """All settings of a fit: the ``members`` that are searched, and what they share.

    Today there is one member, of weight 1. The weights of several add up to 1.

    precomputed  "distance" or "kernel" where the samples are rows of a matrix of these, else None
    n_candidates the size of the coarse search; None where ``distance`` searches itself
    brief        the search is to be a short one
    sampled      the examples are larger than memory, and what is learned comes from a sample of them
    double_precision  examples in single precision are computed with in double
    """

    members: tuple[MemberSettings, ...]
    samples: SampleForm
    distance: Distance
    coarse_distance: Distance
    precomputed: str | None
    n_candidates: int | None
    degree: int
    coef0: float
    normalize_columns: bool
    coder: str | Coder
    search: str
    tuning_seconds: float
    n_jobs: int | None
    memory_budget: int
    seed: int = 0
    verbose: bool | None = None
    brief: bool = False
    sampled: bool = False
    double_precision: bool = False

    # What settings must be ------------------------------------------------------------------------------------------

    def __post_init__(self) -> None:
        weights = [member.weight for member in self.members]
        if not weights or min(weights) <= 0 or abs(sum(weights) - 1.0) > 1e-9:
            raise ParameterError(f"The weights of the members must be positive and add up to 1; got {weights}.")
        for member in self.members:
            self._check(member)

    def _check(self, member: MemberSettings) -> None:
        """Raise where one parameter does not fit another."""
        if not is_open(member.form):
            space = local_problem.resolve(member.form, normalize=self.normalize_columns)
            check_form(space, self.coder_with(member.mu), projections.resolve(member.projection))
        if self.precomputed == "distance" and not (is_open(member.scaling) or _is(member.scaling, "plain")):
            raise ParameterError(
                f'scaling={member.scaling!r} needs vectors; with distance="precomputed" use "plain" or "auto".'
            )
        if self.n_candidates is not None and member.n_neighbors is None:
            raise ParameterError("n_candidates needs n_neighbors: a global dictionary has no candidates.")
        wanted = 1 if isinstance(member.n_neighbors, str) else member.n_neighbors or 1
        if self.n_candidates is not None and self.n_candidates < wanted:
            raise ParameterError(
                f"n_candidates={self.n_candidates} must be at least n_neighbors={member.n_neighbors} (K_c ≥ K_f)."
            )
        if self.samples.views and not (is_open(member.scaling) or scaling.resolve(member.scaling).keeps_vectors):
            raise ParameterError(
                f"scaling={member.scaling!r} would mix the views {', '.join(self.samples.views)}; with a dict of views "
                'use scaling="plain".'
            )
        if self.precomputed and member.locality == "classes":
            raise ParameterError('locality="classes" needs class means, which precomputed matrices do not give.')

    # What is given, and what is open --------------------------------------------------------------------------------

    @property
    def member(self) -> MemberSettings:
        """The first member: the only one, today."""
        return self.members[0]

    def with_values(self, **values: Any) -> MethodSettings:
        """The same settings with other values of the one member."""
        return replace(self, members=(replace(self.member, **values),))

    @property
    def is_closed(self) -> bool:
        """Whether nothing is left to be chosen: no value, no weights of distances, no dimension of a projection."""
        named_projection = isinstance(self.member.projection, str) and self.member.projection != "identity"
        open_values = any(is_open(getattr(self.member, name)) for name in SEARCHED)
        return not (open_values or named_projection or to_be_weighted(self.distance) is not None)

    def with_implied_values(self) -> MethodSettings:
        """With the values that follow from those given, where there is something to choose."""
        if self.is_closed:
            return self
        values: dict[str, Any] = {}
        if self.precomputed == "distance" and (is_open(self.member.kernel) or _is(self.member.kernel, "rbf")):
            values["kernel"] = "exp"  # of the given distances, the RBF's form
        if self.precomputed:
            values["scaling"] = "plain"
        if self.sampled:
            values["locality"] = "atoms"  # whole classes of examples that are larger than memory would be so too
        if self.member.form == "raw":
            values["kernel"] = "linear"  # the vectors themselves are the dictionary, whatever kernel is named
        return self.with_values(**values)

    @property
    def global_dictionary(self) -> bool:
        """Whether all examples are the dictionary."""
        return self.member.n_neighbors is None

    @property
    def fine_distance(self) -> Distance:
        """The distance that finds the neighbours, fitted where the search has fitted it."""
        return self.distance if self.member.distances is None else self.member.distances[0]

    @property
    def of_products(self) -> bool:
        """Whether all that is tried follows from dot products of vectors: under every scaling, whole classes too."""
        kernel = self.member.fitted_kernel
        return self.fine_distance.is_euclidean and (kernel is None or isinstance(kernel, VectorKernel))

    @property
    def reads_entries(self) -> bool:
        """Whether the coder looks at the entries of the vectors themselves."""
        return self.member.form == "raw" and coding.resolve(self.coder).needs_columns

    @property
    def keeps_half_precision(self) -> bool:
        """Whether examples in half precision can stay so: where the compiled search and stage read them as they are.

        Anything else computes with a copy in single precision. Of closed settings.
        """
        member = self.member
        return (
            native is not None
            and not self.precomputed
            and scaling.resolve(member.scaling).keeps_vectors
            and self.distance.is_euclidean
            and member.kernel in ("rbf", "linear", "polynomial")
            and member.form in ("rkhs", "gram")
            and member.locality == "atoms"
            and member.n_neighbors is not None
            and self.n_candidates is None
            and not self.samples.views
        )

    def coder_with(self, mu: float | str) -> Coder:
        """The coder with this penalty, unless it was given as an object."""
        return coding.resolve(self.coder, mu=0.01 if isinstance(mu, str) else mu)

    # The parts ------------------------------------------------------------------------------------------------------

    def make_method(self, X: Array, y: Array) -> tuple[Method, Array]:
        """The method of closed settings, learned from examples X (n, d) with class numbers y (n,); and X scaled."""
        member = self.member
        n_candidates = None if self.n_candidates is None else int(self.n_candidates)
        n_neighbors = None if member.n_neighbors is None else int(member.n_neighbors)
        if n_candidates is not None and n_neighbors is not None:
            n_neighbors = min(n_neighbors, n_candidates)
        fitted = scaling.fit_scaling(member.scaling, X, y)
        scaled = fitted.transform(X)
        distance, coarse = member.distances or self.fit_distances(self.distances_of(scaled), scaled, y)
        check_searchable(self.search, coarse if n_candidates is not None else distance)
        kernel = member.fitted_kernel or self.make_kernel(scaled, distance, member)
        check_definite(kernel, scaled, form=member.form, local=n_neighbors is not None, warn=True)
        method = Method(
            scaling=fitted,
            distance=distance,
            coarse_distance=coarse,
            kernel=kernel,
            space=local_problem.resolve(member.form, normalize=self.normalize_columns),
            coder=self.coder_with(member.mu),
            projection=projections.resolve(member.projection),
            n_neighbors=n_neighbors,
            n_candidates=n_candidates,
            locality=member.locality,
            decision=member.decision,
            seed=self.seed,
            n_jobs=self.n_jobs,
            memory_budget=self.memory_budget,
            search=self.search,
            wide_as_data=_is(member.gamma, "scale") and isinstance(member.kernel, str) and member.form != "raw",
            double_precision=self.double_precision,
        )
        return method, scaled

    def distances_of(self, X: Array) -> tuple[Distance, Distance]:
        """The distance and the coarse one, not fitted: one object where there is no coarse search."""
        if self.precomputed == "kernel":
            of_kernel: Distance = kernels.KernelDistance(kernels.PrecomputedKernel().fit(X))
            return of_kernel, of_kernel
        return self.distance, self.distance if self.n_candidates is None else self.coarse_distance

    def fit_distances(self, pair: tuple[Distance, Distance], X: Array, y: Array) -> tuple[Distance, Distance]:
        """Fit two distances to examples that have been scaled."""
        fine = pair[0].fit(X, y, sample_shape=self.samples.shape)
        return fine, fine if pair[1] is pair[0] else pair[1].fit(X, y, sample_shape=self.samples.shape)

    def make_kernel(self, X: Array, distance: Distance, member: MemberSettings) -> Kernel:
        """The kernel of ``member`` for examples that have been scaled; an open width is as wide as the data."""
        spec = member.kernel
        if self.precomputed == "distance" and isinstance(spec, str) and spec in ("rbf", "linear", "polynomial"):
            if spec != "rbf":
                raise ParameterError(f'kernel={spec!r} needs vectors; with distance="precomputed" use "exp".')
            spec = "exp"  # exp(−gamma·Dist) of the given distances, the RBF's form
        if member.form == "raw":
            spec = "linear"
        gamma = _gamma(X, spec, distance, member.gamma)
        kernel = kernels.resolve(spec, distance=distance, gamma=gamma, degree=self.degree, coef0=self.coef0).fit(X)
        if member.form != "gram" or member.n_neighbors is not None:
            kernel.check_own_values()
        columns = np.arange(len(X))
        few = Samples(X if _is(spec, "precomputed") else X[:8], columns=columns).of(kernel).take(slice(0, 8))
        if not np.isfinite(kernel.gram(few, few)).all():
            raise DataError(
                f"The kernel {spec!r} returns NaN or infinite values on the examples. Check its parameters, and "
                "scale the data."
            )
        check_definite(kernel, X, form=member.form, local=member.n_neighbors is not None, warn=False)
        return kernel

    # What is learned from the examples, and learned again from others: what was chosen stays ------------------------

    def learned_parts(self, method: Method) -> tuple[str, ...]:
        """The parts of a method that were learned from the examples, in words."""
        learned = {
            "the scaling": method.scaling.learns and not scaling.is_fixed(self.member.scaling),
            "the distance": self.distance.learns,
            "the coarse distance": self.n_candidates is not None and self.coarse_distance.learns,
            WIDTH: method.wide_as_data and hasattr(method.kernel, "gamma"),  # the linear one has none
            "the matrix given": self.precomputed == "kernel",
        }
        return tuple(name for name, holds in learned.items() if holds)

    def refit_learned_parts(self, method: Method, X: Array, y: Array) -> Method:
        """The method with all that is learned from examples learned from X (n, d) with class numbers y (n,).

        It is what it would have been if these had been the only examples when it was chosen.
        """
        parts = self.learned_parts(method)
        fitted = method.scaling.fit(X, y) if "the scaling" in parts else method.scaling
        scaled = fitted.transform(X)
        pair = method.distance, method.coarse_distance
        if parts != (WIDTH,):  # else all but the kernel stays
            weights_were_chosen = to_be_weighted(self.distance) is not None
            pair = self.fit_distances(pair if weights_were_chosen else self.distances_of(scaled), scaled, y)
        spec: Any = self.member.kernel
        if is_open(spec):
            spec = kernels.registry.name_of(type(method.kernel))
        member = replace(
            self.member,
            kernel=spec,
            gamma="scale" if method.wide_as_data else getattr(method.kernel, "gamma", 1.0),
            form=local_problem.name_of(method.space),
            n_neighbors=method.n_neighbors,
        )
        kernel = self.make_kernel(scaled, pair[0], member)
        return replace(method, scaling=fitted, distance=pair[0], coarse_distance=pair[1], kernel=kernel)


def check_form(space: local_problem.Space, coder: Coder, projection: Projection) -> None:
    """Raise where the form does not have what the coder or the projection works on."""
    if coder.needs_columns and not space.has_columns:
        raise ParameterError(
            f'The coder {type(coder).__name__} judges the entries of y − Dx, which form="rkhs" does not have. '
            'Use form="gram" or "raw".'
        )
    if not projection.identity and not space.projects:
        raise ParameterError(f'projection works with form="gram"; got form="{type(space).__name__.lower()}".')


def _gamma(X: Array, kernel: Any, distance: Distance, gamma: float | str) -> float:
    if not (is_open(gamma) or _is(gamma, "scale")):
        check_positive("gamma", gamma)
        return float(gamma)
    if _is(kernel, "exp"):
        return definite.of_distance(distance, Samples(X, columns=np.arange(len(X))))
    return definite.of_vectors(X) if isinstance(kernel, str) and kernel in ("rbf", "polynomial") else 1.0


def _is(value: Any, name: str) -> bool:
    return isinstance(value, str) and value == name
