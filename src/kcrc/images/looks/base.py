"""The contract of a look, the registry, and the two ways that looks are made: of a feature, of an image distance.

A look is one way to see pictures: what is made of them (``see``) and how that is compared (``distance``). What it
learns from pictures (visual words, the span of the examples) it learns in ``fit``, which returns the fitted look.

To add one, register a function from the kind of the pictures to a look (None where it makes no sense for them)::

    @kcrc.looks.register("edges")
    def edges(kind):
        return kcrc.looks.of_feature("edges", my_function, price=kcrc.looks.Price(picture=500))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from kcrc._base.arrays import Array, unit_rows
from kcrc._base.registry import Registry
from kcrc.errors import DataError, KCRCError, ParameterError
from kcrc.images import features
from kcrc.images.decoding.resizing import View, view_array
from kcrc.images.features.base import Feature
from kcrc.images.looks.span import as_stored, span, squared_lengths, with_outside
from kcrc.method import distances
from kcrc.method.distances.base import Distance
from kcrc.method.scaling import tiled_product

# What kind of pictures they are: how large, grey or colour, strokes or photographs.
#
# A kind says which looks make sense and at which size, and, where examples are too few to be asked, which tend to see
# most: the one table of what is held before anything is known.

_SAMPLE = 200  # pictures looked at
_EXTREME, _INK = 0.15, 0.8  # of the range counts as black or white; of the pixels are so in strokes
_TINT = 0.04  # mean difference of channels (of 1) that makes a colour picture

PRIOR: dict[str, dict[str, float]] = {
    #                 strokes  grey  colour
    "pixels":         {"strokes": 0.2, "grey": 0.3, "colour": 0.1},
    "colour pixels":  {"strokes": 0.1, "grey": 0.1, "colour": 0.2},
    "hog":            {"strokes": 0.6, "grey": 0.6, "colour": 0.6},
    "fine hog":       {"strokes": 0.5, "grey": 0.5, "colour": 0.6},
    "lbp":            {"strokes": 0.3, "grey": 0.5, "colour": 0.5},
    "colour":         {"strokes": 0.1, "grey": 0.1, "colour": 0.4},
    "sift":           {"strokes": 0.6, "grey": 0.6, "colour": 0.5},
    "tangent":        {"strokes": 0.5, "grey": 0.3, "colour": 0.1},
    "marginal":       {"strokes": 0.1, "grey": 0.3, "colour": 0.3},
    "textons":        {"strokes": 0.1, "grey": 0.4, "colour": 0.3},
    "geometric blur": {"strokes": 0.7, "grey": 0.5, "colour": 0.5},
    "shape context":  {"strokes": 0.8, "grey": 0.3, "colour": 0.2},
    "coarse pyramid": {"strokes": 0.4, "grey": 0.7, "colour": 0.8},
    "pyramid":        {"strokes": 0.4, "grey": 0.7, "colour": 0.8},
    "embedding":      {"strokes": 0.4, "grey": 0.6, "colour": 1.0},
}  # fmt: skip
"""How much a look tends to see in pictures of a kind, 0 to 1, before any example is asked. From published results (line
drawings: shape context before geometric blur before HOG before pixels; photographs: networks before words before
gradients) and never from queries of ours. A look of a user's own counts UNKNOWN."""
UNKNOWN = 0.5


@dataclass(frozen=True)
class PictureKind:
    """What kind of pictures the examples are: ``kind_`` of an ``ImageClassifier``, and what a registered look is given.

    Attributes
    ----------
    height, width : int
        In pixels, the median of the pictures.
    colour : bool
        Whether some have one.
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
        """The column of PRIOR."""
        return "colour" if self.colour else "strokes" if self.strokes else "grey"

    def prior(self, look: str) -> float:
        """How much the look tends to see in such pictures."""
        return PRIOR.get(look, {}).get(self.name, UNKNOWN)

    def size(self, most: int) -> tuple[int, int]:
        """(height, width) of the pictures in their own proportions, the longer side at most ``most`` pixels."""
        scale = min(1.0, most / max(self.height, self.width))
        return max(1, round(self.height * scale)), max(1, round(self.width * scale))


def kind_of(pictures: Sequence[Array]) -> PictureKind:
    """The kind of some pictures."""
    some = pictures[:: max(1, len(pictures) // _SAMPLE)]
    height = int(np.median([picture.shape[0] for picture in some]))
    width = int(np.median([picture.shape[1] for picture in some]))
    colour = float(np.mean([_tint(picture) for picture in some])) > _TINT
    strokes = not colour and float(np.mean([_extreme(picture) for picture in some])) > _INK
    return PictureKind(height, width, colour, strokes, len(pictures))


def _tint(picture: Array) -> float:
    if picture.ndim == 2:
        return 0.0
    scale = 255.0 if picture.dtype == np.uint8 else 1.0
    values = picture.astype(np.float32) / scale
    return float((values.max(axis=2) - values.min(axis=2)).mean())


def _extreme(picture: Array) -> float:
    """The share of pixels near the darkest or the brightest."""
    values = picture.astype(np.float32) if picture.ndim == 2 else picture.astype(np.float32).mean(axis=2)
    low, high = float(values.min()), float(values.max())
    near = _EXTREME * (high - low)
    return float(((values <= low + near) | (values >= high - near)).mean())


registry: Registry[Look | None] = Registry("look", {})
register = registry.register

Pictures = Sequence[Array]
CHUNK = 256  # pictures whose vectors are held at once, before they are brought to the span of the examples
CANDIDATES = 100  # that a costly distance is measured to, found by the pixels
COSTLY = 1.0  # µs a pair
AMONG = 3.0  # times as many pairs as there are candidates: those among the nearest are measured too


@dataclass(frozen=True)
class Price:
    """What a look costs, in µs on one ordinary core: cheap looks are tried first.

    Parameters
    ----------
    picture : float, default=100.0
        To see one picture.
    pair : float, default=0.0
        To compare two.
    learning : float, default=0.0
        To learn from the examples, once.
    """

    picture: float = 100.0
    pair: float = 0.0
    learning: float = 0.0

    def of(self, n: int) -> float:
        """Seconds to see n examples and to ask each of them once."""
        return 1e-6 * (self.learning + n * self.picture) + self.asking(n)

    def asking(self, n: int) -> float:
        """Seconds to compare each of n examples with those it may be like, and those with each other, once."""
        others = min(n, CANDIDATES) if self.pair >= COSTLY else n
        return 1e-6 * n * others * self.pair * (AMONG if self.pair >= COSTLY else 1.0)


class Look(ABC):
    """One way to see pictures, and to compare what is seen.

    ``of_feature`` and ``of_distance`` make most looks. A subclass is a frozen dataclass with the fields ``name`` and
    ``price``, and implements ``see``; ``fit`` where it learns from the examples, ``distance`` where what it sees is not
    compared by Euclidean distance, and ``state`` where it can be kept in a file.

    Attributes
    ----------
    name : str
        What it is called.
    price : Price
        What it costs.
    """

    name: str
    price: Price

    @property
    def distance(self) -> str | Distance:
        """How what ``see`` gives is compared."""
        return "euclidean"

    @property
    def settings(self) -> dict[str, Any]:
        """What a classifier of it is made with, beside what it chooses itself."""
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
        """What is compared of pictures.

        Parameters
        ----------
        pictures : sequence of array
            n pictures, each (h, w) or (h, w, 3), of any sizes; bytes from 0 to 255, or floats from 0 to 1.

        Returns
        -------
        ndarray of float32 of shape (n, …)
            One entry for each picture, all of one shape.
        """

    def fit_see(self, pictures: Pictures, labels: Array) -> tuple[Look, Array]:
        """The fitted look, and what it sees of the examples: each is looked at once."""
        fitted = self.fit(pictures, labels)
        return fitted, fitted.see(pictures)

    @property
    def outside(self) -> bool:
        """Whether the last number says how far outside the span of the examples a picture lies."""
        return False

    def stored(self, seen: Array) -> Array:
        """What is stored of examples, by what is ``seen`` of pictures that are asked about; the default is that."""
        return seen

    def of_more(self) -> Look:
        """The same look for more examples than it was fitted with; the default is itself."""
        return self

    def state(self) -> dict[str, Any]:
        """All of it as plain values and arrays, for a file."""
        raise DataError(f"The look '{self.name}' cannot be saved.")


@dataclass(frozen=True, eq=False)
class UnmadeLook(Look):
    """A look that could not be made for such pictures: whoever tries it is told the ``reason``."""

    name: str
    reason: KCRCError
    price: Price = Price(picture=0.0)

    def see(self, pictures: Pictures) -> Array:
        raise self.reason


@dataclass(frozen=True, eq=False)
class FeatureLook(Look):
    """Vectors of a feature, each of length 1, in the coordinates ``axes`` (m, d) of the span of the examples where they
    are fewer than the numbers of a vector: distances between examples stay what they are, and there is less to count.
    ``beyond``: how far outside the span a picture lies is one number more (``kcrc.images.looks.span``).
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
        # A feature fitted elsewhere is used as it is: a state of its own is what makes its vectors comparable.
        feature = self.feature if self.feature.is_fitted else _again(self.feature).fit(list(pictures), labels)
        vectors = unit_rows(feature.transform(list(pictures)))
        fitted = replace(self, feature=feature, axes=span(vectors))
        return fitted, fitted.stored(fitted._within_span(vectors))

    def see(self, pictures: Pictures) -> Array:
        parts = [pictures[start : start + CHUNK] for start in range(0, len(pictures), CHUNK)]
        return np.concatenate([self._within_span(unit_rows(self.feature.transform(list(part)))) for part in parts])

    def _within_span(self, vectors: Array) -> Array:
        if self.axes is None:
            return vectors
        inside = tiled_product(vectors, self.axes.T)
        return with_outside(inside, squared_lengths(vectors)) if self.beyond else inside

    def stored(self, seen: Array) -> Array:
        return as_stored(seen) if self.outside else seen

    def of_more(self) -> Self:
        return replace(self, beyond=False)  # most of them lie outside the span as queries do

    def state(self) -> dict[str, Any]:
        if self.feature.kind == "callable":
            raise DataError(
                f"The look '{self.name}' is made of a function, which no file can keep. Make it of a feature that kcrc "
                "knows by name, or of a network file (feature 'onnx')."
            )
        told = {"look": "feature", "name": self.name, "price": asdict(self.price)}
        return {**told, "feature": self.feature.state(), "axes": self.axes, "beyond": self.beyond}


@dataclass(frozen=True, eq=False)
class DistanceLook(Look):
    """Grey pictures of one ``size`` (height, width), of length 1 where ``unit``, under a distance between images."""

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
        seen = [view_array(picture, view) for picture in pictures]
        grey = np.stack([p.astype(np.float32) / (255.0 if p.dtype == np.uint8 else 1.0) for p in seen])
        if not self.unit:
            return grey
        return unit_rows(grey.reshape(len(grey), -1)).reshape(grey.shape)

    def state(self) -> dict[str, Any]:
        told = {"look": "distance", "name": self.name, "size": list(self.size), "measure": self.measure}
        return {**told, "unit": self.unit, "price": asdict(self.price)}


def looks_for(kind: PictureKind, names: Sequence[str]) -> list[Look]:
    """The looks of these names that make sense for pictures of a kind; one that fails to be made is an UnmadeLook."""
    made: list[Look] = []
    for name in names:
        try:
            look = registry.make(name, kind=kind)
        except KCRCError as reason:
            look = UnmadeLook(name, reason)
        if look is not None:
            made.append(look)
    return made


def of_feature(
    name: str, feature: str | Feature | Callable[..., Any], *, price: Price | None = None, **options: Any
) -> Look:
    """A look of a feature: its name with its options, a Feature, or a function from a list of pictures to vectors.

    Parameters
    ----------
    name : str
        What to call the look.
    feature : str, Feature or callable
        What makes vectors of pictures.
    price : Price or None, default=None
        What it costs, which says when it is tried.
    **options : object
        Options of a feature given by name.

    Returns
    -------
    Look
        For ``ImageClassifier(looks=…)``.

    Raises
    ------
    UnknownName
        Where there is no such feature.

    Examples
    --------
    >>> from kcrc import looks
    >>> looks.of_feature("edges", "hog").name
    'edges'
    """
    return FeatureLook(name, features.resolve(feature, **options), price or Price())


def of_distance(name: str, measure: str, size: tuple[int, int], *, price: Price | None = None) -> Look:
    """A look of a distance between images, by the name that ``kcrc.distances`` knows it under.

    Parameters
    ----------
    name : str
        What to call the look.
    measure : str
        A name of ``kcrc.distances.names()``.
    size : tuple of int and int
        Height and width that pictures are brought to first.
    price : Price or None, default=None
        What it costs, which says when it is tried.

    Returns
    -------
    Look
        For ``ImageClassifier(looks=…)``.

    Raises
    ------
    ParameterError
        Where there is no such distance.

    Examples
    --------
    >>> from kcrc import looks
    >>> looks.of_distance("strokes", "tangent", (16, 16)).name
    'strokes'
    """
    if measure not in distances.names():
        raise ParameterError(f"Unknown distance {measure!r}. Known: {', '.join(distances.names())}.")
    return DistanceLook(name, size, measure, price or Price())


def _again(feature: Feature) -> Feature:
    """A feature of the same options that has learned nothing: the one in the registry is nobody's to fit."""
    return type(feature)(**feature.get_params(deep=False))
