"""The stored examples' own answers, each asked as if it were not stored: what confidence and audit rest on.

An answer is the evidence the classifier would give for the example if it, its exact duplicates and its group had
never been stored; the metric forgets it too (``kcrc.tuning.left_out.exclusion``). Where the metric is fitted with
labels but the distance or kernel does not follow from dot products, the example stays in the covariance: its answer
is then a little too good.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from kcrc._base.arrays import Array, widen
from kcrc._base.few_examples import FEWEST
from kcrc._base.parallel import over_chunks, worker_count
from kcrc.method import pipeline
from kcrc.method.coding.base import Dictionary, Target
from kcrc.method.evidence import Evidence, join_evidence, open_set_features
from kcrc.method.fitted_model import RAW, FittedModel
from kcrc.method.kernels import Linear, VectorKernel
from kcrc.method.neighbours.base import Neighbourhood
from kcrc.method.preparation import Samples
from kcrc.tuning.left_out.dictionaries import neighbours_without
from kcrc.tuning.left_out.exclusion import Exclusion, Removed, TrialKernel, profile_of
from kcrc.tuning.left_out.sample import stratified_by_row
from kcrc.tuning.left_out.surroundings import MICROSECOND, STORED
from kcrc.tuning.left_out.whole import CodesWithout, Inverse

T = TypeVar("T")

TRIALS = 2000  # asked at most; the error of a 95 % quantile is then half a point
ITERATIVE_TRIALS = 300  # the same for coders that iterate
GLOBAL_TRIALS = 100  # the same for a global dictionary, of which each trial factorises another
ENTRIES = 4_000_000  # residuals kept of them at most, trials × classes
WORK = 5e10  # arithmetic spent on them at most: a few seconds


def answers_without(
    model: FittedModel,
    exclusion: Exclusion,
    which: Array,
    read: Callable[[Evidence, Array], T],
    *,
    code_all: bool = False,
) -> list[T]:
    """``read(evidence, positions)`` for chunks of the examples at ``which``, each asked as if it were not stored;
    ``code_all`` as in ``kcrc.method.pipeline.classify``."""
    groups = exclusion.groups_of(model)
    at_once = CodesWithout.of(model, groups)
    products = None
    many = 8 * len(which) * _width(model) ** 2 >= len(model) ** 2  # else the pairs that are needed cost less
    if many and exclusion.correction(model, which[:1]) is not None and _keeps_products(model):
        vectors = widen(model.vectors)
        products = vectors @ vectors.T

    def piece(part: slice) -> T:
        some = which[part]
        kept = {key: store.content.take(some) for key, store in model.stores.items() if key != RAW}
        queries = Samples(widen(model.vectors[some]), kept)
        removed = exclusion.correction(model, some)
        near = neighbours_without(model, some, groups, queries, removed)
        if at_once is None and removed is None:  # a question like any other
            return read(pipeline.among(model, queries, near, code_all=code_all), some)
        if at_once is not None:
            problem_of = pipeline.local_problems(model, queries, near)
            agreed = pipeline.local_problems(model, queries, near, wide=True)
            verdict = pipeline.decide(model, near, problem_of, partial(at_once.fill, model, some, near))
        else:
            assert removed is not None
            problem_of = agreed = _pose_problems(model, queries, near, removed, products)
            verdict = pipeline.decide(model, near, problem_of)
        if code_all:
            pipeline.code_agreed(model, verdict, agreed)
        return read(verdict, some)

    return over_chunks(piece, len(which), _chunk(model, len(which)), model.method.n_jobs)


def answers_of_folds(
    model: FittedModel, folds: Array, which: Array, read: Callable[[Evidence, Array], T]
) -> list[tuple[Array, T]]:
    """The positions of ``which`` in each fold (n,) and ``read`` of their evidence, from all examples but the fold, of
    which the scaling is learned again: a covariance that knew the others of a fold would tell them from what is left
    of their classes."""
    found = []
    for fold in np.unique(folds[which]):
        asked, rest = which[folds[which] == fold], np.flatnonzero(folds != fold)
        raw = widen(model.raw[rest])
        scaling = model.method.scaling.fit(raw, model.labels[rest])
        method = replace(model.method, scaling=scaling)
        less = FittedModel.build(method, model.raw[rest], model.classes, model.labels[rest], model.ids[rest])
        parts = pipeline.answer(less, scaling.transform(widen(model.raw[asked])), lambda e: e, explain=True)
        found.append((asked, read(join_evidence(parts), asked)))
    return found


def _pose_problems(
    model: FittedModel, queries: Samples, near: Neighbourhood, removed: Removed, products: Array | None
) -> Callable[[Array], tuple[Dictionary, Target]]:
    """The local problems of examples, each in the geometry without it."""
    base, form = _dot_kernel(model), model.method.space.of_kernel
    assert base is not None

    def problem_of(open_: Array) -> tuple[Dictionary, Target]:
        rows = near.rows[open_]
        own = TrialKernel(base, removed.take(open_), products)
        known = replace(model, method=replace(model.method, kernel=own))
        basis = form.basis(known, rows)
        return basis.dictionary, form.target(known, basis, queries.take(open_), rows)

    return problem_of


def _dot_kernel(model: FittedModel) -> VectorKernel | None:
    """The kernel as a function of dot products; None where the problem does not follow from them alone."""
    method = model.method
    if method.space.of_vectors:
        return None if method.coder.needs_columns else Linear()  # the same problem
    return profile_of(method.kernel)


def _keeps_products(model: FittedModel) -> bool:
    return len(model) <= STORED and 8 * len(model) ** 2 <= model.method.memory_budget // 4


def _width(model: FittedModel) -> int:
    """The largest local dictionary."""
    method, n = model.method, len(model)
    if method.n_neighbors is None:
        return n
    if method.locality == "classes":
        return min(n, method.n_neighbors * int(np.bincount(model.labels).max()))
    return min(n, method.n_neighbors * len(method.distance.components))


def _chunk(model: FittedModel, n_trials: int) -> int:
    n, k, d = len(model), _width(model), model.vectors.shape[1]
    per_trial = 8 * n + 3 * k * d + 8 * k * k + 2 * len(model.classes)
    workers = worker_count(model.method.n_jobs)
    affordable = int(model.method.memory_budget // (8 * per_trial * workers))
    return max(1, min(affordable, -(-n_trials // workers), 256))


def affordable_trials(model: FittedModel) -> int:
    """How many examples are asked: so many that it costs seconds, and the same number on every machine."""
    k, n, d = float(_width(model)), len(model), model.vectors.shape[1]
    explicit = model.method.space.has_columns
    pair = 60 if _dot_kernel(model) is not None and _keeps_products(model) else d + 60
    work = ((3 if explicit else 1) + model.method.projection.cost) * k**3 + k * k * pair + 0.1 * n * d + 1e5
    cost = model.method.distance.cost  # µs a pair
    if cost * n * n > 1e7:  # all pairs would take longer than seconds: count those that a trial needs
        work += MICROSECOND * cost * ((model.method.n_candidates or n) + k * k / 2)
    most = TRIALS
    work *= model.method.coder.effort
    if model.method.coder.iterates:
        most = ITERATIVE_TRIALS
    if Inverse.of(model) is not None:  # no trial factorises anything
        return min(n, most, max(FEWEST, ENTRIES // len(model.classes)))
    if model.method.n_neighbors is None:
        most = min(most, GLOBAL_TRIALS)
    most = min(most, max(FEWEST, ENTRIES // len(model.classes)))
    return min(n, most, int(WORK / work))


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The answers to B stored examples, each asked as if it were not stored.

    rows       (B,)    the examples' row numbers
    truth      (B,)    the number of their class
    winner     (B,)    the class answered
    residuals  (B, C)  as in Evidence
    how        (B,)    as in Evidence
    signs      (B, 4)  what may give a stranger away; see ``kcrc.confidence.open_set``
    reach      (B,)    how far the farthest of its dictionary is: what comes or goes farther away changes no answer.
                       ∞ where any change may (a global dictionary, whole classes, one that took all there was)
    """

    rows: Array
    truth: Array
    winner: Array
    residuals: Array
    how: Array
    signs: Array
    reach: Array | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def right(self) -> Array:
        """(B,) whether the answer is the stored label."""
        return np.asarray(self.winner == self.truth)

    @classmethod
    def of(
        cls,
        model: FittedModel,
        exclusion: Exclusion,
        *,
        at_most: int = TRIALS,
        without_classes: bool = False,
        before: tuple[LeftOut, FittedModel] | None = None,
    ) -> LeftOut | None:
        """Of a stratified sample; None where nothing can be learned (too few examples) or it would cost too much.

        ``without_classes``: each is asked without its whole class, as a stranger. ``before`` are the answers of an
        earlier model of the same method: those that no example which came or went since touches are taken from it.
        """
        exclusion = exclusion.with_groups(model, model.labels) if without_classes else exclusion.with_folds(model)
        groups = exclusion.groups_of(model)
        eligible = np.bincount(groups)[groups] < len(model)
        order = stratified_by_row(model.labels, model.ids, seed=model.method.seed, eligible=eligible)
        order = order[: min(at_most, affordable_trials(model))]
        if len(order) < FEWEST:
            return None
        kept = None if before is None else _unchanged_answers(*before, model, order, without_classes)
        if kept is None:
            return cls._compute(model, exclusion, order).among(model.ids[order])
        new = ~np.isin(model.ids[order], kept.rows)
        if not new.any():
            return kept.among(model.ids[order])
        computed = cls._compute(model, exclusion, order[new])
        both = (np.concatenate([getattr(kept, name), getattr(computed, name)]) for name in cls.__dataclass_fields__)
        return cls(*both).among(model.ids[order])

    @classmethod
    def _compute(cls, model: FittedModel, exclusion: Exclusion, order: Array) -> LeftOut:
        def summary(evidence: Evidence, which: Array) -> tuple[Array, ...]:
            return (
                evidence.winner,
                evidence.residuals,
                evidence.how,
                open_set_features(evidence),
                _reach(model, evidence),
            )

        if exclusion.in_folds and exclusion.correction(model, order[:1]) is not None:
            found = answers_of_folds(model, exclusion.groups_of(model), order, summary)
            order, parts = np.concatenate([asked for asked, _ in found]), [answers for _, answers in found]
        else:
            parts = answers_without(model, exclusion, order, summary)
        return cls(model.ids[order], model.labels[order], *(np.concatenate(part) for part in zip(*parts, strict=True)))

    def among(self, rows: Array) -> LeftOut:
        """The answers to the examples with these row numbers, in this order."""
        by_row = np.argsort(self.rows)
        at = by_row[np.searchsorted(self.rows, rows, sorter=by_row)]
        known = {name: part[at] for name, part in vars(self).items() if part is not None}  # early files have no reach
        return LeftOut(**known)


def _reach(model: FittedModel, evidence: Evidence) -> Array:
    method = model.method
    real = evidence.rows >= 0
    local = method.n_neighbors is not None and method.locality == "atoms" and method.n_candidates is None
    if not local or len(method.distance.components) > 1:
        return np.full(len(evidence), np.inf)
    farthest = np.where(real, evidence.distances, 0.0).max(axis=1)
    return np.where(real.sum(axis=1) >= (method.n_neighbors or 0), farthest, np.inf)


def _unchanged_answers(
    old: LeftOut, earlier: FittedModel, model: FittedModel, order: Array, without_classes: bool
) -> LeftOut | None:
    """Those of the old answers, as answers of ``model`` now, that nothing which came, went or got another class since
    lies near enough to change; None where none are."""
    if old.reach is None or earlier.method is not model.method or old.residuals.shape[1] != len(earlier.classes):
        return None
    came, went = ~np.isin(model.ids, earlier.ids), ~np.isin(earlier.ids, model.ids)
    _, now, then = np.intersect1d(model.ids, earlier.ids, assume_unique=True, return_indices=True)
    moved = model.classes[model.labels[now]] != earlier.classes[earlier.labels[then]]
    came[now[moved]] = went[then[moved]] = True  # as if it had gone and come again
    at = np.searchsorted(earlier.ids, old.rows)
    still = np.isin(old.rows, model.ids[order]) & np.isfinite(old.reach)
    position = np.minimum(np.searchsorted(model.ids, old.rows), len(model) - 1)
    number = np.minimum(np.searchsorted(model.classes, earlier.classes), len(model.classes) - 1)
    relabel = np.where(model.classes[number] == earlier.classes, number, -1)
    still &= (relabel[old.truth] == model.labels[position]) & (relabel[old.winner] >= 0)
    fine = model.method.distance
    for source, changed in ((earlier, went), (model, came)):
        where = np.flatnonzero(changed)
        if not len(where) or not still.any():
            continue
        near = fine.pairwise(earlier.examples(fine).take(at[still]), source.examples(fine).take(where))
        reach = old.reach[still] * (1.0 + 1e-6)  # what is measured otherwise is off by rounding
        within = near <= reach[:, None]
        if without_classes:  # its own class left with it, however near
            theirs = relabel[source.labels[where]] if source is earlier else source.labels[where]
            within &= theirs[None, :] != relabel[old.truth[still]][:, None]
        still[np.flatnonzero(still)[within.any(axis=1)]] = False
    if not still.any():
        return None
    residuals = np.full((int(still.sum()), len(model.classes)), np.inf)
    known = relabel >= 0
    residuals[:, relabel[known]] = old.residuals[still][:, known]
    kept = old.rows[still], relabel[old.truth[still]], relabel[old.winner[still]], residuals
    return LeftOut(*kept, old.how[still], old.signs[still], old.reach[still])
