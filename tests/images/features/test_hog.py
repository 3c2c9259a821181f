from __future__ import annotations

import numpy as np
import pytest

from kcrc.errors import ParameterError
from kcrc.images.features import make
from kcrc.method.distances.gradients import gradients, orientation_maps


def slow_hog(image, cell, orientations):
    """Dalal and Triggs pixel by pixel: one grey image, 2×2 blocks, unsigned directions."""
    image = np.sqrt(image.astype(np.float64))
    h, w = image.shape
    cells = np.zeros((h // cell, w // cell, orientations))
    padded = np.pad(image, 1, mode="edge")
    for y in range(h):
        for x in range(w):
            dy, dx = padded[y + 2, x + 1] - padded[y, x + 1], padded[y + 1, x + 2] - padded[y + 1, x]
            place = (np.arctan2(dy, dx) % np.pi) / np.pi * orientations
            low = int(place)
            for o, share in ((low, 1 - place + low), (low + 1, place - low)):
                for i in range(cells.shape[0]):
                    for j in range(cells.shape[1]):
                        near = [max(0, 1 - abs((c + 0.5) * cell - (p + 0.5)) / cell) for c, p in ((i, y), (j, x))]
                        cells[i, j, o % orientations] += np.hypot(dy, dx) * share * near[0] * near[1]
    cells /= cell**2
    blocks = []
    for i in range(cells.shape[0] - 1):
        for j in range(cells.shape[1] - 1):
            v = np.concatenate([cells[i, j], cells[i, j + 1], cells[i + 1, j], cells[i + 1, j + 1]])
            v = np.minimum(v / np.sqrt(v @ v + 1e-6), 0.2)
            blocks.append(v / np.sqrt(v @ v + 1e-6))
    return np.concatenate(blocks)


def test_hog_is_what_the_slow_formula_says():
    image = np.random.default_rng(0).random((24, 16)).astype(np.float32)
    fast = make("hog", size=(24, 16), cell=8, orientations=6, colour=False).transform([image])[0]
    np.testing.assert_allclose(fast, slow_hog(image, 8, 6), atol=2e-5)


def test_the_channel_that_changes_most_speaks():
    grey = np.random.default_rng(0).random((32, 32)).astype(np.float32)
    colour = np.stack([grey, 0.3 + 0 * grey, 0.1 * grey], axis=2)
    options = {"size": (32, 32), "cell": 8}
    np.testing.assert_allclose(
        make("hog", **options).transform([colour]), make("hog", colour=False, **options).transform([grey]), atol=1e-5
    )


def test_a_mirror_image_reverses_the_directions():
    image = np.random.default_rng(0).random((32, 32)).astype(np.float32)
    feature = make("hog", size=(32, 32), cell=8, block=1, orientations=8, colour=False)
    plain, mirrored = (feature.transform([a]).reshape(4, 4, 8) for a in (image, image[:, ::-1]))
    reversed_bins = (-np.arange(8)) % 8
    np.testing.assert_allclose(mirrored, plain[:, ::-1][:, :, reversed_bins], atol=1e-4)


@pytest.mark.parametrize("signed", [False, True])
def test_orientation_maps_share_out_all_of_the_magnitude(signed):
    images = np.random.default_rng(0).normal(size=(2, 9, 7)).astype(np.float32)
    dy, dx = gradients(images)
    maps = orientation_maps(dy, dx, 8, signed=signed)
    assert (maps >= 0).all()
    np.testing.assert_allclose(maps.sum(axis=1), np.hypot(dy, dx), rtol=1e-5)
    assert ((maps > 0).sum(axis=1) <= 2).all()


def test_an_edge_votes_for_its_own_direction():
    ramp = np.tile(np.arange(8, dtype=np.float32), (8, 1))
    maps = orientation_maps(*gradients(ramp[None]), 8, signed=True)[0]
    assert maps.sum(axis=(1, 2)).argmax() == 0
    down = orientation_maps(*gradients(ramp.T[None]), 8, signed=True)[0]
    assert down.sum(axis=(1, 2)).argmax() == 2


@pytest.mark.parametrize("bad", [{"cell": 1}, {"orientations": 1}, {"block": 0}, {"size": (16, 16), "cell": 16}])
def test_options_that_make_no_sense(bad):
    with pytest.raises(ParameterError):
        make("hog", **bad).fit([])
