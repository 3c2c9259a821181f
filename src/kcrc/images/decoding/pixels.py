"""From whatever a decoder gives to upright pictures of 8 bits a channel, grey or RGB, a block at a time.

Every step is pixel by pixel, so that blocks give what the whole would. Memory holds the decoded picture and the one
that is made of it. By Pillow alone: this runs in the box, whose workers do not wait for NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

Shrink = tuple[int, int]
"""How many pixels become one: across, down."""

Box = tuple[int, int, int, int]
_BLOCK = 1 << 18  # pixels
_TRANSPARENT = ("RGBA", "LA", "PA", "RGBa", "La")


def needs_no_copy(image: Image, orientation: int, shrink: Shrink = (1, 1)) -> bool:
    """Whether the decoded picture is already upright, of 8 bits and not transparent."""
    transparent = image.mode in _TRANSPARENT or "transparency" in image.info
    return image.mode in ("RGB", "L") and not transparent and orientation == 1 and shrink == (1, 1)


def _is_deep(image: Image) -> bool:
    return image.mode.startswith("I") or image.mode == "F"


def upright(image: Image, orientation: int, shrink: Shrink = (1, 1)) -> Image:
    """The picture in 8 bits, turned upright; each ``shrink`` pixels become their mean."""
    from PIL import Image as Pillow

    if needs_no_copy(image, orientation, shrink):
        return image
    convert = _conversion(image)
    across, down = shrink
    size = -(-image.width // across), -(-image.height // down)
    made: Image | None = None
    for box in _blocks(image.size, shrink):
        part = convert(image.crop(box))
        part = part if shrink == (1, 1) else part.reduce(shrink)
        if made is None:
            made = Pillow.new(part.mode, size if orientation <= 4 else size[::-1])
        left, top = box[0] // across, box[1] // down
        made.paste(_turn(part, orientation), _place(left, top, part.size, size, orientation))
    assert made is not None  # a picture has pixels
    return made


def _turn(part: Image, orientation: int) -> Image:
    from PIL.Image import Transpose

    how = {
        2: Transpose.FLIP_LEFT_RIGHT, 3: Transpose.ROTATE_180, 4: Transpose.FLIP_TOP_BOTTOM, 5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270, 7: Transpose.TRANSVERSE, 8: Transpose.ROTATE_90,
    }.get(orientation)  # fmt: skip
    return part if how is None else part.transpose(how)


def _place(left: int, top: int, part: tuple[int, int], whole: tuple[int, int], orientation: int) -> tuple[int, int]:
    """Where the corner of a block comes to lie once the whole is turned."""
    right, bottom = whole[0] - left - part[0], whole[1] - top - part[1]
    x = right if orientation in (2, 3, 7, 8) else left
    y = bottom if orientation in (3, 4, 6, 7) else top
    return (y, x) if orientation > 4 else (x, y)


def _blocks(size: tuple[int, int], shrink: Shrink = (1, 1)) -> Iterator[Box]:
    """Boxes of about a quarter of a million pixels that cover a picture, whole shrinks each but at the edges."""
    width, height = size
    wide = min(width, max(1, _BLOCK // shrink[0]) * shrink[0])
    tall = max(1, _BLOCK // (wide * shrink[1])) * shrink[1]
    for top in range(0, height, tall):
        for left in range(0, width, wide):
            yield left, top, min(width, left + wide), min(height, top + tall)


def _conversion(image: Image) -> Callable[[Image], Image]:
    """What makes a block of this picture 8 bits: deep grey is scaled, what is transparent lies on white."""
    from PIL import Image as Pillow

    if _is_deep(image):
        high = _highest(image)
        scale = 255.0 if image.mode == "F" and high <= 1.0 else 1.0 if high <= 255.0 else 255.0 / max(high, 65535.0)
        if image.mode != "F" and high <= 65535.0:
            table = [min(255, round(value * scale)) for value in range(65536)]
            return lambda part: part.convert("I").point(table, "L")
        return lambda part: part.convert("F").point(lambda value: value * scale + 0.5).convert("L")
    if image.mode in _TRANSPARENT or "transparency" in image.info:

        def on_white(part: Image) -> Image:
            solid = part.convert("RGBA")
            white = Pillow.new("RGBA", solid.size, (255, 255, 255, 255))
            return Pillow.alpha_composite(white, solid).convert("RGB")

        return on_white
    return lambda part: part if part.mode in ("RGB", "L") else part.convert("RGB")


def _highest(image: Image) -> float:
    """The highest value of a deep picture: that of the whole decides how it is scaled."""
    from PIL.Image import Resampling

    if image.mode == "F":
        # The mean of numbers is a number only if all of them are; extremes pass over what is none.
        mean: Any = image.resize((1, 1), Resampling.BOX).getpixel((0, 0))
        if not math.isfinite(mean):
            raise ValueError("pixels that are not finite numbers")
    high = 0.0
    for box in _blocks(image.size):
        part = image.crop(box)
        extremes: Any = (part if image.mode == "F" else part.convert("I")).getextrema()
        high = max(high, float(extremes[1]))
    return high


def rows_of(image: Image) -> Iterator[bytes]:
    """The pixels of an L or RGB picture, some rows at a time: Pillow holds four bytes a pixel, not three."""
    tall = max(1, _BLOCK // image.width)
    for top in range(0, image.height, tall):
        yield image.crop((0, top, image.width, min(image.height, top + tall))).tobytes()
