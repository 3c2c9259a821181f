"""From a classifier's parameters to a Method: names resolved, values checked, and what is "auto" chosen.

Every error about a parameter is raised here, before anything is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.classifier.choosing import Chosen, chosen
from kcrc.classifier.parameter_table import TABLE, byte_count
from kcrc.errors import DataError, ParameterError
from kcrc.method import coding, kernels, local_problem, projections, scaling
from kcrc.method.distances.base import Distance, resolve
from kcrc.method.fitted_model import Method
from kcrc.method.kernels import widths
from kcrc.method.kernels.base import positive
from kcrc.method.kernels.definite import check_definite
from kcrc.method.neighbours.searches import check_searchable
from kcrc.method.preparation import Samples
from kcrc.native import native
from kcrc.tuning.request import is_open

if TYPE_CHECKING:
    from kcrc.classifier.estimator import KCRCClassifier


@dataclass(frozen=True)
class Parameters:
    """The parameters ``given`` to a classifier, whose samples have been looked at (their shape and views), and the
    ``seed`` that was drawn for this fit; ``brief``: what is "auto" is chosen by a short search; ``sampled``: examples
    are larger than memory, and what is learned comes from a sample of them."""

    given: KCRCClassifier
    seed: int = 0
    brief: bool = False
    sampled: bool = False

    @property
    def precomputed(self) -> bool:
        return "precomputed" in (self.given.metric, self.given.kernel, self.given.distance)

    def chosen(self, X: Array, y: Array, groups: Any) -> Chosen:
        """Values for the parameters that may be "auto", which ``check`` has looked at, and the distances between
        examples measured on the way."""
        return chosen(self, X, y, groups)

    def check(self) -> None:
        """Raise where a parameter cannot be what it is, by itself or beside another."""
        for row in TABLE:
            row.checked(getattr(self.given, row.name))
        given = self.given
        coder = coding.resolve(given.coder, mu=0.01 if is_open(given.mu) else given.mu)
        if not is_open(given.form):
            space = local_problem.resolve(given.form, normalize=given.normalize_columns)
            check_form(space, coder, projections.resolve(given.projection))
        if given.n_candidates is not None and given.n_neighbors is None:
            raise ParameterError("n_candidates needs n_neighbors: a global dictionary has no candidates.")
        if self.sampled:
            self._check_sampled()
        wanted = 1 if isinstance(given.n_neighbors, str) else given.n_neighbors or 1
        if given.n_candidates is not None and given.n_candidates < wanted:
            raise ParameterError(
                f"n_candidates={given.n_candidates} must be at least n_neighbors={given.n_neighbors} (K_c ≥ K_f)."
            )

    def _check_sampled(self) -> None:
        """Raise where all examples, larger than memory, would have to be in it."""
        given = self.given
        for reason, holds in {
            "n_neighbors=None is a dictionary of all examples": given.n_neighbors is None,
            'locality="classes" takes whole classes': given.locality == "classes",
            "a precomputed matrix has as many columns as there are examples": self.precomputed,
            f'search="{given.search}" keeps a copy of the examples': given.search not in ("auto", "exact"),
        }.items():
            if holds:
                raise ParameterError(
                    f"X is a mapped array larger than memory_budget={given.memory_budget!r}, and {reason}. Raise "
                    'memory_budget to its size, or search exactly with a number of neighbours (locality="atoms").'
                )

    def keeps_halves(self, chosen: dict[str, Any]) -> bool:
        """Whether examples in half precision can stay so: where the compiled search and stage read them as they are.
        Anything else computes with a copy in single precision."""
        metric, distance = chosen["metric"], resolve(self.given.distance)
        return (
            native is not None
            and not self.precomputed
            and scaling.resolve(metric).keeps_vectors
            and distance.is_euclidean
            and chosen["kernel"] in ("rbf", "linear", "polynomial")
            and chosen["form"] in ("rkhs", "gram")
            and chosen["locality"] == "atoms"
            and chosen["n_neighbors"] is not None
            and self.given.n_candidates is None
            and not self.given.views_
        )

    def check_views(self, metric: Any) -> None:
        """Raise where a metric would mix views."""
        kept = metric == "auto" or (metric != "precomputed" and scaling.resolve(metric).keeps_vectors)
        if self.given.views_ and not kept:
            raise ParameterError(
                f"metric={metric!r} would mix the views {', '.join(self.given.views_)}; with a dict of views use "
                'metric="plain".'
            )

    def check_means(self) -> None:
        """Raise where there are no class means."""
        if self.precomputed:
            raise ParameterError('locality="classes" needs class means, which precomputed matrices do not give.')

    def method(self, X: Array, y: Array, chosen: dict[str, Any]) -> tuple[Method, Array]:
        """All parameters checked and resolved, and X as the metric scales it."""
        self.check_views(chosen["metric"])
        n_neighbors, n_candidates = _whole(chosen["n_neighbors"]), _whole(self.given.n_candidates)
        if n_candidates is not None and n_neighbors is not None:
            n_neighbors = min(n_neighbors, n_candidates)
        space = local_problem.resolve(chosen["form"], normalize=self.given.normalize_columns)
        coder = coding.resolve(self.given.coder, mu=chosen["mu"])
        projection = projections.resolve(chosen.get("projection", self.given.projection))
        check_form(space, coder, projection)
        metric = scaling.fitted(chosen["metric"], X, y)
        scaled = metric.transform(X)
        distance, coarse = chosen.get("distances") or self.fitted(self.distances(scaled), scaled, y)
        if chosen["locality"] == "classes":
            self.check_means()
        check_searchable(self.given.search, coarse if n_candidates is not None else distance)
        method = Method(
            metric=metric,
            distance=distance,
            coarse_distance=coarse,
            kernel=self.kernel(scaled, distance, chosen, final=True),
            space=space,
            coder=coder,
            projection=projection,
            n_neighbors=n_neighbors,
            n_candidates=n_candidates,
            locality=chosen["locality"],
            decision=chosen["decision"],
            seed=self.seed,
            n_jobs=self.given.n_jobs,
            memory_budget=byte_count(self.given.memory_budget),
            search=self.given.search,
            wide_as_data=chosen["gamma"] == "scale" and isinstance(chosen["kernel"], str) and chosen["form"] != "raw",
        )
        return method, scaled

    def distances(self, X: Array) -> tuple[Distance, Distance]:
        """The distance and the coarse one, the same where there is no coarse search, before they are fitted."""
        if isinstance(self.given.kernel, str) and self.given.kernel == "precomputed":
            own: Distance = kernels.KernelDistance(kernels.PrecomputedKernel().fit(X))
            return own, own
        wanted = "precomputed" if self.given.metric == "precomputed" else self.given.distance
        distance = self._seeing("distance", wanted)
        if self.given.n_candidates is None:
            return distance, distance
        return distance, self._seeing("coarse_distance", self.given.coarse_distance)

    def fitted(self, measures: tuple[Distance, Distance], X: Array, y: Array) -> tuple[Distance, Distance]:
        """Distances fitted to examples that the metric has scaled."""
        distance, coarse = measures
        found = distance.fit(X, y, sample_shape=self.given.sample_shape_)
        return found, found if coarse is distance else coarse.fit(X, y, sample_shape=self.given.sample_shape_)

    def _seeing(self, name: str, wanted: Any) -> Distance:
        """A distance that knows where the views it looks at are."""
        distance = resolve(wanted)
        if self.given.views_ and not distance.sees_views:
            raise ParameterError(
                f"X is a dict of views ({', '.join(self.given.views_)}), and {name}={wanted!r} does not say which to "
                f'look at. Use kcrc.distances.Unified(members={{"{next(iter(self.given.views_))}": {wanted!r}, ...}}).'
            )
        return distance.bound(self.given.views_)

    def kernel(self, X: Array, distance: Distance, chosen: dict[str, Any], *, final: bool) -> kernels.Kernel:
        """``final``: nothing is left to be chosen, and what is to be said of it is said."""
        spec = chosen["kernel"]
        if self.given.metric == "precomputed" and spec in ("rbf", "linear", "polynomial"):
            if spec != "rbf":
                raise ParameterError(f'kernel={spec!r} needs vectors; with metric="precomputed" use "exp".')
            spec = "exp"  # exp(−gamma·Dist) of the given distances, the RBF's form
        if chosen["form"] == "raw":
            spec = "linear"
        gamma = self._gamma(X, spec, distance, chosen["gamma"])
        made = kernels.resolve(
            spec, distance=distance, gamma=gamma, degree=self.given.degree, coef0=self.given.coef0
        ).fit(X)
        needs_own = chosen["form"] != "gram" or chosen["n_neighbors"] is not None
        if needs_own:
            made.check_own_values()
        few = Samples(X if spec == "precomputed" else X[:8], columns=np.arange(len(X))).of(made).take(slice(0, 8))
        if not np.isfinite(made.gram(few, few)).all():
            raise DataError(
                f"The kernel {spec!r} returns NaN or infinite values on the examples. Check its parameters, and "
                "scale the data."
            )
        check_definite(made, X, form=chosen["form"], local=chosen["n_neighbors"] is not None, warn=final)
        return made

    def _gamma(self, X: Array, kernel: Any, distance: Distance, gamma: float | str) -> float:
        if gamma != "scale":
            positive("gamma", gamma)
            return float(gamma)
        if kernel == "exp":
            return widths.of_distance(distance, Samples(X, columns=np.arange(len(X))))
        return widths.of_vectors(X) if kernel in ("rbf", "polynomial") else 1.0


def check_form(space: local_problem.Space, coder: coding.Coder, projection: projections.Projection) -> None:
    """Raise where the form does not have what the coder or the projection works on."""
    if coder.needs_columns and not space.has_columns:
        raise ParameterError(
            f'The coder {type(coder).__name__} judges the entries of y − Dx, which form="rkhs" does not have. '
            'Use form="gram" or "raw".'
        )
    if not projection.identity and not space.projects:
        raise ParameterError(f'projection works with form="gram"; got form="{type(space).__name__.lower()}".')


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)
