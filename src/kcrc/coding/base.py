"""What a coder solves and what it returns, and the registry of coders.

A coder represents a target y by a dictionary D: y ≈ D x. It factorises the dictionary once and solves for many
targets, so the global dictionary (factorised at fit) and the local ones (one a query) share one coder.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kcrc.arrays import Array
from kcrc.capabilities import said_anew
from kcrc.errors import ParameterError
from kcrc.registry import Registry

_HOMES = {
    "augmented": "augmented", "bpdn": "sparse", "l1l1": "sparse", "lasso": "sparse", "nonnegative": "nonnegative",
    "nrs": "tikhonov", "probabilistic": "probabilistic", "ridge": "ridge", "robust": "robust", "tikhonov": "tikhonov",
}  # fmt: skip
registry: Registry[Coder] = Registry("coder", {name: f"kcrc.coding.{file}" for name, file in _HOMES.items()})
names = registry.names
make = registry.make
register = registry.register


@dataclass(frozen=True, eq=False)
class Dictionary:
    """D, for a batch of B queries or (leading axis 1) one for all of them.

    gram     (1|B, K, K)  H = DᵀD; in the rkhs form G itself
    columns  (1|B, c, K)  D, or None where the atoms have no coordinates (rkhs)
    real     (1|B, K)     False marks padding: a zero column whose coefficient is 0
    labels   (1|B, K)     the atoms' class numbers, −1 at padding, for coders that look at classes
    """

    gram: Array
    columns: Array | None
    real: Array
    labels: Array | None = None

    @property
    def same_class(self) -> Array:
        """(1|B, K, K) whether two atoms are of one class."""
        assert self.labels is not None
        return np.asarray(self.labels[:, :, None] == self.labels[:, None, :])


@dataclass(frozen=True, eq=False)
class Target:
    """y of B queries: correlation (B, K) b = Dᵀy; energy (B,) ‖y‖²; vector (B, c) y itself, or None (rkhs)."""

    correlation: Array
    energy: Array
    vector: Array | None


@dataclass(frozen=True, eq=False)
class Code:
    """coefficients (B, K); whether each query's solver converged (B,); its iterations (B,); and where the solver is
    iterative, the relative duality gap it stopped at (B,): (objective − a lower bound of the optimum) / objective."""

    coefficients: Array
    converged: Array
    n_iter: Array
    gap: Array | None = None


def at_least(name: str, value: Any, lowest: float, *, strict: bool = False) -> None:
    """Raise unless ``value`` is a finite number of at least (``strict``: above) ``lowest``."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not (lowest < value < np.inf if strict else lowest <= value < np.inf):
        bound = f"above {lowest:g}" if strict else f"{lowest:g} or more"
        raise ParameterError(f"{name} is a number, {bound}; got {value!r}.")


def count(name: str, value: Any, lowest: int) -> None:
    """Raise unless ``value`` is a whole number of at least ``lowest``."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < lowest:
        raise ParameterError(f"{name} is a whole number, {lowest} or more; got {value!r}.")


class Coder(ABC):
    """Finds x for y ≈ D x."""

    needs_columns: ClassVar[bool] = False
    """True where the model is about the entries of y − D x (q = 1), which the rkhs form does not have."""

    effort: ClassVar[float] = 20.0
    """How many times the arithmetic of one Cholesky factor it takes, about. Above 1 it ``iterates``."""

    certifies: ClassVar[bool] = False
    """Whether it knows how far from the optimum it stops (``Code.gap``), and so sees to the precision it needs itself:
    any other that is not the ridge is given its problems in double precision."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        none = {"effort": Coder.effort, "certifies": False, "ridge_penalty": None}
        said_anew(cls, methods=("factorise", "solve"), capabilities=none)

    @property
    def iterates(self) -> bool:
        """Whether it solves step by step: a batch of targets shares no product, and small penalties take long."""
        return self.effort > 1.0

    @property
    def ridge_penalty(self) -> float | None:
        """μ where x = (DᵀD + μI)⁻¹ Dᵀy, which is compiled; None for any other x."""
        return None

    @abstractmethod
    def factorise(self, dictionary: Dictionary) -> Any:
        """All that does not depend on the target."""

    @abstractmethod
    def solve(self, state: Any, target: Target) -> Code:
        """Coefficients of every target over the factorised dictionary."""

    def code(self, dictionary: Dictionary, target: Target) -> Code:
        """Coefficients of every target over its own dictionary, which is used this once."""
        return self.solve(self.factorise(dictionary), target)


def resolve(spec: str | Coder | Callable[[], Coder], **options: Any) -> Coder:
    """A name, or a Coder -> a Coder; ``options`` go to a coder made by name.

    Parameters
    ----------
    spec : str, Coder
        A name, or what it stands for.
    **options : object
        Options of one made by name.

    Returns
    -------
    Coder
        The coder.

    Raises
    ------
    UnknownName
        Where there is no such name.
    ParameterError
        Where it is nothing of the kind, or has no such option.

    Examples
    --------
    >>> from kcrc import coding
    >>> coding.resolve("ridge", mu=0.1)
    Ridge(mu=0.1)
    """
    if isinstance(spec, Coder):
        return spec
    if isinstance(spec, str):
        return make(spec, **options)
    raise ParameterError(f"coder is a name or a Coder; got {spec!r}. Names: {', '.join(names())}.")
