"""Ψ: the dimension reduction in kernel space (paper, "Determining the Pseudo-transformation Matrix").

D' = ΨᵀG and y' = Ψᵀk. A projection gives Ψ from the Gram matrix, for a batch of dictionaries or one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc.errors import ParameterError
from kcrc.prepared import Array
from kcrc.registry import Registry

registry: Registry[Projection] = Registry("projection")
names = registry.names
make = registry.make
register = registry.register


class Projection(ABC):
    """Makes Ψ."""

    @abstractmethod
    def matrix(self, gram: Array, labels: Array, real: Array, rng: np.random.Generator) -> Array | None:
        """Ψ (1|B, K, c) from G (1|B, K, K), the atoms' class numbers (1|B, K) and which of them are real and not
        padding (1|B, K); None stands for the identity. ``rng`` starts from the same seed for every batch, so that
        Ψ does not depend on which queries are asked together."""


@register("identity")
@dataclass(frozen=True)
class Identity(Projection):
    """Ψ = I: no reduction, the paper's choice in its experiments."""

    def matrix(self, gram: Array, labels: Array, real: Array, rng: np.random.Generator) -> Array | None:
        return None


def check_components(value: int | None, name: str = "n_components") -> None:
    """Raise unless ``value`` is None or a whole number of at least 1."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if value is not None and (not whole or value < 1):
        raise ParameterError(f"{name} is a whole number, 1 or more; got {value!r}.")


def resolve(spec: str | Projection, **options: Any) -> Projection:
    """A name, or a Projection -> a Projection."""
    if isinstance(spec, Projection):
        return spec
    if isinstance(spec, str):
        return make(spec, **options)
    raise ParameterError(f"projection is a name or a Projection; got {spec!r}. Names: {', '.join(names())}.")
