"""Non-negative representation, NRC: no example counts against its own class, and coefficients read as shares.

    x = argmin ‖y − Dx‖² + μ‖x‖²  subject to  x ≥ 0

Xu, An, Zhang, Zhang: "Sparse, collaborative, or nonnegative representation: which helps pattern classification?"
(Pattern Recognition 2019), which has no penalty (μ = 0) and solves by ADMM. Here H + μI = RᵀR turns it into a plain
non-negative least-squares problem ‖Rx − R⁻ᵀb‖, solved exactly by active sets (Lawson and Hanson). Its decision is
"residual".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.coding.base import Code, Coder, Dictionary, Target, at_least, register


@dataclass(frozen=True, eq=False)
class _Roots:
    """For each dictionary the real atoms, R with RᵀR = H + μI over them, and R⁻ᵀ."""

    atoms: list[Array]
    root: list[Array]
    inverse: list[Array]


@register("nonnegative")
@dataclass(frozen=True)
class NonNegative(Coder):
    """x = argmin ‖y − Dx‖² + μ‖x‖² with x ≥ 0."""

    effort: ClassVar[float] = 20.0

    mu: float = 0.01

    def __post_init__(self) -> None:
        at_least("mu", self.mu, 0)

    def factorise(self, dictionary: Dictionary) -> _Roots:
        atoms = [np.flatnonzero(real) for real in np.broadcast_to(dictionary.real, dictionary.gram.shape[:2])]
        roots, inverses = [], []
        for H, real in zip(dictionary.gram, atoms, strict=True):
            values, vectors = np.linalg.eigh(np.asarray(H[np.ix_(real, real)], np.float64))
            lifted = np.maximum(values, 0.0) + self.mu
            usable = lifted > len(lifted) * np.finfo(np.float64).eps * float(lifted.max(initial=0.0))
            scale = np.sqrt(lifted[usable])
            roots.append(scale[:, None] * vectors[:, usable].T)
            inverses.append(vectors[:, usable].T / scale[:, None])
        return _Roots(atoms, roots, inverses)

    def solve(self, state: _Roots, target: Target) -> Code:
        from scipy.optimize import nnls

        b = target.correlation
        x, converged = np.zeros_like(b), np.ones(len(b), bool)
        for i in range(len(b)):
            own = min(i, len(state.root) - 1)
            atoms, root = state.atoms[own], state.root[own]
            if not len(root):
                continue
            try:
                x[i, atoms] = nnls(root, state.inverse[own] @ b[i, atoms].astype(np.float64))[0]
            except RuntimeError:  # more steps than 3 K: the query then has no code, and is marked so
                converged[i] = False
        return Code(x, converged, np.ones(len(b), np.intp))
