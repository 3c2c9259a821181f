"""The contract of a look, the registry, and the two ways that looks are made: of a feature, of an image distance.

A look is one way to compare pictures: it computes vectors or small images from them (``see``) and names the distance
between those. What it learns from pictures (visual words, the subspace of the examples) it learns in ``fit``, which
returns the fitted look.

To add one, register a function from the kind of the pictures to a look, or None if it makes no sense for them::

    @kcrc.looks.register("edges")
    def edges(kind):
        return kcrc.looks.of_feature("edges", my_function, price=kcrc.looks.Price(picture=500))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np

from kcrc._base.arrays import Array, unit_rows
from kcrc._base.registry import Registry
from kcrc.errors import DataError, KCRCError, ParameterError
from kcrc.images import features
from kcrc.images.decoding.resizing import View, view_array
from kcrc.images.features.base import Feature
from kcrc.images.looks import describe
from kcrc.images.looks.subspace import squared_lengths, subspace_axes, with_outside_length, without_outside_length
from kcrc.method import distances
from kcrc.method.distances.base import Distance
from kcrc.method.scaling import tiled_product

# The kind of the pictures, which says which looks make sense and at which size. With too few examples to compare looks,
# it also says which of them usually work best: ``prior`` of ``register`` is the only prior knowledge.

SAMPLE = 200  # pictures that tell the kind
# A pixel within this part of the range counts as black or white; strokes have so large a share of such pixels.
BLACK_OR_WHITE, STROKES = 0.15, 0.8
COLOURED = 0.04  # mean difference of the channels (of 1) above which pictures are coloured
KINDS = ("strokes", "grey", "colour")


@dataclass(frozen=True)
class PictureKind:
    """The kind of the examples: ``kind_`` of an ``ImageClassifier``, and the argument of a registered look.

    Attributes
    ----------
    height, width : int
        The median of the pictures, in pixels.
    colour : bool
        Whether they are coloured.
    strokes : bool
        Whether they are mostly black and white, as writing and drawings are.
    count : int
        How many examples there are.
    name : str
        "colour", "strokes" or "grey".
    """

    height: int
    width: int
    colour: bool
    strokes: bool
    count: int

    @property
    def name(self) -> str:
        """One of KINDS."""
        return "colour" if self.colour else "strokes" if self.strokes else "grey"

    def prior(self, look: str) -> float:
        """Return how well the look usually works on such pictures."""
        return describe(look).prior[KINDS.index(self.name)]

    def size(self, most: int) -> tuple[int, int]:
        """Return (height, width) in the proportions of the pictures, the longer side at most ``most`` pixels."""
        scale = min(1.0, most / max(self.height, self.width))
        return max(1, round(self.height * scale)), max(1, round(self.width * scale))


def kind_of(pictures: Sequence[Array]) -> PictureKind:
    """Return the kind of these pictures."""
    sample = pictures[:: max(1, len(pictures) // SAMPLE)]
    height = int(np.median([picture.shape[0] for picture in sample]))
    width = int(np.median([picture.shape[1] for picture in sample]))
    colour = float(np.mean([_channel_difference(picture) for picture in sample])) > COLOURED
    strokes = not colour and float(np.mean([_black_or_white(picture) for picture in sample])) > STROKES
    return PictureKind(height, width, colour, strokes, len(pictures))


def _channel_difference(picture: Array) -> float:
    if picture.ndim == 2:
        return 0.0
    scale = 255.0 if picture.dtype == np.uint8 else 1.0
    values = picture.astype(np.float32) / scale
    return float((values.max(axis=2) - values.min(axis=2)).mean())


def _black_or_white(picture: Array) -> float:
    """Return the share of pixels near the darkest or the brightest."""
    values = picture.astype(np.float32) if picture.ndim == 2 else picture.astype(np.float32).mean(axis=2)
    low, high = float(values.min()), float(values.max())
    near = BLACK_OR_WHITE * (high - low)
    return float(((values <= low + near) | (values >= high - near)).mean())


F = TypeVar("F", bound=Callable[..., Any])
registry: Registry[Look | None] = Registry("look", {})


@dataclass(frozen=True)
class LookDescription:
    """What is said of a look before it sees a picture; see ``register``."""

    words: str
    row: str = ""
    prior: tuple[float, float, float] = (0.5, 0.5, 0.5)


descriptions: dict[str, LookDescription] = {}  # in the order of registration


def register(
    name: str, *, words: str = "", row: str = "", prior: tuple[float, float, float] = LookDescription.prior
) -> Callable[[F], F]:
    """Enter a function from the kind of the pictures to a look; None stands for a look that makes no sense for them.

    Parameters
    ----------
    name : str
        The name; a name is taken once.
    words : str, default=""
        What it compares, for sentences such as "compared by fine outlines and colours"; its name if empty.
    row : str, default=""
        What stands under its name in the picture of docs/looks.md; ``words`` if empty.
    prior : tuple of three floats, default=(0.5, 0.5, 0.5)
        How well it usually works on strokes, on grey and on coloured pictures, from 0 to 1: used where there are too
        few examples to find that out.

    Returns
    -------
    callable
        A decorator, which returns the function.

    Raises
    ------
    ParameterError
        If the name is taken.
    """

    def enter(maker: F) -> F:
        registry.register(name)(maker)
        descriptions[name] = LookDescription(words or name, row or words, prior)
        return maker

    return enter


Pictures = Sequence[Array]
CHUNK = 256  # pictures whose vectors are held at once, before they are projected to the subspace of the examples

# A distance that takes COSTLY µs per pair or more is measured only to the CANDIDATES examples nearest by pixels. With
# the pairs among those it measures PAIRS_AMONG times as many.
COSTLY = 1.0
CANDIDATES = 100
PAIRS_AMONG = 3.0


@dataclass(frozen=True)
class Price:
    """What a look costs, in µs on one ordinary core. Cheap looks are tried first.

    Parameters
    ----------
    picture : float, default=100.0
        For each picture.
    pair : float, default=0.0
        To compare two pictures.
    learning : float, default=0.0
        To learn from the examples, once.
    """

    picture: float = 100.0
    pair: float = 0.0
    learning: float = 0.0

    def total(self, n: int) -> float:
        """Return the seconds to see n examples and to classify each of them once."""
        return 1e-6 * (self.learning + n * self.picture) + self.comparing(n)

    def comparing(self, n: int) -> float:
        """Return the seconds to compare each of n examples with its candidates, and those with each other, once."""
        others = min(n, CANDIDATES) if self.pair >= COSTLY else n
        return 1e-6 * n * others * self.pair * (PAIRS_AMONG if self.pair >= COSTLY else 1.0)


class Look(ABC):
    """One way to compare pictures.

    ``of_feature`` and ``of_distance`` make most looks. A subclass is a frozen dataclass with the fields ``name`` and
    ``price`` that implements ``see``; also ``fit`` if it learns from the examples, ``distance`` if that is not the
    Euclidean one, and ``state`` if it can be saved.

    Attributes
    ----------
    name : str
        Its name.
    price : Price
        What it costs.
    """

    name: str
    price: Price

    @property
    def distance(self) -> str | Distance:
        """The distance between results of ``see``."""
        return "euclidean"

    @property
    def settings(self) -> dict[str, Any]:
        """Parameters of its classifier that are not tuned."""
        return {"distance": self.distance}

    def fit(self, pictures: Pictures, labels: Array) -> Look:
        """Learn from the examples; the default learns nothing.

        Parameters
        ----------
        pictures : sequence of array
            The examples, each (h, w) or (h, w, 3), of any sizes.
        labels : array of int of shape (n,)
            Their class numbers.

        Returns
        -------
        Look
            The fitted look; this one stays as it is.
        """
        return self

    @abstractmethod
    def see(self, pictures: Pictures) -> Array:
        """Return what is compared of pictures.

        Parameters
        ----------
        pictures : sequence of array
            n pictures, each (h, w) or (h, w, 3), of any sizes; bytes from 0 to 255, or floats from 0 to 1.

        Returns
        -------
        ndarray of float32 of shape (n, …)
            One entry per picture, all of one shape.
        """

    def fit_see(self, pictures: Pictures, labels: Array) -> tuple[Look, Array]:
        """Fit to the examples; return the fitted look and what it stores of them, each computed once."""
        fitted = self.fit(pictures, labels)
        return fitted, fitted.see(pictures)

    @property
    def outside(self) -> bool:
        """Whether the last number says how far outside the subspace of the examples a picture lies."""
        return False

    def to_stored(self, seen: Array) -> Array:
        """Return what is stored of examples, given the result of ``see`` for them; the default is the same."""
        return seen

    def for_more_examples(self) -> Look:
        """Return the look for more examples than it was fitted to; the default is the same."""
        return self

    def state(self) -> dict[str, Any]:
        """Return all of it as plain values and arrays, for a file."""
        raise DataError(f"The look '{self.name}' cannot be saved.")


@dataclass(frozen=True, eq=False)
class UnmadeLook(Look):
    """A look that could not be made for such pictures: using it raises the ``reason``."""

    name: str
    reason: KCRCError
    price: Price = Price(picture=0.0)

    def see(self, pictures: Pictures) -> Array:
        raise self.reason


@dataclass(frozen=True, eq=False)
class FeatureLook(Look):
    """Unit vectors of a feature.

    If there are fewer examples than numbers in a vector, vectors are projected to the ``axes`` (m, d) of the examples'
    subspace: distances between examples stay the same, with less to compute. ``beyond``: one more number says how
    far outside the subspace a picture lies (``kcrc.images.looks.subspace``).
    """

    name: str
    feature: Feature
    price: Price = Price()
    axes: Array | None = None
    beyond: bool = True

    @property
    def outside(self) -> bool:
        return self.beyond and self.axes is not None

    def fit(self, pictures: Pictures, labels: Array) -> Self:
        return self.fit_see(pictures, labels)[0]

    def fit_see(self, pictures: Pictures, labels: Array) -> tuple[Self, Array]:
        # A feature that is fitted already is used as it is, so that its vectors stay comparable with others it made.
        # One that is not is copied first, because the instance in the registry is shared.
        feature = self.feature
        if not feature.is_fitted:
            feature = type(feature)(**feature.get_params(deep=False)).fit(list(pictures), labels)
        vectors = unit_rows(feature.transform(list(pictures)))
        fitted = replace(self, feature=feature, axes=subspace_axes(vectors))
        return fitted, fitted.to_stored(fitted._project(vectors))

    def see(self, pictures: Pictures) -> Array:
        parts = [pictures[start : start + CHUNK] for start in range(0, len(pictures), CHUNK)]
        return np.concatenate([self._project(unit_rows(self.feature.transform(list(part)))) for part in parts])

    def _project(self, vectors: Array) -> Array:
        if self.axes is None:
            return vectors
        inside = tiled_product(vectors, self.axes.T)
        return with_outside_length(inside, squared_lengths(vectors)) if self.beyond else inside

    def to_stored(self, seen: Array) -> Array:
        return without_outside_length(seen) if self.outside else seen

    def for_more_examples(self) -> Self:
        return replace(self, beyond=False)  # most of them lie outside the subspace as queries do

    def state(self) -> dict[str, Any]:
        if self.feature.kind == "callable":
            raise DataError(
                f"The look '{self.name}' is made from a function, and functions cannot be saved. Make it from a "
                "feature that kcrc knows by name, or from a network file (feature 'onnx')."
            )
        plain = {"look": "feature", "name": self.name, "price": asdict(self.price)}
        return {**plain, "feature": self.feature.state(), "axes": self.axes, "beyond": self.beyond}


@dataclass(frozen=True, eq=False)
class DistanceLook(Look):
    """Grey pictures of one ``size`` (height, width), compared by a distance between images.

    ``unit`` scales each to length 1.
    """

    name: str
    size: tuple[int, int]
    measure: str
    price: Price = Price()
    unit: bool = True

    @property
    def distance(self) -> str | Distance:
        return distances.make(self.measure)

    @property
    def settings(self) -> dict[str, Any]:
        costly = {"n_candidates": CANDIDATES} if self.price.pair >= COSTLY else {}
        return {"distance": self.distance, **costly}

    def see(self, pictures: Pictures) -> Array:
        view = View(self.size, colour=False)
        resized = [view_array(picture, view) for picture in pictures]
        grey = np.stack([p.astype(np.float32) / (255.0 if p.dtype == np.uint8 else 1.0) for p in resized])
        if not self.unit:
            return grey
        return unit_rows(grey.reshape(len(grey), -1)).reshape(grey.shape)

    def state(self) -> dict[str, Any]:
        plain = {"look": "distance", "name": self.name, "size": list(self.size), "measure": self.measure}
        return {**plain, "unit": self.unit, "price": asdict(self.price)}


def looks_for(kind: PictureKind, names: Sequence[str]) -> list[Look]:
    """Return the looks of these names that make sense for such pictures; one whose maker fails is an UnmadeLook."""
    looks: list[Look] = []
    for name in names:
        try:
            look = registry.make(name, kind=kind)
        except KCRCError as reason:
            look = UnmadeLook(name, reason)
        if look is not None:
            looks.append(look)
    return looks


def of_feature(
    name: str, feature: str | Feature | Callable[..., Any], *, price: Price | None = None, **options: Any
) -> Look:
    """Make a look from a feature: a name with options, a Feature, or a function from a list of pictures to vectors.

    Parameters
    ----------
    name : str
        The name of the look.
    feature : str, Feature or callable
        What computes vectors from pictures.
    price : Price or None, default=None
        What it costs; cheap looks are tried first.
    **options : object
        Options of a feature given by name.

    Returns
    -------
    Look
        For ``ImageClassifier(looks=…)``.

    Raises
    ------
    UnknownName
        If there is no such feature.

    Examples
    --------
    >>> from kcrc import looks
    >>> looks.of_feature("edges", "hog").name
    'edges'
    """
    return FeatureLook(name, features.resolve(feature, **options), price or Price())


def of_distance(name: str, measure: str, size: tuple[int, int], *, price: Price | None = None) -> Look:
    """Make a look from a distance between images, by its name in ``kcrc.distances``.

    Parameters
    ----------
    name : str
        The name of the look.
    measure : str
        A name of ``kcrc.distances.names()``.
    size : tuple of int and int
        Height and width that pictures are resized to first.
    price : Price or None, default=None
        What it costs; cheap looks are tried first.

    Returns
    -------
    Look
        For ``ImageClassifier(looks=…)``.

    Raises
    ------
    ParameterError
        If there is no such distance.

    Examples
    --------
    >>> from kcrc import looks
    >>> looks.of_distance("strokes", "tangent", (16, 16)).name
    'strokes'
    """
    if measure not in distances.names():
        raise ParameterError(f"Unknown distance {measure!r}. Known: {', '.join(distances.names())}.")
    return DistanceLook(name, size, measure, price or Price())
