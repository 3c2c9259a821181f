from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

from images.features import odd_files as odd
from kcrc.images.decoding.containers import Damaged, TooMuch, look
from kcrc.images.decoding.reading import ImageError, decode

ROWS = zlib.compress(bytes(4 * (1 + 3 * 5)))
BOMB = odd.zeros(80 << 20)


@pytest.mark.parametrize(
    "chunk",
    [
        odd.chunk(b"iCCP", b"profile\0\0" + BOMB),
        odd.chunk(b"zTXt", b"comment\0\0" + BOMB),
        odd.chunk(b"zTXt", b"Raw profile type exif\0\0" + BOMB),
        odd.chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + BOMB),
        odd.chunk(b"tEXt", b"Raw profile type exif\0" + b"\n" * (20 << 20)),
        odd.chunk(b"eXIf", bytes(1 << 20)),
        odd.chunk(b"acTL", struct.pack(">II", 0xFFFFFFFF, 0)),
        odd.chunk(b"acTL", b""),
        odd.chunk(b"fcTL", bytes(26)),
        odd.chunk(b"gAMA", b""),
        odd.chunk(b"cHRM", b"short"),
        odd.chunk(b"pHYs", b""),
        odd.chunk(b"tEXt", b"no separator"),
        odd.chunk(b"sRGB", b""),
        odd.chunk(b"teSt", b"private")[:-4] + b"crc!",
    ],
    ids=lambda chunk: chunk[4:8].decode(),
)
def test_what_is_said_beside_the_picture_is_no_reason_to_refuse_it(chunk):
    for where in ("before", "after"):
        content = odd.png(5, 4, ROWS, **{where: [chunk, chunk]})
        assert look(content).bare == odd.png(5, 4, ROWS)
        assert (decode(content).pixels == 0).all()


def test_chunks_without_end_are_refused():
    with pytest.raises(TooMuch, match="200000 chunks"):
        look(odd.png(5, 4, ROWS, before=[odd.chunk(b"tEXt", b"a\0b") * 210_000]))


def test_a_critical_chunk_with_a_wrong_checksum_is_damage():
    whole = odd.png(5, 4, ROWS)
    with pytest.raises(ImageError, match="begins like a PNG"):
        decode(whole[:29] + b"\0\0\0\0" + whole[33:])


def test_a_picture_whose_end_is_missing_is_used_as_before():
    whole = odd.png(5, 4, ROWS)
    for end in (b"", b"\0\0", b"\0\0\0\0IEN", b"\0\0\0\5\xff\xff\xff\xff"):
        assert decode(whole[:-12] + end).pixels.shape == (4, 5, 3)


def test_without_a_header_it_is_damage():
    with pytest.raises(Damaged):
        look(odd.PNG_MAGIC + odd.chunk(b"IDAT", ROWS))


def test_an_animation_shows_what_programs_without_animations_show():
    frames = [odd.noise("RGB", (9, 7), seed) for seed in range(3)]
    for options in ({}, {"default_image": True}):
        content = odd.saved(frames[0], "PNG", save_all=True, append_images=frames[1:], **options)
        np.testing.assert_array_equal(decode(content).pixels, np.asarray(frames[0]))


def test_rows_too_long_for_their_memory_are_counted():
    assert look(odd.png(50_000_000, 1, ROWS, depth=16, colours=6)).beside == 4 * 8 * 50_000_000
