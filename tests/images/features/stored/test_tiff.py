from __future__ import annotations

import io
import struct

import numpy as np
import pytest

from images.features import odd_files as odd
from kcrc.images.decoding.containers import Damaged, TooMuch, look
from kcrc.images.decoding.reading import ImageError, decode

PIXELS = np.asarray(odd.noise("L", (50, 40)))
DATA = PIXELS.tobytes()


def tiled(width: int, height: int, compression: int = 1, tiles: int = 1) -> bytes:
    """50×40 pixels in tiles of this size, which all lie at the same place."""
    tags = [
        odd.long(256, 50), odd.long(257, 40), odd.short(258, 8), odd.short(259, compression), odd.short(262, 1),
        odd.short(277, 1), odd.long(322, width), odd.long(323, height), odd.long(324, *[8] * tiles),
        odd.long(325, *[len(DATA)] * tiles),
    ]  # fmt: skip
    return odd.tiff(tags, DATA)


def test_strips_of_any_height_are_read():
    for rows in (1, 7, 40, 41, 0xFFFFFFFF):
        count = -(-40 // min(rows, 40))
        offsets = [8 + 50 * min(rows, 40) * i for i in range(count)]
        content = odd.grey_tiff(50, 40, DATA, odd.long(278, rows), odd.long(273, *offsets))
        np.testing.assert_array_equal(decode(content).pixels[:, :, 0], PIXELS)


def test_a_piece_is_counted_before_it_is_read():
    assert look(tiled(16, 16)).beside == 16 * 16 * 4 + 600
    assert look(tiled(60_000, 60_000)).beside > 14 * 10**9
    with pytest.raises(ImageError, match="MB of memory to decode"):
        decode(tiled(60_000, 60_000, compression=8))
    assert look(odd.grey_tiff(50, 40, DATA, odd.long(278, 0xFFFFFFFF))).beside == 50 * 40 * 4 + 600


def test_pieces_drawn_over_each_other_are_damage():
    look(tiled(25, 40, tiles=2))
    for content in (
        tiled(25, 40, tiles=3),
        odd.grey_tiff(50, 40, DATA, odd.long(278, 20), odd.long(273, *[8] * 30_000)),
    ):
        with pytest.raises(Damaged):
            look(content)


def test_pieces_at_one_place_do_not_each_read_the_rest_of_the_file(monkeypatch):
    read = 0

    class Counted(io.BytesIO):
        def read(self, n: int = -1) -> bytes:
            nonlocal read
            got = super().read(n)
            read += len(got)
            return got

    content = odd.grey_tiff(3, 2000, bytes(5_000_000), odd.long(278, 1), odd.long(273, *[8] * 2000))
    monkeypatch.setattr("kcrc.images.decoding.decoder.io.BytesIO", Counted)
    assert (decode(content).pixels == 0).all()
    assert read < 50_000_000  # 2000 × 5 MB would be 10 GB


def test_pieces_without_end_are_refused():
    with pytest.raises(TooMuch, match="250000 pieces"):
        look(odd.grey_tiff(1, 300_000, DATA, odd.long(278, 1), odd.long(273, *[8] * 300_000)))


ODD = [odd.short(256, 50, 50), odd.short(259, 1, 8, 9), (0x8769, 4, 1, b"\xff\xff\xff\x7f"), (320, 3, 3, bytes(6)),
       (34675, 7, 0xFFFFFFF0, b"\0\0\0\0"), (700, 1, 0x7FFFFFFF, b"\0\0\0\0"), (65000, 99, 1, b"\0\0\0\0"),
       (282, 5, 1, struct.pack("<II", 1, 0)), odd.long(322, 0)]  # fmt: skip
WRONG = [(259, 2, 1, b"1"), (258, 5, 1, bytes(8)), odd.short(277, 0xFFFF), (256, 12, 1, bytes(8)),
         (273, 5, 1, bytes(8)), (273, 4, 0x10000000, struct.pack("<I", 8)), odd.long(257, 0xFFFFFFFF)]  # fmt: skip


@pytest.mark.parametrize("tag", ODD, ids=str)
def test_an_odd_tag_is_passed_over_without_a_warning(tag):
    np.testing.assert_array_equal(decode(odd.grey_tiff(50, 40, DATA, tag)).pixels[:, :, 0], PIXELS)


@pytest.mark.parametrize("tag", WRONG, ids=str)
def test_a_tag_that_matters_and_makes_no_sense_is_an_image_error(tag):
    with pytest.raises(ImageError, match=r"begins like a TIFF|more than the limit"):
        decode(odd.grey_tiff(50, 40, DATA, tag))


def test_directories_in_a_ring_are_one_directory():
    one = odd.grey_tiff(50, 40, DATA)
    at = struct.unpack_from("<I", one, 4)[0]
    end = at + 2 + 12 * struct.unpack_from("<H", one, at)[0]
    ring = one[:end] + struct.pack("<I", at) + one[end + 4 :]
    np.testing.assert_array_equal(decode(ring).pixels[:, :, 0], PIXELS)
    assert look(ring).bare == look(one).bare


def test_no_directory_is_damage():
    for content in (
        b"II*\0",
        b"II*\0\xff\xff\xff\xff",
        b"II*\0\x08\0\0\0\xff\xff",
        odd.tiff([]),
        odd.tiff([odd.long(256, 9)]),
    ):
        with pytest.raises(Damaged):
            look(content)


def test_big_tiff():
    tags = [(256, 50), (257, 40), (258, 8), (259, 1), (262, 1), (273, 16), (277, 1), (278, 40), (279, 2000), (274, 3)]
    entries = b"".join(struct.pack("<HHQQ", tag, 4, 1, value) for tag, value in sorted(tags))
    head = b"II+\0\x08\0\0\0" + struct.pack("<Q", 16 + len(DATA))
    content = head + DATA + struct.pack("<Q", len(tags)) + entries + bytes(8)
    np.testing.assert_array_equal(decode(content).pixels[:, :, 0], PIXELS[::-1, ::-1])
    with pytest.raises(Damaged):
        look(head + DATA + struct.pack("<Q", 1 << 60) + entries)
