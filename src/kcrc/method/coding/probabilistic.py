"""Probabilistic collaborative representation, ProCRC: every class's part is drawn towards the common representation.

Cai, Zhang, Zuo, Feng: "A probabilistic collaborative representation based approach for pattern classification"
(CVPR 2016), eq. 11:

    x = argmin ‖y − Dx‖² + μ‖x‖² + (γ/C) Σᵢ ‖Dx − Dᵢxᵢ‖²

over the C classes in the dictionary. With S 1 for two atoms of the same class and 0 for others, Σᵢ ‖Dx − Dᵢxᵢ‖² is
(C − 2) xᵀHx + xᵀ(H∘S)x, so this is ridge coding with (1 + γ(C − 2)/C) H + (γ/C) H∘S in place of H. The decision that
belongs to it is "joint".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kcrc.method.coding.base import Code, Coder, Dictionary, Target, at_least, register
from kcrc.method.coding.ridge import Ridge


@register("probabilistic")
@dataclass(frozen=True)
class Probabilistic(Coder):
    """x = ((1 + γ(C − 2)/C) H + (γ/C) H∘S + μI)⁻¹ Dᵀy."""

    effort: ClassVar[float] = 1.0

    mu: float = 0.01
    gamma: float = 1.0

    def __post_init__(self) -> None:
        at_least("mu", self.mu, 0)
        at_least("gamma", self.gamma, 0)

    def factorise(self, dictionary: Dictionary) -> Any:
        return Ridge(mu=self.mu).factorise(self._with_class_term(dictionary))

    def solve(self, state: Any, target: Target) -> Code:
        return Ridge(mu=self.mu).solve(state, target)

    def _with_class_term(self, dictionary: Dictionary) -> Dictionary:
        """The dictionary with (1 + γ(C − 2)/C) H + (γ/C) H∘S for H."""
        H = dictionary.gram
        assert dictionary.labels is not None
        counts = [len(np.unique(labels[labels >= 0])) for labels in dictionary.labels]
        C = np.maximum(counts, 1).astype(H.dtype)[:, None, None]
        share = self.gamma / C
        mixed = (1.0 + share * (C - 2.0)) * H + share * np.where(dictionary.same_class, H, 0.0)
        return Dictionary(mixed.astype(H.dtype, copy=False), None, dictionary.real, dictionary.labels)
