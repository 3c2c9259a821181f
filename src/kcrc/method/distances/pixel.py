"""Distances between vectors of pixels or features: the general pixel measures of the paper."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from kcrc._base.arrays import Array, unit_rows
from kcrc.errors import ParameterError
from kcrc.method.distances.base import Distance, VectorDistance, prepare_vectors, register
from kcrc.method.distances.coordinatewise import Coordinatewise
from kcrc.method.preparation import Prepared
from kcrc.method.scaling import tiled_product, units_differ, varying


@register("sqeuclidean")
@dataclass(frozen=True)
class SquaredEuclidean(Coordinatewise, VectorDistance):
    """‖a − b‖². The distance whose polarisation is the linear kernel."""

    formula: ClassVar[str] = "Σ (aᵢ − bᵢ)²"
    metric: ClassVar[bool] = False
    power: ClassVar[int] = 1
    measure: ClassVar[str] = "sqeuclidean"
    of_vectors: ClassVar[bool] = True
    orders_like_euclid: ClassVar[bool] = True
    squared_euclidean: ClassVar[bool] = True

    def screen(self, a: Prepared, b: Prepared) -> tuple[Array, Array]:
        left, right = a["vectors"], b["vectors"]
        values = left @ right.T
        values *= -2.0
        values += a["squares"][:, None]
        values += b["squares"][None, :]
        largest = a["squares"] + (b["squares"].max() if len(right) else 0.0)
        # Rounding of a d-term product and of the three-term sum, each relative to the norms involved.
        error = (left.shape[1] + 8) * np.finfo(values.dtype).eps * largest
        return values, error


@register("euclidean")
@dataclass(frozen=True)
class Euclidean(SquaredEuclidean):
    """‖a − b‖₂."""

    formula: ClassVar[str] = "√ Σ (aᵢ − bᵢ)²"
    metric: ClassVar[bool] = True
    power: ClassVar[int] = 2
    orders_like_euclid: ClassVar[bool] = True
    squared_euclidean: ClassVar[bool] = True

    def pairwise(self, a: Prepared, b: Prepared) -> Array:
        return np.sqrt(super().pairwise(a, b))

    def rowwise(self, a: Prepared, b: Prepared, rows: Array) -> Array:
        return np.sqrt(super().rowwise(a, b, rows))

    def within(self, b: Prepared, rows: Array) -> Array:
        return np.sqrt(super().within(b, rows))


class EuclideanAfter(Distance):
    """A distance that is the Euclidean one between the vectors it prepares."""

    def pairwise(self, a: Prepared, b: Prepared) -> Array:
        return Euclidean().pairwise(a, b)

    def rowwise(self, a: Prepared, b: Prepared, rows: Array) -> Array:
        return Euclidean().rowwise(a, b, rows)

    def within(self, b: Prepared, rows: Array) -> Array:
        return Euclidean().within(b, rows)

    def screen(self, a: Prepared, b: Prepared) -> tuple[Array, Array]:
        return Euclidean().screen(a, b)

    def to_origin(self, a: Prepared) -> Array:
        return np.sqrt(a["squares"])


@register("manhattan")
@dataclass(frozen=True)
class Manhattan(Coordinatewise, VectorDistance):
    """‖a − b‖₁, the city block distance."""

    formula: ClassVar[str] = "Σ |aᵢ − bᵢ|"
    metric: ClassVar[bool] = True
    power: ClassVar[int] = 1
    measure: ClassVar[str] = "manhattan"
    of_vectors: ClassVar[bool] = True


@register("chessboard")
@dataclass(frozen=True)
class Chessboard(Coordinatewise, VectorDistance):
    """‖a − b‖∞, the king's moves."""

    formula: ClassVar[str] = "maxᵢ |aᵢ − bᵢ|"
    metric: ClassVar[bool] = True
    power: ClassVar[int] = 1
    measure: ClassVar[str] = "chessboard"
    of_vectors: ClassVar[bool] = True


@dataclass(frozen=True)
class _Angular(Distance):
    """1 − cos between prepared unit rows, as ½‖a − b‖² so that equal rows are at exactly 0."""

    metric: ClassVar[bool] = False
    power: ClassVar[int] = 1
    of_vectors: ClassVar[bool] = True
    orders_like_euclid: ClassVar[bool] = True

    def _rows(self, X: Array) -> Array:
        raise NotImplementedError  # each subclass says which rows

    def prepare(self, X: Array) -> Prepared:
        return prepare_vectors(unit_rows(self._rows(X)))

    @staticmethod
    def _from_squared(squared: Array, zero_a: Array, zero_b: Array) -> Array:
        # A zero row has no direction: 1 from any other row, 0 from another zero row.
        out = np.minimum(0.5 * squared, 2.0)
        out[zero_a ^ zero_b] = 1.0
        return np.asarray(out)

    def pairwise(self, a: Prepared, b: Prepared) -> Array:
        squared = SquaredEuclidean().pairwise(a, b)
        return self._from_squared(squared, a["squares"][:, None] == 0, b["squares"][None, :] == 0)

    def rowwise(self, a: Prepared, b: Prepared, rows: Array) -> Array:
        squared = SquaredEuclidean().rowwise(a, b, rows)
        return self._from_squared(squared, a["squares"][:, None] == 0, b["squares"][rows] == 0)

    def within(self, b: Prepared, rows: Array) -> Array:
        zero = b["squares"][rows] == 0
        return self._from_squared(SquaredEuclidean().within(b, rows), zero[:, :, None], zero[:, None, :])

    def of_squared(self, squared: Array) -> Array:
        return np.minimum(0.5 * squared, 2.0)

    def astray(self, kept: Prepared) -> Array:
        return np.flatnonzero(kept["squares"] == 0)  # rows without direction

    def to_origin(self, a: Prepared) -> Array:
        return np.where(a["squares"] == 0, 0.0, 1.0)

    def screen(self, a: Prepared, b: Prepared) -> tuple[Array, Array]:
        squared, error = SquaredEuclidean().screen(a, b)
        return self._from_squared(squared, a["squares"][:, None] == 0, b["squares"][None, :] == 0), error


@register("cosine")
@dataclass(frozen=True)
class Cosine(_Angular):
    """1 − cos(a, b): half the squared Euclidean distance of the unit vectors."""

    formula: ClassVar[str] = "1 − a·b / (‖a‖ ‖b‖)"

    def _rows(self, X: Array) -> Array:
        return X


@register("correlation")
@dataclass(frozen=True)
class Correlation(_Angular):
    """1 − Pearson correlation: cosine of the vectors less their mean. A constant vector counts as zero."""

    formula: ClassVar[str] = "1 − corr(a, b)"

    def _rows(self, X: Array) -> Array:
        centred = X - X.mean(axis=1, keepdims=True)
        constant = (X[:, :1] == X).all(axis=1)
        centred[constant] = 0.0
        return np.asarray(centred)


def _scaling(variances: Array) -> Array | None:
    """One factor a coordinate that makes the variances 1; None where one is 0."""
    return 1.0 / np.sqrt(variances) if variances.all() else None


def _whitening(covariance: Array) -> Array | None:
    """The matrix (d, d) that makes the variance along every axis 1; None where there is no inverse.

    That is judged of the correlations: how large a coordinate's unit is says nothing about the inverse.
    """
    scaling = _scaling(np.diag(covariance))
    if scaling is None:
        return None
    values, vectors = np.linalg.eigh(scaling[:, None] * covariance * scaling)
    return scaling[:, None] * vectors / np.sqrt(values) if values[0] > 1e-10 * values[-1] else None


@register("mahalanobis")
@dataclass(frozen=True)
class Mahalanobis(EuclideanAfter):
    """√((a−b)ᵀ C⁻¹ (a−b)) with C the covariance of the examples, shrunk towards its mean variance.

    ``shrinkage`` in [0, 1] blends C with its mean variance times the identity, or where units differ with its own
    variances; None takes the smallest of 0, 1e-6, 1e-4, … that makes C invertible. ``diagonal`` uses the variances
    alone.
    """

    formula: ClassVar[str] = "√ (a−b)ᵀ C⁻¹ (a−b)"
    metric: ClassVar[bool] = True
    power: ClassVar[int] = 2
    orders_like_euclid: ClassVar[bool] = True
    squared_euclidean: ClassVar[bool] = True

    diagonal: bool = False
    shrinkage: float | None = None
    whitening: Array | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.shrinkage is not None and not 0.0 <= self.shrinkage <= 1.0:
            raise ParameterError(f"shrinkage lies between 0 and 1; got {self.shrinkage!r}.")

    @property
    def preparation(self) -> Hashable:
        return (type(self), self.diagonal, self.shrinkage)

    def fit(self, X: Array, y: Array, *, sample_shape: tuple[int, ...]) -> Mahalanobis:
        width = X.shape[1]
        wide = np.asarray(X, np.float64)
        centred = np.where(varying(X), wide - wide.mean(axis=0), 0.0)
        scale = 1.0 / max(1, len(X) - 1)
        variances = np.einsum("ij,ij->j", centred, centred) * scale
        mean_variance = float(variances.mean()) or 1.0
        towards = np.full(width, mean_variance)
        if units_differ(X):
            towards = np.where(variances > 0, variances, mean_variance)
        covariance = None if self.diagonal else centred.T @ centred * scale
        tries = (0.0, 1e-6, 1e-4, 1e-2, 0.1, 1.0) if self.shrinkage is None else (self.shrinkage,)
        for amount in tries:
            if covariance is None:
                whitening = _scaling((1 - amount) * variances + amount * towards)
            else:
                whitening = _whitening((1 - amount) * covariance + amount * np.diag(towards))
            if whitening is not None:
                return Mahalanobis(self.diagonal, self.shrinkage, whitening.astype(X.dtype))
        raise ParameterError(
            f"The covariance of the {len(X)} examples is singular with shrinkage={self.shrinkage!r}. "
            "Give a larger shrinkage, or None to have one chosen."
        )

    def prepare(self, X: Array) -> Prepared:
        if self.whitening is None:
            raise ParameterError("The Mahalanobis distance needs fit(X, y) before it can prepare samples.")
        return prepare_vectors(X * self.whitening if self.whitening.ndim == 1 else tiled_product(X, self.whitening))
