"""Ψ: the dimension reduction in kernel space (paper, "Determining the Pseudo-transformation Matrix").

D' = ΨᵀG and y' = Ψᵀk. A projection gives Ψ from the Gram matrix, for a batch of dictionaries or one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.registry import Registry
from kcrc.errors import ParameterError

_HOMES = {"graph": "spectral", "identity": "base", "kfda": "spectral", "kpca": "spectral", "random": "random"}
registry: Registry[Projection] = Registry(
    "projection", {name: f"kcrc.method.projections.{file}" for name, file in _HOMES.items()}
)
names = registry.names
make = registry.make
register = registry.register


class Projection(ABC):
    """A dimension reduction in kernel space: makes Ψ, with D' = ΨᵀG and y' = Ψᵀk.

    A projection is a frozen dataclass whose fields are its options, and implements ``matrix``. If one of the fields is
    ``n_components``, the dimension may be chosen by leave-one-out. ``kcrc.projections.register`` gives it a name.
    """

    cost: ClassVar[float] = 10.0
    """The arithmetic of it over K³, roughly."""

    identity: ClassVar[bool] = False
    """Whether Ψ is the identity, which is no work at all."""

    outgrows_atoms: ClassVar[bool] = False
    """Whether its ``n_components`` may be more than there are atoms."""

    @property
    def has_components(self) -> bool:
        """Whether the dimension after it is an option, ``n_components``, that may be searched."""
        return hasattr(self, "n_components")

    def with_components(self, share: float) -> Projection:
        """The same to this share of the most dimensions there can be, where it ``has_components``."""
        return replace(self, n_components=share)  # type: ignore[type-var]  # projections are dataclasses

    @abstractmethod
    def matrix(self, gram: Array, labels: Array, real: Array, rng: np.random.Generator) -> Array | None:
        """Ψ of a batch of B dictionaries of K atoms, or of one for all queries.

        Parameters
        ----------
        gram : array of shape (1 or B, K, K)
            G, the kernel between the atoms.
        labels : array of int of shape (1 or B, K)
            Their class numbers.
        real : array of bool of shape (1 or B, K)
            Which of them are atoms and not padding.
        rng : numpy.random.Generator
            It starts from the same seed for every batch, so that Ψ does not depend on which queries are asked together.

        Returns
        -------
        ndarray of shape (1 or B, K, c), or None
            Ψ; None stands for the identity.
        """


@register("identity")
@dataclass(frozen=True)
class Identity(Projection):
    """Ψ = I: no reduction, the paper's choice in its experiments."""

    cost: ClassVar[float] = 0.0
    identity: ClassVar[bool] = True

    def matrix(self, gram: Array, labels: Array, real: Array, rng: np.random.Generator) -> Array | None:
        return None


def check_components(value: float | None) -> None:
    """Raise unless ``value`` is None, a whole number of at least 1, or a share: a float above 0, at most 1."""
    if value is None or (isinstance(value, (float, np.floating)) and 0 < value <= 1):
        return
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ParameterError(
            f"n_components is a whole number, 1 or more, or a share of the most there can be, a float above 0 and at "
            f"most 1; got {value!r}."
        )


def component_count(value: float | None, most: Array) -> Array:
    """c of each dictionary that can have ``most`` (1|B,): all for None; for a float that share of them, rounded up."""
    if value is None:
        return most
    if isinstance(value, (float, np.floating)):
        return np.ceil(np.round(value * most, 9)).astype(np.intp)
    return np.full_like(most, value)


def resolve(spec: str | Projection, **options: Any) -> Projection:
    """A name, or a Projection -> a Projection.

    Parameters
    ----------
    spec : str, Projection
        A name, or what it stands for.
    **options : object
        Options of one made by name.

    Returns
    -------
    Projection
        The projection.

    Raises
    ------
    UnknownName
        Where there is no such name.
    ParameterError
        Where it is nothing of the kind, or has no such option.

    Examples
    --------
    >>> from kcrc import projections
    >>> projections.resolve("random", n_components=20)
    Random(n_components=20)
    """
    return registry.resolve(spec, Projection, **options)
