"""The straight line from queries to evidence: the only place that knows the order of the stages.

queries -> coarse neighbours -> fine distances -> unanimous? -> local problem -> code -> class residuals -> Evidence
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.parallel import chunk_after_chunk, over_chunks, worker_count
from kcrc.errors import DataError
from kcrc.method import decisions
from kcrc.method import evidence as ev
from kcrc.method.coding.base import Code, Dictionary, Target
from kcrc.method.compiled_plan import plan, single
from kcrc.method.evidence import Evidence
from kcrc.method.fitted_model import FittedModel
from kcrc.method.neighbours.base import Neighbourhood
from kcrc.method.neighbours.exact import BLOCK
from kcrc.method.neighbours.refine import refine, whole_classes
from kcrc.method.preparation import Samples

T = TypeVar("T")
Problems = Callable[[Array], tuple[Dictionary, Target]]
"""Gives the local problems of the queries with these numbers."""

WAITING = 4096  # examples that wait for a query of the compiled scan at the most: MOST_WAITING in search.cpp
LEAST_ROOM = 5  # an index takes at most the rest of the budget: a fifth is left for queries


def answer(
    model: FittedModel, X: Array, read: Callable[[Evidence], T], *, explain: bool = False, code_all: bool = False
) -> list[T]:
    """``read`` of the evidence of each chunk of queries, in order. The rest of the evidence is let go, so that
    labels for a million queries need the memory of one chunk."""
    if len(X) == 1 and plan(model) is not None:  # nothing to share out, and no BLAS in it to hold back
        return [read(classify(model, X, explain=explain, code_all=code_all))]
    share_out = chunk_after_chunk if _by_products(model) else over_chunks
    return share_out(
        lambda piece: read(classify(model, X[piece], explain=explain, code_all=code_all)),
        len(X),
        chunk_size(model, len(X), staged=code_all),
        model.method.n_jobs,
    )


def _by_products(model: FittedModel) -> bool:
    """Whether a batch is answered by large matrix products: a global dictionary, and a coder that does not iterate."""
    return model.method.n_neighbors is None and not model.method.coder.iterates


def classify(
    model: FittedModel, X: Array, *, explain: bool = True, compiled: bool = True, code_all: bool = False
) -> Evidence:
    """The evidence for one chunk of queries (B, d) that are scaled already.

    Without ``explain`` a global dictionary is left in the order it is stored, its distances and contributions NaN:
    the residuals do not need them. Without ``compiled`` every stage is the readable one. ``code_all`` codes queries
    whose neighbours agree too, to say who had which part; answer, residuals and ``how`` stay those of the agreement.
    """
    if len(X) == 1 and compiled and plan(model) is not None and (alone := single(model)) is not None:
        verdict = alone(X)
        if verdict is not None and not (code_all and verdict.how[0] == ev.UNANIMOUS):
            return verdict
    queries = Samples(X)
    if model.whole is not None:
        return _over_all(model, queries, explain, code_all)
    return among(model, queries, neighbours(model, queries), compiled=compiled, code_all=code_all)


def among(
    model: FittedModel, queries: Samples, near: Neighbourhood, *, compiled: bool = True, code_all: bool = False
) -> Evidence:
    """The evidence for queries whose neighbours are known; ``compiled`` and ``code_all`` as in ``classify``."""
    fast = plan(model) if compiled else None  # the only gate to the compiled path
    problem_of = local_problems(model, queries, near)
    verdict = decide(model, near, problem_of, None if fast is None else partial(fast, queries, near))
    if code_all:
        code_agreed(model, verdict, local_problems(model, queries, near, wide=True))
    return verdict


def code_agreed(
    model: FittedModel, verdict: Evidence, problem_of: Problems, labels: Array | None = None, state: Any = None
) -> None:
    """Code queries whose neighbours agree too, which changes no answer: to say what each example explains of them.

    Neighbours that agree are often much alike, and then it is rounding that shares out among them what they explain
    together. Only explanations come here, so ``problem_of`` should be in double precision. Queries whose kernel
    overflows stay as they are: they have an answer without it. ``labels`` are the classes of the examples where these
    do not stand in the order of the verdict, ``state`` as in ``_code``."""
    for which, problem in _problems_without_overflow(np.flatnonzero(verdict.how == ev.UNANIMOUS), problem_of):
        mine = verdict.neighbour_labels[which] if labels is None else labels
        _code(model, verdict, which, mine, problem, state)


def _problems_without_overflow(which: Array, problem_of: Problems) -> Iterator[tuple[Array, tuple[Dictionary, Target]]]:
    """The local problems of the queries ``which`` but those that have none, since their kernel overflows."""
    if not len(which):
        return
    try:
        problem = problem_of(which)
    except DataError:
        if len(which) > 1:
            for half in np.array_split(which, 2):
                yield from _problems_without_overflow(half, problem_of)
        return
    yield which, problem


def local_problems(model: FittedModel, queries: Samples, near: Neighbourhood, *, wide: bool = False) -> Problems:
    """What ``decide`` asks for: the local problems of the queries ``which``; ``wide``: in double precision, also where
    single precision will do."""

    def problem_of(which: Array) -> tuple[Dictionary, Target]:
        rows, known, space = near.rows[which], near.distances[which], model.method.space
        basis = space.basis(model, rows, wide=wide)
        return basis.dictionary, space.target(model, basis, queries.take(which), rows, known, wide=wide)

    return problem_of


def decide(
    model: FittedModel,
    near: Neighbourhood,
    problem_of: Problems,
    fast: Callable[[Evidence], Array] | None = None,
) -> Evidence:
    """The evidence for queries whose dictionaries are known; ``problem_of(which)`` gives the local problems of those
    that their neighbours do not settle. ``fast`` fills in what it can and returns the queries it leaves."""
    labels = _of_rows(model.labels, near)
    verdict = _neighbour_evidence(model, near, labels)
    left = np.flatnonzero(~unanimous(labels)) if fast is None else fast(verdict)
    if len(left):
        first = labels[left, 0]
        target, code = _code(model, verdict, left, labels[left], problem_of(left))
        _weigh(model, verdict, left, target, code, labels[left], lambda lost: first[lost])
    return verdict


def neighbours(model: FittedModel, queries: Samples) -> Neighbourhood:
    """The local dictionary of each query (paper, Algorithms 3 and 4)."""
    method = model.method
    assert method.n_neighbors is not None
    fine = method.distance
    if method.locality == "classes":
        assert model.class_means is not None
        to_means = fine.pairwise(queries.of(fine), model.class_means.of(fine))
        to_means[:, np.bincount(model.labels, minlength=len(model.classes)) == 0] = np.inf
        return whole_classes(to_means, model.labels, queries.of(fine), model.examples(fine), fine, method.n_neighbors)
    assert model.index is not None
    if method.n_candidates is None:
        return model.index.query(queries.of(fine), method.n_neighbors)
    coarse = model.index.query(queries.of(method.coarse_distance), max(method.n_candidates, method.n_neighbors))
    for cache in model.pairs.values():
        cache.note_asked(coarse.rows.size)
    return refine(coarse, queries.of(fine), model.examples(fine), fine, method.n_neighbors)


def unanimous(labels: Array) -> Array:
    """(B,) whether all neighbours of a query share a class; ``labels`` (B, K) with −1 for padding."""
    return np.asarray(((labels == labels[:, :1]) | (labels < 0)).all(axis=1))


def _of_rows(values: Array, near: Neighbourhood) -> Array:
    """(B, K) the values of the neighbours, −1 for padding."""
    if near.rows.min(initial=0) >= 0:
        return np.asarray(values[near.rows])
    return np.where(near.real, values[np.maximum(near.rows, 0)], -1)


def _neighbour_evidence(model: FittedModel, near: Neighbourhood, labels: Array) -> Evidence:
    """Evidence as if every query were answered by its neighbours alone; coded ones are filled in after."""
    batch, width = near.rows.shape
    n_classes = len(model.classes)
    residuals = np.full((batch, n_classes), np.inf)
    residuals[np.arange(batch), labels[:, 0]] = 0.0
    return Evidence(
        classes=model.classes,
        decision=model.method.decision,
        winner=labels[:, 0].copy(),
        residuals=residuals,
        energy=np.zeros(batch),
        rows=_of_rows(model.ids, near),
        distances=near.distances,
        neighbour_labels=labels,
        coefficients=np.zeros((batch, width)),
        contributions=np.zeros((batch, width)),
        how=np.full(batch, ev.UNANIMOUS, np.int8),
        converged=np.ones(batch, bool),
        n_iter=np.zeros(batch, np.intp),
        search=model.search,
    )


def _code(
    model: FittedModel,
    verdict: Evidence,
    which: Array,
    labels: Array,
    problem: tuple[Dictionary, Target],
    state: Any = None,
) -> tuple[Target, Code]:
    """Code the queries ``which`` and fill in the verdict's parts of the examples, whose classes are ``labels``;
    ``state`` is the dictionary factorised, where it is already."""
    dictionary, target = problem
    coder = model.method.coder
    code = coder.solve(coder.factorise(dictionary) if state is None else state, target)
    _fill(model, verdict, which, labels, dictionary, target, code)
    return target, code


def _fill(
    model: FittedModel,
    verdict: Evidence,
    which: Array,
    labels: Array,
    dictionary: Dictionary,
    target: Target,
    code: Code,
) -> None:
    """Fill in what the examples, whose classes are ``labels``, had to do with the queries ``which``."""
    energy, contributed = decisions.resolve(model.method.decision).explain(dictionary, target, code, labels)
    verdict.energy[which] = energy
    verdict.coefficients[which] = code.coefficients
    verdict.contributions[which] = contributed
    verdict.converged[which] = code.converged
    verdict.n_iter[which] = code.n_iter


def _weigh(
    model: FittedModel,
    verdict: Evidence,
    which: Array,
    target: Target,
    code: Code,
    labels: Array,
    nearest: Callable[[Array], Array],
) -> None:
    """Give the coded queries ``which`` the class of the smallest residual; ``nearest`` gives the class of the nearest
    example for those of them that nothing could code."""
    residuals = decisions.resolve(model.method.decision).residuals(
        verdict.energy[which], verdict.contributions[which], code.coefficients, labels, len(model.classes)
    )
    winner = residuals.argmin(axis=1)
    # Nothing coded at all (no resemblance to any atom): the nearest example answers, judged by ‖y‖ alone.
    lost = ~np.isfinite(residuals[np.arange(len(winner)), winner]) | (target.energy == 0.0)
    if lost.any():
        winner[lost] = nearest(lost)
        residuals[lost] = np.inf
        residuals[lost, winner[lost]] = np.sqrt(target.energy[lost])
    verdict.winner[which] = winner
    verdict.residuals[which] = residuals
    verdict.how[which] = np.where(lost, ev.NEAREST, ev.CODED)


def _over_all(model: FittedModel, queries: Samples, explain: bool, code_all: bool) -> Evidence:
    """The global dictionary: factorised at fit, the same for every query; nearest example first when explaining."""
    assert model.whole is not None
    alone = len(model.classes) == 1
    if not explain and not alone:
        return _residuals_over_all(model, queries)
    basis, method = model.whole.basis, model.method
    fine = method.distance
    distances = fine.pairwise(queries.of(fine), model.examples(fine))
    order = np.argsort(distances, axis=1, kind="stable")
    distances = np.take_along_axis(distances, order, 1)
    verdict = _neighbour_evidence(model, Neighbourhood(order, distances), model.labels[order])
    if alone and not code_all:
        return verdict
    labels, state = model.labels[None], model.whole.state

    def problem_of(which: Array) -> tuple[Dictionary, Target]:
        return basis.dictionary, method.space.target(model, basis, queries.take(which), None)

    if alone:
        code_agreed(model, verdict, problem_of, labels, state)
    else:
        everyone, first = np.arange(len(queries)), model.labels[order[:, 0]]
        target, code = _code(model, verdict, everyone, labels, problem_of(everyone), state)
        _weigh(model, verdict, everyone, target, code, labels, lambda lost: np.asarray(first[lost]))
    for field in (verdict.coefficients, verdict.contributions):  # stored order -> nearest first
        field[:] = np.take_along_axis(field, order, 1)
    return verdict


def _residuals_over_all(model: FittedModel, queries: Samples) -> Evidence:
    """The same with nothing ordered and no table of contributions: class residuals by blocks, and the label."""
    assert model.whole is not None
    basis, method = model.whole.basis, model.method
    target = method.space.target(model, basis, queries, None)
    code = method.coder.solve(model.whole.state, target)
    n_classes, batch = len(model.classes), len(queries)
    residuals = decisions.resolve(method.decision).over_one(basis.dictionary, target, code, model.labels, n_classes)
    winner = residuals.argmin(axis=1)
    lost = ~np.isfinite(residuals[np.arange(batch), winner]) | (target.energy == 0.0)
    if lost.any():  # nothing coded at all: the nearest example answers, judged by ‖y‖ alone
        fine = method.distance
        far = fine.pairwise(queries.of(fine).take(lost), model.examples(fine))
        winner[lost] = model.labels[far.argmin(axis=1)]
        residuals[lost] = np.inf
        residuals[lost, winner[lost]] = np.sqrt(target.energy[lost])
    shape = (batch, len(model))
    nothing = np.broadcast_to(np.nan, shape)
    return Evidence(
        classes=model.classes,
        decision=model.method.decision,
        winner=winner,
        residuals=residuals,
        energy=target.energy,
        rows=np.broadcast_to(model.ids, shape),
        distances=nothing,
        neighbour_labels=np.broadcast_to(model.labels, shape),
        coefficients=code.coefficients,
        contributions=nothing,
        how=np.where(lost, ev.NEAREST, ev.CODED).astype(np.int8),
        converged=code.converged,
        n_iter=code.n_iter,
    )


def chunk_size(model: FittedModel, n_queries: int, *, staged: bool = False) -> int:
    """Queries per chunk such that all chunks at work stay within the memory budget; ``staged``: also those that do not
    take the compiled path alone."""
    method = model.method
    n, width = len(model), model.vectors.shape[1]
    if method.n_neighbors is None:
        per_query = 10 * n + width
    else:
        k = model.largest_dictionary
        wide = min(n, max(k, method.n_candidates or 0))
        kept = max(model.examples(part).nbytes // max(1, n) for part in method.parts) // 8 + 1
        scanned = model.index is not None and model.index.compiled and method.n_candidates is None
        if plan(model) is not None and scanned and not staged:
            per_query = 4 * width + 8 * k + 2 * len(model.classes) + 2 * max(WAITING, 4 * k)
        else:
            per_query = 4 * min(n, BLOCK) + 3 * wide * max(width, kept) + 6 * k * k + 2 * len(model.classes)
    workers = 1 if _by_products(model) else worker_count(method.n_jobs)
    kept_by_index = 0 if model.index is None else model.index.nbytes
    room = max(method.memory_budget - kept_by_index, method.memory_budget // LEAST_ROOM)
    affordable = int(room // (8 * per_query * workers))
    # Enough chunks to keep every thread busy, none so large that its arrays leave the cache for nothing.
    share = -(-n_queries // workers)
    return max(1, min(affordable, share, 1024))
