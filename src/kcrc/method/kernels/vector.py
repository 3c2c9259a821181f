"""Kernels of vectors, functions of a·b and the two norms: linear, polynomial, RBF."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kcrc._base.arrays import Array, widen
from kcrc._base.registry import reset_capabilities
from kcrc.errors import ParameterError
from kcrc.method.distances.base import VECTORS, prepare_vectors
from kcrc.method.kernels.base import Kernel, check_positive, exp_of, register, within_range
from kcrc.method.preparation import Prepared

HIGHEST_DEGREE = 64  # of a polynomial that is compiled: it takes as many products


@dataclass(frozen=True)
class Shape:
    """A kernel of vectors in the terms of the compiled module.

    Attributes
    ----------
    kind : int
        0 linear, 1 polynomial, 2 RBF.
    gamma : float
        Its width.
    coef0 : float
        The constant of the polynomial.
    degree : int
        Of the polynomial.
    of_distance : bool
        Whether it is a function of ‖a − b‖² alone.
    options : dict
        All of these by name.
    """

    kind: int
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 1

    @property
    def of_distance(self) -> bool:
        """Whether it is a function of ‖a − b‖² alone."""
        return self.kind == 2

    @property
    def options(self) -> dict[str, Any]:
        return {"kind": self.kind, "gamma": self.gamma, "coef0": self.coef0, "degree": self.degree}


class VectorKernel(Kernel):
    """A kernel that is a function of the dot product and the two squared lengths.

    A subclass implements ``profile`` only; the rest follows from it. Otherwise it is as ``Kernel`` says.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        reset_capabilities(cls, methods=("profile",), capabilities={"shape": None, "bounded": False, "definite": False})

    @property
    def shape(self) -> Shape | None:
        """What the compiled module calls it; None where it knows of no such kernel."""
        return None

    @property
    def of_vectors(self) -> bool:
        return True

    @property
    def of_products(self) -> VectorKernel | None:
        return self

    @property
    def preparation(self) -> Hashable:
        return VECTORS

    def prepare(self, X: Array) -> Prepared:
        return prepare_vectors(X)

    @abstractmethod
    def profile(self, dot: Array, squares_a: Array, squares_b: Array) -> Array:
        """The kernel from products; the three arrays broadcast.

        Parameters
        ----------
        dot : array
            a·b; it may be overwritten.
        squares_a : array
            ‖a‖².
        squares_b : array
            ‖b‖².

        Returns
        -------
        ndarray
            k(a, b), of the shape of ``dot``.
        """

    def gram(self, a: Prepared, b: Prepared) -> Array:
        dot = widen(a["vectors"]) @ widen(b["vectors"]).T
        return self.profile(dot, a["squares"][:, None], b["squares"][None, :])

    def diagonal(self, a: Prepared) -> Array:
        return self.profile(a["squares"].copy(), a["squares"], a["squares"])

    def cross(self, queries: Prepared, atoms: Prepared, rows: Array) -> Array:
        # einsum sums each pair on its own, so a query's values do not depend on its batch.
        dot = np.einsum("bd,bkd->bk", widen(queries["vectors"]), widen(atoms["vectors"][rows]))
        return self.profile(dot, queries["squares"][:, None], atoms["squares"][rows])

    def local(self, atoms: Prepared, rows: Array) -> Array:
        vectors, squares = widen(atoms["vectors"][rows]), atoms["squares"][rows]
        return self.profile(vectors @ vectors.transpose(0, 2, 1), squares[:, :, None], squares[:, None, :])


@register("linear")
@dataclass(frozen=True)
class Linear(VectorKernel):
    """k(a, b) = a·b. KCRC with it is CRC."""

    definite: ClassVar[bool] = True

    @property
    def shape(self) -> Shape | None:
        return Shape(0)

    def profile(self, dot: Array, squares_a: Array, squares_b: Array) -> Array:
        return dot


@register("polynomial")
@dataclass(frozen=True)
class Polynomial(VectorKernel):
    """k(a, b) = (gamma a·b + coef0)^degree.

    Parameters
    ----------
    gamma : float, default=1.0
        The factor of the dot product, above 0.
    coef0 : float, default=1.0
        The constant.
    degree : int, default=3
        1 or more.
    """

    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)
        if not isinstance(self.degree, (int, np.integer)) or self.degree < 1:
            raise ParameterError(f"degree is a whole number, 1 or more; got {self.degree!r}.")

    @property
    def shape(self) -> Shape | None:
        if self.degree > HIGHEST_DEGREE:
            return None
        return Shape(1, float(self.gamma), float(self.coef0), int(self.degree))

    def profile(self, dot: Array, squares_a: Array, squares_b: Array) -> Array:
        gamma, coef0 = within_range(self.gamma, dot.dtype), within_range(self.coef0, dot.dtype)
        with np.errstate(over="ignore", invalid="ignore"):  # the coder checks whether it is finite
            return np.asarray((gamma * dot + coef0) ** self.degree)


@register("rbf")
@dataclass(frozen=True)
class RBF(VectorKernel):
    """k(a, b) = exp(−gamma ‖a−b‖²); the paper's β is gamma.

    Parameters
    ----------
    gamma : float, default=1.0
        Above 0.
    """

    bounded: ClassVar[bool] = True
    definite: ClassVar[bool] = True

    gamma: float = 1.0

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)

    @property
    def shape(self) -> Shape | None:
        return Shape(2, float(self.gamma))

    def profile(self, dot: Array, squares_a: Array, squares_b: Array) -> Array:
        dot *= -2.0
        dot += squares_a
        dot += squares_b
        np.maximum(dot, 0.0, out=dot)
        return exp_of(dot, self.gamma)

    def diagonal(self, a: Prepared) -> Array:
        return np.ones(len(a), a["squares"].dtype)
