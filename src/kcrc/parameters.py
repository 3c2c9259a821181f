"""From a classifier's parameters to a Method: names resolved, values checked, and what is "auto" chosen.

Every error about a parameter is raised here, before anything is stored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kcrc import coding, distances, kernels, metrics, projections, spaces
from kcrc._fused.native import native
from kcrc.arrays import Array, widened
from kcrc.distances.pair_cache import PairCache, pair_caches
from kcrc.distances.unified import to_be_weighted
from kcrc.errors import DataError, ParameterError, UnknownName
from kcrc.kernels import widths
from kcrc.kernels.base import positive
from kcrc.kernels.definite import check_definite
from kcrc.model import Method
from kcrc.parallel import worker_count
from kcrc.prepared import Samples
from kcrc.progress import share_bar

if TYPE_CHECKING:
    from kcrc.classifier import KCRCClassifier
    from kcrc.tuning import Tuning


@dataclass(frozen=True)
class Parameters:
    """The parameters ``given`` to a classifier, whose samples have been looked at (their shape and views), and the
    ``seed`` that was drawn for this fit."""

    given: KCRCClassifier
    seed: int = 0

    @property
    def precomputed(self) -> bool:
        return "precomputed" in (self.given.metric, self.given.kernel, self.given.distance)

    def chosen(
        self, X: Array, y: Array, groups: Any
    ) -> tuple[dict[str, Any], Tuning | None, dict[str, PairCache] | None]:
        """Values for the parameters that may be "auto", and the distances between examples measured on the way."""
        from kcrc.tuning.choose import SEARCHED, choose
        from kcrc.tuning.request import Request

        params = {name: getattr(self.given, name) for name in SEARCHED}
        self._check_names(params)
        unified = to_be_weighted(self.given.distance) is not None
        named = isinstance(self.given.projection, str) and self.given.projection != "identity"
        still_open = any(isinstance(value, str) and value == "auto" for value in params.values())
        if not (unified or named or still_open):
            return params, None, None
        X = widened(X)
        precomputed = self.given.metric == "precomputed"
        if precomputed or self.given.kernel == "precomputed":
            params["metric"] = "precomputed" if precomputed else "plain"
        if precomputed and params["kernel"] in ("auto", "rbf"):
            params["kernel"] = "exp"
        self._check_views(params)
        first = metrics.fitted("plain" if params["metric"] in ("auto", "precomputed") else params["metric"], X, y)
        scaled = first.transform(X)
        if params["form"] == "raw":
            params["kernel"] = "linear"  # whatever was said of one: the vectors themselves are the dictionary
        kernel = params["kernel"]
        searched = kernel in ("auto", "linear", "rbf", "exp") if isinstance(kernel, str) else False
        distance, coarse = self._distances(scaled, y)
        pairs: dict[str, PairCache] = {}
        if self.given.n_neighbors is not None:
            pairs = pair_caches(distance, len(X), dtype=X.dtype, budget=_bytes(self.given.memory_budget) // 2)
        euclidean = distance.is_euclidean
        if not euclidean and kernel != "exp" and kernel != "auto":
            searched = False
        if params["locality"] == "classes":
            self._check_means()
        if not searched and params["metric"] == "auto":
            params["metric"] = "plain"
        given = (
            None
            if searched
            else self._kernel(scaled, distance, {**params, "gamma": _or(params["gamma"], "scale")}, final=False)
        )
        learns = coarse.is_union and coarse is not distance  # it would have to learn anew
        if params["metric"] == "auto" and (pairs or learns or not (distance.of_vectors and coarse.of_vectors)):
            params["metric"] = "plain"
        with share_bar("choosing parameters", show=self.given.verbose) as progress:
            request = Request(
                params=params,
                distance=distance,
                given_kernel=given,
                coder=self.given.coder,
                projection=self.given.projection,
                groups=groups,
                seconds=self._positive_seconds(),
                n_jobs=self.given.n_jobs,
                seed=self.seed,
                progress=progress,
                coarse=None if self.given.n_candidates is None else (coarse, self.given.n_candidates),
                pairs=pairs,
                normalize=bool(self.given.normalize_columns),
            )
            by_products = euclidean and (searched or isinstance(given, kernels.VectorKernel))
            values, tuning = choose(request, X if by_products else scaled, y)
            if not euclidean:  # what was fitted, under the metric that was chosen, stays fitted
                chosen = values.pop("distance", distance)
                values["distances"] = (chosen, chosen if coarse is distance else coarse)
            return values, tuning, pairs

    def keeps_halves(self, chosen: dict[str, Any]) -> bool:
        """Whether examples in half precision can stay so: where the compiled search and stage read them as they are.
        Anything else computes with a copy in single precision."""
        metric, distance = chosen["metric"], distances.resolve(self.given.distance)
        return (
            native is not None
            and not self.precomputed
            and metrics.resolve(metric).keeps_vectors
            and distance.is_euclidean
            and chosen["kernel"] in ("rbf", "linear", "polynomial")
            and chosen["form"] in ("rkhs", "gram")
            and chosen["locality"] == "atoms"
            and chosen["n_neighbors"] is not None
            and self.given.n_candidates is None
            and not self.given.views_
        )

    def _positive_seconds(self) -> float:
        positive("tuning_seconds", self.given.tuning_seconds)
        return float(self.given.tuning_seconds)

    def _check_names(self, params: dict[str, Any]) -> None:
        """Names and ranges that do not depend on data, so that a typing error does not wait for a search."""
        _count("n_neighbors", _or(params["n_neighbors"], 1))
        for name, known in (("decision", ("ratio", "residual")), ("locality", ("atoms", "classes"))):
            if params[name] not in (*known, "auto"):
                raise UnknownName(name, params[name], (*known, "auto"))
        if params["metric"] != "auto":
            metrics.resolve(params["metric"])
        if not isinstance(params["gamma"], str):
            positive("gamma", params["gamma"])
        elif params["gamma"] not in ("auto", "scale"):
            raise UnknownName("gamma", params["gamma"], ("auto", "scale"))
        if isinstance(params["kernel"], str) and params["kernel"] != "auto":
            kernels.registry.maker(params["kernel"])
        coder, projection = (
            coding.resolve(self.given.coder, mu=_or(params["mu"], 0.01)),
            projections.resolve(self.given.projection),
        )
        if params["form"] != "auto":
            check_form(spaces.resolve(params["form"], normalize=self.given.normalize_columns), coder, projection)
        if (
            isinstance(self.given.n_neighbors, int)
            and self.given.n_candidates is not None
            and self.given.n_candidates < self.given.n_neighbors
        ):
            raise ParameterError(
                f"n_candidates={self.given.n_candidates} must be at least n_neighbors={self.given.n_neighbors} "
                "(K_c ≥ K_f)."
            )
        worker_count(self.given.n_jobs)
        _bytes(self.given.memory_budget)

    def _check_views(self, params: dict[str, Any]) -> None:
        metric = params["metric"]
        kept = metric == "auto" or (metric != "precomputed" and metrics.resolve(metric).keeps_vectors)
        if self.given.views_ and not kept:
            raise ParameterError(
                f"metric={metric!r} would mix the views {', '.join(self.given.views_)}; with a dict of views use "
                'metric="plain".'
            )

    def _check_means(self) -> None:
        if self.precomputed:
            raise ParameterError('locality="classes" needs class means, which precomputed matrices do not give.')

    def method(self, X: Array, y: Array, chosen: dict[str, Any]) -> Method:
        """All parameters checked and resolved."""
        self._check_views(chosen)
        n_neighbors = _count("n_neighbors", chosen["n_neighbors"])
        n_candidates = _count("n_candidates", self.given.n_candidates)
        if n_candidates is not None and n_neighbors is None:
            raise ParameterError("n_candidates needs n_neighbors: a global dictionary has no candidates.")
        if n_candidates is not None and n_neighbors is not None:
            n_neighbors = min(n_neighbors, n_candidates)
        space = spaces.resolve(chosen["form"], normalize=self.given.normalize_columns)
        coder = coding.resolve(self.given.coder, mu=chosen["mu"])
        projection = projections.resolve(chosen.get("projection", self.given.projection))
        check_form(space, coder, projection)
        metric = metrics.fitted(chosen["metric"], X, y)
        scaled = metric.transform(X)
        distance, coarse = chosen.get("distances") or self._distances(scaled, y)
        if chosen["locality"] == "classes":
            self._check_means()
        return Method(
            metric=metric,
            distance=distance,
            coarse_distance=coarse,
            kernel=self._kernel(scaled, distance, chosen, final=True),
            space=space,
            coder=coder,
            projection=projection,
            n_neighbors=n_neighbors,
            n_candidates=n_candidates,
            locality=chosen["locality"],
            decision=chosen["decision"],
            seed=self.seed,
            n_jobs=self.given.n_jobs,
            memory_budget=_bytes(self.given.memory_budget),
        )

    def _distances(self, X: Array, y: Array) -> tuple[distances.Distance, distances.Distance]:
        if isinstance(self.given.kernel, str) and self.given.kernel == "precomputed":
            fitted: distances.Distance = kernels.KernelDistance(kernels.PrecomputedKernel().fit(X))
            return fitted, fitted
        wanted = "precomputed" if self.given.metric == "precomputed" else self.given.distance
        distance = self._seeing("distance", wanted)
        coarse = (
            distance if self.given.n_candidates is None else self._seeing("coarse_distance", self.given.coarse_distance)
        )
        fitted = distance.fit(X, y, sample_shape=self.given.sample_shape_)
        return fitted, fitted if coarse is distance else coarse.fit(X, y, sample_shape=self.given.sample_shape_)

    def _seeing(self, name: str, wanted: Any) -> distances.Distance:
        """A distance that knows where the views it looks at are."""
        distance = distances.resolve(wanted)
        if self.given.views_ and not distance.sees_views:
            raise ParameterError(
                f"X is a dict of views ({', '.join(self.given.views_)}), and {name}={wanted!r} does not say which to "
                f'look at. Use kcrc.distances.Unified(members={{"{next(iter(self.given.views_))}": {wanted!r}, ...}}).'
            )
        return distance.bound(self.given.views_)

    def _kernel(self, X: Array, distance: distances.Distance, chosen: dict[str, Any], *, final: bool) -> kernels.Kernel:
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

    def _gamma(self, X: Array, kernel: Any, distance: distances.Distance, gamma: float | str) -> float:
        if gamma != "scale":
            positive("gamma", gamma)
            return float(gamma)
        if kernel == "exp":
            return widths.of_distance(distance, Samples(X, columns=np.arange(len(X))))
        return widths.of_vectors(X) if kernel in ("rbf", "polynomial") else 1.0


def check_form(space: spaces.Space, coder: coding.Coder, projection: projections.Projection) -> None:
    """Raise where the form does not have what the coder or the projection works on."""
    if coder.needs_columns and not space.has_columns:
        raise ParameterError(
            f'The coder {type(coder).__name__} judges the entries of y − Dx, which form="rkhs" does not have. '
            'Use form="gram" or "raw".'
        )
    if not projection.identity and not space.projects:
        raise ParameterError(f'projection works with form="gram"; got form="{type(space).__name__.lower()}".')


def _or(value: Any, otherwise: Any) -> Any:
    """``otherwise`` where a value is left to be chosen."""
    return otherwise if isinstance(value, str) and value == "auto" else value


def _count(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ParameterError(f"{name} is a whole number, 1 or more, or None; got {value!r}.")
    return int(value)


def _bytes(value: int | str) -> int:
    units = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
    match = re.fullmatch(r"\s*([\d.]+)\s*([A-Za-z]*)\s*", str(value))
    if isinstance(value, bool) or match is None or match[2].upper() not in units or match[1].count(".") > 1:
        raise ParameterError(f'memory_budget is a number of bytes or a text like "512MB"; got {value!r}.')
    size = int(float(match[1]) * units[match[2].upper()])
    if size < 2**20:
        raise ParameterError(f"memory_budget is at least 1 MiB; got {value!r}.")
    return size
