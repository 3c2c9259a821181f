"""What is "auto", chosen in four steps: what is wished for, the ground it is measured on, the search, what was found.

Each step gives a value that the next one starts from. The search itself is in ``kcrc.tuning``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kcrc._base.arrays import Array, widened
from kcrc._base.blas import one_blas_thread
from kcrc._base.parallel import worker_count
from kcrc._base.progress import share_bar
from kcrc.classifier.parameter_table import SEARCHED, byte_count
from kcrc.method import kernels, scaling
from kcrc.method.distances.base import Distance
from kcrc.method.distances.pair_cache import COSTLY, PairCache, pair_caches
from kcrc.method.distances.unified import to_be_weighted
from kcrc.method.kernels import Kernel
from kcrc.method.moments import units_differ
from kcrc.method.preparation import POSITION, Prepared, Samples
from kcrc.tuning.request import AUTO, Request, is_open

if TYPE_CHECKING:
    from kcrc.classifier.parameters import Parameters
    from kcrc.tuning import Tuning


@dataclass(frozen=True)
class Chosen:
    """``values`` of the parameters that may be "auto"; the ``tuning`` they come from, and the distances between
    examples measured on the way, None where there was nothing to choose; what distances have ``prepared`` of them."""

    values: dict[str, Any]
    tuning: Tuning | None = None
    pairs: dict[str, PairCache] | None = None
    prepared: Mapping[Hashable, Prepared] = field(default_factory=dict)


def chosen(parameters: Parameters, X: Array, y: Array, groups: Any) -> Chosen:
    """From parameters that have been checked, and the examples X (n, d) with their class numbers y (n,)."""
    wish = Wish.of(parameters.given, sampled=parameters.sampled)
    if not wish.open:
        return Chosen(wish.params)
    X = widened(X)
    ground = Ground.of(parameters, wish, X, y)
    given = parameters.given
    # Who asks for one thread has one core to give: small solves on more threads than cores wait for each other.
    alone = one_blas_thread() if worker_count(given.n_jobs) == 1 else nullcontext()
    with alone, share_bar("choosing parameters", show=given.verbose) as progress:
        request = Request(
            params=ground.params,
            distance=ground.distance,
            given_kernel=ground.kernel,
            coder=given.coder,
            projection=given.projection,
            groups=groups,
            seconds=float(given.tuning_seconds),
            n_jobs=given.n_jobs,
            seed=parameters.seed,
            progress=progress,
            coarse=None if given.n_candidates is None else (ground.coarse, given.n_candidates),
            pairs=ground.pairs,
            normalize=bool(given.normalize_columns),
            samples=ground.samples,
            brief=parameters.brief,
        )
        from kcrc.tuning.choose import choose  # only where there is something to choose

        values, tuning = choose(request, X if request.by_products else ground.scaled, y)
    return Chosen(settled(values, ground), tuning, ground.pairs, ground.prepared)


@dataclass(frozen=True)
class Wish:
    """What is given and what is left: ``params`` by name, "auto" where open, with what follows from the others filled
    in; ``open``: whether anything is left to choose."""

    params: dict[str, Any]
    open: bool

    @classmethod
    def of(cls, given: Any, *, sampled: bool = False) -> Wish:
        """From a classifier's parameters; ``sampled``: the examples at hand are a sample of all."""
        params = {name: getattr(given, name) for name in SEARCHED}
        named_projection = isinstance(given.projection, str) and given.projection != "identity"
        left = to_be_weighted(given.distance) is not None or named_projection
        if not left and not any(is_open(value) for value in params.values()):
            return cls(params, open=False)
        if _is(params["metric"], "precomputed"):
            if params["kernel"] in (AUTO, "rbf"):
                params["kernel"] = "exp"  # of the given distances, the RBF's form
        elif _is(params["kernel"], "precomputed"):
            params["metric"] = "plain"
        if sampled:
            params["locality"] = "atoms"  # whole classes of examples that are larger than memory would be so too
        if params["form"] == "raw":
            params["kernel"] = "linear"  # whatever was said of one: the vectors themselves are the dictionary
        return cls(params, open=True)


@dataclass(frozen=True, eq=False)
class Ground:
    """What a search measures with: ``params`` with the metric settled where it cannot be searched, the examples
    ``scaled`` by it, distances fitted to them, empty caches of costly ``pairs``, and the kernel, None where it is
    searched. ``samples`` are those examples with what distances prepare of them."""

    params: dict[str, Any]
    scaled: Array
    samples: Samples
    distance: Distance
    coarse: Distance
    pairs: dict[str, PairCache]
    kernel: Kernel | None

    @classmethod
    def of(cls, parameters: Parameters, wish: Wish, X: Array, y: Array) -> Ground:
        given, params = parameters.given, dict(wish.params)
        parameters.check_views(params["metric"])
        if params["locality"] == "classes":
            parameters.check_means()
        measures = parameters.distances(X)
        searched = searches_kernel(params["kernel"], measures[0])
        costly = given.n_neighbors is not None and any(p.cost >= COSTLY for p in measures[0].components.values())
        if is_open(params["metric"]) and not (searched and not costly and takes_any_metric(*measures)):
            mixed = takes_vectors(params["kernel"], *measures) and units_differ(X)
            params["metric"] = "standard" if mixed else "plain"
        scaled = scaling.fitted("plain" if is_open(params["metric"]) else params["metric"], X, y).transform(X)
        distance, coarse = parameters.fitted(measures, scaled, y)
        pairs: dict[str, PairCache] = {}
        if costly:
            pairs = pair_caches(distance, len(X), dtype=X.dtype, budget=byte_count(given.memory_budget) // 2)
        kernel = None
        if not searched:
            wide = "scale" if is_open(params["gamma"]) else params["gamma"]
            kernel = parameters.kernel(scaled, distance, {**params, "gamma": wide}, final=False)
        return cls(params, scaled, Samples(scaled, columns=np.arange(len(X))), distance, coarse, pairs, kernel)

    @property
    def prepared(self) -> Mapping[Hashable, Prepared]:
        """By the key of its preparation what need not be prepared again: nothing where the metric was searched, which
        then has moved the examples, or where it names columns of a matrix, which examples are known by as well."""
        made = {} if is_open(self.params["metric"]) else self.samples.prepared_by_key
        return {key: one for key, one in made.items() if POSITION not in one.parts}


def searches_kernel(kernel: Any, distance: Distance) -> bool:
    """Whether the search makes the kernels it tries: of a distance its exponential, of vectors the linear one too."""
    known = ("auto", "exp", "linear", "rbf") if distance.is_euclidean else ("auto", "exp")
    return isinstance(kernel, str) and kernel in known


def takes_any_metric(distance: Distance, coarse: Distance) -> bool:
    """Whether neighbours can be found under every metric that is tried."""
    learns = coarse.is_union and coarse is not distance  # it would have to learn anew under each
    return distance.of_vectors and coarse.of_vectors and not learns


def takes_vectors(kernel: Any, distance: Distance, coarse: Distance) -> bool:
    """Whether all that compares samples is at home among any vectors, so that they may be put into other units."""
    if is_open(kernel):
        kernel = "exp"
    if not isinstance(kernel, str | Kernel):
        return False  # what a function expects nobody knows
    made = kernels.resolve(kernel, distance=distance, gamma=1.0, degree=1, coef0=0.0)
    return made.of_vectors and distance.of_vectors and coarse.of_vectors


def settled(values: dict[str, Any], ground: Ground) -> dict[str, Any]:
    """The values found, with the distances that are to stay as they were fitted, under the metric that was chosen."""
    if ground.distance.is_euclidean:
        return values
    rest = {name: value for name, value in values.items() if name != "distance"}
    distance = values.get("distance", ground.distance)
    return {**rest, "distances": (distance, distance if ground.coarse is ground.distance else ground.coarse)}


def _is(value: Any, name: str) -> bool:
    return isinstance(value, str) and value == name
