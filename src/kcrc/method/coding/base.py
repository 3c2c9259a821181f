"""What a coder solves and what it returns, and the registry of coders.

A coder represents a target y by a dictionary D: y ≈ D x. It factorises the dictionary once and solves for many
targets, so the global dictionary (factorised at fit) and the local ones (one a query) share one coder.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.registry import Registry, reset_capabilities
from kcrc.errors import ParameterError

_HOMES = {
    "augmented": "augmented", "bpdn": "sparse", "l1l1": "sparse", "lasso": "sparse", "nonnegative": "nonnegative",
    "nrs": "tikhonov", "probabilistic": "probabilistic", "ridge": "ridge", "robust": "robust", "tikhonov": "tikhonov",
}  # fmt: skip
registry: Registry[Coder] = Registry("coder", {name: f"kcrc.method.coding.{file}" for name, file in _HOMES.items()})
names = registry.names
make = registry.make
register = registry.register


@dataclass(frozen=True, eq=False)
class Dictionary:
    """The dictionary D of a batch of B queries, each with K atoms; with a leading axis of 1, one for all of them.

    Attributes
    ----------
    gram : ndarray of shape (1 or B, K, K)
        H = DᵀD; in the rkhs form the kernel between the atoms.
    columns : ndarray of shape (1 or B, c, K), or None
        D itself; None where the atoms have no coordinates (rkhs).
    real : ndarray of bool of shape (1 or B, K)
        False marks padding: a zero column, whose coefficient has to be 0.
    labels : ndarray of int of shape (1 or B, K), or None
        The atoms' class numbers, −1 at padding, for coders that look at classes.
    same_class : ndarray of bool of shape (1 or B, K, K)
        Whether two atoms are of one class.
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
    """What is to be represented: y of B queries.

    Attributes
    ----------
    correlation : ndarray of shape (B, K)
        b = Dᵀy.
    energy : ndarray of shape (B,)
        ‖y‖².
    vector : ndarray of shape (B, c), or None
        y itself; None in the rkhs form.
    """

    correlation: Array
    energy: Array
    vector: Array | None


@dataclass(frozen=True, eq=False)
class Code:
    """What a coder found: the weights of the atoms.

    Attributes
    ----------
    coefficients : ndarray of shape (B, K)
        x of every query; 0 at padding.
    converged : ndarray of bool of shape (B,)
        Whether the solver came to an end.
    n_iter : ndarray of int of shape (B,)
        In how many steps; 1 where it does not iterate.
    gap : ndarray of shape (B,), or None
        The relative duality gap it stopped at, (objective − a lower bound of the optimum) / objective; None where it is
        not known.
    """

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
    """How a query is represented: finds the weights x for y ≈ D x.

    A coder is a frozen dataclass whose fields are its options; μ is called ``mu``. It implements ``factorise``, which
    does all that does not depend on the query, and ``solve``, which does the rest for a batch. ``kcrc.coding.register``
    gives it a name.
    """

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
        reset_capabilities(cls, methods=("factorise", "solve"), capabilities=none)

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
        """All that does not depend on the target.

        Parameters
        ----------
        dictionary : Dictionary
            The atoms of one dictionary, or of one for each query.

        Returns
        -------
        object
            Whatever ``solve`` needs.
        """

    @abstractmethod
    def solve(self, state: Any, target: Target) -> Code:
        """Coefficients of every target over the factorised dictionary.

        Parameters
        ----------
        state : object
            What ``factorise`` returned.
        target : Target
            B queries; where the dictionary has a leading axis of 1, they share it.

        Returns
        -------
        Code
            Coefficients of shape (B, K), 0 at padding.
        """

    def code(self, dictionary: Dictionary, target: Target) -> Code:
        """Coefficients of every target over its own dictionary, which is used this once."""
        return self.solve(self.factorise(dictionary), target)


def resolve(spec: str | Coder, **options: Any) -> Coder:
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
    return registry.resolve(spec, Coder, **options)
