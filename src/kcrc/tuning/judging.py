"""What a setting makes of trials: the margin by which the true class won or lost each of them.

A margin is log(best other residual) − log(the true class's residual): above 0 is a right answer. ∞ where all
neighbours share the true class, −∞ where the true class is not in the dictionary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kcrc import evidence as ev
from kcrc._fused.native import native
from kcrc.coding.base import Coder, Dictionary, Target
from kcrc.prepared import Array
from kcrc.projections.base import Projection
from kcrc.tuning.trials import Trials

DECISIONS = ("ratio", "residual")


def kernel_of(trials: Trials, gamma: float | None) -> tuple[Array, Array, Array]:
    """G (B, W, W), k (B, W) and k(y, y) (B,): exp(−gamma·Dist), or the dot products where gamma is None."""
    if gamma is None:
        assert trials.dots is not None and trials.dot is not None and trials.self_dot is not None
        return trials.dots, trials.dot, np.asarray(trials.self_dot, np.float64)
    assert trials.cross is not None
    k = np.multiply(trials.cross, -gamma)
    return np.exp(-gamma * squared_among(trials)), np.exp(k, out=k), np.ones(len(k))


def shares_dictionary(trials: Trials) -> bool:
    """Whether the examples were left out together, of one dictionary."""
    inside = trials.dots if trials.among is None else trials.among
    return inside is not None and len(inside) < len(trials.truth)


def squared_among(trials: Trials) -> Array:
    """Dist (B, W, W) inside the dictionaries."""
    if trials.among is not None:
        return trials.among
    assert trials.dots is not None and trials.squares is not None
    among = trials.squares[:, :, None] + trials.squares[:, None, :] - 2.0 * trials.dots
    diagonal = np.arange(among.shape[1])
    among[:, diagonal, diagonal] = 0.0
    return np.maximum(among, 0.0)


def margins(
    trials: Trials,
    gamma: float | None,
    labels: Array,
    sizes: list[int],
    mus: list[float],
    form: str,
    share: float | None = None,
) -> Array:
    """(sizes, mus, 2, B) with the ridge coder: compiled where it can be, else by ``staged_margins``.

    ``labels`` (B, W) stand in for the trials' own: −1 leaves an atom out. Nothing is projected: ``share`` is None.
    """
    if form == "raw":
        form = "rkhs"  # over the vectors themselves the ridge coder works in the linear kernel's own space
    if native is None or shares_dictionary(trials):
        from kcrc.coding.ridge import Ridge

        kernel = kernel_of(trials, gamma)
        return staged_margins(kernel, labels, trials.truth, sizes, mus, form, lambda mu: Ridge(mu=mu), None)
    options: dict[str, Any] = {}
    if gamma is None:
        assert trials.dots is not None and trials.dot is not None and trials.self_dot is not None
        G, k, own = trials.dots, trials.dot, trials.self_dot
    else:
        assert trials.cross is not None
        k, own = trials.cross, np.ones(len(labels))
        if trials.among is not None:
            G, options = trials.among, {"gamma": gamma}
        else:
            assert trials.dots is not None and trials.squares is not None
            G, options = trials.dots, {"gamma": gamma, "squares": np.ascontiguousarray(trials.squares)}
    return np.asarray(
        native.judge(
            np.ascontiguousarray(G),
            np.ascontiguousarray(k),
            np.asarray(own, np.float64),
            np.ascontiguousarray(labels),
            trials.truth,
            np.asarray(sizes, np.int32),
            np.asarray(mus, np.float64),
            form == "gram",
            **options,
        )
    )


def staged_margins(
    kernel: tuple[Array, Array, Array],
    labels: Array,
    truth: Array,
    sizes: list[int],
    mus: list[float],
    form: str,
    coder_of: Callable[[float], Coder],
    projection: Projection | None,
    seed: int = 0,
    vectors: tuple[Array, Array] | None = None,
) -> Array:
    """The same for any coder and projection, by the stages of the pipeline: the readable reference.

    ``vectors`` (B, d) and (B, W, d) are the queries and atoms themselves, for the raw form. Where the trials share a
    dictionary, G (1, W, W) and the atoms (1, W, d), no atom may be left out.
    """
    G_all, k_all, self_value = kernel
    everyone = np.arange(len(truth))
    out = np.full((len(sizes), len(mus), 2, len(truth)), -np.inf, np.float32)
    n_classes = int(max(labels.max(), truth.max())) + 1
    for s, size in enumerate(sizes):
        classes = labels[: len(G_all), :size]
        real = classes >= 0
        G = np.where(real[:, :, None] & real[:, None, :], G_all[:, :size, :size], 0.0).astype(np.float64)
        k = np.where(real, k_all[:, :size], 0.0).astype(np.float64)
        if form == "raw":
            assert vectors is not None
            dictionary, target = _posed_raw(vectors[0], vectors[1][:, :size], real)
        else:
            dictionary, target = _posed(G, k, self_value, classes, real, form, projection, seed)
        present = np.zeros((len(classes), n_classes + 1), bool)
        np.put_along_axis(present, classes.astype(np.intp), True, axis=1)
        alone = present[:, :n_classes].sum(axis=1) == 1
        has_truth = present[everyone if len(present) > 1 else 0, truth]
        for u, mu in enumerate(mus):
            coder = coder_of(mu)
            code = coder.solve(coder.factorise(dictionary), target)
            contributed = ev.contributions(dictionary, target, code, classes)
            for d, decision in enumerate(DECISIONS):
                residuals = ev.class_residuals(contributed, code, target, classes, n_classes, decision)
                own = residuals[everyone, truth].copy()
                residuals[everyone, truth] = np.inf
                other = residuals.min(axis=1)
                tiny = 1e-6 * np.sqrt(np.maximum(target.energy, np.finfo(np.float64).tiny))
                with np.errstate(divide="ignore", invalid="ignore"):
                    margin = np.log(np.maximum(other, tiny)) - np.log(np.maximum(own, tiny))
                margin = np.where(np.isfinite(own), margin, -np.inf)
                margin = np.where(alone, np.where(has_truth, np.inf, -np.inf), margin)
                out[s, u, d] = np.where(has_truth, margin, -np.inf)
    return out


def _posed(
    G: Array,
    k: Array,
    self_value: Array,
    classes: Array,
    real: Array,
    form: str,
    projection: Projection | None,
    seed: int,
) -> tuple[Dictionary, Target]:
    """Dictionary and target of a kernel in one of the two forms, columns of unit length."""
    if form == "gram":
        psi = None if projection is None else projection.matrix(G, classes, real, np.random.default_rng(seed))
        columns = G if psi is None else psi.transpose(0, 2, 1) @ G
        y = k if psi is None else _correlations(k, psi)
        norms = np.sqrt(np.einsum("bck,bck->bk", columns, columns))
        columns = columns * np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)[:, None, :]
        dictionary = Dictionary(columns.transpose(0, 2, 1) @ columns, columns, real)
        return dictionary, Target(_correlations(y, columns), np.einsum("bc,bc->b", y, y), y)
    norms = np.sqrt(np.maximum(np.einsum("bkk->bk", G), 0.0))
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    return Dictionary(G * scale[:, :, None] * scale[:, None, :], None, real), Target(k * scale, self_value, None)


def _posed_raw(y: Array, atoms: Array, real: Array) -> tuple[Dictionary, Target]:
    """D = the atoms as columns of unit length."""
    norms = np.sqrt(np.einsum("bkd,bkd->bk", atoms, atoms))
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=real & (norms > 0))
    columns = (atoms * scale[:, :, None]).transpose(0, 2, 1).astype(np.float64)
    y = y.astype(np.float64)
    dictionary = Dictionary(columns.transpose(0, 2, 1) @ columns, columns, real)
    return dictionary, Target(_correlations(y, columns), np.einsum("bc,bc->b", y, y), y)


def _correlations(y: Array, columns: Array) -> Array:
    """Dᵀy (B, K) of y (B, c) with columns (1|B, c, K)."""
    return np.asarray(y @ columns[0] if len(columns) == 1 else np.einsum("bc,bck->bk", y, columns))
