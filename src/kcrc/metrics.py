"""How examples and queries are scaled before anything compares them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from kcrc.errors import ParameterError
from kcrc.prepared import Array
from kcrc.registry import Registry

registry: Registry[Metric] = Registry("metric")
names = registry.names
make = registry.make
register = registry.register


class Metric(ABC):
    """A map of vectors, fitted on the examples and applied to examples and queries alike."""

    def fit(self, X: Array, y: Array) -> Metric:
        """Learn from the examples; returns the fitted metric."""
        return self

    @abstractmethod
    def transform(self, X: Array) -> Array:
        """(n, d) -> (n, d'). May return X itself."""


@register("plain")
@dataclass(frozen=True)
class Plain(Metric):
    """Vectors as they are."""

    def transform(self, X: Array) -> Array:
        return X


@register("unit")
@dataclass(frozen=True)
class Unit(Metric):
    """Every vector scaled to length 1 (a zero vector stays zero), as the paper does."""

    def transform(self, X: Array) -> Array:
        length = np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
        return np.asarray(np.divide(X, length, out=np.zeros_like(X), where=length > 0))


def resolve(spec: str | Metric) -> Metric:
    """A name, or a Metric -> a Metric. "precomputed" maps nothing: the distances are given."""
    if isinstance(spec, Metric):
        return spec
    if spec == "precomputed":
        return Plain()
    if isinstance(spec, str):
        return make(spec)
    raise ParameterError(f"metric is a name or a Metric; got {spec!r}. Names: {', '.join(names())}, precomputed.")
