"""Pictures as callers give them, brought to one type of number and a size that fits into memory.

Pictures come as one array (n, h, w) or (n, h, w, 3), or as a list of arrays, paths of image files, bytes of such files
and Pillow images, of any sizes. Each becomes an array (h, w) or (h, w, 3) of uint8, or of float32 from 0 to 1. Numbers
of other ranges (0 to 16, −1 to 1) are mapped by the range of the examples, those of queries too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.images.decoding.reading import Limits, decode, read_chunks
from kcrc.images.decoding.resizing import View, view_array

LARGEST_SIDE = 320  # pixels kept of the longer side: no look uses more than 300
SMALLEST_SIDE = 64  # pixels kept of it, however many pictures there are


@dataclass(frozen=True)
class PictureForm:
    """The range and size of the examples.

    ``low`` is black and ``high`` is white if numbers are not uint8; ``side`` is the most pixels kept of a longer side.
    """

    low: float
    high: float
    side: int

    @classmethod
    def of(cls, images: Any, *, budget: int) -> PictureForm:
        """Return the form of the examples: at most ``budget`` bytes together, or SMALLEST_SIDE pixels each."""
        images = as_list(images)
        count = _check_images(images)
        low, high = 0.0, 1.0
        for number, image in enumerate(_arrays(images)):
            if image.dtype != np.uint8 and image.size:
                if not np.isfinite(image).all():
                    raise DataError(f"Images must contain finite numbers; image {number} has NaN or infinity.")
                low, high = min(low, float(image.min())), max(high, float(image.max()))
        side = int(np.clip(np.sqrt(budget / (3.0 * max(count, 1))), SMALLEST_SIDE, LARGEST_SIDE))
        return cls(low, high, side)

    def pictures(self, images: Any) -> list[Array]:
        """Return the images in this form."""
        images = as_list(images)
        count = _check_images(images)
        view = View((self.side, self.side), fit="inside")
        if count and all(isinstance(image, str | os.PathLike) for image in images):
            parts = read_chunks(images, view)
            return [_grey_if_equal(picture.pixels) for part in parts for picture in part.pictures]
        return [self._picture(image, number, view) for number, image in enumerate(images)]

    def _picture(self, image: Any, number: int, view: View) -> Array:
        if isinstance(image, bytes):
            return _grey_if_equal(decode(image, view, source=f"image {number}").pixels)
        if isinstance(image, str | os.PathLike):
            return _grey_if_equal(next(iter(read_chunks([image], view))).pictures[0].pixels)
        array = _array(image)
        if array.dtype != np.uint8:
            if not np.isfinite(array).all():
                raise DataError(f"Images must contain finite numbers; image {number} has NaN or infinity.")
            scaled = (array.astype(np.float32) - np.float32(self.low)) / np.float32(self.high - self.low)
            array = np.clip(scaled, 0.0, 1.0)
        grey = array.ndim == 2 or (array.ndim == 3 and array.shape[2] == 1)
        try:
            resized = view_array(array, View(view.size, colour=not grey, fit="inside"))
        except DataError as problem:
            raise DataError(f"Image {number}: {problem}") from None
        return np.clip(resized, 0, 1) if resized.dtype != np.uint8 else resized  # resampling exceeds the range


def _grey_if_equal(pixels: Array) -> Array:
    """Return a picture from a file, grey if its three channels are equal."""
    if pixels.ndim == 3 and (pixels[..., 0] == pixels[..., 1]).all() and (pixels[..., 1] == pixels[..., 2]).all():
        return np.ascontiguousarray(pixels[..., 0])
    return pixels


def as_list(images: Any) -> Any:
    """Return a column of a table (pandas, polars, pyarrow) or an array of texts as a list, anything else unchanged."""
    if isinstance(images, np.ndarray):
        return images.tolist() if images.dtype.kind in "UT" else images
    if isinstance(images, Sequence) or getattr(images, "ndim", 1) != 1:
        return images
    names = ("to_list", "to_pylist", "tolist")
    listed = next((method for method in (getattr(images, name, None) for name in names) if callable(method)), None)
    return images if listed is None else listed()


def _check_images(images: Any) -> int:
    """Return how many images were given; raise an error if they are no images."""
    if isinstance(images, str | bytes | os.PathLike) or hasattr(images, "getbands"):
        raise DataError("Give a list of images, not one: [image].")
    if isinstance(images, np.ndarray) and images.dtype.kind != "O":
        if images.ndim not in (3, 4) or images.dtype.kind not in "fuib":
            raise DataError(
                f"Images must be an array (n, h, w) or (n, h, w, 3) of numbers, or a list; got shape "
                f"{images.shape}, type {images.dtype}. For vectors use KCRCClassifier."
            )
    elif not isinstance(images, Sequence | np.ndarray):
        raise DataError(f"Images must be an array (n, h, w) or (n, h, w, 3), or a list; got {type(images)!r}.")
    return len(images)


def _arrays(images: Any) -> Iterable[Array]:
    """Return the images that are given as float arrays, in order."""
    if isinstance(images, np.ndarray) and images.dtype.kind != "O":
        return [images] if images.dtype != np.uint8 else []
    return (_array(image) for image in images if not isinstance(image, str | bytes | os.PathLike))


def _array(image: Any) -> Array:
    """Return an array or a Pillow image as an array."""
    if hasattr(image, "getbands"):
        width, height = image.size
        most = Limits.usual().max_pixels
        if width * height > most:
            raise DataError(f"A Pillow image must have at most {most} pixels; got {width}×{height}.")
        return np.asarray(image.convert("L" if image.getbands() in (("L",), ("1",)) else "RGB"))
    array = np.asarray(image)
    if array.dtype.kind not in "fuib" or array.ndim not in (2, 3) or not array.size:
        given = f"an array of shape {array.shape}, type {array.dtype}" if array.ndim else f"{array.item()!r:.100}"
        raise DataError(
            "An image must be an array (h, w) or (h, w, 3), a path, the bytes of a file or a Pillow image; got "
            f"{given}."
        )
    return array.astype(np.uint8) * np.uint8(255) if array.dtype == np.bool_ else array
