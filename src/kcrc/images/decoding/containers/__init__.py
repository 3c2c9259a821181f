"""What a file says of its picture before anything is decoded: one file a format.

Each format has a function ``look(content)``. It walks over the parts of the file and gives a ``Stored``: size and
orientation, what a decoder will take, and the file again with nothing but the parts that a decoder needs. So Pillow
never sees a text, a profile, EXIF or a second picture, however odd or large they are.
"""

from __future__ import annotations

import struct

from kcrc.images.decoding.containers import bmp, gif, jpeg, png, tiff, webp
from kcrc.images.decoding.containers.base import Damaged, Stored, TooMuch

_LOOKS = {
    "JPEG": ((b"\xff\xd8\xff",), jpeg.look),
    "PNG": ((b"\x89PNG\r\n\x1a\n",), png.look),
    "WEBP": ((b"RIFF",), webp.look),
    "BMP": ((b"BM",), bmp.look),
    "TIFF": ((b"II*\0", b"MM\0*", b"II\0*", b"MM*\0", b"II+\0"), tiff.look),
    "GIF": ((b"GIF87a", b"GIF89a"), gif.look),
}


def begins_like(content: bytes) -> str | None:
    """The format whose beginning the bytes have, None for none that is accepted."""
    for name, (heads, _) in _LOOKS.items():
        if content.startswith(heads) and (name != "WEBP" or content[8:12] == b"WEBP"):
            return name
    return None


def look(content: bytes) -> Stored:
    """What the file says; ``Damaged`` where it cannot be followed, ``TooMuch`` where it has more parts than is sane."""
    name = begins_like(content)
    if name is None:
        raise Damaged
    try:
        stored = _LOOKS[name][1](content)
    except (struct.error, IndexError) as problem:
        raise Damaged from problem
    if min(stored.width, stored.height) < 1:
        raise Damaged
    return stored


__all__ = ["Damaged", "Stored", "TooMuch", "begins_like", "look"]
