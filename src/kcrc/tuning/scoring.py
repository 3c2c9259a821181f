"""What a setting makes of trials: the margin by which the true class won or lost each of them.

A margin is log(best other residual) − log(the true class's residual): above 0 is a right answer. ∞ where all
neighbours share the true class, or nothing was coded and the nearest has it; −∞ where the true class is not in the
dictionary or has no part in the code. A tie is no right answer: the class that sorts first would win it.

The local problems are the model's own: those of ``kcrc.method.local_problem``, or compiled, which is tested to be the
same. They are solved in single precision where the search is and the penalty allows it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method import decisions, local_problem
from kcrc.method.coding.base import Coder
from kcrc.method.coding.ridge import Ridge
from kcrc.method.kernels import exp_of
from kcrc.method.local_problem import Numbers, error_in_single
from kcrc.method.projections.base import Identity, Projection
from kcrc.native import native
from kcrc.tuning.left_out.trials import Trials

DECISIONS = ("ratio", "residual")  # those that are searched: the compiled judge gives both of one solution
SINGLE_TELLS = 0.1  # largest (condition number) × (single precision) with which margins keep their sign
FLOOR = 1e-12  # of ‖y‖²: less left over of a query is nothing, and has a logarithm


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


def nearest_atom(trials: Trials) -> Array:
    """(B,) the place of the nearest atom: the first that is real, but in a dictionary that is shared."""
    if shares_dictionary(trials):
        assert trials.cross is not None
        return np.asarray(trials.cross.argmin(axis=1))
    return np.asarray((trials.labels >= 0).argmax(axis=1))


def needs_double(atoms: int, mu: float, normalize: bool) -> bool:
    """Whether a penalty is so small for a dictionary of so many atoms that single precision would answer at random."""
    return error_in_single(atoms, mu, normalize=normalize) > SINGLE_TELLS


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
        return _staged_ridge(posed, gamma, labels, sizes, mus, form, normalize)
    out = np.empty((len(sizes), len(mus), 2, len(labels)), np.float32)
    for double in (False, True):
        some = [u for u, each in enumerate(wide) if each == double]
        if some:
            posed = trials.in_double(atoms) if double else trials
            classes = labels[:, : posed.labels.shape[1]]
            out[:, some] = _compiled(posed, gamma, classes, sizes, [mus[u] for u in some], form, normalize)
    unsolved = np.isnan(out)
    left = np.flatnonzero(unsolved.any(axis=(0, 1, 2)))
    if len(left):  # H + μI has no Cholesky factor; the stages then do what the model does
        again = _staged_ridge(
            trials.in_double(atoms).take(left), gamma, labels[left, :atoms], sizes, mus, form, normalize
        )
        out[..., left] = np.where(unsolved[..., left], again, out[..., left])
    return out


def _compiled(
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


def _staged_ridge(
    trials: Trials, gamma: float | None, labels: Array, sizes: list[int], mus: list[float], form: str, normalize: bool
) -> Array:
    return staged_margins(
        kernel_of(trials, gamma),
        labels,
        trials.truth,
        sizes,
        mus,
        form,
        lambda mu: Ridge(mu=mu),
        nearest=nearest_atom(trials) if shares_dictionary(trials) else None,
        normalize=normalize,
    )


def staged_margins(
    kernel: tuple[Array, Array, Array],
    labels: Array,
    truth: Array,
    sizes: list[int],
    mus: list[float],
    form: str,
    coder_of: Callable[[float], Coder],
    projection: Projection | None = None,
    seed: int = 0,
    vectors: tuple[Array, Array] | None = None,
    *,
    nearest: Array | None = None,
    normalize: bool = True,
    judged_by: tuple[str, ...] = DECISIONS,
) -> Array:
    """The same for any coder, projection and decision, by the stages of the pipeline: the readable reference.

    ``vectors`` (B, d) and (B, W, d) are the queries and atoms themselves, for the raw form. Where the trials share a
    dictionary, G (1, W, W) and the atoms (1, W, d), no atom may be left out, and ``nearest`` (B,) is the place of the
    nearest atom; else that is the first.
    """
    G, k, own_value = kernel
    space = local_problem.resolve(form, normalize=normalize)
    everyone = np.arange(len(truth))
    rules = [decisions.named(name) for name in judged_by]
    out = np.full((len(sizes), len(mus), len(rules), len(truth)), -np.inf, np.float32)
    n_classes = int(max(labels.max(), truth.max())) + 1
    for s, size in enumerate(sizes):
        classes = labels[: len(G), :size]
        seen, atoms = (None, None) if vectors is None else (vectors[0], vectors[1][:, :size])
        numbers = Numbers(classes, G[:, :size, :size], k[:, :size], own_value, atoms, seen)
        dictionary, target = space.problem(numbers, projection or Identity(), seed)
        present = np.zeros((len(classes), n_classes + 1), bool)
        np.put_along_axis(present, classes.astype(np.intp), True, axis=1)
        alone = present[:, :n_classes].sum(axis=1) == 1
        own_line = everyone if len(classes) > 1 else 0
        has_truth = present[own_line, truth]
        first = classes[own_line, (classes >= 0).argmax(axis=1) if nearest is None else nearest]
        for u, mu in enumerate(mus):
            coder = coder_of(mu)
            code = coder.solve(coder.factorise(dictionary), target)
            for d, rule in enumerate(rules):
                energy, contributed = rule.explain(dictionary, target, code, classes)
                residuals = rule.residuals(energy, contributed, code.coefficients, classes, n_classes, floor=FLOOR)
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
