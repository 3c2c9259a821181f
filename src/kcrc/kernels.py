"""Kernels: inner products in the space where a query is represented (paper, section "Formulation of KCRC").

Vector kernels are functions of a·b and the norms: linear, polynomial, RBF. The two distance-to-kernel rules turn
any distance into a kernel: exp(−gamma·Dist) and polarisation, ½(Dist(a,0) + Dist(b,0) − Dist(a,b)).
Both rules hold for *squared* distances (the paper writes Dist for either): they use ``Dist ** distance.power``,
so Euclidean is squared first and Manhattan is not.

``gamma`` and the paper's β: RBF exp(−β‖a−b‖²) has gamma = β; exp(−Dist/β²) has gamma = 1/β².
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kcrc.distances import mutual
from kcrc.distances.base import VECTORS, Distance, prepare_vectors
from kcrc.distances.precomputed import prepare_columns
from kcrc.errors import DataError, ParameterError
from kcrc.functions import called, numbers
from kcrc.prepared import POSITION, Array, Prepared, widened
from kcrc.registry import Registry

registry: Registry[Kernel] = Registry("kernel")
names = registry.names
make = registry.make
register = registry.register


class Kernel(ABC):
    """k(a, b), for sets, for one set's own diagonal, and for local dictionaries."""

    @property
    def preparation(self) -> Hashable:
        """The key of the stored preparation this kernel reads; see Distance.preparation."""
        return self

    def fit(self, X: Array) -> Kernel:
        """Check or learn from the examples; returns the fitted kernel."""
        return self

    @abstractmethod
    def prepare(self, X: Array) -> Prepared: ...

    @abstractmethod
    def gram(self, a: Prepared, b: Prepared) -> Array:
        """k for all pairs: (len(a), len(b))."""

    @abstractmethod
    def diagonal(self, a: Prepared) -> Array:
        """k(aᵢ, aᵢ): (len(a),)."""

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


class VectorKernel(Kernel):
    """A kernel that is a function of the dot product and the two squared norms."""

    @property
    def preparation(self) -> Hashable:
        return VECTORS

    def prepare(self, X: Array) -> Prepared:
        return prepare_vectors(X)

    @abstractmethod
    def profile(self, dot: Array, squares_a: Array, squares_b: Array) -> Array:
        """k from a·b, ‖a‖² and ‖b‖² (arrays that broadcast); may overwrite ``dot``."""

    def gram(self, a: Prepared, b: Prepared) -> Array:
        dot = widened(a["vectors"]) @ widened(b["vectors"]).T
        return self.profile(dot, a["squares"][:, None], b["squares"][None, :])

    def diagonal(self, a: Prepared) -> Array:
        return self.profile(a["squares"].copy(), a["squares"], a["squares"])

    def cross(self, queries: Prepared, atoms: Prepared, rows: Array) -> Array:
        # einsum sums each pair on its own, so a query's values do not depend on its batch.
        dot = np.einsum("bd,bkd->bk", widened(queries["vectors"]), widened(atoms["vectors"][rows]))
        return self.profile(dot, queries["squares"][:, None], atoms["squares"][rows])

    def local(self, atoms: Prepared, rows: Array) -> Array:
        vectors, squares = widened(atoms["vectors"][rows]), atoms["squares"][rows]
        return self.profile(vectors @ vectors.transpose(0, 2, 1), squares[:, :, None], squares[:, None, :])


@register("linear")
@dataclass(frozen=True)
class Linear(VectorKernel):
    """k(a, b) = a·b. KCRC with it is CRC."""

    def profile(self, dot: Array, squares_a: Array, squares_b: Array) -> Array:
        return dot


@register("polynomial")
@dataclass(frozen=True)
class Polynomial(VectorKernel):
    """k(a, b) = (gamma a·b + coef0)^degree."""

    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0

    def __post_init__(self) -> None:
        positive("gamma", self.gamma)
        if not isinstance(self.degree, (int, np.integer)) or self.degree < 1:
            raise ParameterError(f"degree is a whole number, 1 or more; got {self.degree!r}.")

    def profile(self, dot: Array, squares_a: Array, squares_b: Array) -> Array:
        gamma, coef0 = within_range(self.gamma, dot.dtype), within_range(self.coef0, dot.dtype)
        with np.errstate(over="ignore", invalid="ignore"):  # whoever codes with it looks whether it is finite
            return np.asarray((gamma * dot + coef0) ** self.degree)


@register("rbf")
@dataclass(frozen=True)
class RBF(VectorKernel):
    """k(a, b) = exp(−gamma ‖a−b‖²); the paper's β is gamma."""

    gamma: float = 1.0

    def __post_init__(self) -> None:
        positive("gamma", self.gamma)

    def profile(self, dot: Array, squares_a: Array, squares_b: Array) -> Array:
        dot *= -2.0
        dot += squares_a
        dot += squares_b
        np.maximum(dot, 0.0, out=dot)
        return exp_of(dot, self.gamma)

    def diagonal(self, a: Prepared) -> Array:
        return np.ones(len(a), a["squares"].dtype)


@dataclass(frozen=True)
class DistanceKernel(Kernel):
    """A kernel made from a distance by one of the paper's rules; from the mean of both directions where they differ."""

    distance: Distance

    @property
    def preparation(self) -> Hashable:
        return self.distance.preparation

    def prepare(self, X: Array) -> Prepared:
        return self.distance.prepare(X)

    def _powered(self, distances: Array) -> Array:
        return distances**2 if self.distance.power == 2 else distances

    @abstractmethod
    def cross_of(self, distances: Array, queries: Prepared, atoms: Prepared, rows: Array) -> Array:
        """``cross`` where the distances (B, K) are known already."""

    @abstractmethod
    def local_of(self, distances: Array, atoms: Prepared, rows: Array) -> Array:
        """``local`` where the distances (B, K, K) are known already."""

    def cross(self, queries: Prepared, atoms: Prepared, rows: Array) -> Array:
        return self.cross_of(mutual.selected(self.distance, queries, atoms, rows), queries, atoms, rows)

    def local(self, atoms: Prepared, rows: Array) -> Array:
        return self.local_of(mutual.within(self.distance, atoms, rows, {}), atoms, rows)


@register("exp")
@dataclass(frozen=True)
class Exponential(DistanceKernel):
    """k(a, b) = exp(−gamma Dist(a, b)), Dist squared where the distance is a plain length; gamma = 1/β²."""

    gamma: float = 1.0

    def __post_init__(self) -> None:
        positive("gamma", self.gamma)

    def of_distances(self, distances: Array) -> Array:
        return exp_of(np.array(self._powered(distances)), self.gamma)

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
    """k(a, b) = ½ (Dist(a, 0) + Dist(b, 0) − Dist(a, b)) with squared distances: for Euclidean the linear kernel."""

    def __post_init__(self) -> None:
        if "polarisation" not in self.distance.rules:
            raise ParameterError(
                f"The distance {type(self.distance).__name__} does not support the polarisation kernel. "
                'Use kernel="exp".'
            )

    def _origin(self, a: Prepared) -> Array:
        return self._powered(self.distance.to_origin(a))

    def gram(self, a: Prepared, b: Prepared) -> Array:
        between = self._powered(mutual.pairwise(self.distance, a, b))
        return np.asarray(0.5 * (self._origin(a)[:, None] + self._origin(b)[None, :] - between))

    def diagonal(self, a: Prepared) -> Array:
        return self._origin(a)

    def cross_of(self, distances: Array, queries: Prepared, atoms: Prepared, rows: Array) -> Array:
        between = self._powered(distances)
        origin = self._origin(atoms.take(rows.ravel())).reshape(rows.shape)
        return np.asarray(0.5 * (self._origin(queries)[:, None] + origin - between))

    def local_of(self, distances: Array, atoms: Prepared, rows: Array) -> Array:
        between = self._powered(distances)
        origin = self._origin(atoms.take(rows.ravel())).reshape(rows.shape)
        return np.asarray(0.5 * (origin[:, :, None] + origin[:, None, :] - between))


@register("precomputed")
@dataclass(frozen=True)
class PrecomputedKernel(Kernel):
    """fit takes the (n, n) kernel of the examples, queries are (B, n) kernel rows.

    A query's k(y, y) is not among them; it is known only when all examples share one value on the diagonal,
    as they do for RBF and other normalised kernels. Labels and scores of ``form="gram"`` with ``n_neighbors=None``
    never need it.
    """

    self_value: float | None = None

    def fit(self, X: Array) -> PrecomputedKernel:
        if X.shape[0] != X.shape[1]:
            raise DataError(
                f"A precomputed kernel matrix is square, examples by examples; got {X.shape[0]} × {X.shape[1]}."
            )
        diagonal = np.diagonal(X)
        constant = bool(np.allclose(diagonal, diagonal[0], rtol=1e-9, atol=0.0))
        return PrecomputedKernel(float(diagonal[0]) if constant else None)

    def prepare(self, X: Array) -> Prepared:
        return prepare_columns(X)

    def gram(self, a: Prepared, b: Prepared) -> Array:
        return a["to_examples"][:, b[POSITION]]

    def diagonal(self, a: Prepared) -> Array:
        if self.self_value is not None:
            return np.full(len(a), self.self_value)
        if (a[POSITION] < 0).any():
            self.refuse_queries()
        return np.asarray(a["to_examples"][np.arange(len(a)), a[POSITION]])

    def refuse_queries(self) -> None:
        """Raise because k(y, y) of a query is wanted."""
        raise DataError(
            "A precomputed kernel with a varying diagonal does not tell k(y, y) of a query. Normalise it to a "
            'constant diagonal; only predict, predict_proba and decision_function, with form="gram" and '
            "n_neighbors=None, do without."
        )


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A Python function ``f(A, B) -> (len(A), len(B))`` of two sets of vectors."""

    function: Callable[[Array, Array], Array]

    @property
    def preparation(self) -> Hashable:
        return VECTORS

    def prepare(self, X: Array) -> Prepared:
        return prepare_vectors(X)

    def gram(self, a: Prepared, b: Prepared) -> Array:
        left, right = a["vectors"], b["vectors"]

        def about() -> str:
            return f"sets of {len(left)} and {len(right)} vectors"

        wanted = f"it must return ({len(left)}, {len(right)}) numbers"
        value = called("kernel function", self.function, about, left, right)
        values = numbers("kernel function", self.function, value, about, wanted)
        if values.shape != (len(left), len(right)):
            raise DataError(
                f"The kernel function {self.function!r} returned shape {values.shape} for sets of {len(left)} and "
                f"{len(right)} vectors; it must return ({len(left)}, {len(right)})."
            )
        if not np.isfinite(values).all():
            raise DataError(
                f"The kernel function {self.function!r} returned NaN or infinite values for {about()}; {wanted}, all "
                "finite."
            )
        return values

    def diagonal(self, a: Prepared) -> Array:
        return np.array([self.gram(one, one)[0, 0] for one in (a.take(slice(i, i + 1)) for i in range(len(a)))])


@dataclass(frozen=True)
class KernelDistance(Distance):
    """√(k(a,a) + k(b,b) − 2k(a,b)): how far samples are apart in the space of a kernel."""

    formula: ClassVar[str] = "√(k(a,a) + k(b,b) − 2 k(a,b))"
    metric: ClassVar[bool] = True
    power: ClassVar[int] = 2
    rules: ClassVar[tuple[str, ...]] = ("exp",)

    kernel: Kernel

    @property
    def preparation(self) -> Hashable:
        return self.kernel.preparation

    def prepare(self, X: Array) -> Prepared:
        return self.kernel.prepare(X)

    def pairwise(self, a: Prepared, b: Prepared) -> Array:
        squared = self.kernel.diagonal(a)[:, None] + self.kernel.diagonal(b)[None, :] - 2.0 * self.kernel.gram(a, b)
        return np.sqrt(np.maximum(squared, 0.0))


def within_range(value: float, dtype: Any) -> float:
    """A parameter as arrays of this type can be multiplied by it: their largest number instead of ∞."""
    most = float(np.finfo(dtype).max) if np.dtype(dtype).kind == "f" else np.inf
    return float(min(max(value, -most), most))


def exp_of(distances: Array, gamma: float) -> Array:
    """exp(−gamma · distances), in place of them."""
    with np.errstate(over="ignore"):  # −∞ is far enough
        distances *= -within_range(gamma, distances.dtype)
    return np.exp(distances, out=distances)


def positive(name: str, value: Any) -> None:
    """Raise unless ``value`` is a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
        raise ParameterError(f"{name} is a number above 0; got {value!r}.")


def resolve(
    spec: str | Kernel | Callable[[Array, Array], Array],
    *,
    distance: Distance,
    gamma: float,
    degree: int,
    coef0: float,
) -> Kernel:
    """A name, a Kernel, or a function of two sets of vectors -> a Kernel."""
    if isinstance(spec, Kernel):
        return spec
    if isinstance(spec, str):
        every = {"distance": distance, "gamma": gamma, "degree": degree, "coef0": coef0}
        fields = getattr(registry.maker(spec), "__dataclass_fields__", {})
        return make(spec, **{name: every[name] for name in fields if name in every})
    if callable(spec):
        return CallableKernel(spec)
    raise ParameterError(
        f"kernel is a name, a Kernel or a function of two sets; got {spec!r}. Names: {', '.join(names())}."
    )
