"""Geometric blur: what it forgives, and its options."""

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

from kcrc.errors import ParameterError
from kcrc.method.distances import make


def stroke(kind, side=24):
    y, x = np.mgrid[:side, :side] - (side - 1) / 2
    across = {"bar": x, "slant": (x - y) / np.sqrt(2), "ring": np.hypot(y, x) - side / 4}[kind]
    return np.exp(-((across / 1.5) ** 2)) * (np.hypot(y, x) < side * 0.4)


def distances(images, **options):
    distance = make("geometric-blur", **options)
    prepared = distance.prepare(np.stack(images).reshape(len(images), -1))
    return distance.pairwise(prepared, prepared)


def test_a_bent_drawing_is_nearer_than_another():
    image = stroke("slant")
    y, x = np.mgrid[:24, :24].astype(float)
    bent = map_coordinates(image, [y + 1.2 * np.sin(x / 4), x + 0.8 * np.cos(y / 5)], order=1)
    values = distances([image, bent, stroke("bar"), stroke("ring")])
    assert values[0, 1] < 0.6 * min(values[0, 2], values[0, 3])


def test_a_shift_costs_only_its_place():
    small = stroke("ring", 16)
    images = [np.pad(small, ((6, 18), (6, 18))), np.pad(small, ((18, 6), (18, 6)))]
    assert distances(images, position_weight=0.0, reach=0.1)[0, 1] < 0.01
    placed = distances(images, position_weight=1.0, reach=0.1)[0, 1]
    assert 0.02 < placed <= 2 * 12**2 / (2 * 40**2) + 0.01


def test_descriptors_have_length_one():
    distance = make("geometric-blur", position_weight=0.0)
    prepared = distance.prepare(stroke("ring").reshape(1, -1))
    features = prepared["features"][0, : prepared["count"][0]]
    assert features.shape == (30, 25 * 8 + 2)
    np.testing.assert_allclose(np.sum(features**2, axis=1), 1.0)


def test_images_without_edges():
    values = distances([stroke("bar"), np.full((24, 24), 0.4), np.zeros((24, 24))])
    assert values[0, 1] == values[1, 0] == 1.0
    assert values[1, 2] == 0.0


@pytest.mark.parametrize(
    "options", [{"n_points": 0}, {"n_angles": 0}, {"n_rings": -1}, {"n_spokes": 0}, {"reach": -1.0}, {"threshold": 2.0}]
)
def test_impossible_options_are_refused(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        make("geometric-blur", **options)
