"""GIF: blocks. Kept are the palettes, the transparent colour, and the first picture."""

from __future__ import annotations

import re
import struct

from kcrc.images.decoding.containers.base import Damaged, Stored, TooMuch

_BLOCK = re.compile(rb"[!,;]")  # an extension, a picture, the end; what lies between is skipped
_MOST_BLOCKS = 1_000_000


def look(content: bytes) -> Stored:
    """The size of the screen, or of the first picture where that reaches beyond it."""
    width, height, flags = struct.unpack_from("<HHB", content, 6)
    at = 13 + _palette(flags)
    head, transparent, blocks = content[:at], b"", 0
    while True:
        found = _BLOCK.search(content, at)
        if found is None or found[0] == b";":
            raise Damaged
        at = found.start()
        if found[0] == b",":
            break
        label, first = content[at + 1], content[at + 3 : at + 7]
        if label == 0xF9 and content[at + 2] >= 4 and first[0] & 1:
            # Of this block only the colour counts; it also says how a next picture would be drawn.
            transparent = b"!\xf9\x04\x01\0\0" + first[3:4] + b"\0"
        at += 2
        while content[at] and blocks <= _MOST_BLOCKS:
            at += content[at] + 1
            blocks += 1
        at += 1
        blocks += 1
        if blocks > _MOST_BLOCKS:
            raise TooMuch(f"has more than {_MOST_BLOCKS} blocks before its picture")
    left, top, wide, tall = struct.unpack_from("<HHHH", content, at + 1)
    width, height = max(width, left + wide), max(height, top + tall)
    if max(width, height) > 0xFFFF:
        raise Damaged
    head = head[:6] + struct.pack("<HH", width, height) + head[10:]
    return Stored("GIF", width, height, b"".join([head, transparent, content[at:]]), beside=width * height)


def _palette(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 128 else 0
