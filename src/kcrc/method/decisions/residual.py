"""By how much of the query a class leaves over: the paper's rule, and the plain one of sparse representation.

‖y − Dᵢxᵢ‖² = ‖y‖² − Σ_{j in class i} c_j,    c_j = x_j (2 b_j − Σ_{l in class i} H_jl x_l),    H = DᵀD, b = Dᵀy
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.coding.base import Code, Dictionary, Target
from kcrc.method.decisions.base import Decision, register, within_classes


@register("residual")
class Residual(Decision):
    """‖y − Dᵢxᵢ‖ (Wright et al. 2009)."""

    compiled: ClassVar[bool] = True

    def explain(self, dictionary: Dictionary, target: Target, code: Code, labels: Array) -> tuple[Array, Array]:
        x = code.coefficients
        rest = 2.0 * target.correlation - within_classes(dictionary.gram, x, labels)
        return target.energy, np.multiply(x, rest, dtype=np.float64)

    def over_one(self, dictionary: Dictionary, target: Target, code: Code, labels: Array, n_classes: int) -> Array:
        """One matrix product a class, and no table (B, n) of contributions."""
        H, x = dictionary.gram[0], code.coefficients
        out = np.full((len(x), n_classes), np.inf)
        for c in range(n_classes):
            members = np.flatnonzero(labels == c)
            if not len(members):
                continue
            mine = np.ascontiguousarray(x[:, members])
            rest = 2.0 * target.correlation[:, members] - mine @ H[np.ix_(members, members)]
            explained = np.einsum("bk,bk->b", mine, rest, dtype=np.float64)
            length = np.sqrt(np.einsum("bk,bk->b", mine, mine, dtype=np.float64))
            residual = np.sqrt(np.maximum(target.energy - explained, 0.0))
            judged = np.divide(residual, length, out=np.full_like(length, np.inf), where=length > 0)
            out[:, c] = judged if self.over_length else np.where(length > 0, residual, np.inf)
        return out


@register("ratio")
class Ratio(Residual):
    """‖y − Dᵢxᵢ‖ / ‖xᵢ‖ (paper, Algorithm 1; Zhang et al. 2011)."""

    compiled: ClassVar[bool] = True
    over_length: ClassVar[bool] = True
