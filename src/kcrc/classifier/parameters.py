"""From a classifier's parameters to a Method: names resolved, values checked, and what is "auto" chosen.

Every error about a parameter is raised here, before anything is stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from kcrc._base.arrays import Array, widen
from kcrc._base.parallel import one_blas_thread, worker_count
from kcrc._base.progress import share_bar
from kcrc._base.validation import seed_of
from kcrc.errors import DataError, ParameterError, UnknownName
from kcrc.method import coding, decisions, distances, kernels, local_problem, projections, scaling
from kcrc.method.coding.base import at_least, count
from kcrc.method.distances.base import Distance, resolve
from kcrc.method.distances.pair_cache import COSTLY, PairCache, pair_caches
from kcrc.method.distances.unified import to_be_weighted
from kcrc.method.fitted_model import Method
from kcrc.method.kernels import Kernel, definite
from kcrc.method.kernels.base import positive
from kcrc.method.kernels.definite import check_definite
from kcrc.method.neighbours.searches import SEARCHES, check_search, check_searchable
from kcrc.method.preparation import POSITION, Prepared, Samples
from kcrc.method.scaling import units_differ
from kcrc.native import native
from kcrc.tuning.field import AUTO, Request, is_open

if TYPE_CHECKING:
    from kcrc.classifier.estimator import KCRCClassifier
    from kcrc.tuning.result import Tuning


# What each parameter of a classifier may be: one row each, which checks a value and writes its type in the docs.
#
# A value is looked at by itself, before any data, so that a typing error does not wait for a search. What one
# parameter asks of another is in ``kcrc.classifier.parameters``.

P = ParamSpec("P")
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


@dataclass(frozen=True)
class Parameter:
    """``types``: what it may be, as the docs write it; ``check`` raises where a value is none of them; ``searched``: it
    may be left "auto"."""

    name: str
    types: tuple[str, ...]
    check: Callable[[Any], object]
    searched: bool = False

    @property
    def words(self) -> str:
        """The types in one line, as in "int, None or "auto""."""
        *all_but_last, last = (*self.types, f'"{AUTO}"') if self.searched else self.types
        return f"{', '.join(all_but_last)} or {last}" if all_but_last else last

    def checked(self, value: Any) -> None:
        """Raise where it cannot be ``value``."""
        if not (self.searched and is_open(value)):
            self.check(value)


RENAMED = {"metric": 'scaling= for how vectors are scaled, or distance="precomputed" for a matrix of distances'}
"""What earlier versions called parameters, and what to use now."""


def refuses_earlier_names(init: Callable[P, None]) -> Callable[P, None]:
    """Let a constructor name the new parameter where one of an earlier version is given."""

    @wraps(init)
    def refusing(*args: P.args, **given: P.kwargs) -> None:
        for name in RENAMED.keys() & given.keys():
            raise ParameterError(f"There is no parameter '{name}' any more; use {RENAMED[name]}.")
        init(*args, **given)

    return refusing


def byte_count(value: int | str) -> int:
    """Bytes of a memory budget."""
    match = re.fullmatch(r"\s*([\d.]+)\s*([A-Za-z]*)\s*", str(value))
    if isinstance(value, bool) or match is None or match[2].upper() not in UNITS or match[1].count(".") > 1:
        raise ParameterError(f'memory_budget is a number of bytes or a text like "512MB"; got {value!r}.')
    size = int(float(match[1]) * UNITS[match[2].upper()])
    if size < 2**20:
        raise ParameterError(f"memory_budget is at least 1 MiB; got {value!r}.")
    return size


def _count_or_none(name: str, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ParameterError(f"{name} is a whole number, 1 or more, or None; got {value!r}.")


def _number(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise ParameterError(f"{name} is a number; got {value!r}.")


def _gamma(value: Any) -> None:
    if not isinstance(value, str):
        positive("gamma", value)
    elif value != "scale":
        raise UnknownName("gamma", value, (AUTO, "scale"))


def _kernel(value: Any) -> None:
    if isinstance(value, str):
        kernels.registry.maker(value)
    else:
        kernels.resolve(value, distance=distances.make("euclidean"), gamma=1.0, degree=1, coef0=0.0)


def _distance(value: Any) -> None:
    if not callable(value):
        distances.resolve(value)


def _decision(value: Any) -> None:
    """Also one that the program registered itself, so it is looked up when it is asked for."""
    if not isinstance(value, str) or value not in decisions.names():
        raise UnknownName("decision", value, (*decisions.names(), AUTO))


def _seed(value: Any) -> None:
    if not isinstance(value, np.random.RandomState | np.random.Generator):  # of which a fit draws once
        seed_of(value)


def _flag_or_none(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, (bool, np.bool_, int)):
        raise ParameterError(f"{name} is True, False or None; got {value!r}.")


def _one_of(name: str, *known: str) -> Parameter:
    """A parameter with a few names, one of which may be found for it."""

    def check(value: Any) -> None:
        if value not in known:
            raise UnknownName(name, value, (*known, AUTO))

    return Parameter(name, (_set(*known),), check, searched=True)


def _set(*names: str) -> str:
    return "{" + ", ".join(f'"{name}"' for name in names) + "}"


TABLE = (
    Parameter("n_neighbors", ("int", "None"), partial(_count_or_none, "n_neighbors"), searched=True),
    Parameter("n_candidates", ("int", "None"), partial(_count_or_none, "n_candidates")),
    Parameter("distance", ("str", "Distance", "callable"), _distance),
    Parameter("coarse_distance", ("str", "Distance", "callable"), _distance),
    Parameter("scaling", (_set(*scaling.names()), "Scaling"), scaling.resolve, searched=True),
    Parameter("kernel", ("str", "Kernel", "callable"), _kernel, searched=True),
    Parameter("gamma", ("float", '"scale"'), _gamma, searched=True),
    Parameter("degree", ("int",), lambda value: count("degree", value, 1)),
    Parameter("coef0", ("float",), partial(_number, "coef0")),
    Parameter("mu", ("float",), lambda value: at_least("mu", value, 0), searched=True),
    Parameter(
        "form", (_set(*local_problem.FORMS),), lambda value: local_problem.resolve(value, normalize=True), searched=True
    ),
    Parameter("normalize_columns", ("bool",), lambda value: local_problem.resolve("rkhs", normalize=value)),
    Parameter("decision", (_set(*decisions.names()),), _decision, searched=True),
    _one_of("locality", "atoms", "classes"),
    Parameter("coder", ("str", "Coder"), coding.resolve),
    Parameter("projection", ("str", "Projection"), projections.resolve),
    Parameter("search", (_set(*SEARCHES),), check_search),
    Parameter("tuning_seconds", ("float",), partial(positive, "tuning_seconds")),
    Parameter("n_jobs", ("int", "None"), worker_count),
    Parameter("memory_budget", ("int", "str"), byte_count),
    Parameter("random_state", ("int", "RandomState", "Generator", "None"), _seed),
    Parameter("verbose", ("bool", "None"), partial(_flag_or_none, "verbose")),
)
SEARCHED = tuple(row.name for row in TABLE if row.searched)


# What is "auto", chosen in four steps: what is wished for, the ground it is measured on, the search, what was found.
#
# Each step gives a value that the next one starts from. The search itself is in ``kcrc.tuning``.


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
    X = widen(X)
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
        from kcrc.tuning.tune import tune  # only where there is something to choose

        values, tuning = tune(request, X if request.by_products else ground.scaled, y)
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
        if _is(given.distance, "precomputed") and params["kernel"] in (AUTO, "rbf"):
            params["kernel"] = "exp"  # of the given distances, the RBF's form
        if _is(given.distance, "precomputed") or _is(params["kernel"], "precomputed"):
            params["scaling"] = "plain"
        if sampled:
            params["locality"] = "atoms"  # whole classes of examples that are larger than memory would be so too
        if params["form"] == "raw":
            params["kernel"] = "linear"  # whatever was said of one: the vectors themselves are the dictionary
        return cls(params, open=True)


@dataclass(frozen=True, eq=False)
class Ground:
    """What a search measures with: ``params`` with the scaling settled where it cannot be searched, the examples
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
        parameters.check_views(params["scaling"])
        if params["locality"] == "classes":
            parameters.check_means()
        measures = parameters.distances(X)
        searched = searches_kernel(params["kernel"], measures[0])
        costly = given.n_neighbors is not None and any(p.cost >= COSTLY for p in measures[0].components.values())
        if is_open(params["scaling"]) and not (searched and not costly and takes_any_scaling(*measures)):
            mixed = takes_vectors(params["kernel"], *measures) and units_differ(X)
            params["scaling"] = "standard" if mixed else "plain"
        scaled = scaling.fit_scaling("plain" if is_open(params["scaling"]) else params["scaling"], X, y).transform(X)
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
        """By the key of its preparation what need not be prepared again: nothing where the scaling was searched, which
        then has moved the examples, or where it names columns of a matrix, which examples are known by as well."""
        made = {} if is_open(self.params["scaling"]) else self.samples.prepared_by_key
        return {key: one for key, one in made.items() if POSITION not in one.parts}


def searches_kernel(kernel: Any, distance: Distance) -> bool:
    """Whether the search makes the kernels it tries: of a distance its exponential, of vectors the linear one too."""
    known = ("auto", "exp", "linear", "rbf") if distance.is_euclidean else ("auto", "exp")
    return isinstance(kernel, str) and kernel in known


def takes_any_scaling(distance: Distance, coarse: Distance) -> bool:
    """Whether neighbours can be found under every scaling that is tried."""
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
    """The values found, with the distances that are to stay as they were fitted, under the scaling that was chosen."""
    if ground.distance.is_euclidean:
        return values
    rest = {name: value for name, value in values.items() if name != "distance"}
    distance = values.get("distance", ground.distance)
    return {**rest, "distances": (distance, distance if ground.coarse is ground.distance else ground.coarse)}


def _is(value: Any, name: str) -> bool:
    return isinstance(value, str) and value == name


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
        return _is(self.given.kernel, "precomputed") or _is(self.given.distance, "precomputed")

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
        if _is(given.distance, "precomputed") and not (is_open(given.scaling) or _is(given.scaling, "plain")):
            raise ParameterError(
                f'scaling={given.scaling!r} needs vectors; with distance="precomputed" use "plain" or "auto".'
            )
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
        distance = resolve(self.given.distance)
        return (
            native is not None
            and not self.precomputed
            and scaling.resolve(chosen["scaling"]).keeps_vectors
            and distance.is_euclidean
            and chosen["kernel"] in ("rbf", "linear", "polynomial")
            and chosen["form"] in ("rkhs", "gram")
            and chosen["locality"] == "atoms"
            and chosen["n_neighbors"] is not None
            and self.given.n_candidates is None
            and not self.given.views_
        )

    def check_views(self, given: Any) -> None:
        """Raise where a scaling would mix views."""
        kept = is_open(given) or scaling.resolve(given).keeps_vectors
        if self.given.views_ and not kept:
            raise ParameterError(
                f"scaling={given!r} would mix the views {', '.join(self.given.views_)}; with a dict of views use "
                'scaling="plain".'
            )

    def check_means(self) -> None:
        """Raise where there are no class means."""
        if self.precomputed:
            raise ParameterError('locality="classes" needs class means, which precomputed matrices do not give.')

    def method(self, X: Array, y: Array, chosen: dict[str, Any]) -> tuple[Method, Array]:
        """All parameters checked and resolved, and X scaled."""
        self.check_views(chosen["scaling"])
        n_neighbors, n_candidates = _whole(chosen["n_neighbors"]), _whole(self.given.n_candidates)
        if n_candidates is not None and n_neighbors is not None:
            n_neighbors = min(n_neighbors, n_candidates)
        space = local_problem.resolve(chosen["form"], normalize=self.given.normalize_columns)
        coder = coding.resolve(self.given.coder, mu=chosen["mu"])
        projection = projections.resolve(chosen.get("projection", self.given.projection))
        check_form(space, coder, projection)
        fitted = scaling.fit_scaling(chosen["scaling"], X, y)
        scaled = fitted.transform(X)
        distance, coarse = chosen.get("distances") or self.fitted(self.distances(scaled), scaled, y)
        if chosen["locality"] == "classes":
            self.check_means()
        check_searchable(self.given.search, coarse if n_candidates is not None else distance)
        method = Method(
            scaling=fitted,
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
        distance = self._seeing("distance", self.given.distance)
        if self.given.n_candidates is None:
            return distance, distance
        return distance, self._seeing("coarse_distance", self.given.coarse_distance)

    def fitted(self, measures: tuple[Distance, Distance], X: Array, y: Array) -> tuple[Distance, Distance]:
        """Distances fitted to examples that have been scaled."""
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
        return distance.with_layout(self.given.views_)

    def kernel(self, X: Array, distance: Distance, chosen: dict[str, Any], *, final: bool) -> kernels.Kernel:
        """``final``: nothing is left to be chosen, and what is to be said of it is said."""
        spec = chosen["kernel"]
        given_distances = _is(self.given.distance, "precomputed")
        if given_distances and isinstance(spec, str) and spec in ("rbf", "linear", "polynomial"):
            if spec != "rbf":
                raise ParameterError(f'kernel={spec!r} needs vectors; with distance="precomputed" use "exp".')
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
            return definite.of_distance(distance, Samples(X, columns=np.arange(len(X))))
        return definite.of_vectors(X) if kernel in ("rbf", "polynomial") else 1.0


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
