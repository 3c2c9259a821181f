"""The filter bank and the texture distances."""

from types import SimpleNamespace

import numpy as np
import pytest

from kcrc.errors import ParameterError, StateError
from kcrc.method.distances import make
from kcrc.method.distances.textons import FilterBank, standardise
from references.texture import responses

rng = np.random.default_rng(3)


def gratings(period, angle, count, side=24):
    """Waves of one period and direction, each with its own phase: one texture, no two images alike."""
    y, x = np.mgrid[:side, :side]
    wave = (x * np.cos(angle) + y * np.sin(angle)) * 2 * np.pi / period
    return np.stack([np.sin(wave + phase) for phase in rng.uniform(0, 2 * np.pi, count)])


def fitted(name, images, **options):
    X = images.reshape(len(images), -1)
    return make(name, **options).fit(X, np.zeros(len(X), int), sample_shape=images.shape[1:])


def test_the_bank_is_what_its_documentation_says():
    bank = FilterBank()
    kernels = bank.kernels()
    assert kernels.shape == (28, 37, 37)
    assert len(bank) == 28
    np.testing.assert_allclose(np.abs(kernels).sum(axis=(1, 2)), 1.0)
    gaussians = kernels[[13, 27]]
    assert (gaussians >= 0).all()
    np.testing.assert_allclose(np.delete(kernels, [13, 27], axis=0).sum(axis=(1, 2)), 0.0, atol=1e-15)
    edges, bars = kernels[:6], kernels[6:12]
    np.testing.assert_allclose(edges, -edges[:, ::-1, ::-1], atol=1e-15)
    np.testing.assert_allclose(bars, bars[:, ::-1, ::-1], atol=1e-15)


def test_a_filter_answers_most_to_its_own_direction():
    image = np.zeros((1, 41, 41))
    image[0, 20, :] = 1.0  # a line along x: direction 0
    bars = FilterBank().responses(image)[0, 6:12, 20, 20]
    assert np.abs(bars).argmax() == 0


def test_images_are_standardised_and_a_constant_one_is_zero():
    images = rng.random((3, 5, 6)) * 40 + 7
    images[1] = 0.1 + 0.2
    out = standardise(images)
    np.testing.assert_allclose(out[[0, 2]].mean(axis=(1, 2)), 0.0, atol=1e-12)
    np.testing.assert_allclose(out[[0, 2]].std(axis=(1, 2)), 1.0)
    assert (out[1] == 0).all()


@pytest.mark.parametrize("name", ["texton-chi2", "marginal"])
def test_a_texture_is_near_itself_at_another_phase(name):
    images = np.concatenate([gratings(4, 0.3, 4), gratings(7, 0.3, 4), gratings(4, 1.5, 4)])
    kind = np.repeat(np.arange(3), 4)
    distance = fitted(name, images)
    prepared = distance.prepare(images.reshape(12, -1))
    values = distance.pairwise(prepared, prepared)
    same = kind[:, None] == kind[None, :]
    assert values[same].max() < values[~same].min()


@pytest.mark.parametrize("name", ["texton-chi2", "marginal"])
def test_histograms_sum_to_one_a_region_and_filter(name):
    images = rng.random((3, 9, 14))
    distance = fitted(name, images, grid=(2, 3), scales=(1.0,), orientations=2)
    bins = {"texton-chi2": 64, "marginal": 16}[name]
    histograms = distance.prepare(images.reshape(3, -1))["vectors"].reshape(3, -1, bins)
    assert histograms.shape[1] == {"texton-chi2": 6, "marginal": 6 * 6}[name]
    np.testing.assert_allclose(histograms.sum(axis=-1), 1.0)


def test_textons_are_the_same_for_the_same_seed_and_few_for_few_responses():
    images = rng.random((4, 12, 12))
    one, two, other = (fitted("texton-chi2", images, n_textons=8, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.textons, two.textons)
    assert one == two
    assert not np.array_equal(one.textons, other.textons)
    assert len(fitted("texton-chi2", np.zeros((2, 6, 6))).textons) == 1


def test_bins_hold_equally_many_responses_of_the_examples():
    images = rng.random((6, 20, 20))
    distance = fitted("marginal", images, n_bins=4, n_samples=10**6)
    shares = distance.prepare(images.reshape(6, -1))["vectors"].reshape(6, -1, 4).mean(axis=0)
    np.testing.assert_allclose(shares, 0.25, atol=0.01)


def test_more_images_than_samples():
    images = rng.random((30, 5, 5))
    assert fitted("texton-chi2", images, n_samples=10, n_textons=4).textons.shape == (4, 28)


@pytest.mark.parametrize("name", ["texton-chi2", "marginal"])
def test_unfitted_and_impossible_options_are_refused(name):
    with pytest.raises(StateError, match="fit"):
        make(name).prepare(np.zeros((1, 9)))
    for options in ({"scales": ()}, {"scales": (0.0,)}, {"orientations": 0}, {"elongation": 0.5}, {"n_samples": 0}):
        with pytest.raises(ParameterError, match=next(iter(options))):
            make(name, **options)
    with pytest.raises(ParameterError, match="n_textons"):
        make("texton-chi2", n_textons=0)
    with pytest.raises(ParameterError, match="n_bins"):
        make("marginal", n_bins=1)


def test_every_texton_is_the_mean_of_the_responses_nearest_to_it():
    """What k-means comes to, whatever it began with; of all pixels, by the slow formula of the responses."""
    images = rng.random((4, 9, 9))
    distance = fitted("texton-chi2", images, n_textons=5, scales=(0.8,), orientations=3)
    fields = SimpleNamespace(**vars(distance))
    points = np.concatenate([np.stack([m.ravel() for m in responses(image, fields)], axis=1) for image in images])
    nearest = np.array([np.argmin(((distance.textons - point) ** 2).sum(axis=1)) for point in points])
    assert set(nearest) == set(range(5))
    for number, texton in zip(range(5), distance.textons, strict=True):
        np.testing.assert_allclose(texton, points[nearest == number].mean(axis=0), atol=1e-9)
