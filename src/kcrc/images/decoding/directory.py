"""The directories of TIFF and EXIF, read without trust: entries by tag, and the whole numbers they hold."""

from __future__ import annotations

import struct
from dataclasses import dataclass

# Bytes of one value by type: BYTE, ASCII, SHORT, LONG, RATIONAL, SBYTE, UNDEFINED, SSHORT, SLONG, SRATIONAL, FLOAT,
# DOUBLE, IFD, LONG8.
_WIDTHS = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8}
_WHOLE = {3: "H", 4: "I", 8: "h", 9: "i", 16: "Q"}
_MOST_ENTRIES = 65_535  # all that TIFF can count; BigTIFF could count more


@dataclass(frozen=True)
class TagEntry:
    """One entry: its tag, the type and number of its values, and the ``size`` bytes of the file that hold them.

    ``place`` is what the entry says of where they are; ``inline`` where it is the values themselves.
    """

    tag: int
    type: int
    count: int
    place: bytes
    offset: int
    size: int
    inline: bool

    def numbers(self, content: bytes, endian: str, most: int) -> tuple[int, ...] | None:
        """The first ``most`` values where they are whole numbers, else None."""
        code = _WHOLE.get(self.type)
        if code is None:
            return None
        return struct.unpack_from(f"{endian}{min(self.count, most)}{code}", content, self.offset)


def read_directory(content: bytes, at: int, endian: str, *, big: bool = False) -> dict[int, TagEntry]:
    """The entries of the directory at an offset, by tag; ``struct.error`` where it is cut off.

    The first of several equal tags counts. An entry of an unknown type, without values, or with values outside the file
    is left out.
    """
    head, layout, room = ("Q", "HHQ8s", 8) if big else ("H", "HHI4s", 4)
    (count,) = struct.unpack_from(endian + head, content, at)
    start, step = at + struct.calcsize(endian + head), struct.calcsize(endian + layout)
    if count > _MOST_ENTRIES or start + count * step > len(content):
        raise struct.error("the directory is cut off")
    entries: dict[int, TagEntry] = {}
    for position in range(start, start + count * step, step):
        tag, kind, n, place = struct.unpack_from(endian + layout, content, position)
        size = n * _WIDTHS.get(kind, 0)
        if not size or tag in entries:
            continue
        inline = size <= room
        offset = position + step - room if inline else struct.unpack(endian + ("Q" if big else "I"), place)[0]
        if offset + size <= len(content):
            entries[tag] = TagEntry(tag, kind, n, place, offset, size, inline)
    return entries
