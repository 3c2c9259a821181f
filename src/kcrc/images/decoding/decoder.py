"""One image from the bytes of its file, in memory that is counted before it is taken.

Pictures of up to 64 million pixels are decoded whole. Larger ones are brought down while they are decoded, as far as
the size that is wanted allows: JPEG by its decoder, the others a block at a time.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import KCRCError
from kcrc.files.safe_paths import sha256
from kcrc.images.decoding import photos
from kcrc.images.decoding.containers import Damaged, Stored, TooMuch, begins_like, look
from kcrc.images.decoding.limits import (
    DECODING,
    EXTENSION_FORMATS,
    FORMATS,
    VARIABLE,
    ImageError,
    Limits,
    allowed,
    give_back,
    no_memory,
    printable,
    too_many_bytes,
    too_many_pixels,
)
from kcrc.images.decoding.pixels import Shrink, copied_bytes, pixels_of, upright
from kcrc.images.decoding.resizing import View, fit_image

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

T = TypeVar("T")
AS_IT_IS = View()
WHOLE_PIXELS = 64_000_000
_DRAFT_FLOOR = 256
_MOST_SHRINK = 64
_BLOCKS = 32_000_000  # bytes of the blocks that are worked on at a time
_MUCH = 100_000_000  # bytes, worth being returned to the system at once
_READERS = {
    "JPEG": ("JpegImagePlugin", "JpegImageFile"), "PNG": ("PngImagePlugin", "PngImageFile"),
    "WEBP": ("WebPImagePlugin", "WebPImageFile"), "BMP": ("BmpImagePlugin", "BmpImageFile"),
    "TIFF": ("TiffImagePlugin", "TiffImageFile"), "GIF": ("GifImagePlugin", "GifImageFile"),
}  # fmt: skip
_PIXEL_BYTES = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16L": 2, "I;16B": 2, "I;16N": 2}  # in Pillow; all others 4
_NO_MEMORY = re.compile("out of memory|error -9")  # how Pillow words it where it does not raise MemoryError


@dataclass(frozen=True, eq=False)
class Picture:
    """One decoded image: ``pixels`` (h, w) or (h, w, 3) uint8, upright, and what its file was.

    ``original_size`` is (height, width) in the file, upright. ``note`` tells of something odd that did no harm:
    a PNG called ``.jpg``. ``thumbnail`` is a small JPEG of the whole picture where one was asked for.
    """

    pixels: Array
    source: str
    sha256: str
    format: str
    original_size: tuple[int, int]
    note: str = ""
    thumbnail: bytes = b""


def decode(
    content: bytes,
    view: View = AS_IT_IS,
    *,
    source: str = "image",
    thumbnail: int = 0,
    limits: Limits | None = None,
) -> Picture:
    """One image from the bytes of its file.

    ``thumbnail`` is the longer side of a JPEG to be made along with it, 0 for none; whether one is made does not
    change ``pixels``.
    """
    limits = limits or Limits.usual()
    if len(content) > limits.max_bytes:
        raise too_many_bytes(source, len(content), limits)
    kind = photos.kind_of(content, source)
    plain = content if kind is None else _unpacked(content, kind, source, limits)
    stored = _looked_at(plain, source)
    if stored.width * stored.height > limits.max_pixels:
        raise too_many_pixels(source, stored.width, stored.height, limits)
    plan = _attempt(lambda: _planned(stored, view), source, stored.format)
    if plan.pixels > WHOLE_PIXELS:
        raise _not_scaled(stored, source, view)
    needed = plan.needed + 2 * len(plain)
    if needed > allowed():
        raise _too_much_memory(stored, source, needed)
    with DECODING.hold(needed):
        try:
            pixels, small = _attempt(lambda: _decoded(stored, view, plan, thumbnail), source)
        finally:
            if needed > _MUCH:
                give_back()
    size = (stored.width, stored.height) if stored.orientation > 4 else (stored.height, stored.width)
    form = kind or stored.format
    expected = EXTENSION_FORMATS.get(Path(source).suffix.lower(), form)
    odd = f"{printable(source)}: is named {expected} but is {form}, and read as that."
    return Picture(pixels, source, sha256(content), form, size, "" if expected == form else odd, small)


def _unpacked(content: bytes, kind: str, source: str, limits: Limits) -> bytes:
    """A HEIC or RAW photograph as a picture of a common format."""
    try:
        return _attempt(lambda: photos.as_plain(content, kind, source=source, limits=limits), source, kind)
    finally:
        give_back()


def _looked_at(content: bytes, source: str) -> Stored:
    try:
        return look(content)
    except MemoryError:
        error = no_memory(source)
    except TooMuch as problem:
        why = f"{problem}; no camera or program writes that, and it would take too long to go through."
        error = ImageError(source, "too large", why)
    except Damaged:
        like = begins_like(content)
        if not content:
            error = ImageError(source, "broken", "is empty.")
        elif like is not None:
            error = _not_opened(source, like)
        else:
            why = f"is not an image that can be read (read are: {', '.join(FORMATS)})."
            error = ImageError(source, "not an image", why)
    raise error


def _attempt(work: Callable[[], T], source: str, opening: str = "") -> T:
    """What ``work`` gives; whatever it raises becomes one ``ImageError``. ``opening`` is the format that is opened."""
    try:
        return work()
    except KCRCError:
        raise
    except MemoryError:
        error = no_memory(source)
    except Exception as problem:  # decoders raise anything, struct.error to RecursionError, on damaged files
        first_line = (str(problem) or type(problem).__name__).splitlines()[0]
        if _NO_MEMORY.search(first_line):
            error = no_memory(source)
        elif type(problem).__name__.startswith("DecompressionBomb"):
            error = ImageError(source, "too large", "has far more pixels than are safe to decode.")
        elif opening:
            error = _not_opened(source, opening)
        else:
            error = ImageError(source, "broken", f"cannot be decoded ({first_line}).")
    # Out here it has no other error behind it: that would hold on to all that was decoded.
    raise error


def _not_opened(source: str, like: str) -> ImageError:
    return ImageError(source, "broken", f"begins like a {like} but cannot be opened; it is damaged or incomplete.")


def _opened(stored: Stored) -> ImageFile:
    """The image as Pillow sees it, its pixels not yet read."""
    module, name = _READERS[stored.format]
    # The readers themselves, not Image.open, which warns of sizes that have been looked at here already.
    reader: Any = getattr(import_module(f"PIL.{module}"), name)
    image: ImageFile = reader(io.BytesIO(stored.bare))
    if image.size != (stored.width, stored.height):
        raise ValueError("two sizes")
    # Pillow would put a long row together from small pieces, copying all it has each time: so in one piece, or, where
    # a picture has many parts and each might read on to the end of the file, a row at a time.
    one_row = max(8192, 8 * image.width)
    image.decodermaxblock = len(stored.bare) if len(image.tile) <= 1 else min(len(stored.bare), one_row)
    return image


@dataclass(frozen=True)
class _Plan:
    """How a picture is brought down while it is decoded, the pixels it then has, and the memory for all of that."""

    draft: tuple[int, int] | None
    shrink: Shrink
    pixels: int
    needed: int


def _planned(stored: Stored, view: View) -> _Plan:
    image = _opened(stored)
    draft, shrink = None, (1, 1)
    if view.size is not None:
        turned = stored.orientation > 4
        size = (stored.width, stored.height) if turned else (stored.height, stored.width)
        # The JPEG decoder can shrink while it decodes. Twice the target leaves the resampling enough to work on, and a
        # floor leaves enough for a thumbnail: pixels must not depend on whether one is made.
        tall, wide = (max(2 * n, _DRAFT_FLOOR) for n in view.resized(*size))
        draft = (tall, wide) if turned else (wide, tall)
        image.draft("", draft)
        if image.width * image.height > WHOLE_PIXELS:
            across, down = (min(max(1, n // wanted), _MOST_SHRINK) for n, wanted in zip(image.size, draft, strict=True))
            # Only where proportions do not count may the one be brought down further than the other.
            shrink = (across, down) if view.fit == "stretch" else (min(across, down),) * 2
    width, height = -(-image.width // shrink[0]), -(-image.height // shrink[1])
    decoded = image.width * image.height * _PIXEL_BYTES.get(image.mode, 4) + stored.beside
    copied = copied_bytes(image, stored.orientation, shrink) * width * height
    return _Plan(draft, shrink, width * height, decoded + copied + _seen_bytes(width, height, stored, view))


def _seen_bytes(width: int, height: int, stored: Stored, view: View) -> int:
    """What it takes to bring an upright picture to the view."""
    rows, columns = (width, height) if stored.orientation > 4 else (height, width)
    tall, wide = view.size if view.size is not None and view.fit in ("crop", "cut") else view.resized(rows, columns)
    grey = 0 if view.colour else width * height
    # Pillow first reduces to less than four times the size, then resizes across, then down.
    between = 0 if view.size is None else 4 * min(rows, 4 * tall) * (min(columns, 4 * wide) + wide)
    return grey + between + 8 * tall * wide + _BLOCKS


def _decoded(stored: Stored, view: View, plan: _Plan, thumbnail: int) -> tuple[Array, bytes]:
    """The pixels and the thumbnail; all that was needed for them is gone when it returns."""
    from PIL import Image as Pillow

    image = _opened(stored)
    if plan.draft is not None:
        image.draft("", plan.draft)
    if stored.format == "TIFF" and stored.width * stored.height > WHOLE_PIXELS:
        # Where it makes the room for a TIFF, Pillow counts pixels once more, and warns.
        image.im = Pillow.new(image.mode, image.size).im
    image.load()
    whole = upright(image, stored.orientation, plan.shrink)
    return pixels_of(_seen(whole, view)), _thumbnail(whole, thumbnail) if thumbnail else b""


def _not_scaled(stored: Stored, source: str, view: View) -> ImageError:
    wanted = "as it is" if view.size is None else f"at {view.size[0]}×{view.size[1]}"
    why = (
        f"has {stored.width}×{stored.height} pixels. Wanted {wanted} it cannot be scaled down to {WHOLE_PIXELS} pixels "
        "while it is decoded; give the feature a smaller size, or save the picture smaller."
    )
    return ImageError(source, "too large", why)


def _too_much_memory(stored: Stored, source: str, needed: int) -> ImageError:
    why = (
        f"has {stored.width}×{stored.height} pixels and takes {needed / 1e6:.0f} MB of memory to decode, more than the "
        f"limit of {allowed() / 1e6:.0f} MB. {VARIABLE}={-(-needed // 10**6)}M would let it through."
    )
    return ImageError(source, "too large", why)


def _seen(whole: Any, view: View) -> Any:
    """An upright picture as the view wants it."""
    if not view.colour:
        return fit_image(whole if whole.mode == "L" else whole.convert("L"), view)
    # Grey is resized before it becomes three equal channels: the same numbers, a quarter of the memory.
    fitted = fit_image(whole, view)
    return fitted if fitted.mode == "RGB" else fitted.convert("RGB")


def _thumbnail(whole: Any, side: int) -> bytes:
    return as_jpeg(pixels_of(_seen(whole, View((side, side), fit="inside"))))


def as_jpeg(pixels: Array, quality: int = 80) -> bytes:
    """(h, w, 3) uint8 as a JPEG. From an array: an image that Pillow opened carries its file's comment along."""
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(out, "JPEG", quality=quality)
    return out.getvalue()
