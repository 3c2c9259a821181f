"""The contract of a kernel: inner products of sets, of one set with itself, and of local dictionaries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.registry import Registry, reset_capabilities
from kcrc.errors import ParameterError
from kcrc.method.preparation import Prepared

if TYPE_CHECKING:
    from kcrc.method.kernels.of_distance import DistanceKernel
    from kcrc.method.kernels.vector import VectorKernel

registry: Registry[Kernel] = Registry(
    "kernel",
    {
        "exp": "kcrc.method.kernels.of_distance",
        "linear": "kcrc.method.kernels.vector",
        "polarisation": "kcrc.method.kernels.of_distance",
        "polynomial": "kcrc.method.kernels.vector",
        "precomputed": "kcrc.method.kernels.given",
        "rbf": "kcrc.method.kernels.vector",
    },
)
names = registry.names
make = registry.make
register = registry.register


VALUES = ("gram", "cross", "local", "cross_of", "local_of", "of_distances")  # methods that compute values k(a, b)


class Kernel(ABC):
    """How alike two samples are: k(a, b), an inner product in the space where queries are represented.

    A kernel is a frozen dataclass whose fields are its options; its width is called ``gamma``. It implements
    ``prepare``, ``gram`` and ``diagonal``. One that is a function of a·b, ‖a‖² and ‖b‖² derives from ``VectorKernel``
    and implements ``profile`` only. ``kcrc.kernels.register`` gives it a name.
    """

    bounded: ClassVar[bool] = False
    """Whether |k(a, b)| ≤ 1 whatever the units of the samples."""

    given_as_matrix: ClassVar[bool] = False
    """Whether samples are rows of a matrix whose columns are all the examples."""

    definite: ClassVar[bool] = False
    """Whether it is positive definite by its formula, so that no matrix has to be checked. Many distances make a kernel
    that is not."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        none = {"bounded": False, "definite": False, "of_products": Kernel.of_products}
        reset_capabilities(cls, methods=VALUES, capabilities=none)

    @property
    def of_vectors(self) -> bool:
        """Whether samples may be any vectors, so that a scaling can be applied to them first."""
        return False

    @property
    def of_products(self) -> VectorKernel | None:
        """This kernel as a function of dot products of the "vectors" it prepares; None if it is not one."""
        return None

    @property
    def by_distance(self) -> DistanceKernel | None:
        """This kernel as one that is made of a distance; None if it is not one."""
        return None

    def check_own_values(self) -> None:  # noqa: B027  # most kernels have nothing to refuse
        """Raise if k(y, y) of a query is not known."""

    @property
    def preparation(self) -> Hashable:
        """The key of the stored preparation this kernel reads; see Distance.preparation."""
        return self

    def fit(self, X: Array) -> Kernel:
        """Check or learn from the examples; returns the fitted kernel."""
        return self

    @abstractmethod
    def prepare(self, X: Array) -> Prepared:
        """Compute once what the kernel needs of samples.

        Parameters
        ----------
        X : array of shape (n, d)
            The samples, flattened.

        Returns
        -------
        Prepared
            Arrays by name, each with the n samples as its first axis.
        """

    @abstractmethod
    def gram(self, a: Prepared, b: Prepared) -> Array:
        """The kernel of all pairs.

        Parameters
        ----------
        a : Prepared
            What ``prepare`` made of n samples.
        b : Prepared
            The same of m samples.

        Returns
        -------
        ndarray of shape (n, m)
            k of each with each.
        """

    @abstractmethod
    def diagonal(self, a: Prepared) -> Array:
        """The kernel of samples with themselves.

        Parameters
        ----------
        a : Prepared
            What ``prepare`` made of n samples.

        Returns
        -------
        ndarray of shape (n,)
            k(aᵢ, aᵢ).
        """

    def cross(self, queries: Prepared, atoms: Prepared, rows: Array) -> Array:
        """k of query i with the atoms ``rows[i]``: (B, K)."""
        out = np.empty(rows.shape)
        for i, wanted in enumerate(rows):
            out[i] = self.gram(queries.take(slice(i, i + 1)), atoms.take(wanted))[0]
        return out

    def local(self, atoms: Prepared, rows: Array) -> Array:
        """k among the atoms ``rows[i]``: (B, K, K)."""
        out = np.empty((*rows.shape, rows.shape[1]))
        for i, wanted in enumerate(rows):
            near = atoms.take(wanted)
            out[i] = self.gram(near, near)
        return out


def within_range(value: float, dtype: Any) -> float:
    """Return a parameter clipped to the range of a floating type: arrays of that type can be multiplied by it."""
    most = float(np.finfo(dtype).max) if np.dtype(dtype).kind == "f" else np.inf
    return float(min(max(value, -most), most))


def exp_of(distances: Array, gamma: float) -> Array:
    """exp(−gamma · distances), in place of them."""
    with np.errstate(over="ignore"):  # exp(−∞) is 0
        distances *= -within_range(gamma, distances.dtype)
    return np.exp(distances, out=distances)


def check_positive(name: str, value: Any) -> None:
    """Raise unless ``value`` is a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
        raise ParameterError(f"{name} is a number above 0; got {value!r}.")
