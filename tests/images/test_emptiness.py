"""Pictures on which there is nothing to make out, and pictures on which there is."""

from __future__ import annotations

import io

import numpy as np
import pytest
from photos import COLOURS, photo, shapes
from PIL import Image

from kcrc.images.decoding.reading import decode
from kcrc.images.decoding.resizing import View
from kcrc.images.emptiness import NOISE, ONE_COLOUR, emptiness
from lab.datasets import load

SIZES = (32, 64, 128, 224)


def jpeg(pixels: np.ndarray, quality: int = 80) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=quality)
    return out.getvalue()


@pytest.mark.parametrize("colour", [(0, 0, 0), (255, 255, 255), (127, 127, 127), (200, 30, 60)])
def test_one_colour(colour: tuple[int, int, int]) -> None:
    pixels = np.full((90, 120, 3), colour, np.uint8)
    for seen in (pixels, pixels[:, :, 0], pixels / 255.0, pixels.astype(np.float32), decode(jpeg(pixels)).pixels):
        assert emptiness(seen) == ONE_COLOUR


def test_a_line_is_not_one_colour_whatever_its_brightness() -> None:
    pixels = np.full((90, 120, 3), 255, np.uint8)
    pixels[40, 20:100] = 0
    assert emptiness(pixels) is None
    pixels[:] = (200, 60, 60)
    pixels[40:60, 20:100] = (60, 179, 60)  # about as bright
    assert emptiness(pixels) is None


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("side", [40, 100, 300, 1000])
@pytest.mark.parametrize("kind", ["even", "bell", "grey", "salt"])
def test_noise_of_any_size_seen_at_any_size(kind: str, side: int, size: int) -> None:
    rng = np.random.default_rng(side)
    pixels = {
        "even": lambda: rng.integers(0, 256, (side, side, 3)),
        "bell": lambda: rng.normal(127, 20, (side, side, 3)).clip(0, 255),
        "grey": lambda: rng.integers(0, 256, (side, side)),
        "salt": lambda: 255 * (rng.random((side, side)) < 0.1),
    }[kind]().astype(np.uint8)
    seen = decode(jpeg(pixels), View(size=(size, size))).pixels
    assert emptiness(seen) in (NOISE, ONE_COLOUR)  # noise of many pixels, seen small, is grey
    if side <= 300:
        assert emptiness(seen) == NOISE


@pytest.mark.parametrize("size", SIZES)
def test_pictures_are_made_out(size: int, tmp_path) -> None:
    view = View(size=(size, size))
    made = [photo(tmp_path / f"{label}.jpg", label, 1).read_bytes() for label in (*COLOURS, "owl")]
    for content in [*made, *(jpeg(np.asarray(shapes(seed))) for seed in range(5))]:
        assert emptiness(decode(content, view).pixels) is None


def test_digits_are_made_out() -> None:
    images = load("digits").images
    assert images is not None
    assert not any(map(emptiness, images[:500]))


def test_of_very_small_pictures_nothing_is_said_but_that_they_are_one_colour() -> None:
    rng = np.random.default_rng(0)
    for shape in ((8, 8), (1, 1), (1, 300), (300, 10, 3)):
        pixels = rng.integers(0, 256, shape, np.uint8)
        pixels.flat[:2] = 0, 255
        assert emptiness(pixels) == (ONE_COLOUR if shape == (1, 1) else None)
