"""Odd parts of each format: what stands beside a good picture is no reason to refuse it, what is damaged is."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

from images.features import hostile_images as hostile
from images.features import odd_files as odd
from kcrc.images.decoding.limits import FORMATS, format_of
from kcrc.images.decoding.reading import ImageError, decode
from kcrc.images.decoding.resizing import View


def test_the_beginning_says_the_format():
    for kind in FORMATS:
        assert format_of(odd.saved(odd.noise("L", (9, 7)), kind)) == kind
    for content in (b"", b"RIFF\0\0\0\0WAVE", b"GIF90a"):
        assert format_of(content) is None


@pytest.mark.parametrize("kind", FORMATS)
def test_every_mode_of_a_format_is_read(kind):
    assert hostile.MODES[kind]
    for mode in hostile.MODES[kind]:
        for size in ((24, 16), (1, 1), (333, 7)):
            picture = decode(odd.saved(odd.noise(mode, size), kind))
            assert (picture.format, picture.original_size) == (kind, size[::-1]), mode


# BMP, GIF


def test_rows_from_the_top_and_from_the_bottom():
    rows = bytes([0, 0, 0, 0, 9, 9, 9, 0])  # two rows of three, padded
    up, down = decode(odd.bmp(3, 2, rows)), decode(odd.bmp(3, -2, rows))
    np.testing.assert_array_equal(up.pixels, down.pixels[::-1])


def test_runs_are_read():
    content = odd.bmp(40, 20, b"\x28\7\0\0" * 20 + b"\0\1", compression=1)  # forty times the seventh colour
    assert (decode(content).pixels == decode(content).pixels[0, 0]).all()


def test_a_row_of_many_millions_is_not_put_together_from_small_pieces():
    """Copying all there is for each 64 kB more would take minutes."""
    assert decode(odd.bmp(40_000_000, 1, bytes(5_000_000), bits=1), View((8, 8))).pixels.shape == (8, 8, 3)


@pytest.mark.parametrize("content", [odd.bmp(0, 5, b""), odd.bmp(5, 0, b""), b"BM", b"BM" + bytes(20)])
def test_a_bmp_without_a_size_is_damage(content):
    with pytest.raises(ImageError) as caught:
        decode(content)
    assert caught.value.kind == "broken"


def test_comments_and_rubbish_before_the_picture_of_a_gif_are_passed_over():
    frames = [odd.noise("P", (9, 7), seed) for seed in range(3)]
    content = odd.saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    palette = 13 + (3 << (content[10] & 7) + 1)
    for blocks in (b"!\xfe" + b"\xffx" + bytes([1] * 254) + b"\0", b"!\xfe\0" * 10_000):
        longer = content[:palette] + blocks + content[palette:]
        np.testing.assert_array_equal(decode(longer).pixels, decode(content).pixels)


def test_a_gif_larger_than_its_screen_counts_in_full():
    with pytest.raises(ImageError, match="60000×50000 pixels"):
        decode(odd.gif(60_000, 50_000, screen=(1, 1)))
    frames = [odd.noise("P", (9, 7), seed) for seed in range(3)]
    content = odd.saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    smaller = content[:6] + b"\2\0\2\0" + content[10:]
    np.testing.assert_array_equal(decode(smaller).pixels, decode(content).pixels)


@pytest.mark.parametrize("content", [b"GIF89a", odd.gif(3, 1)[:19], odd.gif(3, 1)[:19] + b";", odd.gif(3, 1)[:24]])
def test_a_gif_without_a_picture_is_damage(content):
    with pytest.raises(ImageError):
        decode(content)


# PNG

ROWS = zlib.compress(bytes(4 * (1 + 3 * 5)))


@pytest.mark.parametrize(
    "chunk",
    [
        odd.chunk(b"eXIf", bytes(1 << 20)),
        odd.chunk(b"zTXt", b"comment\0\0" + odd.zeros(8 << 20)),
        odd.chunk(b"teSt", b"private"),
        odd.chunk(b"tEXt", b"no separator"),
        odd.chunk(b"sRGB", b"\0"),
    ],
    ids=lambda chunk: chunk[4:8].decode(),
)
def test_what_is_said_beside_the_picture_is_no_reason_to_refuse_it(chunk):
    for where in ("before", "after"):
        assert (decode(odd.png(5, 4, ROWS, **{where: [chunk, chunk]})).pixels == 0).all()


def test_text_that_unpacks_to_more_than_anybody_writes_is_an_error_of_ours():
    bomb = odd.chunk(b"zTXt", b"comment\0\0" + odd.zeros(200 << 20))
    with pytest.raises(ImageError):
        decode(odd.png(5, 4, ROWS, before=[bomb] * 9))


def test_a_critical_chunk_with_a_wrong_checksum_is_damage():
    whole = odd.png(5, 4, ROWS)
    with pytest.raises(ImageError, match="begins like a PNG"):
        decode(whole[:29] + b"\0\0\0\0" + whole[33:])
    with pytest.raises(ImageError):
        decode(odd.PNG_MAGIC + odd.chunk(b"IDAT", ROWS))


def test_a_picture_whose_end_is_missing_is_used():
    whole = odd.png(5, 4, ROWS)
    assert decode(whole[:-12]).pixels.shape == (4, 5, 3)


def test_an_animation_shows_what_programs_without_animations_show():
    frames = [odd.noise("RGB", (9, 7), seed) for seed in range(3)]
    for options in ({}, {"default_image": True}):
        content = odd.saved(frames[0], "PNG", save_all=True, append_images=frames[1:], **options)
        np.testing.assert_array_equal(decode(content).pixels, np.asarray(frames[0]))


# TIFF

PIXELS = np.asarray(odd.noise("L", (50, 40)))
DATA = PIXELS.tobytes()


def test_strips_of_any_height_are_read():
    for rows in (1, 7, 40, 41, 0xFFFFFFFF):
        count = -(-40 // min(rows, 40))
        offsets = [8 + 50 * min(rows, 40) * i for i in range(count)]
        content = odd.grey_tiff(50, 40, DATA, odd.long(278, rows), odd.long(273, *offsets))
        np.testing.assert_array_equal(decode(content).pixels[:, :, 0], PIXELS)


ODD = [(34675, 7, 0xFFFFFFF0, b"\0\0\0\0"), (700, 1, 0x7FFFFFFF, b"\0\0\0\0"), (65000, 99, 1, b"\0\0\0\0"),
       (282, 5, 1, struct.pack("<II", 1, 0)), (0x8769, 4, 1, b"\xff\xff\xff\x7f")]  # fmt: skip
WRONG = [(258, 5, 1, bytes(8)), odd.short(277, 0xFFFF), (273, 4, 0x10000000, struct.pack("<I", 8)),
         odd.long(257, 0xFFFFFFFF)]  # fmt: skip


@pytest.mark.parametrize("tag", ODD, ids=str)
def test_an_odd_tag_is_passed_over(tag):
    np.testing.assert_array_equal(decode(odd.grey_tiff(50, 40, DATA, tag)).pixels[:, :, 0], PIXELS)


@pytest.mark.parametrize("tag", WRONG, ids=str)
def test_a_tag_that_matters_and_makes_no_sense_is_an_image_error(tag):
    with pytest.raises(ImageError):
        decode(odd.grey_tiff(50, 40, DATA, tag))


def test_directories_in_a_ring_are_one_directory():
    one = odd.grey_tiff(50, 40, DATA)
    at = struct.unpack_from("<I", one, 4)[0]
    end = at + 2 + 12 * struct.unpack_from("<H", one, at)[0]
    ring = one[:end] + struct.pack("<I", at) + one[end + 4 :]
    np.testing.assert_array_equal(decode(ring).pixels[:, :, 0], PIXELS)


def test_no_directory_is_damage():
    for content in (
        b"II*\0",
        b"II*\0\xff\xff\xff\xff",
        b"II*\0\x08\0\0\0\xff\xff",
        odd.tiff([]),
        odd.tiff([odd.long(256, 9)]),
    ):
        with pytest.raises(ImageError):
            decode(content)


def test_big_tiff():
    tags = [(256, 50), (257, 40), (258, 8), (259, 1), (262, 1), (273, 16), (277, 1), (278, 40), (279, 2000), (274, 3)]
    entries = b"".join(struct.pack("<HHQQ", tag, 4, 1, value) for tag, value in sorted(tags))
    head = b"II+\0\x08\0\0\0" + struct.pack("<Q", 16 + len(DATA))
    content = head + DATA + struct.pack("<Q", len(tags)) + entries + bytes(8)
    np.testing.assert_array_equal(decode(content).pixels[:, :, 0], PIXELS[::-1, ::-1])


# WebP, JPEG


def test_an_animated_webp_shows_its_first_frame():
    frames = [odd.noise("RGB", (9, 7), seed) for seed in range(20)]
    content = odd.saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True)
    assert content.count(b"ANMF") == 20
    np.testing.assert_array_equal(decode(content).pixels, np.asarray(frames[0]))


def test_bytes_behind_the_end_of_a_webp_do_no_harm():
    still = odd.saved(odd.noise("RGB", (9, 7)), "WEBP", lossless=True)
    np.testing.assert_array_equal(decode(still + b"behind").pixels, decode(still).pixels)


def test_cut_files_and_odd_beginnings_of_a_webp_are_damage():
    still = odd.saved(odd.noise("RGB", (9, 7)), "WEBP", lossless=True)
    for content in (still[:-4], odd.riff(), odd.riff((b"EXIF", b"abc")), odd.riff((b"VP8L", b"\0" * 9)), still[:14]):
        with pytest.raises(ImageError):
            decode(content)


def test_fill_bytes_between_the_segments_of_a_jpeg_are_passed_over():
    plain = odd.saved(odd.noise("RGB", (24, 16)), "JPEG")
    junk = plain[:2] + b"\xff\xff\xff\xe0\0\x04ab" + plain[2:]
    np.testing.assert_array_equal(decode(junk).pixels, decode(plain).pixels)


def test_colours_stay_what_adobe_says_they_are():
    picture = odd.Image.new("RGB", (16, 16), (200, 30, 60))
    for options in ({"keep_rgb": True}, {}):
        content = odd.saved(picture, "JPEG", quality=95, **options)
        assert np.abs(decode(content).pixels.astype(int) - (200, 30, 60)).max() <= 3


def test_a_long_exif_is_put_together_from_its_segments():
    tags = ((0x0001, 7, 200_000, bytes(200_000)), odd.short(0x0112, 6))
    content = odd.jpeg_with_exif(odd.exif(*tags), odd.noise("RGB", (24, 16)))
    assert decode(content).original_size == (24, 16)
