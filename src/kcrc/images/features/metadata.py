"""Remove metadata from a picture: EXIF, place, XMP, IPTC, profile, text, comment, preview, and bytes behind its end.

Only a short list of parts that a decoder needs may stay. A picture with any other part is decoded, turned upright (the
orientation is metadata too) and encoded again from its pixels. A picture without metadata, such as those made here, is
returned unchanged: its parts are listed, and nothing is decoded.
"""

from __future__ import annotations

import re
import struct

from kcrc.images.decoding.decoder import as_jpeg
from kcrc.images.decoding.reading import ImageError, decode
from kcrc.images.decoding.resizing import View

LARGEST_SIDE = 512  # pixels of the longer side of a picture that is encoded again
_JPEG, _PNG, _WEBP = b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF"
_PNG_PARTS = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")
_WEBP_PARTS = (b"VP8X", b"ALPH", b"VP8 ", b"VP8L")
_JPEG_TABLES = (0xC0, 0xC1, 0xC2, 0xC4, 0xDB, 0xDD)  # frames, Huffman and quantisation tables, restart interval
_NEXT_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7]")  # within a scan, FF 00 is a value and FF D0…D7 a restart


def strip_metadata(picture: bytes) -> bytes | None:
    """Return the picture as JPEG, PNG or WebP without metadata, or None if it cannot be decoded."""
    if has_no_metadata(picture):
        return picture
    try:
        return as_jpeg(decode(picture, View((LARGEST_SIDE, LARGEST_SIDE), fit="inside")).pixels)
    except ImageError:
        return None


def has_no_metadata(picture: bytes) -> bool:
    """Whether the file consists of parts that are needed to show it, and ends with the last of them."""
    try:
        if picture.startswith(_JPEG):
            return _is_plain_jpeg(picture)
        if picture.startswith(_PNG):
            return _is_plain_png(picture)
        return picture.startswith(_WEBP) and _is_plain_webp(picture)
    except (struct.error, IndexError):
        return False


def _is_plain_jpeg(picture: bytes) -> bool:
    at, has_scan = 2, False
    while picture[at] == 0xFF:
        marker = picture[at + 1]
        if marker == 0xD9:
            return has_scan and at + 2 == len(picture)
        (length,) = struct.unpack_from(">H", picture, at + 2)
        content = picture[at + 4 : at + 2 + length]
        jfif = marker == 0xE0 and content.startswith(b"JFIF\0") and length == 16  # longer ones contain a preview
        adobe = marker == 0xEE and content.startswith(b"Adobe") and length == 14  # which colours the numbers mean
        if not (jfif or adobe or marker in _JPEG_TABLES or marker == 0xDA):
            return False
        at += 2 + length
        if marker == 0xDA:
            has_scan = True
            following = _NEXT_MARKER.search(picture, at)
            if following is None:
                return False
            at = following.start()
    return False


def _is_plain_png(picture: bytes) -> bool:
    at, kind = 8, b""
    while at < len(picture):
        length, kind = struct.unpack_from(">I4s", picture, at)
        if kind not in _PNG_PARTS or (kind == b"IEND" and length):
            return False
        at += 12 + length
        if kind == b"IEND":
            break
    return kind == b"IEND" and at == len(picture)


def _is_plain_webp(picture: bytes) -> bool:
    (size,) = struct.unpack_from("<I", picture, 4)
    at = 12
    while at < len(picture):
        kind, length = struct.unpack_from("<4sI", picture, at)
        if kind not in _WEBP_PARTS or (kind == b"VP8X" and length != 10):
            return False
        at += 8 + length + length % 2
    return picture[8:12] == b"WEBP" and size + 8 == at == len(picture)
