"""What every distance that looks at images must hold, and its agreement with a slow formula."""

from types import SimpleNamespace

import numpy as np
import pytest

from kcrc.errors import DataError, ParameterError
from kcrc.method.distances import make
from references import IMAGES

OPTIONS: dict[str, list[dict]] = {
    "lbp-chi2": [{}, {"grid": (2, 3), "weights": (1, 2, 0, 4, 0.5, 1), "radius": 1.0}],
    "texton-chi2": [{"n_textons": 12}, {"scales": (0.8,), "orientations": 3, "grid": (2, 3), "n_textons": 5}],
    "marginal": [{}, {"scales": (0.8,), "orientations": 3, "grid": (2, 3), "n_bins": 5}],
    "sift": [{"grid": (2, 2)}, {"grid": (1, 2), "cell": 3.0, "n_cells": 2, "n_angles": 5, "smoothing": 0.0}],
    "shape-context": [
        {"n_points": 15},
        {"n_points": 12, "iterations": 1, "dummies": 0.0, "n_radii": 3, "n_angles": 7, "appearance_weight": 0.0},
    ],
    "geometric-blur": [{"n_points": 10}, {"n_points": 7, "n_rings": 1, "n_spokes": 5, "position_weight": 0.0}],
}
CASES = [(name, options) for name, many in OPTIONS.items() for options in many]
ids = [f"{name}-{number}" for name, many in OPTIONS.items() for number in range(len(many))]
every = pytest.mark.parametrize(("name", "options"), CASES, ids=ids)
each = pytest.mark.parametrize("name", list(OPTIONS))


def drawings(count, height, width, *, seed=0, dtype=np.float64):
    """Images of a few bright strokes and blobs, no two alike."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    images = np.zeros((count, height, width))
    for image in images:
        for _ in range(4):
            v, u = rng.uniform(0.2, 0.8, 2) * (height, width)
            angle, length = rng.uniform(0, np.pi), rng.uniform(1.5, max(height, width) / 3)
            along = (y - v) * np.sin(angle) + (x - u) * np.cos(angle)
            across = (y - v) * np.cos(angle) - (x - u) * np.sin(angle)
            image += rng.uniform(0.5, 1) * np.exp(-((along / length) ** 2) - (across / 1.2) ** 2)
    return images.astype(dtype)


def fitted(name, images, **options):
    X = images.reshape(len(images), -1)
    return make(name, **options).fit(X, np.zeros(len(X), int), sample_shape=images.shape[1:])


def matrix(distance, images, others=None):
    rows = [z.reshape(len(z), -1) for z in (images, images if others is None else others)]
    return distance.pairwise(*map(distance.prepare, rows))


def test_every_image_distance_has_a_reference_and_options():
    assert set(IMAGES) == set(OPTIONS)


@every
@pytest.mark.parametrize("shape", [(12, 12), (11, 15)])
def test_equals_the_slow_formula(name, options, shape):
    images = drawings(3, *shape)
    distance = fitted(name, images, **options)
    values = matrix(distance, images)
    fields = SimpleNamespace(**vars(distance))
    for i, j in [(0, 1), (1, 2), (2, 2)]:
        slow = IMAGES[name](images[i], images[j], fields, images)
        np.testing.assert_allclose(values[i, j], slow, rtol=1e-10, atol=1e-10)


@every
def test_is_zero_for_the_same_image_never_negative_and_symmetric(name, options):
    images = drawings(5, 14, 13, seed=1)
    distance = fitted(name, images, **options)
    values = matrix(distance, images)
    np.testing.assert_allclose(np.diag(values), 0.0, atol=1e-12)
    assert (values >= 0).all()
    assert values[~np.eye(5, dtype=bool)].min() > 0
    np.testing.assert_allclose(values, values.T, rtol=1e-12, atol=1e-12)


@every
def test_rowwise_and_within_are_the_pairwise_values(name, options):
    images = drawings(6, 12, 12, seed=2)
    distance = fitted(name, images, **options)
    every_one = distance.prepare(images.reshape(6, -1))
    values = distance.pairwise(every_one, every_one)
    rows = np.array([[5, 0, 3], [1, 1, 2]])
    chosen = distance.rowwise(every_one.take(slice(0, 2)), every_one, rows)
    np.testing.assert_allclose(chosen, values[np.arange(2)[:, None], rows], rtol=1e-10, atol=1e-10)
    local = distance.within(every_one, rows)
    np.testing.assert_allclose(local, values[rows[:, :, None], rows[:, None, :]], rtol=1e-10, atol=1e-10)


@each
def test_each_image_is_prepared_on_its_own(name):
    images = drawings(4, 12, 12, seed=3)
    distance = fitted(name, images)
    together = distance.prepare(images.reshape(4, -1))
    alone = [distance.prepare(image.reshape(1, -1)) for image in images]
    assert len(together) == 4
    for part, values in together.parts.items():
        np.testing.assert_allclose(values, np.concatenate([one[part] for one in alone]), rtol=1e-9, atol=1e-12)


@each
@pytest.mark.parametrize(("scale", "shift"), [(255.0, 0.0), (2.0, -1.0)])
def test_range_of_values_does_not_matter(name, scale, shift):
    images = drawings(4, 12, 12, seed=4)
    distance = fitted(name, images)
    moved = matrix(distance, images * scale + shift)
    np.testing.assert_allclose(moved, matrix(distance, images), rtol=1e-6, atol=1e-8)


@each
def test_float32_is_near_float64(name):
    images = drawings(4, 12, 12, seed=5)
    distance = fitted(name, images)
    values = matrix(distance, images.astype(np.float32))
    assert np.isfinite(values).all()
    np.testing.assert_allclose(values, matrix(distance, images), rtol=0.1, atol=0.02)


@each
def test_colour_is_seen_by_its_luminance(name):
    grey = drawings(4, 12, 11, seed=6)
    rng = np.random.default_rng(6)
    red, blue = grey + rng.uniform(-0.1, 0.1, grey.shape), grey + rng.uniform(-0.1, 0.1, grey.shape)
    green = (grey - 0.299 * red - 0.114 * blue) / 0.587
    colour = np.stack([red, green, blue], axis=-1)
    opaque = np.concatenate([colour, np.ones_like(colour[..., :1])], axis=-1)
    distance = fitted(name, grey)
    expected = matrix(distance, grey)
    for images in (colour, opaque, grey[..., None]):
        one = fitted(name, images)
        np.testing.assert_allclose(matrix(one, images), expected, rtol=1e-6, atol=1e-8)


@each
def test_constant_images_have_a_defined_distance(name):
    images = drawings(4, 12, 12, seed=7)
    images[1], images[2] = 0.3, 0.1 + 0.2
    distance = fitted(name, images)
    values = matrix(distance, images)
    assert np.isfinite(values).all()
    assert values[1, 2] <= 1e-12
    assert values[0, 1] > 0
    np.testing.assert_allclose(values[0, 1], values[1, 0], rtol=1e-12)
    only = fitted(name, np.full((3, 12, 12), 0.7))
    np.testing.assert_allclose(matrix(only, np.full((2, 12, 12), 0.7)), 0.0, atol=1e-12)


@each
def test_tiny_images_work_or_are_refused_clearly(name):
    images = np.random.default_rng(8).random((3, 1, 4))
    distance = fitted(name, images)
    assert np.isfinite(matrix(distance, images)).all()


@each
def test_a_vector_of_square_length_is_a_square_image(name):
    images = drawings(3, 12, 12, seed=9)
    flat = images.reshape(3, -1)
    distance = make(name).fit(flat, np.zeros(3, int), sample_shape=(144,))
    np.testing.assert_array_equal(matrix(distance, flat), matrix(fitted(name, images), images))


@each
def test_wrong_sizes_are_refused(name):
    distance = fitted(name, drawings(3, 12, 12))
    with pytest.raises(DataError, match="Resize"):
        distance.prepare(np.zeros((2, 121)))
    with pytest.raises(DataError, match="image_shape"):
        make(name).fit(np.zeros((2, 12)), np.zeros(2, int), sample_shape=(12,))
    with pytest.raises(DataError, match="before they were flattened"):
        make(name, image_shape=(5, 5)).fit(np.zeros((2, 24)), np.zeros(2, int), sample_shape=(24,))
    for shape in [(12,), (0, 3), (4, 4, 2), (2, 2, 2, 2)]:
        with pytest.raises(ParameterError, match="image_shape"):
            make(name, image_shape=shape)


@each
def test_says_what_it_is(name):
    distance = make(name)
    assert distance.formula
    assert distance.power in (1, 2)
    assert distance.symmetric
    assert "exp" in distance.rules
    assert hash(distance.preparation) == hash(make(name).preparation)
    assert distance.preparation == make(name).preparation == fitted(name, drawings(3, 12, 12)).preparation
    assert distance.preparation != make(name, image_shape=(12, 12)).preparation


@each
def test_the_origin_of_polarisation_is_there_where_promised(name):
    images = drawings(3, 12, 12, seed=10)
    distance = fitted(name, images)
    a = distance.prepare(images.reshape(3, -1))
    if "polarisation" in distance.rules:
        assert (distance.to_origin(a) > 0).all()
    else:
        with pytest.raises(ParameterError, match="exp"):
            distance.to_origin(a)
