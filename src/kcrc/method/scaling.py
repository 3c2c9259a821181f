"""How examples and queries are scaled before anything compares them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from kcrc._base.arrays import BLOCK, Array, unit_rows
from kcrc._base.registry import Registry
from kcrc.errors import ParameterError

__all__ = ["Scaling", "Standard", "Unit", "Within", "make", "names", "register", "resolve"]

# What the features of vectors are by themselves: where each lies, how far it spreads, whether it varies at all.
#
# Every feature is judged in its own unit. Metres beside micrometres are no reason to take the metres for constant.

SEEN, SEEN_LEAST = 0.1, 10  # of the examples, and examples, that are not at one end of a range: else it was seen in too
# few to be known; half of them are always enough
OTHER_UNITS = 300  # times the range of another feature; that of pixels, which have 255 steps, differs by less
FAR = 100  # times the spread of vectors: how far out they may lie for distances that follow from products in single
# precision; those have seven digits, and (distance / spread)² of them cancel
_ROWS = 1000  # the most that are looked at
_COLUMNS = 64  # taken at once, so that the copy in double precision stays small


def _limits(X: Array) -> tuple[Array, Array]:
    return X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)


def varying(X: Array) -> Array:
    """(d,) whether a feature's values differ by more than rounding makes of equal ones: two units in the last place
    or three, of its own largest value."""
    low, high = _limits(X)
    largest = np.maximum(np.abs(low), np.abs(high))
    return np.asarray(0.5 * high - 0.5 * low > np.finfo(X.dtype).eps * largest)  # halves: the difference may overflow


def far_out(X: Array) -> bool:
    """Whether vectors in half or single precision lie so far from the origin, for how far they lie apart, that
    distances from their products would be rounding: ‖m‖ > FAR √(mean ‖x − m‖²) for the mean m. It is read off a
    sample of evenly spaced rows."""
    if X.dtype.itemsize >= 8:
        return False
    most = min(_ROWS, max(8, BLOCK // (8 * X.shape[1])))
    some = X[:: -(-len(X) // most)].astype(np.float64)
    mean = some.mean(axis=0)
    some -= mean
    spread = float(np.einsum("ij,ij->", some, some)) / len(some)
    return 0.0 < FAR**2 * spread < float(mean @ mean)


def moments(X: Array) -> tuple[Array, Array]:
    """Mean and standard deviation (d,) of every feature, in double precision.

    Powers of two bring each near 1 first, which loses nothing, so that no square leaves the range of numbers; and what
    summing left of the mean is taken off, so that a small signal far from 0 keeps its size.
    """
    mean, deviation = np.empty(X.shape[1]), np.empty(X.shape[1])
    for start in range(0, X.shape[1], _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        block = X[:, columns].astype(np.float64)
        _, power = np.frexp(np.abs(block).max(axis=0))
        block = np.ldexp(block, -power)
        centre = block.mean(axis=0)
        block -= centre
        left = block.mean(axis=0)
        block -= left
        mean[columns] = np.ldexp(centre + left, power)
        deviation[columns] = np.ldexp(np.sqrt(np.einsum("ij,ij->j", block, block) / len(X)), power)
    return mean, deviation


def units_differ(X: Array) -> bool:
    """Whether some features vary so much more than others that they must be in other units.

    The range is compared, not the deviation: a pixel that is seldom lit deviates little, but in the same unit. One that
    was lit in a few may have been so faintly by chance: a small range counts where it was seen in enough examples. And
    few examples are alike in some of many features by chance: one that is nearly off in half of all pictures is so in n
    of them with 2⁻ⁿ, and more have to be than that brings about.
    """
    low, high = _limits(X)
    ranges, varies = 0.5 * high - 0.5 * low, varying(X)
    if not varies.any():
        return False
    small = np.flatnonzero(varies & (ranges < ranges[varies].max() / OTHER_UNITS))
    enough = min(len(X) / 2, max(SEEN * len(X), SEEN_LEAST))
    seen = sum(min(np.sum(X[:, i] != low[i]), np.sum(X[:, i] != high[i])) >= enough for i in small)
    return bool(seen > X.shape[1] * 0.5 ** len(X))


registry: Registry[Scaling] = Registry("scaling")
names = registry.names
make = registry.make
register = registry.register

ROUNDING = 1e-3  # of a standardised value, in single precision; examples are never cut
TILE = 8  # rows: more cost a single query more, fewer a batch


class Scaling(ABC):
    """A map of vectors, fitted on the examples and applied to examples and queries alike.

    A scaling is a frozen dataclass whose fields are its options and what it learned. It implements ``transform``, and
    ``fit`` where it learns from the examples. ``kcrc.scaling.register`` gives it a name.
    """

    keeps_vectors: ClassVar[bool] = False
    """Whether it gives vectors back as they are."""

    uses_labels: ClassVar[bool] = False
    """Whether it is fitted with the labels: an example that is asked as if it were new has to leave it."""

    @property
    def by_class(self) -> Within | None:
        """The whitening by the within-class covariance, where it is one: how an example leaves that is known."""
        return None

    @property
    def is_centred(self) -> bool:
        """Whether vectors are taken about the mean of the examples."""
        return False

    @property
    def is_fitted(self) -> bool:
        """Whether ``transform`` can be called."""
        return True

    @property
    def learns(self) -> bool:
        """Whether ``fit`` learns something from the examples, so that others would give another scaling."""
        return type(self).fit is not Scaling.fit

    def fit(self, X: Array, y: Array) -> Scaling:
        """Learn from the examples; the default learns nothing.

        Parameters
        ----------
        X : array of shape (n, d)
            The examples.
        y : array of int of shape (n,)
            Their class numbers.

        Returns
        -------
        Scaling
            The fitted scaling; this one stays as it is.
        """
        return self

    @abstractmethod
    def transform(self, X: Array) -> Array:
        """Scale vectors.

        Parameters
        ----------
        X : array of shape (n, d)
            Examples or queries.

        Returns
        -------
        ndarray of shape (n, d')
            What is compared; may be X itself.
        """


@register("plain")
@dataclass(frozen=True)
class Plain(Scaling):
    """Vectors as they are."""

    keeps_vectors: ClassVar[bool] = True

    def transform(self, X: Array) -> Array:
        return X


@register("standard")
@dataclass(frozen=True, eq=False)
class Standard(Scaling):
    """Every feature less its mean, over its standard deviation; a constant feature becomes 0.

    Each is judged in its own unit: the others may be a thousand million times as large.

    Parameters
    ----------
    mean : array of shape (d,), or None, default=None
        Of the examples: ``fit`` finds it.
    scale : array of shape (d,), or None, default=None
        1 over the standard deviations: ``fit`` finds it.
    bounded : bool, default=False
        Let no vector be farther out in a feature than an example can be, √n deviations: few examples may show a feature
        so faintly that a new vector would be 50 away in it, and that one feature would outweigh all others.
    farthest : float or None, default=None
        That bound: ``fit`` finds it.
    """

    mean: Array | None = None
    scale: Array | None = None
    bounded: bool = False
    farthest: float | None = None

    @property
    def is_centred(self) -> bool:
        return True

    @property
    def is_fitted(self) -> bool:
        return self.mean is not None

    def fit(self, X: Array, y: Array) -> Standard:
        mean, deviation = moments(X)
        varies = varying(X) & (deviation > np.finfo(X.dtype).tiny)  # 1 / tiny is still a number
        scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
        farthest = float(np.sqrt(len(X))) * (1.0 + ROUNDING) if self.bounded else None
        return replace(self, mean=mean.astype(X.dtype), scale=scale.astype(X.dtype), farthest=farthest)

    def transform(self, X: Array) -> Array:
        if self.mean is None or self.scale is None:
            raise ParameterError("The standard scaling needs fit(X, y) before it can transform.")
        z = np.asarray((X - self.mean) * self.scale)
        return z if self.farthest is None else np.clip(z, -self.farthest, self.farthest, out=z)


@register("unit")
@dataclass(frozen=True)
class Unit(Scaling):
    """Every vector scaled to length 1, as the paper does; a zero vector stays zero.

    Parameters
    ----------
    first : Standard or None, default=None
        What standardises the features before that.
    """

    first: Standard | None = None

    @property
    def is_centred(self) -> bool:
        return self.first is not None

    @property
    def is_fitted(self) -> bool:
        return self.first is None or self.first.is_fitted

    @property
    def learns(self) -> bool:
        return self.first is not None

    def fit(self, X: Array, y: Array) -> Unit:
        return self if self.first is None else Unit(self.first.fit(X, y))

    def transform(self, X: Array) -> Array:
        X = X if self.first is None else self.first.transform(X)
        return unit_rows(X)


@register("within")
@dataclass(frozen=True, eq=False)
class Within(Scaling):
    """Whitening by the pooled within-class covariance: what varies inside classes counts less.

    S = (1 − s) C + s v I with C the pooled within-class covariance, v its mean variance and s the ``shrinkage``; z =
    L⁻¹(x − m) for S = L Lᵀ and the overall mean m. Distances between z are Mahalanobis distances. Every class needs no
    more than one example; C comes from those with two or more.

    Parameters
    ----------
    shrinkage : float, default=0.2
        s, above 0 and at most 1.
    unit : bool, default=True
        Scale z to length 1.
    scaled : bool, default=False
        Scale x to length 1 before all of that: light moves a face along its own direction, and a covariance of such
        vectors is one of what is left.
    mean : array of shape (d,), or None, default=None
        m: ``fit`` finds it.
    whitening : array of shape (d, d), or None, default=None
        What x − m is multiplied by: ``fit`` finds it.
    first : Standard or None, default=None
        What standardises x before all of that: v I drowns features whose unit makes them small beside the others.
    """

    uses_labels: ClassVar[bool] = True

    shrinkage: float = 0.2
    unit: bool = True
    scaled: bool = False
    mean: Array | None = None
    whitening: Array | None = None
    first: Standard | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.shrinkage <= 1.0:
            raise ParameterError(f"shrinkage is above 0 and at most 1; got {self.shrinkage!r}.")

    @property
    def by_class(self) -> Within | None:
        return self

    @property
    def is_centred(self) -> bool:
        return True

    def fit(self, X: Array, y: Array) -> Within:
        made = self if self.first is None else replace(self, first=self.first.fit(X, y))
        return made.fit_covariance(X, within_covariance(made.ready(X), y))

    @property
    def is_fitted(self) -> bool:
        return self.mean is not None

    def fit_covariance(self, X: Array, covariance: Array) -> Within:
        """Like ``fit`` with C of ``ready(X)`` given, so that several shrinkages share one covariance; ``first`` is
        fitted already."""
        from scipy.linalg.lapack import dtrtri  # only to fit: a fitted scaling need not wait for it

        whitening, _ = dtrtri(shrunk_factor(covariance, self.shrinkage), lower=1)
        mean = self.ready(X).mean(axis=0, dtype=np.float64)
        return replace(self, mean=mean.astype(X.dtype), whitening=whitening.T.astype(X.dtype))

    def ready(self, X: Array) -> Array:
        """x as it is whitened."""
        X = X if self.first is None else self.first.transform(X)
        return Unit().transform(X) if self.scaled else X

    def whiten(self, X: Array) -> Array:
        """z before it is scaled to unit length."""
        if self.mean is None or self.whitening is None:
            raise ParameterError("The within scaling needs fit(X, y) before it can transform.")
        return tiled_product(self.ready(X) - self.mean, self.whitening)

    def transform(self, X: Array) -> Array:
        z = self.whiten(X)
        return Unit().transform(z) if self.unit else z


def tiled_product(X: Array, A: Array) -> Array:
    """X A, each row as if it were alone: a matrix product of more rows or fewer may take its sums in another order, so
    that all are made of TILE rows."""
    n, d = X.shape
    whole = n - n % TILE
    out = np.empty((n, A.shape[1]), np.result_type(X, A))
    np.matmul(X[:whole].reshape(-1, TILE, d), A, out=out[:whole].reshape(-1, TILE, A.shape[1]))
    if whole < n:
        last = np.zeros((TILE, d), X.dtype)
        last[: n - whole] = X[whole:]
        out[whole:] = (last @ A)[: n - whole]
    return out


def within_deviations(X: Array, y: Array) -> tuple[Array, Array]:
    """Each example less the mean of its class (n, d), and the number of examples in its class (n,)."""
    deviations = np.empty_like(X)
    sizes = np.empty(len(X), np.intp)
    for c in np.unique(y):
        members = np.flatnonzero(y == c)
        mine = X[members]
        # The mean of equal values is off by rounding, and where nothing else varied that would be whitened.
        deviations[members] = np.where(varying(mine), mine - mine.mean(axis=0, dtype=np.float64).astype(X.dtype), 0)
        sizes[members] = len(members)
    return deviations, sizes


def within_covariance(X: Array, y: Array) -> Array:
    """C (d, d), the pooled within-class covariance (float64)."""
    deviations, _ = within_deviations(X, y)
    return np.asarray(deviations.T @ deviations, np.float64) / max(1, len(X) - len(np.unique(y)))


def shrunk_factor(covariance: Array, shrinkage: float) -> Array:
    """The lower Cholesky factor of (1 − s) C + s v I; v is the mean variance, or 1 where nothing varies."""
    from scipy.linalg import cholesky

    variance = float(np.trace(covariance)) / len(covariance) or 1.0
    shrunk = (1.0 - shrinkage) * covariance
    shrunk[np.diag_indices_from(shrunk)] += shrinkage * variance
    return np.asarray(cholesky(shrunk, lower=True, overwrite_a=True, check_finite=False))


def resolve(spec: str | Scaling) -> Scaling:
    """A name, or a Scaling -> a Scaling."""
    return registry.resolve(spec, Scaling)


def fit_scaling(spec: str | Scaling, X: Array, y: Array) -> Scaling:
    """The scaling that ``spec`` says, fitted: one that was fitted before stays as it is."""
    part = resolve(spec)
    return part if part.is_fitted else part.fit(X, y)


def is_fixed(spec: Any) -> bool:
    """Whether a parameter gives a scaling that was fitted elsewhere, so that no example leaves it."""
    return isinstance(spec, Scaling) and spec.is_fitted
