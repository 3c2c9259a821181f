"""A picture and nothing else: no EXIF, place, XMP, IPTC, profile, text, comment, preview, nor bytes behind its end.

What may stay is a short list of parts that a decoder needs; a picture with any other part is decoded, turned upright
(the orientation is one of the parts that go) and written anew from its pixels. A picture that is bare already, as
those made here are, is returned as it is: its parts are walked over, nothing is decoded.
"""

from __future__ import annotations

import re
import struct

from kcrc.images.decoding.decoder import as_jpeg
from kcrc.images.decoding.reading import ImageError, decode
from kcrc.images.decoding.resizing import View

LONGEST = 512  # pixels, the longer side of a picture that is written anew
_JPEG, _PNG, _WEBP = b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF"
_PNG_PARTS = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")
_WEBP_PARTS = (b"VP8X", b"ALPH", b"VP8 ", b"VP8L")
_JPEG_TABLES = (0xC0, 0xC1, 0xC2, 0xC4, 0xDB, 0xDD)  # frames, Huffman and quantisation tables, restart interval
_NEXT_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7]")  # within a scan, FF 00 is a value and FF D0…D7 a restart


def bare(picture: bytes) -> bytes | None:
    """The JPEG, PNG or WebP without anything that is not the picture; None where it is no picture."""
    if is_bare(picture):
        return picture
    try:
        return as_jpeg(decode(picture, View((LONGEST, LONGEST), fit="inside")).pixels)
    except ImageError:
        return None


def is_bare(picture: bytes) -> bool:
    """Whether the file consists of parts that are needed to show it, and ends with the last of them."""
    try:
        if picture.startswith(_JPEG):
            return _bare_jpeg(picture)
        if picture.startswith(_PNG):
            return _bare_png(picture)
        return picture.startswith(_WEBP) and _bare_webp(picture)
    except (struct.error, IndexError):
        return False


def _bare_jpeg(picture: bytes) -> bool:
    at, shown = 2, False
    while picture[at] == 0xFF:
        marker = picture[at + 1]
        if marker == 0xD9:
            return shown and at + 2 == len(picture)
        (length,) = struct.unpack_from(">H", picture, at + 2)
        content = picture[at + 4 : at + 2 + length]
        jfif = marker == 0xE0 and content.startswith(b"JFIF\0") and length == 16  # longer: with a preview
        adobe = marker == 0xEE and content.startswith(b"Adobe") and length == 14  # which colours the numbers mean
        if not (jfif or adobe or marker in _JPEG_TABLES or marker == 0xDA):
            return False
        at += 2 + length
        if marker == 0xDA:
            shown = True
            found = _NEXT_MARKER.search(picture, at)
            if found is None:
                return False
            at = found.start()
    return False


def _bare_png(picture: bytes) -> bool:
    at, kind = 8, b""
    while at < len(picture):
        length, kind = struct.unpack_from(">I4s", picture, at)
        if kind not in _PNG_PARTS or (kind == b"IEND" and length):
            return False
        at += 12 + length
        if kind == b"IEND":
            break
    return kind == b"IEND" and at == len(picture)


def _bare_webp(picture: bytes) -> bool:
    (size,) = struct.unpack_from("<I", picture, 4)
    at = 12
    while at < len(picture):
        kind, length = struct.unpack_from("<4sI", picture, at)
        if kind not in _WEBP_PARTS or (kind == b"VP8X" and length != 10):
            return False
        at += 8 + length + length % 2
    return picture[8:12] == b"WEBP" and size + 8 == at == len(picture)
