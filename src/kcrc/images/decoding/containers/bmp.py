"""BMP: a header and rows. There is nothing in it but the picture."""

from __future__ import annotations

import struct

from kcrc.images.decoding.containers.base import Damaged, Stored, TooMuch

_RUNS = frozenset({1, 2})  # RLE8, RLE4
_MOST_RUN_PIXELS, _MOST_RUN_BYTES = 16_000_000, 8_000_000  # run by run in Python: more would take too long


def look(content: bytes) -> Stored:
    """The size; a height below zero means rows from the top."""
    (header,) = struct.unpack_from("<I", content, 14)
    if header == 12:
        width, height = struct.unpack_from("<HH", content, 18)
        return Stored("BMP", width, height, content)
    width, height, _, _, compression = struct.unpack_from("<IiHHI", content, 18)
    height = abs(height)
    if not width or not height:
        raise Damaged
    if compression in _RUNS:
        if width * height > _MOST_RUN_PIXELS or len(content) > _MOST_RUN_BYTES:
            raise TooMuch(f"has more than {_MOST_RUN_PIXELS} pixels or {_MOST_RUN_BYTES} bytes in runs (RLE)")
        return Stored("BMP", width, height, content, beside=3 * width * height)
    return Stored("BMP", width, height, content)
