"""From whatever a decoder gives to upright pictures of 8 bits a channel, grey or RGB, a block at a time.

Every step is pixel by pixel, so that blocks give what the whole would. Memory holds the decoded picture and the one
that is made of it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.images.decoding.directory import read_directory

if TYPE_CHECKING:
    from PIL.Image import Image

Shrink = tuple[int, int]
"""How many pixels become one: across, down."""

Box = tuple[int, int, int, int]
_BLOCK = 1 << 18  # pixels
_TRANSPARENT = ("RGBA", "LA", "PA", "RGBa", "La")


def copied_bytes(image: Image, orientation: int, shrink: Shrink = (1, 1)) -> int:
    """What a pixel of the picture that is made takes; 0 where none has to be made: upright, 8 bits, not transparent."""
    transparent = image.mode in _TRANSPARENT or "transparency" in image.info
    if image.mode in ("RGB", "L") and not transparent and orientation == 1 and shrink == (1, 1):
        return 0
    return 1 if _is_deep(image) or (image.mode == "L" and not transparent) else 4


def _is_deep(image: Image) -> bool:
    return image.mode.startswith("I") or image.mode == "F"


def upright(image: Image, orientation: int, shrink: Shrink = (1, 1)) -> Image:
    """The picture in 8 bits, turned upright; each ``shrink`` pixels become their mean."""
    from PIL import Image as Pillow

    if not copied_bytes(image, orientation, shrink):
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
        made.paste(_turned(part, orientation), _place(left, top, part.size, size, orientation))
    assert made is not None  # a picture has pixels
    return made


def _turned(part: Image, orientation: int) -> Image:
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
        scale = _scale(image)

        def scaled(part: Image) -> Image:
            values = np.asarray(part).astype(np.float64)
            return Pillow.fromarray(np.clip(np.rint(values * scale), 0, 255).astype(np.uint8))

        return scaled
    if image.mode in _TRANSPARENT or "transparency" in image.info:

        def on_white(part: Image) -> Image:
            solid = part.convert("RGBA")
            white = Pillow.new("RGBA", solid.size, (255, 255, 255, 255))
            return Pillow.alpha_composite(white, solid).convert("RGB")

        return on_white
    return lambda part: part if part.mode in ("RGB", "L") else part.convert("RGB")


def _scale(image: Image) -> float:
    """What the values of a deep picture are multiplied by: those of the whole picture decide."""
    high = 0.0
    for box in _blocks(image.size):
        values = np.asarray(image.crop(box))
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError("pixels that are not finite numbers")
        high = max(high, float(values.max()))
    if image.mode == "F" and high <= 1.0:
        return 255.0
    return 1.0 if high <= 255.0 else 255.0 / max(high, 65535.0)


def pixels_of(image: Any) -> Array:
    """A grey or RGB picture as (h, w) or (h, w, 3) uint8. A block at a time: at once, Pillow holds it three times."""
    if image.width * image.height <= _BLOCK:
        return np.array(image)
    pixels = np.empty((image.height, image.width, *((3,) if image.mode == "RGB" else ())), np.uint8)
    for left, top, right, bottom in _blocks(image.size):
        pixels[top:bottom, left:right] = np.asarray(image.crop((left, top, right, bottom)))
    return pixels


# Which way up a picture is meant: EXIF says so, or XMP. Whatever is odd about them, the picture stays as it stands.

TAG = 0x0112
UPRIGHT = 1
_XMP = re.compile(rb'tiff:Orientation(?:="|>)([0-9])')
_PREFIX = b"Exif\0\0"


def orientation(exif: bytes, xmp: bytes = b"") -> int:
    """1 (upright) to 8; what EXIF says counts before what XMP says."""
    said = exif_orientation(exif)
    if said is None:
        found = _XMP.search(xmp)
        said = int(found[1]) if found else UPRIGHT
    return said if 1 <= said <= 8 else UPRIGHT


def exif_orientation(exif: bytes) -> int | None:
    """What EXIF says, None where it says nothing of it, 0 where it says something that is no orientation."""
    for _ in range(2):
        exif = exif.removeprefix(_PREFIX)
    endian = {b"II*\0": "<", b"MM\0*": ">"}.get(exif[:4])
    if endian is None:
        return None
    try:
        (at,) = struct.unpack_from(endian + "I", exif, 4)
        entry = read_directory(exif, at, endian).get(TAG)
    except struct.error:
        return None
    if entry is None:
        return None
    numbers = entry.numbers(exif, endian, 1)
    return numbers[0] if numbers else 0


def from_hexadecimal(profile: bytes) -> bytes:
    """EXIF as a "Raw profile type exif" has it in PNG text: a name, a length, hexadecimal digits in lines."""
    try:
        return bytes.fromhex(b"".join(profile.split(b"\n", 3)[3:]).replace(b"\n", b"").decode("latin-1"))
    except ValueError:
        return b""
