from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from kcrc.errors import DataError
from kcrc.images.decoding.resizing import View, view_array


def test_eight_bits_and_floating_point_are_resized_alike():
    pixels = np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    view = View((12, 10))
    from_bytes = view_array(pixels, view).astype(float)
    from_floats = view_array(pixels / 255.0, view) * 255.0
    assert np.abs(from_bytes - np.clip(from_floats, 0, 255)).max() < 1.5


def test_grey_matches_pillow():
    pixels = np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    ours = view_array(pixels, View(colour=False)).astype(int)
    assert np.abs(ours - np.asarray(Image.fromarray(pixels).convert("L"), int)).max() <= 1


@pytest.mark.parametrize("shape", [(5, 6), (5, 6, 1), (5, 6, 3), (5, 6, 4)])
def test_shapes_of_one_picture(shape):
    picture = np.zeros(shape, np.uint8)
    assert view_array(picture, View()).shape == (5, 6, 3)
    assert view_array(picture, View(colour=False)).shape == (5, 6)


@pytest.mark.parametrize("bad", [np.zeros(5), np.zeros((5, 6, 2)), np.zeros((0, 4)), np.zeros((4, 4), int)])
def test_what_is_not_a_picture(bad):
    with pytest.raises(DataError):
        view_array(bad, View())
