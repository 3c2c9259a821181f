"""Kernels made of a distance by the paper's two rules, and the distance a kernel makes in its own space.

The rules: exp(−gamma·Dist) and polarisation, ½(Dist(a,0) + Dist(b,0) − Dist(a,b)). Both hold for *squared* distances
(the paper writes Dist for either): they use ``Dist ** distance.power``, so Euclidean is squared first and Manhattan is
not.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.method.distances import mutual
from kcrc.method.distances.base import Distance
from kcrc.method.kernels.base import Kernel, check_positive, exp_of, register
from kcrc.method.kernels.vector import RBF, VectorKernel
from kcrc.method.preparation import Prepared


@dataclass(frozen=True)
class DistanceKernel(Kernel):
    """A kernel made from a distance by one of the paper's rules; from the mean of both directions where they differ.

    A subclass implements ``gram`` and ``diagonal`` as every kernel does, and ``cross_of`` and ``local_of``, which make
    the kernel of distances that the search has measured already.

    Parameters
    ----------
    distance : Distance
        The distance.
    """

    definite: ClassVar[bool] = True

    distance: Distance

    @property
    def preparation(self) -> Hashable:
        return self.distance.preparation

    @property
    def of_vectors(self) -> bool:
        return self.distance.of_vectors

    @property
    def by_distance(self) -> DistanceKernel:
        return self

    def prepare(self, X: Array) -> Prepared:
        return self.distance.prepare(X)

    def _power(self, distances: Array) -> Array:
        return distances**2 if self.distance.power == 2 else distances

    @abstractmethod
    def cross_of(self, distances: Array, queries: Prepared, atoms: Prepared, rows: Array) -> Array:
        """``cross`` where the distances are known already.

        Parameters
        ----------
        distances : array of shape (B, K)
            Of query i to the atoms ``rows[i]``.
        queries : Prepared
            What ``prepare`` made of B queries.
        atoms : Prepared
            The same of all examples.
        rows : array of int of shape (B, K)
            The places of the atoms among the examples.

        Returns
        -------
        ndarray of shape (B, K)
            k of query i with its atoms.
        """

    @abstractmethod
    def local_of(self, distances: Array, atoms: Prepared, rows: Array) -> Array:
        """``local`` where the distances are known already.

        Parameters
        ----------
        distances : array of shape (B, K, K)
            Among the atoms ``rows[i]``.
        atoms : Prepared
            What ``prepare`` made of all examples.
        rows : array of int of shape (B, K)
            The places of the atoms among the examples.

        Returns
        -------
        ndarray of shape (B, K, K)
            k among the atoms of query i.
        """

    def cross(self, queries: Prepared, atoms: Prepared, rows: Array) -> Array:
        return self.cross_of(mutual.rowwise(self.distance, queries, atoms, rows), queries, atoms, rows)

    def local(self, atoms: Prepared, rows: Array) -> Array:
        return self.local_of(mutual.within(self.distance, atoms, rows, {}), atoms, rows)


@register("exp")
@dataclass(frozen=True)
class Exponential(DistanceKernel):
    """k(a, b) = exp(−gamma Dist(a, b)), Dist squared where the distance is a plain length; gamma = 1/β².

    Parameters
    ----------
    distance : Distance
        The distance.
    gamma : float, default=1.0
        Above 0.
    """

    bounded: ClassVar[bool] = True
    definite: ClassVar[bool] = True

    gamma: float = 1.0

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)

    @property
    def of_products(self) -> VectorKernel | None:
        return RBF(gamma=self.gamma) if self.distance.squared_euclidean else None

    def of_distances(self, distances: Array) -> Array:
        return exp_of(np.array(self._power(distances)), self.gamma)

    def gram(self, a: Prepared, b: Prepared) -> Array:
        return self.of_distances(mutual.pairwise(self.distance, a, b))

    def diagonal(self, a: Prepared) -> Array:
        return np.ones(len(a))

    def cross_of(self, distances: Array, queries: Prepared, atoms: Prepared, rows: Array) -> Array:
        return self.of_distances(distances)

    def local_of(self, distances: Array, atoms: Prepared, rows: Array) -> Array:
        return self.of_distances(distances)


@register("polarisation")
@dataclass(frozen=True)
class Polarisation(DistanceKernel):
    """k(a, b) = ½ (Dist(a, 0) + Dist(b, 0) − Dist(a, b)) with squared distances: for Euclidean the linear kernel.

    Parameters
    ----------
    distance : Distance
        One that has an origin.
    """

    definite: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if "polarisation" not in self.distance.rules:
            raise ParameterError(
                f"The distance {type(self.distance).__name__} does not support the polarisation kernel. "
                'Use kernel="exp".'
            )

    def _origin(self, a: Prepared) -> Array:
        return self._power(self.distance.to_origin(a))

    def gram(self, a: Prepared, b: Prepared) -> Array:
        between = self._power(mutual.pairwise(self.distance, a, b))
        return np.asarray(0.5 * (self._origin(a)[:, None] + self._origin(b)[None, :] - between))

    def diagonal(self, a: Prepared) -> Array:
        return self._origin(a)

    def cross_of(self, distances: Array, queries: Prepared, atoms: Prepared, rows: Array) -> Array:
        between = self._power(distances)
        origin = self._origin(atoms.take(rows.ravel())).reshape(rows.shape)
        return np.asarray(0.5 * (self._origin(queries)[:, None] + origin - between))

    def local_of(self, distances: Array, atoms: Prepared, rows: Array) -> Array:
        between = self._power(distances)
        origin = self._origin(atoms.take(rows.ravel())).reshape(rows.shape)
        return np.asarray(0.5 * (origin[:, :, None] + origin[:, None, :] - between))


@dataclass(frozen=True)
class KernelDistance(Distance):
    """√(k(a,a) + k(b,b) − 2k(a,b)): how far samples are apart in the space of a kernel.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    """

    formula: ClassVar[str] = "√(k(a,a) + k(b,b) − 2 k(a,b))"
    metric: ClassVar[bool] = True
    power: ClassVar[int] = 2
    rules: ClassVar[tuple[str, ...]] = ("exp",)

    kernel: Kernel

    @property
    def preparation(self) -> Hashable:
        return self.kernel.preparation

    @property
    def given_as_matrix(self) -> bool:
        return self.kernel.given_as_matrix

    def prepare(self, X: Array) -> Prepared:
        return self.kernel.prepare(X)

    def pairwise(self, a: Prepared, b: Prepared) -> Array:
        squared = self.kernel.diagonal(a)[:, None] + self.kernel.diagonal(b)[None, :] - 2.0 * self.kernel.gram(a, b)
        return np.sqrt(np.maximum(squared, 0.0))
