"""SIFT descriptors on a grid: against OpenCV's, and what they must not mind."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from kcrc.errors import ParameterError
from kcrc.method.distances import make

rng = np.random.default_rng(4)


def photograph(side=96):
    return sum(gaussian_filter(rng.standard_normal((side, side)), s) * s for s in (1.5, 3, 6, 12))


def test_descriptors_resemble_those_of_opencv():
    cv2 = pytest.importorskip("cv2")
    cosines = []
    for _ in range(5):
        image = photograph()
        grey = np.uint8(255 * (image - image.min()) / np.ptp(image))
        cell = 5.0
        # OpenCV's cell is 3 × (size / 2) pixels, its image is smoothed before, and its angle turns the other way.
        points = [cv2.KeyPoint(47.5, 47.5, 2 * cell / 3, 0.0)]
        theirs = cv2.SIFT_create().compute(grey, points)[1][0].reshape(4, 4, 8)
        distance = make("sift", grid=(1, 1), cell=cell, smoothing=1.6)
        ours = distance.descriptors(grey[None].astype(float))[0, 0, 0]
        theirs = theirs / np.linalg.norm(theirs)
        turned = np.roll(theirs[..., ::-1], 1, axis=-1)
        cosines.append(max(float(np.vdot(ours, theirs)), float(np.vdot(ours, turned))))
    assert min(cosines) > 0.9


def test_a_descriptor_has_length_one_and_no_large_value():
    images = np.stack([photograph(40) for _ in range(3)])
    descriptors = make("sift").descriptors(images)
    assert descriptors.shape == (3, 5, 5, 4, 4, 8)
    np.testing.assert_allclose(np.sum(descriptors**2, axis=(3, 4, 5)), 1.0)
    assert (descriptors >= 0).all()


def test_a_vertical_ramp_has_one_direction():
    ramp = np.tile(np.linspace(0, 1, 32)[:, None], (1, 32))[None]
    votes = make("sift", grid=(1, 1), clip=1.0).descriptors(ramp)[0, 0, 0]
    share = votes.sum(axis=(0, 1)) / votes.sum()
    assert share[2] == pytest.approx(1.0)  # gradients point down, a quarter of a turn


def test_a_small_shift_is_nearer_than_another_image():
    image, other = photograph(64), photograph(64)
    images = np.stack([image[8:56, 8:56], image[9:57, 8:56], other[8:56, 8:56]])
    distance = make("sift")
    prepared = distance.prepare(images.reshape(3, -1))
    values = distance.pairwise(prepared, prepared)
    assert values[0, 1] < 0.5 * values[0, 2]


def test_triangle_inequality():
    images = np.stack([photograph(24) for _ in range(8)])
    distance = make("sift")
    values = distance.pairwise(*[distance.prepare(images.reshape(8, -1))] * 2)
    assert (values[:, None, :] + values[None, :, :] + 1e-12 >= values[:, :, None]).all()


def test_screen_keeps_its_promise():
    images = np.stack([photograph(24) for _ in range(8)]).reshape(8, -1)
    distance = make("sift")
    prepared = distance.prepare(images)
    values, error = distance.screen(prepared, prepared)
    assert (np.abs(values - distance.pairwise(prepared, prepared) ** 2) <= error[:, None]).all()


@pytest.mark.parametrize(
    "options", [{"grid": (0, 1)}, {"n_cells": 0}, {"n_angles": 0}, {"cell": 0.0}, {"smoothing": -1.0}, {"clip": 0.0}]
)
def test_impossible_options_are_refused(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        make("sift", **options)
