"""One image from the bytes of its file, decoded in the box (``worker``)."""

from __future__ import annotations

import contextlib
import io
import math
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.files.box import Broken, WorkerPool
from kcrc.files.safe_paths import sha256
from kcrc.images.decoding.limits import (
    EXTENSION_FORMATS,
    FORMATS,
    MEMORY,
    SECONDS,
    ImageError,
    Limits,
    allowed_memory,
    allowed_seconds,
    format_of,
    printable,
    too_many_bytes,
)
from kcrc.images.decoding.resizing import View

AS_IT_IS = View()
_PHOTOS = {"HEIC": "pi_heif", "RAW": "rawpy"}  # readers that only workers for photographs load
_MOST_BYTES = 256_000_000  # of pixels and thumbnail: 64 million pixels have 192
_CLOCK = 6  # times the seconds of computing may pass on the clock, on a machine that has much else to do


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


@cache
def _workers(readers: tuple[str, ...]) -> WorkerPool:
    """The workers that have these readers of photographs."""
    return WorkerPool("kcrc.images.decoding.worker", *readers, memory=allowed_memory)


def warm() -> None:
    """Start a worker now, so that the first picture does not wait for it."""
    with contextlib.suppress(DataError):
        _workers(()).warm()


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
    kind = format_of(content, source)
    if kind is None:
        known = f"is not an image that can be read (read are: {', '.join(FORMATS)})."
        raise ImageError(source, *(("not an image", known) if content else ("broken", "is empty.")))
    if kind in _PHOTOS and find_spec(_PHOTOS[kind]) is None:
        why = f"is a {kind} photograph, and what reads those is not installed: pip install 'kcrc[photos]'."
        raise ImageError(source, "no reader", why)
    told, data = _reply(content, kind, view, source, thumbnail, limits)
    shape = tuple(told["shape"])
    size = math.prod(shape)
    form = kind
    expected = EXTENSION_FORMATS.get(Path(source).suffix.lower(), form)
    odd = f"{printable(source)}: is named {expected} but is {form}, and read as that."
    return Picture(
        np.frombuffer(data, np.uint8, size).reshape(shape),
        source,
        sha256(content),
        form,
        (told["full"][0], told["full"][1]),
        "" if expected == form else odd,
        bytes(data[size:]),
    )


def _reply(
    content: bytes, kind: str, view: View, source: str, thumbnail: int, limits: Limits
) -> tuple[dict[str, list[int]], bytearray]:
    """What a worker says of a picture, checked, and its bytes."""
    head = {
        "kind": kind, "size": view.size, "colour": view.colour, "fit": view.fit, "resample": view.resample,
        "thumbnail": thumbnail, "max_pixels": limits.max_pixels, "memory": allowed_memory(),
    }  # fmt: skip
    seconds = allowed_seconds()
    try:
        told, data = _workers((_PHOTOS[kind],) if kind in _PHOTOS else ()).ask(
            head, content, clock=_CLOCK * seconds, seconds=seconds, limit=_MOST_BYTES
        )
    except Broken as problem:
        error = _not_decoded(source, problem, seconds)
    else:
        if "problem" not in told and _is_picture(told, view, len(data)):
            return told, data
        kind_of_problem, why = told.get("problem") or ("broken", "could not be decoded.")
        error = ImageError(source, str(kind_of_problem)[:40], str(why)[:1000])
    # Out here it has no other error behind it: that would hold on to all that was read.
    raise error


def _is_picture(told: dict[str, list[int]], view: View, size: int) -> bool:
    """Whether the reply has the shape that was asked for."""
    shape, full = told.get("shape"), told.get("full")
    if not all(isinstance(given, list) and all(type(n) is int and n > 0 for n in given) for given in (shape, full)):
        return False
    assert shape is not None and full is not None
    is_wanted = view.size is None or view.fit == "inside" or tuple(shape[:2]) == view.size
    depth = [3] if view.colour else []
    return (
        is_wanted
        and len(full) == 2
        and len(shape) == 2 + len(depth)
        and shape[2:] == depth
        and math.prod(shape) <= size
    )


def _not_decoded(source: str, problem: Broken, seconds: float) -> ImageError:
    if problem.reason == "memory":
        why = (
            f"takes more than {allowed_memory() / 1e6:.0f} MB of memory to decode. {MEMORY}=2G would allow 2 GB for "
            "each picture that is decoded at the same time."
        )
        return ImageError(source, "too large", why)
    if problem.reason == "time":
        why = f"takes more than {seconds:g} seconds to decode. {SECONDS}=30 would allow 30."
        return ImageError(source, "too large", why)
    return ImageError(source, "broken", f"could not be decoded: its worker was ended ({problem}).")


def as_jpeg(pixels: Array, quality: int = 80) -> bytes:
    """(h, w, 3) uint8 as a JPEG. From an array: an image that Pillow opened carries its file's comment along."""
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(out, "JPEG", quality=quality)
    return out.getvalue()
