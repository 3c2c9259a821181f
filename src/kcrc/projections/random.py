"""Ψ at random: the less structured counterpart of the spectral projections (paper, "Random Projection")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kcrc.prepared import Array
from kcrc.projections.base import Projection, check_components, register


@register("random")
@dataclass(frozen=True)
class Random(Projection):
    """Ψ (K, c) with independent entries N(0, 1/c): the same for every dictionary of K atoms.

    ``n_components`` None: c = K/2, rounded up.
    """

    n_components: int | None = None

    def __post_init__(self) -> None:
        check_components(self.n_components)

    def matrix(self, gram: Array, labels: Array, real: Array, rng: np.random.Generator) -> Array | None:
        K = gram.shape[-1]
        c = (K + 1) // 2 if self.n_components is None else self.n_components
        psi = (rng.standard_normal((1, K, c)) / np.sqrt(max(c, 1))).astype(gram.dtype)
        return psi if real.all() else np.asarray(psi * real[:, :, None])
