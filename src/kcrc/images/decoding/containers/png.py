"""PNG: chunks. Kept are the header, the palette, what is transparent, and the picture."""

from __future__ import annotations

import re
import struct
import zlib

from kcrc.images.decoding.containers.base import Damaged, Stored, TooMuch
from kcrc.images.decoding.orientation import from_hexadecimal, orientation

_KEPT = frozenset({b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"})
_TEXTS = frozenset({b"tEXt", b"zTXt", b"iTXt"})
_PROFILE, _XMP = b"Raw profile type exif", b"XML:com.adobe.xmp"
_MOST_CHUNKS = 200_000
_MOST_TEXT = 1_000_000  # bytes of a text that is looked at
_NAME = re.compile(rb"\w{4}")
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def look(content: bytes) -> Stored:
    """The size in the header; the orientation from EXIF or XMP, wherever in the file."""
    kept: list[bytes] = [content[:8]]
    exif, told = b"", dict.fromkeys((_PROFILE, _XMP), b"")
    at, dropped = 8, False
    for _ in range(_MOST_CHUNKS):
        if at + 8 > len(content):
            break
        length, kind = struct.unpack_from(">I4s", content, at)
        if not _NAME.fullmatch(kind):
            dropped = True
            break
        end = at + 12 + length
        if kind in _KEPT:
            kept.append(content[at:end])
        else:
            dropped = True
            body = content[at + 8 : end - 4]
            if kind == b"eXIf":
                exif = body
            elif kind in _TEXTS:
                key, _, rest = body.partition(b"\0")
                if key in told:
                    told[key] = _text(kind, rest)
        at = end
        if kind == b"IEND":
            dropped = dropped or at < len(content)
            break
    else:
        raise TooMuch(f"has more than {_MOST_CHUNKS} chunks")
    if content[12:16] != b"IHDR":
        raise Damaged
    width, height, depth, colours = struct.unpack_from(">IIBB", content, 16)
    row = width * depth * _CHANNELS.get(colours, 4) // 8
    turn = orientation(exif or from_hexadecimal(told[_PROFILE]), told[_XMP])
    return Stored("PNG", width, height, b"".join(kept) if dropped else content, turn, 4 * row)


def _text(kind: bytes, rest: bytes) -> bytes:
    """What a text says, after its key; nothing where it is too long to be looked at or cannot be inflated."""
    packed = kind == b"zTXt"
    if kind == b"iTXt":
        packed, rest = rest[:1] == b"\1", rest[2:].split(b"\0", 2)[-1]
    elif packed:
        rest = rest[1:]
    if not packed:
        return rest if len(rest) <= _MOST_TEXT else b""
    unpacking = zlib.decompressobj()
    try:
        said = unpacking.decompress(rest, _MOST_TEXT)
    except zlib.error:
        return b""
    return b"" if unpacking.unconsumed_tail else said
