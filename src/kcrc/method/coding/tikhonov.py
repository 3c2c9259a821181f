"""Collaborative representation with distance-weighted Tikhonov penalties, CRT, and class by class, NRS.

    x = argmin ‖y − Dx‖² + μ ‖Γx‖² = (H + μΓ²)⁻¹ Dᵀy,    Γ² = diag(‖y − d_j‖²) = ‖y‖² + H_jj − 2 b_j

Far atoms cost more: locality without a border. Li, Tramel, Prasad, Fowler: "Nearest regularized subspace for
hyperspectral classification" (TGRS 2014) codes by each class alone, H∘S in place of H, S the mask of pairs of one
class; Li, Du, Xiong: "Kernel collaborative representation with Tikhonov regularization" (GRSL 2015) by all together.
Their decision is "residual". The penalty is the query's own, so each query has a factor of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.coding.base import Code, Coder, Dictionary, Target, at_least, register
from kcrc.method.coding.ridge import Ridge

NEAREST = 1e-6  # of ‖y‖² + ‖d‖²: squared distances below it count as this


@register("tikhonov")
@dataclass(frozen=True)
class Tikhonov(Coder):
    """x = (H + μΓ²)⁻¹ Dᵀy, Γ the distances of the query to the atoms (CRT)."""

    effort: ClassVar[float] = 2.0
    by_class: ClassVar[bool] = False
    """Whether each class codes the query alone."""

    mu: float = 0.1

    def __post_init__(self) -> None:
        at_least("mu", self.mu, 0)

    def factorise(self, dictionary: Dictionary) -> Dictionary:
        """What every query's factor is made of: there is none for all."""
        if not self.by_class:
            return dictionary
        H = np.where(dictionary.same_class, dictionary.gram, 0.0).astype(dictionary.gram.dtype, copy=False)
        return Dictionary(H, None, dictionary.real, dictionary.labels)

    def solve(self, state: Dictionary, target: Target) -> Code:
        b = target.correlation
        x = np.empty_like(b)
        for i in range(len(b)):
            own = min(i, len(state.gram) - 1)
            H, real = state.gram[own], state.real[own]
            penalty = np.diag(self._penalty(H, b[i], float(target.energy[i])))
            penalised = Dictionary((H + penalty)[None], None, real[None])
            one = Target(b[i : i + 1], target.energy[i : i + 1], None)
            x[i] = Ridge(mu=0.0).code(penalised, one).coefficients[0]
        return Code(x, np.ones(len(b), bool), np.ones(len(b), np.intp))

    def _penalty(self, H: Array, b: Array, energy: float) -> Array:
        lengths = energy + np.diagonal(H)
        # What is nearer than rounding can tell is equally near, so that no answer depends on how products were summed.
        squared = np.maximum(lengths - 2.0 * b, NEAREST * lengths)
        return np.asarray(self.mu * squared, H.dtype)


@register("nrs")
@dataclass(frozen=True)
class NearestRegularisedSubspace(Tikhonov):
    """The same, each class by itself (NRS)."""

    by_class: ClassVar[bool] = True
