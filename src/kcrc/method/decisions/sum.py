"""The sum rule: the class with the largest sum of coefficients.

    sᵢ = Σ_{j in class i} x_j,    judged by exp(−sᵢ)

so that the logarithm of two residuals' ratio is the lead sᵢ − s_l itself: the evidence is exactly additive, and the
contribution of an example is its coefficient. Codes of long queries are long: where a query's sums go beyond ±STEEPEST
all of them are divided by what brings the largest there, which leaves their order as it is. Over a global dictionary
coded by the ridge in the rkhs form this is kernel ridge regression on the classes' indicators (Saunders et al. 1998):
x = (K + μI)⁻¹k, so Yᵀx = Yᵀ(K + μI)⁻¹k.
"""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.coding.base import Code, Dictionary, Target
from kcrc.method.decisions.base import Decision, per_class, register

STEEPEST = 10.0  # 1 / (1 + exp(−10)) still tells leads of 1e-11 apart


@register("sum")
class Sum(Decision):
    """exp(−Σ x_j) over the atoms of a class."""

    def explain(self, dictionary: Dictionary, target: Target, code: Code, labels: Array) -> tuple[Array, Array]:
        return target.energy, np.asarray(code.coefficients, np.float64)

    def residuals(
        self, energy: Array, contributed: Array, x: Array, labels: Array, n_classes: int, *, floor: float = 0.0
    ) -> Array:
        sums = per_class(contributed, labels, n_classes)
        there = per_class(x**2, labels, n_classes) > 0
        largest = np.abs(sums).max(axis=1, keepdims=True, initial=0.0)
        return np.where(there, np.exp(-sums / np.maximum(largest / STEEPEST, 1.0)), np.inf)
