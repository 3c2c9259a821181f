"""The rule of probabilistic collaborative representation: how far a class's part is from the whole representation.

    ‖Dx − Dᵢxᵢ‖² = ‖Dx‖² − Σ_{j in class i} x_j (2 (Hx)_j − Σ_{l in class i} H_jl x_l),    H = DᵀD

Cai, Zhang, Zuo, Feng: "A probabilistic collaborative representation based approach for pattern classification"
(CVPR 2016), eq. 14. The query itself is not in it: only what all atoms together made of it.
"""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.coding.base import Code, Dictionary, Target
from kcrc.method.decisions.base import Decision, register, within_classes


@register("joint")
class Joint(Decision):
    """‖Dx − Dᵢxᵢ‖; what there is to explain is ‖Dx‖²."""

    def explain(self, dictionary: Dictionary, target: Target, code: Code, labels: Array) -> tuple[Array, Array]:
        H, x = dictionary.gram, code.coefficients
        whole = x @ H[0] if len(H) == 1 else np.einsum("bjl,bl->bj", H, x)
        energy = np.einsum("bj,bj->b", whole, x, dtype=np.float64)
        return np.maximum(energy, 0.0), np.asarray(x * (2.0 * whole - within_classes(H, x, labels)))
