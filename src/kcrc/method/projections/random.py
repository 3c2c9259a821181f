"""Ψ at random: the less structured counterpart of the spectral projections (paper, "Random Projection")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.projections.base import Projection, check_components, component_count, register


@register("random")
@dataclass(frozen=True)
class Random(Projection):
    """Ψ (K, c) with independent entries N(0, 1/c): the same for every dictionary of K atoms.

    ``n_components``: c, or as a float the share of K, rounded up; None is 0.5.
    """

    n_components: float | None = None
    cost: ClassVar[float] = 1.0
    outgrows_atoms: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_components(self.n_components)

    def matrix(self, gram: Array, labels: Array, real: Array, rng: np.random.Generator) -> Array | None:
        atoms = real.sum(axis=1)
        counts = component_count(0.5 if self.n_components is None else self.n_components, atoms)
        if real.all():
            return self._draw(rng, int(atoms[0]), int(counts[0]))[None].astype(gram.dtype)
        # Padding is what the widest of a batch makes it: a dictionary has the Ψ it has when it is asked about alone.
        psi = np.zeros((len(gram), gram.shape[-1], max(1, int(counts.max()))), gram.dtype)
        begun = rng.bit_generator.state
        for at, (m, c) in enumerate(zip(atoms, counts, strict=True)):
            rng.bit_generator.state = begun
            psi[at, real[at], :c] = self._draw(rng, int(m), int(c))
        return psi

    @staticmethod
    def _draw(rng: np.random.Generator, atoms: int, count: int) -> Array:
        return np.asarray(rng.standard_normal((atoms, count)) / np.sqrt(max(count, 1)))
