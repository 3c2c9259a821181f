"""WebP: chunks in a RIFF. Kept are the picture, its transparency, and the first frame of an animation."""

from __future__ import annotations

import struct

from kcrc.images.decoding.containers.base import Damaged, Stored, TooMuch
from kcrc.images.decoding.orientation import orientation

_KEPT = frozenset({b"VP8X", b"ALPH", b"VP8 ", b"VP8L", b"ANIM", b"ANMF"})
_METADATA = 0x20 | 0x08 | 0x04  # flags of a profile, EXIF and XMP
_MOST_CHUNKS = 100_000


def look(content: bytes) -> Stored:
    """The size of the canvas."""
    (size,) = struct.unpack_from("<I", content, 4)
    end = 8 + size
    if end > len(content):
        raise Damaged
    kept: list[tuple[bytes, bytes]] = []
    exif = xmp = b""
    at, dropped, frames = 12, end < len(content), 0
    for _ in range(_MOST_CHUNKS):
        if at + 8 > end:
            break
        kind, length = struct.unpack_from("<4sI", content, at)
        body = content[at + 8 : at + 8 + length]
        if at + 8 + length > end:
            raise Damaged
        frames += kind == b"ANMF"
        if kind in _KEPT and not (kind == b"ANMF" and frames > 1):
            kept.append((kind, body))
        else:
            dropped = True
            exif = body if kind == b"EXIF" else exif
            xmp = body if kind == b"XMP " else xmp
        at += 8 + length + length % 2
    else:
        raise TooMuch(f"has more than {_MOST_CHUNKS} chunks")
    if not kept:
        raise Damaged
    width, height = _canvas(*kept[0])
    # Two canvases of four bytes a pixel while it decodes, and a third that is handed over.
    return Stored(
        "WEBP", width, height, _written(kept) if dropped else content, orientation(exif, xmp), 12 * width * height
    )


def _canvas(kind: bytes, body: bytes) -> tuple[int, int]:
    if kind == b"VP8X":
        return int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1
    if kind == b"VP8L" and body[:1] == b"\x2f":
        (bits,) = struct.unpack_from("<I", body, 1)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", body, 6)
        return width & 0x3FFF, height & 0x3FFF
    raise Damaged


def _written(kept: list[tuple[bytes, bytes]]) -> bytes:
    parts = [b"WEBP"]
    for kind, body in kept:
        if kind == b"VP8X":
            body = bytes([body[0] & ~_METADATA]) + body[1:]
        parts += [struct.pack("<4sI", kind, len(body)), body, b"\0" * (len(body) % 2)]
    whole = b"".join(parts)
    return struct.pack("<4sI", b"RIFF", len(whole)) + whole
