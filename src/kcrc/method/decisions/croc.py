"""Half what the class could do alone, half its part of the common code: CROC.

    rᵢ² = ((1 − w) ‖y − Dᵢ Dᵢ⁺ y‖² + w ‖y − Dᵢxᵢ‖²) / ‖xᵢ‖²,    w = ½

Chi, Porikli: "Classification and boosting with multiple collaborative representations" (PAMI 2014). Dᵢ⁺y is the
shortest least-squares code zᵢ of the query by the class's own atoms: ‖y − DᵢDᵢ⁺y‖² = ‖y‖² − Σ b_j z_j.
The weight w is a choice that other data can decide; here nothing is learned for it, and it stays one half.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.coding.base import Code, Dictionary, Target
from kcrc.method.decisions.base import Decision, register, within_classes

COMMON = 0.5  # w, the weight of the common code


@register("croc")
class Croc(Decision):
    """The nearest subspace and the collaborative residual together, over the length of the class's code."""

    over_length: ClassVar[bool] = True
    of_code_alone: ClassVar[bool] = False  # what the class could do alone is

    def explain(self, dictionary: Dictionary, target: Target, code: Code, labels: Array) -> tuple[Array, Array]:
        x, b = code.coefficients, target.correlation
        common = x * (2.0 * b - within_classes(dictionary.gram, x, labels))
        alone = b * own_codes(dictionary.gram, b, labels)
        return target.energy, np.asarray((1.0 - COMMON) * alone + COMMON * common)


def own_codes(gram: Array, b: Array, labels: Array) -> Array:
    """(B, K) the least-squares code of each query by the atoms of each class alone; gram (1|B, K, K), b (B, K)."""
    out = np.zeros(b.shape)
    for i in range(len(gram)):
        queries = slice(None) if len(gram) == 1 else slice(i, i + 1)
        mine = labels[min(i, len(labels) - 1)]
        for c in np.unique(mine[mine >= 0]):
            members = np.flatnonzero(mine == c)
            block = np.asarray(gram[i][np.ix_(members, members)], np.float64)
            inverse = np.linalg.pinv(block, rcond=1e-6, hermitian=True)
            out[queries, members] = b[queries][:, members] @ inverse
    return out
