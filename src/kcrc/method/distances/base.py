"""The contract of a distance, the registry, and the shared preparation of plain vectors.

A distance is a frozen dataclass: its fields are its options. To add one, write the class in the file of its
family, put ``@distances.register("name")`` on it, name that file in ``_HOMES`` (it is imported when the distance is
asked for), and add its slow formula to ``tests/references/``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.registry import Registry, reset_capabilities
from kcrc._base.views import Layout
from kcrc.errors import ParameterError
from kcrc.method.preparation import Prepared

_HOMES = {
    "chessboard": "pixel",
    "chi2": "histogram",
    "correlation": "pixel",
    "cosine": "pixel",
    "euclidean": "pixel",
    "geometric-blur": "geometric_blur",
    "intersection": "histogram",
    "lbp-chi2": "lbp",
    "mahalanobis": "pixel",
    "manhattan": "pixel",
    "marginal": "textons",
    "precomputed": "precomputed",
    "shape-context": "shape_context",
    "sift": "sift",
    "sqeuclidean": "pixel",
    "tangent": "tangent",
    "texton-chi2": "textons",
    "unified": "unified",
}
registry: Registry[Distance] = Registry(
    "distance", {name: f"kcrc.method.distances.{file}" for name, file in _HOMES.items()}
)
names = registry.names
make = registry.make
register = registry.register

VECTORS = "vectors"
NO_ROWS: Array = np.empty(0, np.intp)


def prepare_vectors(X: Array) -> Prepared:
    """Vectors as they are, with their squared norms (float64 sums, whatever the storage)."""
    squares = np.einsum("ij,ij->i", X, X, dtype=np.promote_types(X.dtype, np.float32))
    return Prepared({"vectors": X, "squares": squares})


class Distance(ABC):
    """How far two samples are apart. Smaller is nearer, 0 is identical, never negative.

    A distance is a frozen dataclass whose fields are its options. It implements ``prepare``, which looks at each sample
    once, and ``pairwise``, which compares what was prepared; ``fit`` where it learns from the examples, and
    ``to_origin`` where the polarisation kernel may use it. One of plain vectors derives from ``VectorDistance``, which
    prepares them. ``kcrc.distances.register`` gives it a name.
    """

    formula: ClassVar[str]
    """The formula in one line, for the docs."""

    metric: ClassVar[bool]
    """True when identity, symmetry and the triangle inequality hold."""

    power: ClassVar[int]
    """The kernel rules of the paper hold for squared distances: they see ``Dist ** power``.
    2 where this returns a plain length (Euclidean), 1 where it already returns a square or a sum."""

    symmetric: ClassVar[bool] = True
    """Whether both directions are equal."""

    directed: ClassVar[bool] = False
    """Whether, where it is not symmetric, the direction from a query to an example is meant. A kernel of any other
    takes the mean of both directions for queries too; among examples it always does (``distances/mutual.py``)."""

    cost: ClassVar[float] = 0.0
    """About how many µs a pair takes. Distances between examples that cost 1 or more are kept once measured."""

    of_vectors: ClassVar[bool] = False
    """Whether it is at home among any vectors, so that the examples may be put under a scaling first. It learns nothing
    from them then but what ``fit`` can learn again."""

    rules: ClassVar[tuple[str, ...]] = ("exp", "polarisation")
    """The distance-to-kernel rules that make sense for it."""

    orders_like_euclid: ClassVar[bool] = False
    """Whether it grows with ‖a − b‖ of the "vectors" it prepares, so that the compiled search finds its neighbours;
    ``of_squared`` and ``astray`` then say how."""

    squared_euclidean: ClassVar[bool] = False
    """Whether ``Dist ** power`` is ‖a − b‖² of the "vectors" it prepares: its exp kernel is then their RBF."""

    sees_views: ClassVar[bool] = False
    """Whether it takes samples that are several views side by side; ``with_layout`` says where they are."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        none = {"orders_like_euclid": False, "squared_euclidean": False}
        reset_capabilities(cls, methods=("pairwise", "rowwise", "within"), capabilities=none)

    @property
    def learns(self) -> bool:
        """Whether ``fit`` learns something from the examples, so that others would give another distance."""
        return type(self).fit is not Distance.fit

    @property
    def preparation(self) -> Hashable:
        """Distances and kernels with an equal key share one stored preparation of the examples."""
        return self

    @property
    def is_euclidean(self) -> bool:
        """Whether ``Dist ** power`` is ‖a − b‖² of the samples themselves, so that all follows from dot products."""
        return self.squared_euclidean and self.preparation == VECTORS

    @property
    def given_as_matrix(self) -> bool:
        """Whether samples are rows of a matrix whose columns are all the examples, and nothing is measured."""
        return False

    @property
    def is_union(self) -> bool:
        """Whether the dictionary is a union: the nearest examples by each of its ``components``."""
        return self.components.get("") is not self

    @property
    def weights_(self) -> dict[str, float] | None:
        """The weights of its members, where it has some."""
        return None

    def fit(self, X: Array, y: Array, *, sample_shape: tuple[int, ...]) -> Distance:
        """Learn what has to be learned from the examples, such as a covariance; the default learns nothing.

        Parameters
        ----------
        X : array of shape (n, d)
            The examples, flattened.
        y : array of int of shape (n,)
            Their class numbers.
        sample_shape : tuple of int
            The shape of one sample before flattening.

        Returns
        -------
        Distance
            The fitted distance; this one stays as it is.
        """
        return self

    @abstractmethod
    def prepare(self, X: Array) -> Prepared:
        """Look at samples once.

        Parameters
        ----------
        X : array of shape (n, d)
            The samples, flattened.

        Returns
        -------
        Prepared
            Arrays by name, each with the n samples as its first axis: ``Prepared({"vectors": X})``.
        """

    @abstractmethod
    def pairwise(self, a: Prepared, b: Prepared) -> Array:
        """All distances between two sets.

        Parameters
        ----------
        a : Prepared
            What ``prepare`` made of n samples: ``a["vectors"]`` is one of its arrays.
        b : Prepared
            The same of m samples.

        Returns
        -------
        ndarray of shape (n, m)
            How far each is from each.
        """

    def rowwise(self, a: Prepared, b: Prepared, rows: Array) -> Array:
        """Distances (B, K) of sample i of ``a`` to the samples ``rows[i]`` of ``b``; no others are computed."""
        out = np.empty(rows.shape, dtype=np.float64)
        for i, wanted in enumerate(rows):
            out[i] = self.pairwise(a.take(slice(i, i + 1)), b.take(wanted))[0]
        return out

    def within(self, b: Prepared, rows: Array) -> Array:
        """Distances (B, K, K) among the samples ``rows[i]`` of ``b``."""
        out = np.empty((*rows.shape, rows.shape[1]), dtype=np.float64)
        for i, wanted in enumerate(rows):
            local = b.take(wanted)
            out[i] = self.pairwise(local, local)
        return out

    @property
    def components(self) -> Mapping[str, Distance]:
        """The distances whose nearest examples make up the dictionary, by name: this one alone, or those it unifies."""
        return {"": self}

    def part(self, kept: Prepared, name: str) -> Prepared:
        """What the component ``name`` reads of what this distance prepared."""
        return kept

    def combine(self, parts: Sequence[Array]) -> Array:
        """This distance from those of its components, in their order."""
        return parts[0]

    def of_squared(self, squared: Array) -> Array:
        """This distance from ‖a − b‖² of what it prepares, where it ``orders_like_euclid``."""
        return np.sqrt(squared) if self.power == 2 else squared

    def astray(self, kept: Prepared) -> Array:
        """The numbers of prepared samples that are not where their vectors are: ``of_squared`` is wrong about them."""
        return NO_ROWS

    def with_layout(self, layout: Layout) -> Distance:
        """For samples in which these views lie side by side, where it ``sees_views``."""
        return self

    def to_origin(self, a: Prepared) -> Array:
        """Distances (n,) to the origin of the polarisation rule, the all-zero sample."""
        raise ParameterError(
            f"The distance {type(self).__name__} has no origin, so the polarisation kernel cannot use it. "
            'Use kernel="exp".'
        )

    def screen(self, a: Prepared, b: Prepared) -> tuple[Array, Array] | None:
        """Quick values (len(a), len(b)) that order like the distance to within an error: ``(values, error)``
        with |value − true value| ≤ error[i, None] and true values increasing with the distance.
        None where ``pairwise`` is itself exact and quick. A search screens first and measures few pairs exactly."""
        return None


class VectorDistance(Distance):
    """A distance that needs nothing but the vectors themselves: all of these share one preparation.

    A subclass implements ``pairwise`` only. In it ``a["vectors"]`` are the samples (n, d) and ``a["squares"]`` (n,)
    their squared lengths. Otherwise it is as ``Distance`` says.
    """

    @property
    def preparation(self) -> Hashable:
        return VECTORS

    def prepare(self, X: Array) -> Prepared:
        return prepare_vectors(X)

    def to_origin(self, a: Prepared) -> Array:
        zero = prepare_vectors(np.zeros((1, a["vectors"].shape[1]), a["vectors"].dtype))
        far = self.pairwise(a, zero)[:, 0]
        return far if self.symmetric else np.asarray((far + self.pairwise(zero, a)[0]) / 2)


def resolve(spec: str | Distance | Callable[[Array, Array], float], **options: Any) -> Distance:
    """A name, a Distance, or a function of two vectors -> a Distance.

    Parameters
    ----------
    spec : str, Distance, or callable
        A name, or what it stands for.
    **options : object
        Options of one made by name.

    Returns
    -------
    Distance
        Not fitted yet, unless ``spec`` is.

    Raises
    ------
    UnknownName
        Where there is no such name.
    ParameterError
        Where it is nothing of the kind, or has no such option.

    Examples
    --------
    >>> from kcrc import distances
    >>> distances.resolve("manhattan")
    Manhattan()
    """
    from kcrc.method.distances.custom import from_function  # it builds on this file

    return registry.resolve(
        spec, Distance, from_function=from_function, function="a function of two vectors", **options
    )
