"""What a search is given: the field it walks on, who judges a setting there, and what all of it may spend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method import coding, decisions, projections
from kcrc.method.distances.base import Distance
from kcrc.method.distances.pair_cache import PairCache
from kcrc.method.kernels import Kernel, VectorKernel
from kcrc.method.preparation import Samples
from kcrc.method.projections.base import Projection
from kcrc.tuning.left_out.trials import Geometry, Trials
from kcrc.tuning.scoring import (
    DECISIONS,
    kernel_of,
    nearest_atom,
    needs_double,
    score_margins,
    shares_dictionary,
    staged_margins,
)


class MarginScore(Protocol):
    """Margins (sizes, mus, decisions, B) of the trials: see ``scoring``."""

    def __call__(
        self,
        trials: Trials,
        gamma: float | None,
        labels: Array,
        sizes: list[int],
        mus: list[float],
        form: str,
        share: float | None = None,
    ) -> Array: ...


@dataclass(frozen=True, eq=False)
class Field:
    """The examples and the settings they may be tried under.

    geometries  by name, made when first asked for
    labels      (n,) class numbers; ``eligible`` (n,): which examples can be asked, as somebody could answer them
    kernels     to try
    fixed       parameters that have one value; the share of dimensions is searched where it has none
    most        atoms that n_neighbors may count, None for all but the one asked; ``whole``: the dictionary is the
                global one
    favoured    the geometry that the prior's favourites are of, where there is one
    keep        geometries whose best setting stays to the end, and those ``alone`` that the best must not be below
    """

    geometries: Mapping[str, Callable[[], Geometry]]
    labels: Array
    eligible: Array
    kernels: tuple[str, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    most: int | None = None
    whole: bool = False
    favoured: str | None = None
    keep: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()

    @cached_property
    def n_classes(self) -> int:
        return int(self.labels.max()) + 1

    @cached_property
    def _class_sizes(self) -> Array:
        return np.sort(np.bincount(self.labels))[::-1]

    def class_width(self, count: int) -> int:
        """Examples of so many whole classes at most."""
        return int(self._class_sizes[:count].sum())

    def classes_within(self, atoms: int) -> int:
        """How many whole classes are no more examples than that, whichever they are."""
        return int(np.searchsorted(np.cumsum(self._class_sizes), atoms, side="right"))

    @cached_property
    def typical_class(self) -> float:
        """Examples of a class that is near: of the class of an example taken at random, Σ n² / n. Where classes are of
        one size that is their size; a large class is near as often as it is large."""
        sizes = self._class_sizes.astype(float)
        return float((sizes**2).sum() / sizes.sum())

    @property
    def largest(self) -> int:
        """Atoms that a dictionary can have."""
        return min(len(self.labels) - 1, self.most or len(self.labels))


@dataclass(frozen=True, eq=False)
class Scorer:
    """How candidates are scored: ``effort`` is how much dearer that is than the compiled ridge; ``iterates``: the coder
    does; ``projecting``: the cost of Ψ over K³; ``decisions``: the rules whose margins it gives, in this order."""

    score: MarginScore
    effort: float = 1.0
    iterates: bool = False
    projecting: float = 0.0
    decisions: tuple[str, ...] = DECISIONS


@dataclass(frozen=True, eq=False)
class SearchBudget:
    """What a search may take: seconds of two ordinary cores, counted in arithmetic; threads; the seed of the order in
    which examples are asked; and whom it tells how far it is."""

    seconds: float
    n_jobs: int | None = None
    seed: int = 0
    progress: Callable[[float], None] = field(default=lambda share: None)


# What a caller leaves to be chosen.

AUTO = "auto"


def is_open(value: Any) -> bool:
    """Whether a parameter is left to be chosen."""
    return isinstance(value, str) and value == AUTO


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
    normalize: bool = True  # the columns of the dictionary
    samples: Samples | None = None  # the examples with what was prepared of them; None: nothing is kept
    brief: bool = False  # the search does not walk: see ``kcrc.tuning.search``

    @property
    def whole(self) -> bool:
        """Whether the dictionary is the global one."""
        return self.params["n_neighbors"] is None

    @cached_property
    def projecting(self) -> Projection:
        return projections.resolve(self.projection)

    @property
    def by_products(self) -> bool:
        """Whether all that is tried follows from dot products of vectors: under every metric, whole classes too."""
        of_products = self.given_kernel is None or isinstance(self.given_kernel, VectorKernel)
        return self.distance.is_euclidean and of_products

    @property
    def reads_entries(self) -> bool:
        """Whether the coder looks at the entries of the vectors themselves."""
        return self.params["form"] == "raw" and coding.resolve(self.coder).needs_columns


# The arithmetic of local problems, roughly: what the budgets of searches are counted in.

SPEED = 3e10  # arithmetic a second of two ordinary cores
DOUBLE = 4.0  # how much dearer a problem is that has to be posed and solved in double precision


def posing_cost(k: float, form: str, projecting: float = 0.0) -> float:
    """Arithmetic of a local problem of k atoms, roughly; ``projecting``: the cost of Ψ over k³."""
    return k * k * (25.0 + (k if form == "gram" else 0.0) + projecting * k)


def solving_cost(k: float) -> float:
    """Arithmetic of its answer with one penalty, roughly."""
    return k**3 / 3 + 60.0 * k * k + 2e4


# Who judges the settings of a request: the compiled ridge, or the stages with the caller's own coder and projection.
#
# With that comes what is not searched: parameters that are given, and those of which the coder leaves one value.

STAGED = 30.0  # how much dearer the stages are than the compiled ridge, about


def fixed_of(request: Request, *, atoms: int) -> dict[str, Any]:
    """The parameters that have one value; ``atoms``: how many examples a global dictionary has."""
    given = request.params.items()
    fixed = {name: value for name, value in given if not is_open(value) and name not in ("kernel", "scaling")}
    if request.whole:
        fixed["n_neighbors"] = atoms
    if "n_neighbors" in fixed or not request.by_products:
        fixed.setdefault("locality", "atoms")  # a given number counts examples, unless the caller says classes
    if isinstance(request.projection, Projection) or not request.projecting.has_components:
        fixed["share"] = None
    if not isinstance(request.coder, str):
        fixed["mu"] = getattr(request.coder, "mu", 0.01)
    if coding.resolve(request.coder).needs_columns or not request.projecting.identity:
        fixed.setdefault("form", "gram")
    return fixed


def scorer_for(request: Request) -> Scorer:
    """The judge, and what it costs."""
    projection, iterates = request.projecting, coding.resolve(request.coder).iterates
    rules = _rules(request)
    if request.coder == "ridge" and projection.identity and rules == DECISIONS:
        return Scorer(partial(score_margins, normalize=request.normalize))
    effort = 1.0 if request.whole and not iterates else STAGED
    return Scorer(partial(_by_stages, request), effort, iterates, projection.cost, rules)


def _rules(request: Request) -> tuple[str, ...]:
    """The decisions to judge by: those that are searched, but where the caller names one that is not among them."""
    asked = request.params["decision"]
    return DECISIONS if is_open(asked) or decisions.named(asked).compiled else (asked,)


def projected(projection: Projection, share: float | None) -> Projection:
    """With the share of the dimension that was chosen."""
    return projection if share is None else projection.with_components(share)


def _by_stages(
    request: Request,
    trials: Trials,
    gamma: float | None,
    labels: Array,
    sizes: list[int],
    mus: list[float],
    form: str,
    share: float | None = None,
) -> Array:
    """Margins by the stages of the pipeline: see ``scoring``."""

    def coder_of(mu: float) -> coding.Coder:
        return coding.resolve(request.coder, mu=mu)

    if form == "raw" and not coder_of(0.01).needs_columns:
        form = "rkhs"  # the same problem, in the linear kernel's own space
    width = int(np.max(np.where(labels >= 0, np.arange(1, labels.shape[1] + 1), 1)))
    if any(needs_double(width, mu, request.normalize) for mu in mus):
        trials = trials.in_double(width)
    G, k, own = kernel_of(trials, gamma)
    vectors = None
    if trials.asked is not None and trials.atoms is not None:
        vectors = (trials.asked, trials.atoms[:, :width])
    return staged_margins(
        (G[:, :width, :width], k[:, :width], own),
        labels[:, :width],
        trials.truth,
        sizes,
        mus,
        form,
        coder_of,
        None if request.projecting.identity else projected(request.projecting, share),
        request.seed,
        vectors,
        nearest=nearest_atom(trials) if shares_dictionary(trials) else None,
        normalize=request.normalize,
        judged_by=_rules(request),
    )
