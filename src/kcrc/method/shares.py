"""Each stored example's share in an answer, for it or against it: without their signs they are 100 %
together.

An answer is the winner w against its runner-up r, judged by r_w < r_r. In the paper's symbols (y the query, D the
dictionary, x the code, Dᵢ and xᵢ its parts of class i), with the contributions c_j of ``kcrc.method.evidence``,
example j of class i weighs

    d_j = c_j                                           decision "residual", r_i = ‖y − Dᵢxᵢ‖
    d_j = c_j / ‖xᵢ‖² + ‖y‖² x_j² / (‖x_w‖² ‖x_r‖²)     decision "ratio",    r_i = ‖y − Dᵢxᵢ‖ / ‖xᵢ‖

with the sign turned in class r, and 0 in classes that are neither. Under both rules Σ d_j = r_r² − r_w²: the weights
add up to the lead of the winner over the runner-up, so they balance exactly where the answer turns. The other decisions
of ``kcrc.decisions`` go by the first formula, or by the second where they divide by ‖xᵢ‖, with contributions of their
own; those of "sum" add up to log r_r − log r_w. The share of j is

    s_j = d_j / Σ |d_l|,    above 0 for the answer, below 0 against it, Σ |s_j| = 1.

Without a runner-up (all neighbours agree) d_j = c_j: what j explains of the query. Where nothing was coded all
neighbours have the same share, and where nothing resembles the query the nearest one has all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method import decisions

if TYPE_CHECKING:
    from kcrc.method.evidence import Evidence


def shares(evidence: Evidence, rival: Array, *, nearest: Array) -> Array:
    """s_j (B, K) of the winner against the classes ``rival`` (B,), which is the winner itself where there is none;
    ``nearest`` (B,) says where the nearest example alone decided."""
    c, real = evidence.contributions, evidence.rows >= 0
    mine = (evidence.neighbour_labels == evidence.winner[:, None]) & real
    theirs = (evidence.neighbour_labels == rival[:, None]) & real & ~mine
    weight = np.where(mine, c, 0.0) - np.where(theirs, c, 0.0)
    if evidence.decision in decisions.names() and decisions.named(evidence.decision).over_length:
        against = rival != evidence.winner
        weight[against] = _under_ratio(evidence, mine, theirs)[against]
    weight[nearest] = c[nearest]  # 0, but NaN where nobody asked for an explanation
    weight[nearest, 0] += 1.0
    largest = np.abs(weight).max(axis=1, keepdims=True, initial=0.0)
    weight = np.where(largest == 0.0, real, weight / np.where(largest == 0.0, 1.0, largest))
    return np.asarray(weight / np.abs(weight).sum(axis=1, keepdims=True))


def _under_ratio(evidence: Evidence, mine: Array, theirs: Array) -> Array:
    """d_j times ‖x_w‖² ‖x_r‖², of codes whose largest entry is 1."""
    x = np.where(mine | theirs, evidence.coefficients, 0.0)
    largest = np.abs(x).max(axis=1, keepdims=True, initial=0.0)
    squared = (x / np.where(largest > 0, largest, 1.0)) ** 2
    n_mine, n_theirs = (np.where(side, squared, 0.0).sum(axis=1, keepdims=True) for side in (mine, theirs))
    both = evidence.energy[:, None] * squared
    c = evidence.contributions
    return np.asarray(np.where(mine, c * n_theirs + both, 0.0) - np.where(theirs, c * n_mine + both, 0.0))


def sentences(evidence: Evidence, rival: Array, *, how: list[str]) -> list[str]:
    """What the shares of each answer against ``rival`` mean, in plain words."""
    counts = (evidence.rows >= 0).sum(axis=1)
    known = zip(evidence.labels, evidence.classes[rival], how, counts, evidence.support, strict=True)
    return [_sentence(str(answer), str(other), way, count, support) for answer, other, way, count, support in known]


def _sentence(answer: str, rival: str, how: str, count: int, support: float) -> str:
    if how == "nearest":
        return "Nothing stored resembles the query: the nearest example alone decided."
    if rival == answer:
        return (
            f"No other class than {answer} had a part in it. A share is what one of the {count} examples explains of "
            "the query; without their signs they are 100 % together."
        )
    return (
        f"{answer} against {rival}: {support:.1%} speaks for {answer}, {1 - support:.1%} against it; at half the "
        "answer would turn. Without their signs all shares add up to 100 %; examples of other classes have none."
    )


def together(some: Array) -> str:
    """What the shares of several examples come to."""
    return f"{np.maximum(some, 0.0).sum():.1%} for the answer, {np.maximum(-some, 0.0).sum():.1%} against it"
