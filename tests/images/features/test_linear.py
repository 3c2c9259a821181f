from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from kcrc.errors import DataError
from kcrc.images.features import make
from kcrc.images.features.linear import principal_axes


def test_pixels_are_the_grey_values(pictures):
    grey = pictures[..., 0]
    np.testing.assert_allclose(make("pixels", size=None).transform(grey), grey.reshape(12, -1) / 255.0, atol=1e-6)


def test_random_faces_keep_inner_products_on_average():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 300))
    estimate = np.mean(
        [(lambda Z: Z @ Z.T)(make("random-faces", n_components=100, seed=s).fit(X).transform(X)) for s in range(20)],
        axis=0,
    )
    # E[RᵀR] = (n_components / d) I for unit rows.
    np.testing.assert_allclose(estimate * 300 / 100, X @ X.T, atol=25)


def test_random_faces_do_not_look_at_the_data():
    rng = np.random.default_rng(0)
    A, B = rng.random((4, 50)), rng.random((4, 50))
    one, two = make("random-faces", n_components=7).fit(A), make("random-faces", n_components=7).fit(B)
    assert one.fingerprint == two.fingerprint
    np.testing.assert_array_equal(one.transform(A), two.transform(A))


@pytest.mark.parametrize("shape", [(30, 8), (8, 30), (12, 12)])
def test_principal_axes_are_those_of_scikit_learn(shape):
    X = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    mean, axes = principal_axes(X, 5)
    reference = PCA(5, svd_solver="full").fit(X)
    np.testing.assert_allclose(mean, reference.mean_, atol=1e-5)
    np.testing.assert_allclose(np.abs(axes @ reference.components_.T), np.eye(5), atol=1e-3)
    assert (axes[np.arange(5), np.abs(axes).argmax(axis=1)] > 0).all()


def test_faint_directions_count_as_much_as_there_are():
    rng = np.random.default_rng(0)
    spread = 10.0 ** -np.linspace(0, 4, 20)  # variances down to 1e-8 of the first
    for shape in ((20, 60), (60, 20)):
        left, right = (np.linalg.qr(rng.normal(size=(n, 20)))[0] for n in shape)
        X = ((left - left.mean(axis=0)) * spread @ right.T).astype(np.float32)
        assert len(principal_axes(X, 15)[1]) == 15


def test_directions_without_variance_are_left_out():
    X = np.random.default_rng(0).normal(size=(6, 40)).astype(np.float32)
    X[3:] = X[:3]
    assert len(principal_axes(X, 40)[1]) == 2
    assert make("eigenfaces", n_components=40).fit(X).dim == 2
    with pytest.raises(DataError, match="two different"):
        make("eigenfaces").fit(X[[0, 0, 0]])


def test_another_number_of_pixels_is_refused():
    for name in ("random-faces", "eigenfaces"):
        feature = make(name, n_components=2).fit(np.random.default_rng(0).random((4, 10)))
        with pytest.raises(DataError, match="10 values; got 9"):
            feature.transform(np.zeros((1, 9)))


def test_unequal_shapes_ask_for_a_size():
    with pytest.raises(DataError, match="size="):
        make("pixels", size=None).transform([np.zeros((4, 4), np.uint8), np.zeros((5, 4), np.uint8)])
