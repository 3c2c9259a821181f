"""Block by block gives what the whole gives: the plain way is written out here, on whole arrays."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageOps

from images.features import odd_files as odd
from kcrc.images.decoding import pixels
from kcrc.images.decoding.pixels import rows_of, upright
from kcrc.images.decoding.resizing import View, fit_image
from kcrc.images.decoding.worker import _fit_to_view

MODES = ("1", "L", "P", "LA", "RGB", "RGBA", "CMYK", "YCbCr", "I;16", "I", "F")


def pixels_of(image: Image.Image) -> np.ndarray:
    """What the worker sends of a picture, as an array."""
    depth = (3,) if image.mode == "RGB" else ()
    return np.frombuffer(b"".join(rows_of(image)), np.uint8).reshape(image.height, image.width, *depth)


def plainly(image: Image.Image, orientation: int) -> np.ndarray:
    """Turned first, then converted, all at once."""
    turned = image.copy()
    turned.getexif()[0x0112] = orientation
    turned = ImageOps.exif_transpose(turned)
    if turned.mode.startswith("I") or turned.mode == "F":
        values = np.asarray(turned).astype(np.float64)
        high = values.max()
        scale = 255.0 if turned.mode == "F" and high <= 1 else 1.0 if high <= 255 else 255.0 / max(high, 65535.0)
        turned = Image.fromarray(np.clip(np.rint(values * scale), 0, 255).astype(np.uint8))
    if turned.mode in ("RGBA", "LA") or "transparency" in turned.info:
        turned = Image.alpha_composite(Image.new("RGBA", turned.size, "white"), turned.convert("RGBA"))
    return np.asarray(turned if turned.mode == "L" else turned.convert("RGB"))


@pytest.mark.parametrize("block", [50, 1 << 18])
@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("mode", MODES)
def test_blocks_give_what_the_whole_gives(monkeypatch, mode, orientation, block):
    monkeypatch.setattr(pixels, "_BLOCK", block)
    image = odd.noise(mode, (37, 23))
    np.testing.assert_array_equal(pixels_of(upright(image, orientation)), plainly(image, orientation))


@pytest.mark.parametrize("transparent", [3, bytes(range(256)), (1, 2, 3)], ids=["a colour", "palette", "RGB"])
def test_transparent_colours_lie_on_white(monkeypatch, transparent):
    monkeypatch.setattr(pixels, "_BLOCK", 40)
    image = odd.noise("RGB" if isinstance(transparent, tuple) else "P", (37, 23))
    image.putpixel((5, 5), transparent if isinstance(transparent, tuple) else 3)
    image.info["transparency"] = transparent
    np.testing.assert_array_equal(pixels_of(upright(image, 6)), plainly(image, 6))


@pytest.mark.parametrize("top", [0.5, 1.0, 1.5, 255.0, 256.0, 70_000.0, -0.5])
def test_one_bright_pixel_in_any_block_sets_the_scale_of_all(monkeypatch, top):
    monkeypatch.setattr(pixels, "_BLOCK", 16)
    values = np.random.default_rng(0).uniform(-1, min(top, 0.5), (20, 30)).astype(np.float32)
    values[19, 29] = top
    image = Image.fromarray(values)
    np.testing.assert_array_equal(pixels_of(upright(image, 1)), plainly(image, 1))


def test_pixels_that_are_no_numbers_are_found_in_any_block(monkeypatch):
    monkeypatch.setattr(pixels, "_BLOCK", 16)
    for odd_value in (np.nan, np.inf, -np.inf):
        values = np.zeros((20, 30), np.float32)
        values[19, 29] = odd_value
        with pytest.raises(ValueError, match="not finite"):
            upright(Image.fromarray(values), 1)


@pytest.mark.parametrize("block", [40, 1 << 18])
@pytest.mark.parametrize("shrink", [(1, 3), (4, 1), (3, 2), (64, 64)])
@pytest.mark.parametrize("mode", ["L", "RGB", "P"])
def test_shrinking_block_by_block_is_shrinking_the_whole(monkeypatch, mode, shrink, block):
    monkeypatch.setattr(pixels, "_BLOCK", block)
    image = odd.noise(mode, (37, 23))
    whole = image.convert("RGB" if mode == "P" else mode).reduce(shrink)
    np.testing.assert_array_equal(pixels_of(upright(image, 1, shrink)), np.asarray(whole))
    np.testing.assert_array_equal(pixels_of(upright(image, 6, shrink)), np.rot90(np.asarray(whole), -1))


@pytest.mark.parametrize("fit", ["stretch", "crop", "inside", "cut"])
@pytest.mark.parametrize("size", [(20, 30), (7, 5), (200, 100), (64, 3)])
def test_grey_is_resized_as_its_three_channels_would_be(size, fit):
    image = odd.noise("L", (150, 90))
    view = View(size, fit=fit)
    np.testing.assert_array_equal(
        np.asarray(_fit_to_view(image, view)), np.asarray(fit_image(image.convert("RGB"), view))
    )


def test_a_plain_picture_is_not_copied():
    for mode in ("L", "RGB"):
        image = odd.noise(mode, (5, 4))
        assert upright(image, 1) is image
        assert upright(image, 2) is not image
