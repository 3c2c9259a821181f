"""How candidates are scored: the margin by which the true class won or lost the answer to each left-out example.

A margin is log(best other residual) − log(the true class's residual): above 0 the answer is right. It is ∞ where all
neighbours are of the true class, or nothing was coded and the nearest is of it; −∞ where the true class is not in the
dictionary or has no part in the code, or where the kernel overflows, for which there is no answer. A tie is not a right
answer: the class that sorts first would win it.

The local problems are the model's own: those of ``kcrc.method.local_problem``, or compiled, which is tested to be the
same. They are solved in single precision where the search is and the penalty allows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method import decisions, local_problem, projections
from kcrc.method.coding.base import Coder
from kcrc.method.coding.ridge import Ridge
from kcrc.method.kernels import exp_of
from kcrc.method.local_problem import Numbers, error_in_single
from kcrc.method.projections.base import Identity, Projection
from kcrc.native import native
from kcrc.tuning import constants
from kcrc.tuning.left_out.trials import Trials
from kcrc.tuning.settings import MethodSettings, is_open

DECISIONS = ("ratio", "residual")
"""The rules that are searched: the compiled scorer gives the margins of both from one solution."""


@dataclass(frozen=True, eq=False)
class MarginScorer:
    """What gives the margins of candidates, and what that costs.

    score       (trials, gamma, labels, sizes, mus, form, share) -> margins (sizes, mus, decisions, B)
    effort      how much dearer that is than the compiled ridge
    iterates    whether the coder does
    projecting  the cost of the projection, over K³
    decisions   the rules that margins are of, in this order
    """

    score: Callable[..., Array]
    effort: float = 1.0
    iterates: bool = False
    projecting: float = 0.0
    decisions: tuple[str, ...] = DECISIONS

    @classmethod
    def of(cls, settings: MethodSettings) -> MarginScorer:
        """The compiled ridge where the settings ask for that, else the stages with their coder and projection."""
        projection = projections.resolve(settings.member.projection)
        coder, decision = settings.coder_with(0.01), settings.member.decision
        rules = DECISIONS if is_open(decision) or decisions.resolve(decision).compiled else (decision,)
        if settings.coder == "ridge" and projection.identity and rules == DECISIONS:
            return cls(partial(score_margins, normalize=settings.normalize_columns))
        normalize = settings.normalize_columns

        def score(
            trials: Trials,
            gamma: float | None,
            labels: Array,
            sizes: list[int],
            mus: list[float],
            form: str,
            share: float | None = None,
        ) -> Array:
            if form == "raw" and not coder.needs_columns:
                form = "rkhs"  # the same problem, in the linear kernel's own space
            width = int(np.max(np.where(labels >= 0, np.arange(1, labels.shape[1] + 1), 1)))
            if any(needs_double(width, mu, normalize) for mu in mus):
                trials = trials.in_double(width)
            made, own = settings.coder_with, with_share(projection, share)
            some = labels[:, :width]
            return staged_margins(
                trials, gamma, some, sizes, mus, form, made, own, settings.seed, normalize=normalize, rules=rules
            )

        effort = 1.0 if settings.global_dictionary and not coder.iterates else constants.STAGED_EFFORT
        return cls(score, effort, coder.iterates, projection.cost, rules)


def posing_cost(k: float, form: str, projecting: float = 0.0) -> float:
    """Operations to pose a local problem of k atoms, roughly; ``projecting``: the cost of the projection over k³."""
    return k * k * (constants.POSING_PAIR + (k if form == "gram" else 0.0) + projecting * k)


def solving_cost(k: float) -> float:
    """Operations to solve it with one penalty, roughly."""
    return k**3 / 3 + constants.SOLVING_PAIR * k * k + constants.SOLVING_PROBLEM


def kernel_of(trials: Trials, gamma: float | None) -> tuple[Array, Array, Array]:
    """G (B, W, W), k (B, W) and k(y, y) (B,): exp(−gamma·Dist), or the dot products where gamma is None."""
    if gamma is None:
        assert trials.dots is not None and trials.dot is not None and trials.self_dot is not None
        return trials.dots, trials.dot, np.asarray(trials.self_dot, np.float64)
    assert trials.cross is not None
    k = exp_of(trials.cross.copy(), gamma)
    return exp_of(squared_among(trials).copy(), gamma), k, np.ones(len(k))


def shares_dictionary(trials: Trials) -> bool:
    """Whether the examples were left out together, of one dictionary."""
    return len(trials.inside) < len(trials.truth)


def nearest_atom(trials: Trials, labels: Array) -> Array:
    """(B,) the place of the nearest atom: the first that is real, but in a dictionary that is shared."""
    if shares_dictionary(trials):
        assert trials.cross is not None
        return np.asarray(trials.cross.argmin(axis=1))
    return np.asarray((labels >= 0).argmax(axis=1))


def needs_double(atoms: int, mu: float, normalize: bool) -> bool:
    """Whether a penalty is so small for a dictionary of so many atoms that single precision would answer at random."""
    return error_in_single(atoms, mu, normalize=normalize) > constants.SINGLE_PRECISION


def squared_among(trials: Trials) -> Array:
    """Dist (B, W, W) inside the dictionaries."""
    if trials.among is not None:
        return trials.among
    assert trials.dots is not None and trials.squares is not None
    among = trials.squares[:, :, None] + trials.squares[:, None, :] - 2.0 * trials.dots
    diagonal = np.arange(among.shape[1])
    among[:, diagonal, diagonal] = 0.0
    return np.maximum(among, 0.0)


def score_margins(
    trials: Trials,
    gamma: float | None,
    labels: Array,
    sizes: list[int],
    mus: list[float],
    form: str,
    share: float | None = None,
    *,
    normalize: bool = True,
) -> Array:
    """(sizes, mus, 2, B) with the ridge coder: compiled where it can be, else by ``staged_margins``.

    ``labels`` (B, W) stand in for the trials' own: −1 leaves an atom out. Nothing is projected: ``share`` is None.
    """
    if form == "raw":
        form = "rkhs"  # over the vectors themselves the ridge coder works in the linear kernel's own space
    atoms = min(max(sizes), labels.shape[1])
    wide = [needs_double(atoms, mu, normalize) for mu in mus]
    if native is None or shares_dictionary(trials):
        posed = trials.in_double(atoms) if any(wide) else trials
        return staged_margins(posed, gamma, labels, sizes, mus, form, normalize=normalize)
    out = np.empty((len(sizes), len(mus), 2, len(labels)), np.float32)
    for double in (False, True):
        some = [u for u, each in enumerate(wide) if each == double]
        if some:
            posed = trials.in_double(atoms) if double else trials
            classes = labels[:, : posed.labels.shape[1]]
            out[:, some] = _native_margins(posed, gamma, classes, sizes, [mus[u] for u in some], form, normalize)
    unsolved = np.isnan(out)
    if gamma is None:
        assert trials.dot is not None
        unsolved |= ~(_within_range(trials.dot[:, :atoms]) | (labels[:, :atoms] < 0)).all(axis=1)
    left = np.flatnonzero(unsolved.any(axis=(0, 1, 2)))
    if len(left):  # H + μI has no Cholesky factor, or the kernel overflows: the stages then do what the model does
        posed = trials.in_double(atoms).take(left)
        again = staged_margins(posed, gamma, labels[left, :atoms], sizes, mus, form, normalize=normalize)
        out[..., left] = np.where(unsolved[..., left], again, out[..., left])
    return out


def _native_margins(
    trials: Trials, gamma: float | None, labels: Array, sizes: list[int], mus: list[float], form: str, normalize: bool
) -> Array:
    """NaN where there is no Cholesky factor."""
    assert native is not None
    options: dict[str, Any] = {} if normalize else {"normalize": False}
    if gamma is None:
        assert trials.dots is not None and trials.dot is not None and trials.self_dot is not None
        G, k, own = trials.dots, trials.dot, trials.self_dot
    else:
        assert trials.cross is not None
        G, k, own = trials.inside, trials.cross, np.ones(len(labels))
        options["gamma"] = gamma
        if trials.among is None:
            assert trials.squares is not None
            options["squares"] = np.ascontiguousarray(trials.squares)
    return np.asarray(
        native.judge(
            np.ascontiguousarray(G),
            np.ascontiguousarray(k),
            np.ascontiguousarray(own, np.float64),
            np.ascontiguousarray(labels, np.int32),
            np.ascontiguousarray(trials.truth, np.int32),
            np.asarray(sizes, np.int32),
            np.asarray(mus, np.float64),
            form == "gram",
            **options,
        )
    )


def staged_margins(
    trials: Trials,
    gamma: float | None,
    labels: Array,
    sizes: list[int],
    mus: list[float],
    form: str,
    coder_with: Callable[[float], Coder] = lambda mu: Ridge(mu=mu),
    projection: Projection | None = None,
    seed: int = 0,
    *,
    normalize: bool = True,
    rules: tuple[str, ...] = DECISIONS,
) -> Array:
    """(sizes, mus, rules, B) for any coder, projection and rules, by the stages of the pipeline: the readable way.

    Where the trials share a dictionary, no atom may be left out.
    """
    G, k, own_value = kernel_of(trials, gamma)
    truth, width = trials.truth, labels.shape[1]
    G, k = G[:, :width, :width], k[:, :width]
    space = local_problem.resolve(form, normalize=normalize)
    everyone = np.arange(len(truth))
    decided_by = [decisions.resolve(name) for name in rules]
    out = np.full((len(sizes), len(mus), len(rules), len(truth)), -np.inf, np.float32)
    n_classes, floor = int(max(labels.max(), truth.max())) + 1, constants.FLOOR
    for s, size in enumerate(sizes):
        classes = labels[: len(G), :size]
        atoms = None if trials.atoms is None else trials.atoms[:, : classes.shape[1]]
        numbers = Numbers(classes, G[:, :size, :size], k[:, :size], own_value, atoms, trials.asked)
        numbers, posed = (numbers, everyone >= 0) if space.of_vectors else _without_overflow(numbers, space)
        dictionary, target = space.problem(numbers, projection or Identity(), seed)
        present = np.zeros((len(classes), n_classes + 1), bool)
        np.put_along_axis(present, classes.astype(np.intp), True, axis=1)
        alone = present[:, :n_classes].sum(axis=1) == 1
        own_line = everyone if len(classes) > 1 else 0
        has_truth = present[own_line, truth] & (posed | alone)
        first = classes[own_line, nearest_atom(trials, classes)]
        for u, mu in enumerate(mus):
            coder = coder_with(mu)
            code = coder.solve(coder.factorise(dictionary), target)
            for d, rule in enumerate(decided_by):
                energy, contributed = rule.explain(dictionary, target, code, classes)
                residuals = rule.residuals(energy, contributed, code.coefficients, classes, n_classes, floor=floor)
                uncoded = ~np.isfinite(residuals.min(axis=1))
                own = residuals[everyone, truth].copy()
                residuals[everyone, truth] = np.inf
                with np.errstate(invalid="ignore"):  # ∞ − ∞: nothing was coded
                    margin = np.log(residuals.min(axis=1)) - np.log(own)
                margin = np.where(np.isfinite(own), margin, -np.inf)
                margin = np.where(uncoded, np.where(first == truth, np.inf, -np.inf), margin)
                margin = np.where(alone, np.where(has_truth, np.inf, -np.inf), margin)
                out[s, u, d] = np.where(has_truth, margin, -np.inf)
    return out


def _without_overflow(numbers: Numbers, space: local_problem.Space) -> tuple[Numbers, Array]:
    """The same with 0 for a kernel that overflows, and which queries (B,) have one that does not."""
    real = numbers.labels >= 0
    inside = np.asarray((_within_range(numbers.gram) | ~(real[:, :, None] & real[:, None, :])).all(axis=(1, 2)))
    posed = np.asarray(inside & (_within_range(numbers.row) | ~real).all(axis=1))
    if not space.has_columns:  # which give ‖y‖² themselves
        posed &= _within_range(numbers.own)
    if posed.all():
        return numbers, posed
    gram = np.where(inside[:, None, None], numbers.gram, 0.0)
    row, own = np.where(posed[:, None], numbers.row, 0.0), np.where(posed, numbers.own, 0.0)
    return replace(numbers, gram=gram, row=row, own=own), posed


def _within_range(values: Array) -> Array:
    """Which values of a kernel can be computed with in double precision."""
    return np.asarray(np.abs(values) <= np.float64(local_problem.KERNELS["float64"]))


def with_share(projection: Projection, share: float | None) -> Projection:
    """The projection on this share of the most dimensions there can be; as it is where that was not searched."""
    return projection if share is None else projection.with_components(share)
