"""Histograms of colours: against a slow count, and blind to where within a region."""

from __future__ import annotations

import numpy as np
import pytest

from kcrc import errors, features


def test_it_is_the_root_of_the_shares_of_each_region(rng):
    image = rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)
    vector = features.make("colour", size=(6, 6), bins=(2, 3, 4), levels=2).transform([image])[0]
    slow = []
    for level in (1, 2):
        for top in range(level):
            for left in range(level):
                counts = np.zeros((2, 3, 4))
                side = 6 // level
                for pixel in image[top * side : (top + 1) * side, left * side : (left + 1) * side].reshape(-1, 3):
                    r, g, b = pixel / 255.0
                    place = [(r + g + b) / 3, 0.5 + r - g, 0.5 + 0.5 * (r + g - 2 * b)]
                    counts[tuple(int(np.clip(p * n, 0, n - 1)) for p, n in zip(place, (2, 3, 4), strict=True))] += 1
                slow.append(np.sqrt(counts.ravel() / side**2) / level)
    np.testing.assert_allclose(vector, np.concatenate(slow), atol=1e-6)


def test_its_state_gives_it_back(rng):
    images = rng.integers(0, 256, (3, 20, 30, 3), dtype=np.uint8)
    made = features.make("colour", levels=2)
    again = features.restore(made.state())
    assert made.dim == made.transform(images).shape[1]
    np.testing.assert_array_equal(again.transform(images), made.transform(images))


@pytest.mark.parametrize("wrong", [{"bins": (0, 2, 2)}, {"levels": 9}, {"bins": (99, 99, 99)}, {"fit_to": "inside"}])
def test_options_that_make_no_sense_are_refused(wrong):
    with pytest.raises(errors.ParameterError):
        features.make("colour", **wrong).fit([])
