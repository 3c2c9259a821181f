"""From settings of which something is open to settings with nothing open: ``tune``.

Where the weights of a unified distance are to be learned and the Euclidean one is a member, that is tried alone with
all it can do, so that learning weights does not end below it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kcrc._base.arrays import Array, widen
from kcrc._base.parallel import one_blas_thread, worker_count
from kcrc._base.progress import share_bar
from kcrc.method import kernels, projections, scaling
from kcrc.method.distances.base import Distance
from kcrc.method.distances.pair_cache import COSTLY, PairCache, pair_caches
from kcrc.method.distances.pixel import SquaredEuclidean
from kcrc.method.distances.unified import Unified, to_be_weighted
from kcrc.method.kernels import Kernel
from kcrc.method.preparation import POSITION, Prepared, Samples
from kcrc.method.scaling import units_differ
from kcrc.tuning import constants
from kcrc.tuning.candidates import Candidates, fixed_values, stratify
from kcrc.tuning.geometries import (
    LABEL_FREE,
    Geometries,
    favourite_geometry,
    fit_again,
    kernel_geometry,
    narrow,
    table_work,
)
from kcrc.tuning.left_out.sample import class_stays, duplicate_groups, resolve_groups
from kcrc.tuning.left_out.surroundings import Surroundings
from kcrc.tuning.result import CandidateSetting, SearchResult, Tuning, loss
from kcrc.tuning.scoring import MarginScorer, posing_cost, solving_cost, with_share
from kcrc.tuning.search import CandidateEvaluator, Search
from kcrc.tuning.settings import MethodSettings, is_open
from kcrc.tuning.weights import WeightSearch

ALONE = " alone"  # how the names of single members end in the table


def tune(settings: MethodSettings, X: Array, y: Array, groups: Array | str | None = None) -> SearchResult:
    """Choose what is open by leave-one-out over the examples X (n, d) with class numbers y (n,).

    Examples of one of the ``groups`` (n,) are left out together; "auto" finds groups, but not in a matrix.
    """
    if settings.is_closed:
        return SearchResult(settings)
    # n_jobs=1 stands for one core: small solves on more threads than cores wait for each other.
    one_core = one_blas_thread() if worker_count(settings.n_jobs) == 1 else nullcontext()
    with one_core, share_bar("choosing parameters", show=settings.verbose) as progress:
        X = widen(X)
        named = None if settings.precomputed and isinstance(groups, str) else resolve_groups(groups, X, y)
        return _tune(settings, X, y, named, progress)


def _tune(
    settings: MethodSettings, X: Array, y: Array, groups: Array | None, progress: Callable[[float], None]
) -> SearchResult:
    fitted, scaled, samples, pairs = _fit_parts(settings, X, y)
    X = X if fitted.of_products else scaled
    tuner = Tuner(fitted, X, y, duplicate_groups(X, groups), progress, None if fitted.of_products else samples, pairs)
    weighted = to_be_weighted(fitted.fine_distance)
    if weighted is not None and is_open(fitted.member.scaling):
        result = _tune_with_weights(replace(tuner, samples=None), weighted)  # a scaling moves the examples
    else:
        result, _ = tuner.search()
    return replace(result, pairs=pairs, prepared=_reusable(samples, fitted))


def _fit_parts(
    settings: MethodSettings, X: Array, y: Array
) -> tuple[MethodSettings, Array, Samples, dict[str, PairCache]]:
    """Settle and fit what the search does not choose: the scaling where it cannot be searched, distances, a kernel.

    Returns the settings with these, the examples scaled, with what distances will prepare of them, and empty caches of
    costly distances.
    """
    member, pair = settings.member, settings.distances_of(X)
    searched = searches_kernel(member.kernel, pair[0])
    local = not settings.global_dictionary
    costly = local and any(part.cost >= COSTLY for part in pair[0].components.values())
    if is_open(member.scaling) and not (searched and not costly and takes_any_scaling(*pair)):
        mixed = takes_vectors(member.kernel, *pair) and units_differ(X)
        member = replace(member, scaling="standard" if mixed else "plain")
    spec = "plain" if is_open(member.scaling) else member.scaling
    scaled = scaling.fit_scaling(spec, X, y).transform(X)
    fitted = settings.fit_distances(pair, scaled, y)
    pairs: dict[str, PairCache] = {}
    if costly:
        pairs = pair_caches(fitted[0], len(X), dtype=X.dtype, budget=settings.memory_budget // 2)
    kernel = None if searched else settings.make_kernel(scaled, fitted[0], member)
    member = replace(member, distances=fitted, fitted_kernel=kernel)
    return replace(settings, members=(member,)), scaled, Samples(scaled, columns=np.arange(len(X))), pairs


def searches_kernel(kernel: Any, distance: Distance) -> bool:
    """Whether the search makes the kernels it tries: of a distance its exponential, of vectors the linear one too."""
    known = ("auto", "exp", "linear", "rbf") if distance.is_euclidean else ("auto", "exp")
    return isinstance(kernel, str) and kernel in known


def takes_any_scaling(distance: Distance, coarse: Distance) -> bool:
    """Whether neighbours can be found under every scaling that is tried."""
    learns = coarse.is_union and coarse is not distance  # it would have to learn again under each
    return distance.of_vectors and coarse.of_vectors and not learns


def takes_vectors(kernel: Any, distance: Distance, coarse: Distance) -> bool:
    """Whether all that compares samples is at home among any vectors, so that they may be put into other units."""
    if is_open(kernel):
        kernel = "exp"
    if not isinstance(kernel, str | Kernel):
        return False  # a function may expect anything
    part = kernels.resolve(kernel, distance=distance, gamma=1.0, degree=1, coef0=0.0)
    return part.of_vectors and distance.of_vectors and coarse.of_vectors


def _reusable(samples: Samples, settings: MethodSettings) -> Mapping[Hashable, Prepared]:
    """By the key of its preparation what need not be prepared again: nothing where the scaling was searched, which
    then has moved the examples, or where it names columns of a matrix, which examples are known by as well."""
    by_key = {} if is_open(settings.member.scaling) else samples.prepared_by_key
    return {key: part for key, part in by_key.items() if POSITION not in part.parts}


@dataclass(frozen=True, eq=False)
class Tuner:
    """The examples X (n, d) that choose, with class numbers y and groups (n,), and settings with parts fitted to them.

    samples  the examples with what was prepared of them; None: nothing is kept
    pairs    caches of costly distances between the examples
    """

    settings: MethodSettings
    X: Array
    y: Array
    groups: Array
    progress: Callable[[float], None]
    samples: Samples | None = None
    pairs: Mapping[str, PairCache] = field(default_factory=dict)

    def search(self) -> tuple[SearchResult, Array | None]:
        """The settings with nothing open, and the margins of the best candidate; None where nothing could be tried."""
        begun, settings = time.perf_counter(), self.settings
        part = self._affordable_part()
        eligible = class_stays(part.y, part.groups)
        if not eligible.any():
            return SearchResult(self._with_distances(settings.with_values(**self._safe_values()))), None
        order = stratify(part.y, np.random.default_rng(settings.seed), eligible)
        scorer, fixed = MarginScorer.of(settings), fixed_values(settings, atoms=len(part.y) - 1)
        around = part._surroundings()
        weightings = part._weightings(around, order, scorer, fixed)
        X = narrow(part.X) if settings.of_products else part.X
        makers, fits, kernel_names = Geometries(settings, X, around, self.progress).by_name(weightings)
        candidates = Candidates(
            makers,
            around.labels,
            order,
            kernel_names,
            fixed,
            iterates=scorer.iterates,
            n_candidates=settings.n_candidates,
            whole=settings.global_dictionary,
            favoured=favourite_geometry(fits, *part.X.shape) if is_open(settings.member.scaling) else None,
            keep=tuple(weightings),
            alone=tuple(name for name in weightings if name.endswith(ALONE)),
        )
        allowed = self._seconds(scorer, fixed, weightings)
        evaluator = CandidateEvaluator(candidates, scorer, allowed, n_jobs=settings.n_jobs, progress=self.progress)
        best = Search(evaluator).run(brief=settings.brief)
        fit = fits[best.geometry]
        fitted = None if fit is None else fit()
        wider = len(part.y) < len(self.y) or self.X.dtype == np.float64  # the search works in float32 where it can
        if fitted is not None and wider and not scaling.is_fixed(settings.member.scaling):
            fitted = fitted.fit(self.X, self.y)
        distance = weightings.get(best.geometry, settings.fine_distance)
        if not distance.is_euclidean and fitted is not None:
            distance = fit_again(distance, fitted.transform(self.X), self.y)
        seconds = time.perf_counter() - begun
        report = Tuning(best, evaluator.scores, seconds, fitted, weights=distance.weights_)
        return SearchResult(self._close(best, fitted, distance), report), evaluator.margins[best]

    # Which examples, and how long ----------------------------------------------------------------------------------

    def _affordable_part(self) -> Tuner:
        """Some of the examples where dictionaries are global and those would be too large."""
        identity = projections.resolve(self.settings.member.projection).identity
        most = constants.GLOBAL_EXAMPLES if identity else constants.GLOBAL_PROJECTED
        square = self.settings.fine_distance.given_as_matrix
        if not self.settings.global_dictionary or square or len(self.y) <= most:
            return self
        everything = np.ones(len(self.y), bool)
        rows = np.sort(stratify(self.y, np.random.default_rng(self.settings.seed), everything)[:most])
        return replace(self, X=self.X[rows], y=self.y[rows], groups=self.groups[rows], samples=None, pairs={})

    def _seconds(self, scorer: MarginScorer, fixed: Mapping[str, Any], weightings: Mapping[str, Unified]) -> float:
        """Seconds for the search: no more than are enough for these examples, where a trial is cheap."""
        settings, n = self.settings, len(self.y)
        seconds = (1.0 - constants.WEIGHTS_SHARE if weightings else 1.0) * settings.tuning_seconds
        if not settings.of_products or scorer.effort != 1.0 or settings.global_dictionary:
            return seconds
        enough = constants.SECONDS_ENOUGH + constants.SECONDS_EXAMPLE * n + constants.SECONDS_ENTRY * self.X.size
        # Where the size of the dictionary is given, no smaller one can be tried instead.
        k = min(n, fixed.get("n_neighbors", 0)) if fixed.get("locality") == "atoms" else 0
        trials = constants.PASSES_ENOUGH * min(n, constants.MOST_TRIALS)
        given_size = trials * (posing_cost(k, "gram") + solving_cost(k)) / constants.SPEED
        return min(seconds, max(enough, given_size))

    # Where candidates lie ------------------------------------------------------------------------------------------

    def _surroundings(self) -> Surroundings:
        """How the examples lie around each other."""
        settings, distance = self.settings, self.settings.fine_distance
        assert settings.member.distances is not None
        coarse = None if settings.n_candidates is None else (settings.member.distances[1], settings.n_candidates)
        samples = self.samples or Samples(self.X, columns=np.arange(len(self.X)))
        around = Surroundings(samples, self.y, self.groups, coarse, self.pairs)
        if distance.is_euclidean or is_open(settings.member.scaling):
            return around
        # A brief search leaves each example out once, which measures all pairs anyway.
        return around.with_tables(distance, np.inf if settings.brief else table_work(settings), settings.n_jobs)

    def _weightings(
        self, around: Surroundings, order: Array, scorer: MarginScorer, fixed: Mapping[str, Any]
    ) -> dict[str, Unified]:
        """The weights of a unified distance to try, by the name the table shows: every member alone, equal weights and
        learned weights."""
        settings, distance = self.settings, to_be_weighted(self.settings.fine_distance)
        if distance is None:
            return {}
        search = WeightSearch(
            distance,
            around,
            order,
            scorer,
            form=str(fixed.get("form", "rkhs")),
            mus=(float(fixed["mu"]),) if "mu" in fixed else constants.WEIGHT_PENALTIES,
            seconds=constants.WEIGHTS_SHARE * settings.tuning_seconds,
            given=None if settings.member.fitted_kernel is None else kernel_geometry(distance, settings, around),
        )
        learned, names = search.run(), search.names
        weights = {f"{single}{ALONE}": {name: float(name == single) for name in names} for single in names}
        if len(names) > 1:
            weights["equal weights"] = dict.fromkeys(names, 1.0 / len(names))
        if learned not in weights.values():
            weights["learned weights"] = learned
        return {name: distance.with_weights(each) for name, each in weights.items()}

    # What was chosen ----------------------------------------------------------------------------------------------

    def _close(self, best: CandidateSetting, fitted: scaling.Scaling | None, distance: Distance) -> MethodSettings:
        """The settings with what is best for all that was open."""
        member = self.settings.member
        names = ("n_neighbors", "kernel", "gamma", "mu", "form", "decision", "locality")
        values: dict[str, Any] = {name: getattr(best, name) for name in names if is_open(getattr(member, name))}
        if "gamma" in values and best.gamma is None:
            values["gamma"] = "scale"
        everything = best.locality == "atoms" and best.n_neighbors == len(self.y) - 1
        if "n_neighbors" in values and everything and self.settings.n_candidates is None:
            # All there were without the one left out: all of them then, and of more that come as many as usual.
            values["n_neighbors"] = max(len(self.y), constants.FAVOURITE["n_neighbors"])
        if fitted is not None:
            values["scaling"] = fitted
        values["projection"] = with_share(projections.resolve(member.projection), best.share)
        return self._with_distances(self.settings.with_values(**values), distance)

    def _with_distances(self, settings: MethodSettings, distance: Distance | None = None) -> MethodSettings:
        """Settings with the distances that are to stay as they were fitted; Euclidean ones are fitted to what comes."""
        if self.settings.fine_distance.is_euclidean:
            return settings.with_values(distances=None)
        return settings.with_values(distances=self.pair_with(distance or self.settings.fine_distance))

    def pair_with(self, distance: Distance) -> tuple[Distance, Distance]:
        """A distance with the coarse one: itself, where there is no coarse search."""
        assert self.settings.member.distances is not None
        fine, coarse = self.settings.member.distances
        return distance, distance if coarse is fine else coarse

    def during(self, begin: float, end: float, **values: Any) -> Tuner:
        """The same with other values of the settings, for the part of the search between two shares of its time."""
        settings = self.settings.with_values(**values)
        settings = replace(settings, tuning_seconds=(end - begin) * settings.tuning_seconds)
        return replace(self, settings=settings, progress=lambda done: self.progress(begin + (end - begin) * done))

    def _safe_values(self) -> dict[str, Any]:
        """Values for all that is open, where no example can be left out.

        Among fewer examples than features, directions tell classes apart; in few dimensions lengths do too. Neither
        means anything where units differ.
        """
        member, euclidean = self.settings.member, self.settings.fine_distance.is_euclidean
        wide = self.X.shape[1] > len(self.X) and euclidean
        safe = {**constants.SAFE, "scaling": "standard" if units_differ(self.X) else "unit" if wide else "plain"}
        if not euclidean:
            safe["kernel"] = "exp"  # of the distance: the RBF is of vectors, and would not look at it
        return {name: value for name, value in safe.items() if is_open(getattr(member, name))}


def _tune_with_weights(tuner: Tuner, distance: Unified) -> SearchResult:
    """Learned weights under a scaling; or the Euclidean member alone, where there is one and it is better.

    Only scalings that are not fitted with labels go with weights: to leave an example out, others would have to be
    fitted without it, which is known for Euclidean distances alone.
    """
    share = constants.SCALING_SHARE
    euclidean = next((name for name, member in distance.members if member.is_euclidean), None)
    alone = SquaredEuclidean() if euclidean else distance.with_weights(dict.fromkeys(distance.weights_, 1.0))
    before, margins_before = tuner.during(0.0, share, distances=tuner.pair_with(alone)).search()
    if before.report is None or margins_before is None:
        return tuner.during(0.0, 1.0, scaling="plain").search()[0]
    free = {s: score for s, score in before.report.scores.items() if s.geometry in LABEL_FREE}
    leader = max(free, key=lambda s: (free[s].accuracy, -free[s].loss))
    fitted = LABEL_FREE[leader.geometry].fit(tuner.X, tuner.y)
    moved = fitted.transform(tuner.X)
    pair = tuner.pair_with(fit_again(distance, moved, tuner.y))
    together = replace(tuner.during(share, 1.0, scaling=fitted, distances=pair), X=moved)
    after, margins_after = together.search()
    assert after.report is not None and margins_after is not None  # the same examples can be left out as before
    scores = {**before.report.scores, **after.report.scores}
    seconds = before.report.seconds + after.report.seconds
    both = ~np.isnan(margins_before) & ~np.isnan(margins_after)  # the examples stand in the same order
    mine, weighted = margins_before[both], margins_after[both]
    if euclidean and ((mine > 0).sum(), -loss(mine)) >= ((weighted > 0).sum(), -loss(weighted)):
        weights = {name: float(name == euclidean) for name in distance.weights_}
        report = replace(before.report, weights=weights, scores=scores, seconds=seconds)
        return SearchResult(before.settings.with_values(distances=tuner.pair_with(alone)), report)
    return replace(after, report=replace(after.report, scaling=fitted, scores=scores, seconds=seconds))
