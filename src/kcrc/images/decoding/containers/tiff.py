"""TIFF: a directory that says where the pieces of the picture lie. Kept are the tags that describe the picture.

The directory is written anew in its place, shorter, as the only one of the file: no EXIF, no profile, no further
pictures. A tag of one value has one, and what a piece takes is known before any is read.
"""

from __future__ import annotations

import struct

from kcrc.images.decoding.containers.base import Damaged, Stored, TooMuch
from kcrc.images.decoding.directory import TagEntry, read_directory
from kcrc.images.decoding.orientation import TAG as ORIENTATION
from kcrc.images.decoding.orientation import orientation

_WIDTH, _LENGTH, _BITS, _COMPRESSION, _SAMPLES, _ROWS, _PLANAR = 256, 257, 258, 259, 277, 278, 284
_STRIPS, _STRIP_BYTES, _TILE_WIDTH, _TILE_LENGTH, _TILES, _TILE_BYTES = 273, 279, 322, 323, 324, 325
_XMP = 700
# Beside those with names: photometric interpretation, fill order, fax, predictor, inks, old JPEG, position of YCbCr.
_ONE = frozenset(
    {_WIDTH, _LENGTH, _COMPRESSION, _SAMPLES, _ROWS, _PLANAR, _TILE_WIDTH, _TILE_LENGTH, 262, 266, 292, 293, 317, 332,
     334, 512, 513, 514, 515, 531}
)  # fmt: skip
# Palette, extra samples, sample format, JPEG tables, YCbCr coefficients, sampling and reference, LERC.
_SEVERAL = frozenset({_BITS, 320, 338, 339, 347, 519, 520, 521, 529, 530, 532, 50674})
_PIECES = frozenset({_STRIPS, _STRIP_BYTES, _TILES, _TILE_BYTES})
_MOST_PIECES = 250_000
_PIECE_BYTES = 600  # what Pillow keeps of each piece
_MOST_SAMPLES = 16
_LONG = 4


def look(content: bytes) -> Stored:
    """The size, and the room for the largest piece."""
    endian = "<" if content[:2] == b"II" else ">"
    big = content[2] == 43
    (at,) = struct.unpack_from(endian + ("Q" if big else "I"), content, 8 if big else 4)
    entries = read_directory(content, at, endian, big=big)
    for tag in _PIECES & entries.keys():
        _number(content, entries[tag], endian)
    one = {tag: _number(content, entries[tag], endian) for tag in _ONE & entries.keys()}
    kept = [entry for tag, entry in entries.items() if tag in _ONE | _SEVERAL | _PIECES]
    if max((entry.count for entry in kept), default=0) > _MOST_PIECES:
        raise TooMuch(f"has more than {_MOST_PIECES} pieces")
    width, height = one.get(_WIDTH, 0), one.get(_LENGTH, 0)
    if min(width, height) < 1 or sum(entry.size for entry in kept) > len(content):
        raise Damaged
    if _ROWS in one:
        one[_ROWS] = max(1, min(one[_ROWS], height))
    bits = entries[_BITS].numbers(content, endian, _MOST_SAMPLES) if _BITS in entries else None
    beside = _beside(entries, one, max(bits or (8,)))
    bare = _rewritten(content, at, kept, one, endian, big)
    return Stored("TIFF", width, height, bare, _orientation(content, entries, endian), beside)


def _number(content: bytes, entry: TagEntry, endian: str) -> int:
    numbers = entry.numbers(content, endian, 1)
    if numbers is None or not 0 <= numbers[0] <= 0xFFFFFFFF:
        raise Damaged
    return numbers[0]


def _orientation(content: bytes, entries: dict[int, TagEntry], endian: str) -> int:
    if ORIENTATION in entries:
        said = entries[ORIENTATION].numbers(content, endian, 1)
        return said[0] if said and 1 <= said[0] <= 8 else 1
    xmp = entries.get(_XMP)
    return orientation(b"", content[xmp.offset : xmp.offset + xmp.size] if xmp else b"")


def _beside(entries: dict[int, TagEntry], one: dict[int, int], bits: int) -> int:
    """Bytes for a piece as it is unpacked, and for the list of pieces."""
    width, height, samples = one[_WIDTH], one[_LENGTH], one.get(_SAMPLES, 1)
    tiled = _STRIPS not in entries and _TILES in entries
    across = one.get(_TILE_WIDTH, 0) if tiled else width
    down = one.get(_TILE_LENGTH, 0) if tiled else one.get(_ROWS, height)
    if min(across, down) < 1 or samples > _MOST_SAMPLES:
        raise Damaged
    pieces = entries[_TILES if tiled else _STRIPS].count if tiled or _STRIPS in entries else 0
    due = -(-width // across) * -(-height // down) * (samples if one.get(_PLANAR) == 2 else 1)
    if pieces > due and (across, down) != (width, height):
        raise Damaged  # they would be drawn over each other, time and again
    return across * down * max(4, samples * -(-bits // 8)) + _PIECE_BYTES * pieces


def _rewritten(content: bytes, at: int, kept: list[TagEntry], one: dict[int, int], endian: str, big: bool) -> bytes:
    """The file with a directory of these tags alone, which is the last."""
    parts = []
    for entry in sorted(kept, key=lambda entry: entry.tag):
        kind, count, place = entry.type, entry.count, entry.place
        if entry.tag in one and (count > 1 or entry.tag == _ROWS):
            kind, count, place = _LONG, 1, struct.pack(endian + "I", one[entry.tag]).ljust(len(place), b"\0")
        parts.append(struct.pack(endian + ("HHQ" if big else "HHI"), entry.tag, kind, count) + place)
    number = struct.pack(endian + ("Q" if big else "H"), len(parts))
    written = number + b"".join(parts) + b"\0" * (8 if big else 4)
    return b"".join([content[:at], written, content[at + len(written) :]])
