"""Sparsity augmented collaborative representation, SA-CRC: a dense code and a greedy sparse one, added.

Akhtar, Shafait, Mian: "Efficient classification with sparsity augmented collaborative representation" (Pattern
Recognition 2017):

    x = (p + q) / ‖p + q‖,    p = (H + μI)⁻¹ Dᵀy,    q = orthogonal matching pursuit of y, at most ``n_nonzero`` atoms

Its decision is "sum".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kcrc.arrays import Array
from kcrc.coding.base import Code, Coder, Dictionary, Target, at_least, count, register
from kcrc.coding.ridge import Ridge

NEGLIGIBLE = 1e-9  # of the largest correlation at the start: what is left over has none with any atom


@register("augmented")
@dataclass(frozen=True)
class Augmented(Coder):
    """The ridge's code and that of orthogonal matching pursuit, added and brought to length 1."""

    effort: ClassVar[float] = 20.0

    mu: float = 0.01
    n_nonzero: int = 50

    def __post_init__(self) -> None:
        at_least("mu", self.mu, 0)
        count("n_nonzero", self.n_nonzero, 1)

    def factorise(self, dictionary: Dictionary) -> tuple[Any, Dictionary]:
        return Ridge(mu=self.mu).factorise(dictionary), dictionary

    def solve(self, state: tuple[Any, Dictionary], target: Target) -> Code:
        factors, dictionary = state
        dense = Ridge(mu=self.mu).solve(factors, target).coefficients
        b = target.correlation
        x = np.zeros_like(b)
        for i in range(len(b)):
            own = min(i, len(dictionary.gram) - 1)
            both = dense[i] + pursued(dictionary.gram[own], np.where(dictionary.real[own], b[i], 0.0), self.n_nonzero)
            length = float(np.linalg.norm(both))
            x[i] = both / length if length > 0 else 0.0
        return Code(x, np.ones(len(b), bool), np.ones(len(b), np.intp))


def pursued(H: Array, b: Array, most: int) -> Array:
    """Orthogonal matching pursuit from H = DᵀD and b = Dᵀy: the atom most correlated with what is left over joins,
    all that joined are fitted anew, up to ``most`` of them."""
    x, left = np.zeros(len(b)), np.asarray(b, np.float64)
    lengths = np.sqrt(np.maximum(np.diagonal(H).astype(np.float64), 0.0))
    usable = lengths > 0
    chosen: list[int] = []
    stop = NEGLIGIBLE * float(np.abs(left).max(initial=0.0))
    for _ in range(min(most, int(usable.sum()))):
        score = np.divide(np.abs(left), lengths, out=np.zeros(len(b)), where=usable)
        score[chosen] = 0.0
        best = int(score.argmax())
        if score[best] <= stop:
            break
        chosen.append(best)
        mine, wanted = np.asarray(H[np.ix_(chosen, chosen)], np.float64), np.asarray(b, np.float64)[chosen]
        try:
            fitted = np.linalg.solve(mine, wanted)
        except np.linalg.LinAlgError:  # it is a sum of those that joined before
            fitted = np.linalg.lstsq(mine, wanted, rcond=None)[0]
        left = b - H[:, chosen] @ fitted
        x[:] = 0.0
        x[chosen] = fitted
    return x
