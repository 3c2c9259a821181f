"""Several experts' answers as one: probabilities multiplied, each to the power of its weight.

    p(c | query) ∝ Π_e p_e(c | query)^{w_e}

with p_e the calibrated probabilities of expert e. The weights have the least log-loss over examples asked as if they
were not stored, held towards equal ones. Fused answers are ``Evidence`` like any other, decision "fusion": the residual
of a class is −log p, and the share of a stored example is the mean of its shares in the experts' answers for the fused
winner against the fused runner-up, by their weights. ``contributions`` are such that these are the ``shares``;
distances are in units of what is usual for each look, the mean over the looks that had the example near.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kcrc._base.arrays import Array
from kcrc.images.looks.expert import Expert
from kcrc.method.evidence import CODED, NEAREST, UNANIMOUS, Evidence, shares

PULL = 0.02  # of the weights towards equal ones, beside the mean log-loss
MOST = 3.0  # a weight


def pooled(logs: Sequence[Array], weights: Sequence[float] | Array) -> Array:
    """(B, C) log-probabilities of all together."""
    total = np.zeros_like(logs[0])
    for log, weight in zip(logs, weights, strict=True):
        total += weight * log
    largest = total.max(axis=1, keepdims=True)
    return np.asarray(total - largest - np.log(np.exp(total - largest).sum(axis=1, keepdims=True)))


def losses(logs: Array, truth: Array) -> Array:
    """(B,) how much each answer doubted the truth: −log p."""
    return np.asarray(-logs[np.arange(len(truth)), truth])


def learned_weights(logs: Sequence[Array], truth: Array) -> Array:
    """(m,) with the least mean log-loss, held towards equal ones."""
    from scipy.optimize import minimize

    count, rows = len(logs), np.arange(len(truth))
    stack = np.stack(logs)
    true = stack[:, rows, truth]  # (m, B)

    def loss(weights: Array) -> tuple[float, Array]:
        together = pooled(logs, weights)
        slope = ((np.exp(together)[None] * stack).sum(axis=2) - true).mean(axis=1)
        apart = weights - 1.0 / count
        return float(-together[rows, truth].mean() + PULL * (apart @ apart)), slope + 2.0 * PULL * apart

    start = np.full(count, 1.0 / count)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, MOST)] * count)
    return np.asarray(found.x)


def fused(experts: Sequence[Expert], parts: Sequence[Evidence], *, explain: bool) -> Evidence:
    """The evidence of one batch from that of each expert; without ``explain`` no examples are named."""
    weights = [expert.weight for expert in experts]
    logs = pooled([e.log_probabilities(part) for e, part in zip(experts, parts, strict=True)], weights)
    residuals = np.maximum(-logs, 0.0)
    batch, winner = len(logs), residuals.argmin(axis=1)
    first = parts[0]
    how = np.where(
        np.all([part.how == NEAREST for part in parts], axis=0),
        NEAREST,
        np.where(
            np.all([(part.how == UNANIMOUS) & (part.winner == winner) for part in parts], axis=0), UNANIMOUS, CODED
        ),
    )
    bare = Evidence(
        classes=first.classes, decision="fusion", winner=winner, residuals=residuals, energy=np.ones(batch),
        rows=np.full((batch, 1), -1, np.intp), distances=np.full((batch, 1), np.inf),
        neighbour_labels=np.full((batch, 1), -1, np.intp), coefficients=np.zeros((batch, 1)),
        contributions=np.zeros((batch, 1)), how=how,
        converged=np.all([part.converged for part in parts], axis=0),
        n_iter=np.max([part.n_iter for part in parts], axis=0),
    )  # fmt: skip
    return _explained(bare, experts, parts) if explain else bare


def _explained(bare: Evidence, experts: Sequence[Expert], parts: Sequence[Evidence]) -> Evidence:
    """With every example that had a part in it, once each, the nearest first."""
    total = sum(expert.weight for expert in experts)
    rival = bare.runner_up
    rows = np.concatenate([part.rows for part in parts], axis=1)
    labels = np.concatenate([part.neighbour_labels for part in parts], axis=1)
    near = np.concatenate([np.asarray(p.distances) / e.reach for e, p in zip(experts, parts, strict=True)], axis=1)
    code = np.concatenate([p.coefficients * (e.weight / total) for e, p in zip(experts, parts, strict=True)], axis=1)
    spoken = [_spoken(part, bare.winner, rival) * (e.weight / total) for e, part in zip(experts, parts, strict=True)]
    share = np.concatenate(spoken, axis=1)
    heavy = np.concatenate([np.full(part.rows.shape, e.weight) for e, part in zip(experts, parts, strict=True)], axis=1)

    order = np.argsort(rows, axis=1, kind="stable")  # the same example stands side by side, padding first
    rows, labels, near, code, share, heavy = (
        np.take_along_axis(each, order, axis=1) for each in (rows, labels, near, code, share, heavy)
    )
    new = np.ones(rows.shape, bool)
    new[:, 1:] = rows[:, 1:] != rows[:, :-1]
    place = np.cumsum(new, axis=1) - 1
    at = (np.arange(len(rows))[:, None], place)
    real = rows >= 0

    def summed(values: Array) -> Array:
        out = np.zeros(rows.shape)
        np.add.at(out, at, np.where(real, values, 0.0))
        return out

    weight = summed(heavy)
    merged_rows = np.full(rows.shape, -1, rows.dtype)
    merged_labels = np.full(rows.shape, -1, labels.dtype)
    merged_rows[at], merged_labels[at] = rows, labels
    distances = np.divide(
        summed(heavy * np.where(real, near, 0.0)), weight, out=np.full(rows.shape, np.inf), where=weight > 0
    )
    nearest = np.argsort(distances, axis=1, kind="stable")[:, : int((weight > 0).sum(axis=1).max(initial=1))]
    merged = [
        np.take_along_axis(each, nearest, axis=1)
        for each in (merged_rows, distances, merged_labels, summed(code), summed(share))
    ]
    theirs = (merged[2] == rival[:, None]) & (rival != bare.winner)[:, None]
    return replace(
        bare, rows=merged[0], distances=merged[1], neighbour_labels=merged[2], coefficients=merged[3],
        contributions=np.where(theirs, -merged[4], merged[4]),
    )  # fmt: skip


def _spoken(part: Evidence, winner: Array, rival: Array) -> Array:
    """(B, K) the shares in one expert's answer for ``winner`` against ``rival``; 0 where it knows neither."""
    real = part.rows >= 0
    known = ((part.neighbour_labels == winner[:, None]) | (part.neighbour_labels == rival[:, None])) & real
    found = shares(replace(part, winner=winner), rival, nearest=np.zeros(len(winner), bool))
    return np.where(known, found, 0.0)
