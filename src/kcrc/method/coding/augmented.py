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

from kcrc._base.arrays import Array
from kcrc.method.coding.base import Code, Coder, Dictionary, Target, at_least, count, register
from kcrc.method.coding.ridge import Ridge

# Products of atoms may have been summed in single precision, also where the data are double: tuning does it. So shares
# below about ten roundings are none, in either precision, and both answer alike.
NEGLIGIBLE = 1e-6  # of the largest correlation at the start: what is left over has none with any atom
DEPENDENT = 1e-6  # of an atom's ‖d‖²: what those that joined before leave of it, where it is a sum of them


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
            both = dense[i] + matching_pursuit(
                dictionary.gram[own], np.where(dictionary.real[own], b[i], 0.0), self.n_nonzero
            )
            length = float(np.linalg.norm(both))
            x[i] = both / length if length > 0 else 0.0
        return Code(x, np.ones(len(b), bool), np.ones(len(b), np.intp))


def matching_pursuit(H: Array, b: Array, most: int) -> Array:
    """Orthogonal matching pursuit from H = DᵀD and b = Dᵀy: the atom most correlated with what is left over joins,
    and all that joined are fitted again, up to ``most`` of them. It ends where what is left over is rounding, and at
    an atom that is, but for rounding, a sum of those that joined before."""
    H, b = np.asarray(H, np.float64), np.asarray(b, np.float64)
    x, left = np.zeros(len(b)), b
    squares = np.maximum(np.diagonal(H), 0.0)
    lengths = np.sqrt(squares)
    usable = lengths > 0
    chosen: list[int] = []
    correlations = np.divide(np.abs(b), lengths, out=np.zeros(len(b)), where=usable)
    stop = NEGLIGIBLE * float(correlations.max(initial=0.0))
    for _ in range(min(most, int(usable.sum()))):
        score = np.divide(np.abs(left), lengths, out=np.zeros(len(b)), where=usable)
        score[chosen] = 0.0
        best = int(score.argmax())
        if score[best] <= stop:
            break
        if chosen:
            among = np.linalg.solve(H[np.ix_(chosen, chosen)], H[chosen, best])
            if squares[best] - H[best, chosen] @ among <= DEPENDENT * squares[best]:
                break
        chosen.append(best)
        fitted = np.linalg.solve(H[np.ix_(chosen, chosen)], b[chosen])
        left = b - H[:, chosen] @ fitted
        x[:] = 0.0
        x[chosen] = fitted
    return x
