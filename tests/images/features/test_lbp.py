from __future__ import annotations

import numpy as np
import pytest

from kcrc.errors import ParameterError
from kcrc.images.features import make


def test_each_region_has_the_histogram_of_its_patterns():
    skimage_feature = pytest.importorskip("skimage.feature")
    image = np.random.default_rng(0).integers(0, 256, (32, 24), dtype=np.uint8)
    shares = make("lbp", size=(32, 24), grid=(2, 2), radius=1.0, root=False).transform([image]).reshape(2, 2, 59)
    np.testing.assert_allclose(shares.sum(axis=2), 1.0, atol=1e-5)
    # Away from the border the patterns are scikit-image's; bins are counted whatever their order.
    patterns = skimage_feature.local_binary_pattern(image, 8, 1.0, "nri_uniform").astype(int)
    theirs = np.sort(np.bincount(patterns[:16, :12].ravel(), minlength=59) / 192)
    assert np.abs(np.sort(shares[0, 0]) - theirs).sum() < 0.35


def test_roots_have_unit_length_a_region():
    image = np.random.default_rng(0).integers(0, 256, (32, 32), dtype=np.uint8)
    roots = make("lbp", size=(32, 32), grid=(4, 4)).transform([image]).reshape(16, 59)
    np.testing.assert_allclose(np.linalg.norm(roots, axis=1), 1.0, atol=1e-5)


def test_brightness_and_contrast_do_not_matter():
    image = np.random.default_rng(0).random((32, 32)).astype(np.float32)
    feature = make("lbp", size=(32, 32), grid=(2, 2))
    np.testing.assert_allclose(feature.transform([image]), feature.transform([0.2 + 0.5 * image]), atol=0.05)


@pytest.mark.parametrize("bad", [{"points": 1}, {"radius": 0.0}, {"grid": (0, 1)}, {"grid": (200, 1)}])
def test_options_that_make_no_sense(bad):
    with pytest.raises(ParameterError):
        make("lbp", **bad).fit([])
