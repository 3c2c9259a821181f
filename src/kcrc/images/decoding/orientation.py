"""Which way up a picture is meant: EXIF says so, or XMP. Whatever is odd about them, the picture stays as it stands."""

from __future__ import annotations

import re
import struct

from kcrc.images.decoding.directory import read_directory

TAG = 0x0112
UPRIGHT = 1
_XMP = re.compile(rb'tiff:Orientation(?:="|>)([0-9])')
_PREFIX = b"Exif\0\0"


def orientation(exif: bytes, xmp: bytes = b"") -> int:
    """1 (upright) to 8; what EXIF says counts before what XMP says."""
    said = exif_orientation(exif)
    if said is None:
        found = _XMP.search(xmp)
        said = int(found[1]) if found else UPRIGHT
    return said if 1 <= said <= 8 else UPRIGHT


def exif_orientation(exif: bytes) -> int | None:
    """What EXIF says, None where it says nothing of it, 0 where it says something that is no orientation."""
    for _ in range(2):
        exif = exif.removeprefix(_PREFIX)
    endian = {b"II*\0": "<", b"MM\0*": ">"}.get(exif[:4])
    if endian is None:
        return None
    try:
        (at,) = struct.unpack_from(endian + "I", exif, 4)
        entry = read_directory(exif, at, endian).get(TAG)
    except struct.error:
        return None
    if entry is None:
        return None
    numbers = entry.numbers(exif, endian, 1)
    return numbers[0] if numbers else 0


def from_hexadecimal(profile: bytes) -> bytes:
    """EXIF as a "Raw profile type exif" has it in PNG text: a name, a length, hexadecimal digits in lines."""
    try:
        return bytes.fromhex(b"".join(profile.split(b"\n", 3)[3:]).replace(b"\n", b"").decode("latin-1"))
    except ValueError:
        return b""
