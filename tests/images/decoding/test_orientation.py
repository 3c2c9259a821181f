"""Whatever EXIF says, a good picture is used: turned where it says so in order, else as it stands."""

from __future__ import annotations

import random
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from images.features import hostile_images as hostile
from images.features import odd_files as odd
from kcrc.images.decoding.reading import decode

TURN = 0x0112
DOWN, ACROSS = np.mgrid[0:16, 0:24]
WIDE = Image.fromarray(np.stack([10 * ACROSS, 15 * DOWN, 255 - 5 * (DOWN + ACROSS)], axis=2).astype(np.uint8))

AS_IT_STANDS = {
    "text": odd.exif((TURN, 2, 2, b"6\0")),
    "words": odd.exif((TURN, 2, 18, b"Rotate 90 degrees\0")),
    "a byte": odd.exif((TURN, 1, 1, b"\6")),
    "rational": odd.exif((TURN, 5, 1, struct.pack("<II", 6, 1))),
    "divided by zero": odd.exif((TURN, 5, 1, struct.pack("<II", 6, 0))),
    "float": odd.exif((TURN, 11, 1, struct.pack("<f", 6.0))),
    "not a number": odd.exif((TURN, 12, 1, struct.pack("<d", float("nan")))),
    "undefined": odd.exif((TURN, 7, 4, b"\6\0\0\0")),
    "unknown type": odd.exif((TURN, 99, 1, b"\6\0\0\0")),
    "zero": odd.exif(odd.short(TURN, 0)),
    "nine": odd.exif(odd.short(TURN, 9)),
    "negative": odd.exif((TURN, 9, 1, struct.pack("<i", -6))),
    "huge": odd.exif(odd.long(TURN, 0xFFFFFFFF)),
    "no value": odd.exif((TURN, 3, 0, b"\6\0")),
    "four thousand million values": odd.exif((TURN, 3, 0xFFFFFFFF, b"\6\0\0\0")),
    "values beyond the end": odd.exif((TURN, 3, 9, bytes(18)))[:-10],
    "cut in an entry": odd.exif(odd.short(TURN, 6))[:16],
    "cut in the head": odd.exif(odd.short(TURN, 6))[:6],
    "a directory beyond the end": odd.exif(odd.short(TURN, 6), at=5000),
    "a directory in the head": odd.exif(odd.short(TURN, 6), at=0),
    "more entries than there are": b"II*\0\x08\0\0\0\xff\xff" + bytes(500),
    "a ring of directories": odd.exif(odd.long(0x8769, 8), odd.long(0x8825, 8), following=8),
    "no byte order": b"XX*\0" + odd.exif(odd.short(TURN, 6))[4:],
    "BigTIFF": b"II+\0" + odd.exif(odd.short(TURN, 6))[4:],
    "nothing": b"",
    "noise": random.Random(0).randbytes(3000),
    "megabytes": odd.exif((0x927C, 7, 3_000_000, bytes(3_000_000)), odd.long(TURN, 77)),
}
TURNED = {
    "short": odd.exif(odd.short(TURN, 6)),
    "long": odd.exif(odd.long(TURN, 6)),
    "big-endian": odd.exif((TURN, 3, 1, b"\0\6"), endian=">"),
    "two values, the first counts": odd.exif(odd.short(TURN, 6, 1)),
    "twice, the first counts": odd.exif(odd.short(TURN, 6), odd.short(TURN, 1)),
    "behind odd entries": odd.exif((0x010F, 99, 3, b"ab"), (0x0110, 2, 0xFFFFFF, bytes(4)), odd.short(TURN, 6)),
    "a ring behind it": odd.exif(odd.short(TURN, 6), odd.long(0x8769, 8), following=8),
    "megabytes before it": odd.exif((0x0001, 7, 200_000, bytes(200_000)), odd.short(TURN, 6)),
}


def files(exif: bytes) -> dict[str, bytes]:
    """The same picture with this EXIF wherever a format can have it."""
    still = odd.saved(WIDE, "WEBP", lossless=True)
    rows = zlib.compress(b"".join(b"\0" + row.tobytes() for row in np.asarray(WIDE)))
    told = b"Raw profile type exif\0\0" + zlib.compress(b"\nexif\n%8d\n%s\n" % (len(exif), exif.hex().encode()))
    vp8x = b"\x08\0\0\0" + struct.pack("<I", 23)[:3] + struct.pack("<I", 15)[:3]
    return {
        "jpeg": odd.jpeg_with_exif(exif, WIDE),
        "png": odd.png(24, 16, rows, before=[odd.chunk(b"eXIf", exif)]),
        "png, at its end": odd.png(24, 16, rows, after=[odd.chunk(b"eXIf", exif)]),
        "png, as text": odd.png(24, 16, rows, before=[odd.chunk(b"zTXt", told)]),
        "webp": odd.riff((b"VP8X", vp8x), (still[12:16], still[20:]), (b"EXIF", exif)),
    }


@pytest.mark.parametrize("name", AS_IT_STANDS)
def test_a_picture_with_odd_exif_is_used_as_it_stands(name):
    plain = np.asarray(WIDE).astype(int)
    stored = files(AS_IT_STANDS[name])
    assert stored
    for where, content in stored.items():
        picture = decode(content, source=where)
        assert picture.original_size == (16, 24), where
        assert np.abs(picture.pixels - plain).mean() < (4 if where == "jpeg" else 0.1), where


@pytest.mark.parametrize("name", TURNED)
def test_a_picture_whose_exif_can_be_followed_is_turned(name):
    plain = np.rot90(np.asarray(WIDE), -1).astype(int)
    stored = files(TURNED[name])
    assert stored
    for where, content in stored.items():
        picture = decode(content, source=where)
        assert picture.original_size == (24, 16), where
        assert np.abs(picture.pixels - plain).mean() < (4 if where == "jpeg" else 0.1), where


TAGS = {
    "text": ((TURN, 2, 2, b"6\0"), False),
    "rational": ((TURN, 5, 1, struct.pack("<II", 6, 1)), True),
    "huge": (odd.long(TURN, 0xFFFFFFFF), False),
    "values beyond the end": ((TURN, 3, 0x7FFFFFFF, b"\6\0\0\0"), False),
    "short": (odd.short(TURN, 6), True),
    "long": (odd.long(TURN, 6), True),
}


@pytest.mark.parametrize("name", TAGS)
def test_the_orientation_of_a_tiff(name):
    tag, turned = TAGS[name]
    pixels = np.asarray(odd.noise("L", (24, 16)))
    others = [(0x8769, 4, 1, struct.pack("<I", 0xFFFFFF)), (0x8825, 2, 9, b"no place\0"), (34675, 7, 9, bytes(9))]
    picture = decode(odd.grey_tiff(24, 16, pixels.tobytes(), tag, *others))
    expected = np.rot90(pixels, -1) if turned else pixels
    np.testing.assert_array_equal(picture.pixels[:, :, 0], expected)
    assert picture.original_size == expected.shape


@pytest.mark.parametrize(
    ("exif", "said", "turned"),
    [
        (b"", b'="8"', True),
        (b"", b">8<", True),
        (b"", b'="9"', False),
        (odd.exif(odd.short(0x010F, 1)), b'="8"', True),
        (odd.exif(odd.short(TURN, 1)), b'="8"', False),
        (odd.exif((TURN, 2, 2, b"6\0")), b'="8"', False),  # it says something, only nothing of use
    ],
)
def test_xmp_counts_only_if_exif_says_nothing(exif, said, turned):
    xmp = b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta><rdf:Description tiff:Orientation" + said + b"/></x:xmpmeta>"
    content = odd.jpeg_with_exif(exif, WIDE) if exif else odd.saved(WIDE, "JPEG")
    jpeg = odd.with_segments(content, odd.segment(0xE1, xmp))
    assert decode(jpeg).original_size == ((24, 16) if turned else (16, 24))


def test_any_exif_at_all_leaves_a_picture():
    rng = random.Random(1)
    for _ in range(300):
        said = hostile.odd_exif(rng)
        assert decode(odd.jpeg_with_exif(said, WIDE)).pixels.size == 24 * 16 * 3
