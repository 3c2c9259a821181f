"""HEIC and RAW photographs, made into common pictures by readers of their own (the extra ``photos``).

HEIC is decoded by pi-heif, which has no encoder, and so nothing under the GPL in it. Of a RAW file the preview that the
camera stored is taken, which shows what the photographer saw; where there is none of a useful size it is developed by
rawpy at half its size. Bytes, pixels and memory are counted before either begins. Unlike Pillow, these readers see the
whole file.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from kcrc.images.decoding.containers import Damaged, TooMuch, begins_like
from kcrc.images.decoding.limits import (
    DECODING,
    EXTENSION_FORMATS,
    VARIABLE,
    ImageError,
    Limits,
    allowed,
    too_many_pixels,
)

_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
_RAW_HEADS = (b"FUJIFILMCCD-RAW", b"IIRO", b"IIRS", b"MMOR", b"IIU\0")
_READERS = {"HEIC": "pi_heif", "RAW": "rawpy"}
_NESTED = {b"meta": 4, b"iprp": 0, b"ipco": 0}  # boxes that lead to the sizes, and the bytes before what is in them
_MOST_BOXES = 20_000
_LONG_SIDE = 512  # pixels: a smaller preview is not worth looking at
_PIXEL_BYTES = {"HEIC": 14, "RAW": 16}  # planes or sensor values, RGB, and the plain picture that is made


def kind_of(content: bytes, name: str) -> str | None:
    """What a file is: "HEIC", "RAW", or None for all else.

    Most RAW files begin like a TIFF, and only their name says more."""
    if content[4:8] == b"ftyp":
        return "RAW" if content[8:12] == b"crx " else "HEIC" if content[8:12] in _BRANDS else None
    if content.startswith(_RAW_HEADS) or (content[:4] == b"II*\0" and content[8:10] == b"CR"):
        return "RAW"
    named = EXTENSION_FORMATS.get("." + name.lower().rpartition(".")[2]) == "RAW"
    return "RAW" if named and begins_like(content) == "TIFF" else None


def as_plain(content: bytes, kind: str, *, source: str, limits: Limits) -> bytes:
    """The photograph as a JPEG or BMP, upright or with its orientation in it."""
    if find_spec(_READERS[kind]) is None:
        why = f"is a {kind} photograph, and what reads those is not installed: pip install 'kcrc[photos]'."
        raise ImageError(source, "no reader", why)
    return (_developed if kind == "RAW" else _decoded)(content, source, limits)


def _decoded(content: bytes, source: str, limits: Limits) -> bytes:
    width, height = _largest(content)
    with _room("HEIC", width, height, source, limits):
        image: Any = import_module("pi_heif").HeifImageFile(io.BytesIO(content))
        if image.width * image.height > width * height:
            raise Damaged
        return _as_bmp(image.convert("RGB"))


def _developed(content: bytes, source: str, limits: Limits) -> bytes:
    rawpy = import_module("rawpy")
    with rawpy.imread(io.BytesIO(content)) as raw:
        preview = _preview(rawpy, raw)
        if preview is not None:
            return preview
        with _room("RAW", raw.sizes.raw_width, raw.sizes.raw_height, source, limits):
            from PIL import Image

            pixels = raw.postprocess(half_size=True, use_camera_wb=True, output_bps=8)
            return _as_bmp(Image.fromarray(pixels))


def _preview(rawpy: Any, raw: Any) -> bytes | None:
    """The JPEG that the camera stored beside the sensor's values, if it is large enough."""
    from kcrc.images.decoding.containers import look

    try:
        found = raw.extract_thumb()
    except rawpy.LibRawError:
        return None
    if found.format != rawpy.ThumbFormat.JPEG:
        return None
    data = bytes(found.data)
    try:
        size = look(data)
    except (Damaged, TooMuch):
        return None
    return data if max(size.width, size.height) >= _LONG_SIDE else None


def _room(kind: str, width: int, height: int, source: str, limits: Limits) -> Any:
    """Holds the memory for so many pixels; an error where they are too many."""
    if width * height > limits.max_pixels:
        raise too_many_pixels(source, width, height, limits)
    needed = _PIXEL_BYTES[kind] * width * height
    if needed > allowed():
        why = (
            f"has {width}×{height} pixels and takes {needed / 1e6:.0f} MB of memory to decode, more than the limit of "
            f"{allowed() / 1e6:.0f} MB. {VARIABLE}={-(-needed // 10**6)}M would let it through."
        )
        raise ImageError(source, "too large", why)
    return DECODING.hold(needed)


def _as_bmp(image: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, "BMP")
    return out.getvalue()


def _largest(content: bytes) -> tuple[int, int]:
    """The largest size that any picture in a HEIC file says it has."""
    width, height = max(_sizes(content), key=lambda size: size[0] * size[1], default=(0, 0))
    if min(width, height) < 1:
        raise Damaged
    return width, height


def _sizes(content: bytes) -> Iterator[tuple[int, int]]:
    """What the boxes for it (``ispe``) say: width and height. The boxes that lead there are walked, never searched."""
    waiting = [(0, len(content))]
    walked = 0
    while waiting:
        at, end = waiting.pop()
        while at + 8 <= end:
            walked += 1
            if walked > _MOST_BOXES:
                raise TooMuch(f"has more than {_MOST_BOXES} boxes")
            size, name = struct.unpack_from(">I4s", content, at)
            head = 8
            if size == 1 and at + 16 <= end:
                size, head = struct.unpack_from(">Q", content, at + 8)[0], 16
            stop = end if size == 0 else at + size
            if not at + head <= stop <= end:
                raise Damaged
            if name in _NESTED:
                waiting.append((at + head + _NESTED[name], stop))
            elif name == b"ispe" and stop >= at + head + 12:
                yield struct.unpack_from(">II", content, at + head + 4)
            at = stop
