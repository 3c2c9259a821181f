"""Ψ at random: the less structured counterpart of the spectral projections (paper, "Random Projection")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kcrc.prepared import Array
from kcrc.projections.base import Projection, check_components, component_count, register


@register("random")
@dataclass(frozen=True)
class Random(Projection):
    """Ψ (K, c) with independent entries N(0, 1/c): the same for every dictionary of K atoms.

    ``n_components``: c, or as a float the share of K, rounded up; None is 0.5.
    """

    n_components: float | None = None
    cost: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        check_components(self.n_components)

    def matrix(self, gram: Array, labels: Array, real: Array, rng: np.random.Generator) -> Array | None:
        K = gram.shape[-1]
        c = int(component_count(0.5 if self.n_components is None else self.n_components, np.array([K]))[0])
        psi = (rng.standard_normal((1, K, c)) / np.sqrt(max(c, 1))).astype(gram.dtype)
        return psi if real.all() else np.asarray(psi * real[:, :, None])
