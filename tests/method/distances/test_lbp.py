"""LBP-χ² against scikit-image's patterns, and its options."""

import warnings

import numpy as np
import pytest

from kcrc.errors import ParameterError
from kcrc.method.distances import make
from kcrc.method.distances.lbp import lbp_codes, uniform_labels

rng = np.random.default_rng(5)


def prepared(distance, images):
    return distance.prepare(images.reshape(len(images), -1))


def skimage_lbp(image, points, radius, method):
    feature = pytest.importorskip("skimage.feature")
    margin = int(np.ceil(radius)) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        codes = feature.local_binary_pattern(np.pad(image, margin, mode="edge"), points, radius, method)
    return codes[margin:-margin, margin:-margin].astype(int)


@pytest.mark.parametrize(("points", "radius"), [(8, 2.0), (8, 1.0), (6, 1.5), (12, 2.5)])
def test_codes_are_those_of_scikit_image(points, radius):
    images = rng.random((3, 21, 17))
    codes = lbp_codes(images, points=points, radius=radius)
    assert codes.shape == images.shape
    for image, code in zip(images, codes, strict=True):
        inside = np.s_[3:-3, 3:-3]
        np.testing.assert_array_equal(code[inside], skimage_lbp(image, points, radius, "default")[inside])


def test_bins_are_those_of_nri_uniform():
    labels, n_labels = uniform_labels(8)
    assert n_labels == 59
    image = rng.random((150, 150))
    inside = np.s_[2:-2, 2:-2]  # beyond the border neighbours are exactly as bright, where theirs round either way
    ours = labels[lbp_codes(image[None])[0]][inside]
    theirs = skimage_lbp(image, 8, 2.0, "nri_uniform")[inside]
    pairs = set(zip(ours.ravel().tolist(), theirs.ravel().tolist(), strict=True))
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}) == 59


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("scale", "shift"), [(1 / 255, 0.0), (2 / 255, -1.0), (1.0, 17.0)])
def test_patterns_do_not_depend_on_the_range_of_values(dtype, scale, shift):
    images = rng.integers(0, 6, (4, 30, 25)).astype(dtype) * 50  # few levels: many neighbours exactly as bright
    moved = (images.astype(np.float64) * scale + shift).astype(dtype)
    np.testing.assert_array_equal(lbp_codes(images), lbp_codes(moved))


def test_default_windows_are_11_wide_and_13_high():
    assert make("lbp-chi2").regions(192, 168) == (14, 15)
    assert make("lbp-chi2").regions(8, 8) == (1, 1)
    assert make("lbp-chi2", grid=(7, 6)).regions(192, 168) == (7, 6)


def test_weight_zero_makes_a_region_blind():
    images = rng.random((2, 12, 12))
    images[1, :, :4] = images[0, :, :4]
    blind = make("lbp-chi2", image_shape=(12, 12), grid=(1, 4), weights=(1, 0, 0, 0), radius=1.0)
    same = images.copy()
    same[1, :, :5] = images[0, :, :5]  # the circle of the last column looks one pixel beyond the region
    assert blind.pairwise(prepared(blind, same), prepared(blind, same))[0, 1] == 0.0
    seeing = make("lbp-chi2", image_shape=(12, 12), grid=(1, 4), weights=(1, 0, 0, 1), radius=1.0)
    assert seeing.pairwise(prepared(seeing, same), prepared(seeing, same))[0, 1] > 0.0


def test_smoothing_keeps_small_noise_out():
    face = np.add.outer(np.sin(np.arange(40) / 5), np.cos(np.arange(40) / 7))
    other = np.add.outer(np.cos(np.arange(40) / 4), np.sin(np.arange(40) / 6))
    images = np.stack([face, face + 0.03 * rng.standard_normal((40, 40)), other])

    def ratio(**options):
        distance = make("lbp-chi2", grid=(3, 3), **options)
        values = distance.pairwise(prepared(distance, images), prepared(distance, images))
        return values[0, 1] / values[0, 2]

    assert ratio(smoothing=2.0) < ratio()


def test_polarisation_is_the_additive_chi2_kernel():
    distance = make("lbp-chi2", grid=(2, 2))
    a = prepared(distance, rng.random((4, 14, 14)))
    kernel = 0.5 * (distance.to_origin(a)[:, None] + distance.to_origin(a)[None] - distance.pairwise(a, a))
    u, v = a["vectors"][:, None], a["vectors"][None]
    expected = np.divide(2 * u * v, u + v, out=np.zeros((u + v).shape), where=u + v > 0).sum(axis=-1)
    np.testing.assert_allclose(kernel, expected, atol=1e-12)
    assert np.linalg.eigvalsh(kernel).min() > -1e-12


@pytest.mark.parametrize(
    "options",
    [
        {"points": 1},
        {"points": 17},
        {"radius": 0.0},
        {"smoothing": -1.0},
        {"window": (0, 3)},
        {"grid": (2,)},
        {"weights": (-1.0,)},
        {"weights": (0.0, 0.0)},
    ],
)
def test_impossible_options_are_refused(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        make("lbp-chi2", **options)


def test_weights_and_grid_must_fit_the_image():
    images = np.zeros((1, 36))
    with pytest.raises(ParameterError, match="one a region"):
        make("lbp-chi2", grid=(2, 2), weights=(1.0, 2.0)).prepare(images)
    with pytest.raises(ParameterError, match="does not fit"):
        make("lbp-chi2", grid=(7, 1)).prepare(images)
