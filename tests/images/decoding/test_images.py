from __future__ import annotations

import contextlib
import io
import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from kcrc.errors import ParameterError
from kcrc.images.decoding.reading import FORMATS, ImageError, Limits, decode, read, read_chunks, read_many
from kcrc.images.decoding.resizing import View

# Red, green over blue, black: every turn and mirror image of it differs.
CORNERS = np.zeros((40, 60, 3), np.uint8)
CORNERS[:20, :30, 0] = CORNERS[:20, 30:, 1] = CORNERS[20:, :30, 2] = 255

# What EXIF orientation o asks a viewer to do, in NumPy's words.
TURNS = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.transpose(1, 0, 2),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: a[::-1, ::-1].transpose(1, 0, 2),
    8: lambda a: np.rot90(a),
}


def encoded(pixels, kind="PNG", orientation=None, **options) -> bytes:
    out = io.BytesIO()
    if orientation:
        options["exif"] = Image.Exif()
        options["exif"][0x0112] = orientation
    Image.fromarray(pixels).save(out, kind, **options)
    return out.getvalue()


LOSSY = {"JPEG": {"quality": 100, "subsampling": 0}, "WEBP": {"lossless": True}}


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_comes_back(kind):
    picture = decode(encoded(CORNERS, kind, **LOSSY.get(kind, {})))
    assert picture.format == kind
    assert picture.original_size == (40, 60)
    assert np.abs(picture.pixels.astype(int) - CORNERS).max() <= 3


@pytest.mark.parametrize("orientation", TURNS)
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_pictures_are_turned_upright(kind, orientation):
    picture = decode(encoded(CORNERS, kind, orientation, **LOSSY.get(kind, {})))
    expected = TURNS[orientation](CORNERS)
    assert picture.original_size == expected.shape[:2]
    assert np.abs(picture.pixels.astype(int) - expected).max() <= 3


@pytest.mark.parametrize("orientation", [1, 6])
def test_a_large_jpeg_shrunk_while_decoding_looks_as_if_shrunk_after(orientation):
    large = np.kron(CORNERS, np.ones((30, 30, 1), np.uint8))
    content = encoded(large, "JPEG", orientation, quality=95)
    picture = decode(content, View((60, 80)))
    upright = Image.fromarray(np.ascontiguousarray(TURNS[orientation](large)))
    expected = np.asarray(upright.resize((80, 60), Image.Resampling.BICUBIC))
    assert picture.original_size == TURNS[orientation](large).shape[:2]
    assert np.abs(picture.pixels.astype(int) - expected).mean() < 2


def test_the_first_frame_of_an_animation():
    frames = [Image.fromarray(CORNERS), Image.fromarray(255 - CORNERS)]
    for kind, options in (("GIF", {}), ("WEBP", {"lossless": True})):
        out = io.BytesIO()
        frames[0].save(out, kind, save_all=True, append_images=frames[1:], **options)
        assert np.abs(decode(out.getvalue()).pixels.astype(int) - CORNERS).max() <= 3


def test_grey_is_luminance_and_colour_of_grey_has_three_equal_channels():
    grey = decode(encoded(CORNERS), View(colour=False)).pixels
    assert grey.shape == (40, 60)
    assert abs(int(grey[5, 5]) - 0.299 * 255) <= 1
    colour = decode(encoded(grey)).pixels
    assert (colour == grey[:, :, None]).all()


def test_sixteen_bits_are_scaled_not_cut():
    deep = np.array([[0, 256 * 100, 65535]], np.uint16)
    for kind in ("PNG", "TIFF"):
        pixels = decode(encoded(deep, kind), View(colour=False)).pixels
        assert np.abs(pixels.astype(int) - [[0, 100, 255]]).max() <= 1


def test_what_is_transparent_lies_on_white():
    rgba = np.zeros((4, 4, 4), np.uint8)
    assert (decode(encoded(rgba)).pixels == 255).all()


@pytest.mark.parametrize(
    ("view", "shape"),
    [
        (View((20, 20)), (20, 20, 3)),
        (View((20, 20), fit="crop"), (20, 20, 3)),
        (View((30, 30), fit="inside"), (20, 30, 3)),
        (View((300, 300), fit="inside"), (40, 60, 3)),
    ],
)
def test_each_way_to_fit(view, shape):
    assert decode(encoded(CORNERS), view).pixels.shape == shape


def test_crop_keeps_the_centre():
    bars = np.zeros((20, 60, 3), np.uint8)
    bars[:, 20:40] = 200
    assert (decode(encoded(bars), View((20, 20), fit="crop")).pixels == 200).all()


def test_a_thumbnail_changes_no_pixel(photographs):
    path = photographs[0]
    for view in (View((224, 224)), View((32, 32), colour=False)):
        plain, with_one = read(path, view), read(path, view, thumbnail=96)
        np.testing.assert_array_equal(plain.pixels, with_one.pixels)
        assert max(Image.open(io.BytesIO(with_one.thumbnail)).size) == 96


# ---------------------------------------------------------------------------------------------- hostile files


def bomb_png(width: int, height: int) -> bytes:
    """A small file that claims to be huge."""

    def piece(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = piece(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + piece(b"IDAT", zlib.compress(b"\0" * 10_000)) + piece(b"IEND", b"")


@pytest.mark.parametrize("side", [9_000, 10_000, 60_000])  # over our limit, Pillow's warning, Pillow's error
def test_a_bomb_is_refused_before_it_is_decoded(side, monkeypatch):
    from PIL import ImageFile

    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda self: pytest.fail("decoded"))
    with pytest.raises(ImageError, match="pixels") as caught:
        decode(bomb_png(side, side), source="bomb.png")
    assert caught.value.kind == "too large"


def test_limits_are_the_callers():
    with pytest.raises(ImageError, match="60×40 pixels, more than the limit of 100"):
        decode(encoded(CORNERS), limits=Limits(max_pixels=100))
    with pytest.raises(ImageError, match="bytes, more than the limit of 10"):
        decode(encoded(CORNERS), limits=Limits(max_bytes=10))
    with pytest.raises(ParameterError, match="Limits"):
        Limits(max_bytes=0)


def test_a_large_file_is_not_even_read(tmp_path):
    with (tmp_path / "a.png").open("wb") as file:
        file.truncate(1 << 33)
    with pytest.raises(ImageError, match="8589934592 bytes"):
        read(tmp_path / "a.png")


@pytest.mark.parametrize("kind", FORMATS)
def test_every_truncation_is_an_image_error(kind):
    rng = np.random.default_rng(0)
    content = encoded(rng.integers(0, 255, (64, 64, 3), dtype=np.uint8), kind)
    assert len(content) > 40
    for length in range(0, len(content) - len(content) // 8, max(1, len(content) // 40)):
        with pytest.raises(ImageError):
            decode(content[:length], View((32, 32)), source=f"a.{kind.lower()}")


@pytest.mark.parametrize("kind", FORMATS)
def test_flipped_bytes_give_a_picture_or_an_image_error(kind):
    rng = np.random.default_rng(1)
    content = encoded(CORNERS, kind, orientation=6 if kind in ("JPEG", "PNG", "TIFF") else None)
    for _ in range(150):
        broken = bytearray(content)
        for at in rng.integers(0, len(broken), 3):
            broken[at] = rng.integers(0, 256)
        with contextlib.suppress(ImageError):
            assert decode(bytes(broken), View((16, 16))).pixels.shape == (16, 16, 3)


def test_only_listed_formats_are_opened():
    for kind in ("PPM", "ICO", "PDF"):
        with pytest.raises(ImageError, match="not an image that can be read"):
            decode(encoded(CORNERS, kind))


def folder_with_troubles(tmp_path):
    good = encoded(CORNERS, "JPEG")
    files = {
        "good.jpg": good,
        "cut.jpg": good[:400],
        "text.jpg": b"<html>not found</html>",
        "empty.png": b"",
        "really-a-png.jpg": encoded(CORNERS),
        "bomb.png": bomb_png(60_000, 60_000),
        "line\nbreak.jpg": good[:300],
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    return [tmp_path / name for name in (*files, "missing.jpg")]


def test_skipped_files_are_each_named_once_and_counted(tmp_path):
    batch = read_many(folder_with_troubles(tmp_path), View((16, 16)), on_error="skip")
    assert batch.rows == [0, 4]
    said = [str(problem) for problem in batch.problems]
    for name in ("cut.jpg", "text.jpg", "empty.png", "bomb.png", "line\\nbreak.jpg", "missing.jpg"):
        assert sum(name in line for line in said) == 1
    assert not any("\n" in line for line in said)
    assert batch.summary == (
        "2 images read, 6 skipped (3 broken, 1 not an image, 1 too large, 1 unreadable), 1 mislabelled but read."
    )
    assert "really-a-png.jpg: is named JPEG but is PNG" in batch.notes[0]


def test_the_first_bad_file_is_fatal_when_asked(tmp_path):
    with pytest.raises(ImageError, match=r"cut\.jpg"):
        read_many(folder_with_troubles(tmp_path))


def test_folders_and_pipes_are_not_images(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "folder.jpg").mkdir()
    batch = read_many([tmp_path / "pipe.jpg", tmp_path / "folder.jpg", "nul\0l.jpg"], on_error="skip")
    assert [problem.kind for problem in batch.problems] == ["unreadable"] * 3


def test_order_is_kept_whatever_the_threads_and_chunks(tmp_path):
    paths = []
    for i in range(23):
        paths.append(tmp_path / f"{i}.png")
        paths[-1].write_bytes(encoded(np.full((4, 4, 3), i, np.uint8)))
    paths.insert(7, tmp_path / "missing.png")
    seen = {}
    for batch in read_chunks(paths, on_error="skip", chunk=5, threads=3):
        seen |= {row: int(p.pixels[0, 0, 0]) for row, p in zip(batch.rows, batch.pictures, strict=True)}
    assert seen == {row: row - (row > 7) for row in range(24) if row != 7}


def test_options_that_make_no_sense():
    with pytest.raises(ParameterError, match="on_error"):
        read_many([], on_error="ignore")
    for bad in ((0, 5), (5,), (5, 1 << 20)):
        with pytest.raises(ParameterError, match="size"):
            View(bad)
    with pytest.raises(ParameterError, match="fit"):
        View((5, 5), fit="squash")
