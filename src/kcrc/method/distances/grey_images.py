"""Rows back to grey images: what every distance that looks at an image, not at a vector, starts from.

A sample arrives flattened. Its shape is ``image_shape`` when given, else the shape it had before flattening,
else, for a vector whose length is a perfect square, a square. Colour becomes grey by luminance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import isqrt, prod
from typing import ClassVar, Self

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, ParameterError
from kcrc.method.distances.base import Distance

LUMINANCE = (0.299, 0.587, 0.114)
FLAT = 1e-6
"""An image whose values differ by no more than this part of the largest is constant: the rest is rounding."""

_CHUNK_VALUES = 1 << 21  # pixels, times maps of each, worked on at once
_LARGEST = 1 << 26  # numbers that the options of a distance may ask for


def check_size(what: str, count: float) -> None:
    """Raise where options together ask for more numbers than a distance between images can need."""
    if count > _LARGEST:
        raise ParameterError(f"{what} would take {count:.0f} numbers for one image; at most {_LARGEST} are kept.")


def checked_shape(shape: tuple[int, ...], *, name: str) -> tuple[int, ...]:
    """(h, w) or (h, w, c) with c one of 1, 3 and 4, or an error that says so."""
    whole = all(isinstance(side, (int, np.integer)) and side >= 1 for side in shape)
    if not whole or len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in (1, 3, 4)):
        raise ParameterError(
            f"{name} is (height, width), or (height, width, channels) with 1, 3 or 4 channels; got {shape!r}."
        )
    return tuple(int(side) for side in shape)


def shape_of_samples(
    width: int, sample_shape: tuple[int, ...] | None, image_shape: tuple[int, ...] | None
) -> tuple[int, ...]:
    """The shape of the image in a row of ``width`` values: option first, then sample, then a square."""
    if image_shape is not None:
        if prod(image_shape) != width:
            raise DataError(
                f"image_shape {image_shape} has {prod(image_shape)} values, but a sample has {width}. "
                "Give the shape the samples had before they were flattened."
            )
        return image_shape
    if sample_shape is not None and len(sample_shape) > 1:
        return checked_shape(sample_shape, name="The shape of a sample")
    side = isqrt(width)
    if side * side != width:
        raise DataError(
            f"A sample is a vector of {width} values, which is no square image. "
            "Pass images (n, height, width), or give image_shape=(height, width)."
        )
    return side, side


def grey_images(X: Array, shape: tuple[int, ...]) -> Array:
    """Rows (n, d) -> grey images (n, h, w), float32 where X is float32 or less, float64 otherwise."""
    if X.ndim != 2 or X.shape[1] != prod(shape):
        raise DataError(
            f"Images of shape {shape} have {prod(shape)} values a row; got an array of shape {X.shape}. "
            "Resize the images to the size of the examples."
        )
    dtype = np.float32 if X.dtype in (np.float16, np.float32) else np.float64
    images = X.reshape(len(X), *shape).astype(dtype, copy=False)
    if len(shape) == 2:
        return images
    if shape[2] == 1:
        return np.asarray(images[..., 0])
    return np.asarray(images[..., :3] @ np.array(LUMINANCE, dtype))  # a fourth channel is opacity


def spread(images: Array) -> tuple[Array, Array]:
    """Smallest value and range of each image, both (n, 1, 1); the range of a constant image is 0."""
    low = images.min(axis=(1, 2), keepdims=True)
    high = images.max(axis=(1, 2), keepdims=True)
    span = high - low
    span[span <= FLAT * np.maximum(np.abs(low), np.abs(high))] = 0.0
    return low, span


def unit_range(images: Array) -> Array:
    """Each image moved and scaled to 0..1: 0..255, 0..1 and −1..1 look alike. A constant image becomes 0."""
    low, span = spread(images)
    return np.asarray(np.divide(images - low, span, out=np.zeros_like(images), where=span > 0))


@dataclass(frozen=True, kw_only=True)
class GreyImageDistance(Distance):
    """A distance between grey images; ``image_shape`` says (h, w) or (h, w, c) where the samples do not."""

    rules: ClassVar[tuple[str, ...]] = ("exp",)

    image_shape: tuple[int, ...] | None = None
    fitted_shape: tuple[int, ...] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.image_shape is not None:
            shape = checked_shape(tuple(self.image_shape), name="image_shape")
            object.__setattr__(self, "image_shape", shape)

    @property
    def learns(self) -> bool:
        return type(self).fit is not GreyImageDistance.fit  # which asks for the shape alone

    def fit(self, X: Array, y: Array, *, sample_shape: tuple[int, ...]) -> Self:
        return replace(self, fitted_shape=shape_of_samples(X.shape[1], tuple(sample_shape), self.image_shape))

    def images(self, X: Array) -> Array:
        """Samples (n, d) as grey images (n, h, w)."""
        shape = self.fitted_shape or shape_of_samples(X.shape[1], None, self.image_shape)
        return grey_images(X, shape)

    def chunks(self, X: Array, *, maps: int = 1) -> Iterator[tuple[slice, Array]]:
        """Grey images a few at a time, so that ``maps`` maps of each fit the cache and memory."""
        shape = self.fitted_shape or shape_of_samples(X.shape[1], None, self.image_shape)
        step = max(1, _CHUNK_VALUES // (maps * shape[0] * shape[1]))
        for start in range(0, max(1, len(X)), step):  # no samples: one chunk of none
            rows = slice(start, min(start + step, len(X)))
            yield rows, grey_images(X[rows], shape)
