"""What callers give as pictures, brought to one kind of number and a size that memory can hold.

Pictures come as one array (n, h, w) or (n, h, w, 3), or as a list of arrays, paths of image files, bytes of such files
and Pillow images, of any sizes. What is kept of each is an array (h, w) or (h, w, 3): 8 bits, or single precision from
0 to 1. Numbers of other ranges (0 to 16, −1 to 1) are mapped by what the examples had, and queries by the same.
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

LONGEST = 320  # pixels of the longer side that are kept: no look wants more than 300
SHORTEST = 64  # and where there are very many pictures, no less than that


@dataclass(frozen=True)
class PictureForm:
    """What the examples were: ``low`` is black and ``high`` is white where numbers are not of 8 bits, ``side`` the most
    pixels that are kept of a longer side."""

    low: float
    high: float
    side: int

    @classmethod
    def of(cls, images: Any, *, budget: int) -> PictureForm:
        """Of the examples; all of them as they will be kept take at most ``budget`` bytes, or SHORTEST pixels each."""
        images = as_list(images)
        count = _checked(images)
        low, high = 0.0, 1.0
        for number, image in enumerate(_arrays(images)):
            if image.dtype != np.uint8 and image.size:
                if not np.isfinite(image).all():
                    raise DataError(f"Image {number} has values that are no numbers (NaN or infinity).")
                low, high = min(low, float(image.min())), max(high, float(image.max()))
        side = int(np.clip(np.sqrt(budget / (3.0 * max(count, 1))), SHORTEST, LONGEST))
        return cls(low, high, side)

    def pictures(self, images: Any) -> list[Array]:
        """The images as they are kept."""
        images = as_list(images)
        count = _checked(images)
        view = View((self.side, self.side), fit="inside")
        if count and all(isinstance(image, str | os.PathLike) for image in images):
            parts = read_chunks(images, view)
            return [_plain(picture.pixels) for part in parts for picture in part.pictures]
        return [self._picture(image, number, view) for number, image in enumerate(images)]

    def _picture(self, image: Any, number: int, view: View) -> Array:
        if isinstance(image, bytes):
            return _plain(decode(image, view, source=f"image {number}").pixels)
        if isinstance(image, str | os.PathLike):
            return _plain(next(iter(read_chunks([image], view))).pictures[0].pixels)
        array = _array(image)
        if array.dtype != np.uint8:
            if not np.isfinite(array).all():
                raise DataError(f"Image {number} has values that are no numbers (NaN or infinity).")
            scaled = (array.astype(np.float32) - np.float32(self.low)) / np.float32(self.high - self.low)
            array = np.clip(scaled, 0.0, 1.0)
        grey = array.ndim == 2 or (array.ndim == 3 and array.shape[2] == 1)
        try:
            seen = view_array(array, View(view.size, colour=not grey, fit="inside"))
        except DataError as problem:
            raise DataError(f"Image {number}: {problem}") from None
        return np.clip(seen, 0, 1) if seen.dtype != np.uint8 else seen  # resampling goes beyond what was given


def _plain(pixels: Array) -> Array:
    """A picture from a file, grey where its three channels are one."""
    if pixels.ndim == 3 and (pixels[..., 0] == pixels[..., 1]).all() and (pixels[..., 1] == pixels[..., 2]).all():
        return np.ascontiguousarray(pixels[..., 0])
    return pixels


def as_list(images: Any) -> Any:
    """A column of a table (pandas, polars, pyarrow) or an array of texts as a list; anything else as it is."""
    if isinstance(images, np.ndarray):
        return images.tolist() if images.dtype.kind in "UT" else images
    if isinstance(images, Sequence) or getattr(images, "ndim", 1) != 1:
        return images
    names = ("to_list", "to_pylist", "tolist")
    listed = next((method for method in (getattr(images, name, None) for name in names) if callable(method)), None)
    return images if listed is None else listed()


def _checked(images: Any) -> int:
    """How many images were given; an error where that are no images."""
    if isinstance(images, str | bytes | os.PathLike) or hasattr(images, "getbands"):
        raise DataError("Give a list of images, not one: [image].")
    if isinstance(images, np.ndarray) and images.dtype.kind != "O":
        if images.ndim not in (3, 4) or images.dtype.kind not in "fuib":
            raise DataError(
                f"Images are an array (n, h, w) or (n, h, w, 3) of numbers, or a list; got shape {images.shape}, type "
                f"{images.dtype}. For vectors use KCRCClassifier."
            )
    elif not isinstance(images, Sequence | np.ndarray):
        raise DataError(f"Images are an array (n, h, w) or (n, h, w, 3), or a list of images; got {type(images)!r}.")
    return len(images)


def _arrays(images: Any) -> Iterable[Array]:
    """Those of the images that come as numbers, in their order."""
    if isinstance(images, np.ndarray) and images.dtype.kind != "O":
        return [images] if images.dtype != np.uint8 else []
    return (_array(image) for image in images if not isinstance(image, str | bytes | os.PathLike))


def _array(image: Any) -> Array:
    """A picture in memory as an array: an array, or a Pillow image."""
    if hasattr(image, "getbands"):
        width, height = image.size
        most = Limits.usual().max_pixels
        if width * height > most:
            raise DataError(f"A Pillow image has {width}×{height} pixels; at most {most} are taken.")
        return np.asarray(image.convert("L" if image.getbands() in (("L",), ("1",)) else "RGB"))
    array = np.asarray(image)
    if array.dtype.kind not in "fuib" or array.ndim not in (2, 3) or not array.size:
        given = f"an array of shape {array.shape}, type {array.dtype}" if array.ndim else f"{array.item()!r:.100}"
        raise DataError(
            f"An image is an array (h, w) or (h, w, 3), a path, the bytes of a file or a Pillow image; got {given}."
        )
    return array.astype(np.uint8) * np.uint8(255) if array.dtype == np.bool_ else array
