"""Pictures too large to be decoded whole are brought down while they are; here "too large" is a few thousand pixels."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from PIL import Image
from unboxed import unbox

from images.features import odd_files as odd
from kcrc.images.decoding import worker
from kcrc.images.decoding.reading import ImageError, decode
from kcrc.images.decoding.resizing import View


def scene(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """Something smooth, different in each corner."""
    down, across = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    layers = np.stack([across, down, 1 - across * down], axis=2)
    if mode == "I;16":
        return Image.fromarray((layers[:, :, 0] * 65_535).astype(np.uint16))
    if mode == "F":
        return Image.fromarray(layers[:, :, 0].astype(np.float32))
    return Image.fromarray((layers * 255).astype(np.uint8)).convert(mode)


KINDS = [
    ("JPEG", "RGB", {"quality": 95}),
    ("JPEG", "RGB", {"quality": 95, "progressive": True}),
    ("PNG", "RGB", {}),
    ("PNG", "L", {}),
    ("PNG", "I;16", {}),
    ("TIFF", "RGB", {}),
    ("TIFF", "RGB", {"compression": "tiff_lzw"}),
    ("TIFF", "F", {}),
    ("TIFF", "I;16", {"compression": "tiff_adobe_deflate"}),
    ("WEBP", "RGB", {"lossless": True}),
    ("GIF", "L", {}),
    ("BMP", "RGB", {}),
]


@pytest.mark.parametrize("view", [View((40, 60)), View((50, 50), fit="crop"), View((64, 64), False, "inside")], ids=str)
@pytest.mark.parametrize(("kind", "mode", "options"), KINDS, ids=str)
def test_a_picture_brought_down_while_decoding_is_the_same_picture(monkeypatch, kind, mode, options, view):
    content = odd.saved(scene(1200, 900, mode), kind, **options)
    whole = decode(content, view, thumbnail=32)
    unbox(monkeypatch)
    monkeypatch.setattr(worker, "WHOLE_PIXELS", 300_000)
    brought_down = decode(content, view, thumbnail=32)
    assert brought_down.original_size == whole.original_size == (900, 1200)
    assert np.abs(brought_down.pixels.astype(int) - whole.pixels).mean() < 1
    assert np.abs(brought_down.pixels.astype(int) - whole.pixels).max() < 12
    assert brought_down.thumbnail


def test_upright_all_the_same(monkeypatch):
    exif = Image.Exif()
    exif[0x0112] = 6
    for kind in ("JPEG", "PNG", "TIFF", "WEBP"):
        content = odd.saved(scene(1200, 900), kind, exif=exif)
        whole = decode(content, View((60, 40)))
        with monkeypatch.context() as patch:
            unbox(patch)
            patch.setattr(worker, "WHOLE_PIXELS", 300_000)
            assert np.abs(decode(content, View((60, 40))).pixels.astype(int) - whole.pixels).mean() < 1.5


def test_very_wide_and_very_tall(monkeypatch):
    unbox(monkeypatch)
    monkeypatch.setattr(worker, "WHOLE_PIXELS", 5000)
    for size in ((20_000, 1), (1, 20_000)):
        assert (decode(odd.saved(Image.new("L", size, 77), "PNG"), View((8, 8))).pixels == 77).all()


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "GIF"])
def test_pictures_that_pillow_warns_of_are_used_without_a_warning(kind):
    """Of 100 million pixels: one bit or one byte each, so that the test is quick."""
    made = {
        "PNG": lambda: odd.flat_png(10_000, 10_000, depth=1, colours=0),
        "TIFF": lambda: odd.saved(Image.new("1", (10_000, 10_000)), "TIFF", compression="group4"),
        "GIF": lambda: odd.gif(10_000, 10_000, screen=(1, 1)),
    }[kind]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if kind == "GIF":  # of so many pixels only the first few are there
            with pytest.raises(ImageError, match="cannot be decoded"):
                decode(made, View((8, 8)))
        else:
            assert (decode(made, View((8, 8))).pixels == 0).all()


def test_importing_and_decoding_leave_the_filters_of_warnings_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        before = list(warnings.filters)
        decode(odd.saved(odd.noise("RGB", (5, 4)), "PNG"))
        assert warnings.filters == before


def test_only_the_first_picture_of_several_is_looked_at():
    frames = [Image.new("RGB", (30, 20), colour) for colour in ("red", "green", "blue")]
    for kind, options in (("GIF", {}), ("PNG", {}), ("TIFF", {}), ("WEBP", {"lossless": True})):
        content = odd.saved(frames[0], kind, save_all=True, append_images=frames[1:], **options)
        assert np.abs(decode(content).pixels.astype(int) - [255, 0, 0]).max() <= 3
        if kind in ("GIF", "PNG"):  # a TIFF's directory may be anywhere, a WebP says its length first
            assert np.abs(decode(content[:-10]).pixels.astype(int) - [255, 0, 0]).max() <= 3  # cut in the last
