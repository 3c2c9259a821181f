"""The tangent distance against least squares, its tangents against images really transformed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

from kcrc import KCRCClassifier, distances
from kcrc.errors import DataError, ParameterError
from kcrc.method.distances import tangent
from references import pixel as reference_pixel

PLANAR = {  # the velocity (row, column) = A (y, x) + b of each transformation
    "x_shift": ([[0, 0], [0, 0]], [0, 1]),
    "y_shift": ([[0, 0], [0, 0]], [1, 0]),
    "scaling": ([[1, 0], [0, 1]], [0, 0]),
    "rotation": ([[0, -1], [1, 0]], [0, 0]),
    "axis_hyperbolic": ([[-1, 0], [0, 1]], [0, 0]),
    "diagonal_hyperbolic": ([[0, 1], [1, 0]], [0, 0]),
}


def pictures(rng, n, height, width, channels=None):
    """Smooth blobs."""
    shape = (n, height, width) if channels is None else (n, height, width, channels)
    return ndimage.gaussian_filter(rng.random(shape), (0, 1.5, 1.5) + (0,) * (len(shape) - 3)) * 5


def fitted(images, **options):
    flat = images.reshape(len(images), -1)
    return distances.make("tangent", **options).fit(flat, np.zeros(len(flat)), sample_shape=images.shape[1:]), flat


@pytest.fixture(params=["compiled", "numpy"])
def way(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(tangent, "native", None)
    elif tangent.native is None:
        pytest.skip("the compiled module is not built")


def test_pairs_equal_the_slow_formula(way, rng):
    distance, X = fitted(pictures(rng, 6, 7, 7))
    kept = distance.prepare(X)
    known = SimpleNamespace(options=distance)
    slow = np.array([[reference_pixel.tangent(a, b, known) for b in X] for a in X])
    scale = np.linalg.norm(X, axis=1).max()
    np.testing.assert_allclose(distance.pairwise(kept, kept), slow, rtol=1e-10, atol=1e-10 * scale)


@pytest.mark.parametrize("ridge", [0.0, 1e-4, 0.1])
@pytest.mark.parametrize("names", [tangent.TRANSFORMATIONS, ("rotation", "x_shift")])
def test_pairs_equal_least_squares_on_the_same_tangents(way, rng, ridge, names):
    images = pictures(rng, 5, 8, 11)
    distance, X = fitted(images, ridge=ridge, transformations=names, sigma=1.0, smooth_images=False)
    kept = distance.prepare(X)
    raw = tangent.tangent_vectors(images[..., None], sigma=1.0, transformations=names)
    pairs = [(i, j) for i in range(5) for j in range(5)]
    slow = [reference_pixel.between_planes(X[i], X[j], raw[i], raw[j], ridge) for i, j in pairs]
    got = distance.pairwise(kept, kept).ravel()
    np.testing.assert_allclose(got, slow, rtol=1e-10, atol=1e-10 * np.linalg.norm(X, axis=1).max())


def test_one_sided_moves_the_second_alone(way, rng):
    images = pictures(rng, 4, 9, 6)
    distance, X = fitted(images, two_sided=False, smooth_images=False)
    assert not distance.symmetric
    kept = distance.prepare(X)
    raw = tangent.tangent_vectors(images[..., None], sigma=0.7, transformations=tangent.TRANSFORMATIONS)
    none = np.zeros((0, X.shape[1]))
    slow = [[reference_pixel.between_planes(a, b, none, raw[j], 1e-3) for j, b in enumerate(X)] for a in X]
    got = distance.pairwise(kept, kept)
    np.testing.assert_allclose(got, slow, rtol=1e-10, atol=1e-10)
    rows = np.array([[1, 2, 0, 3]])
    np.testing.assert_array_equal(distance.within(kept, rows)[0], got[np.ix_(rows[0], rows[0])])


@pytest.mark.parametrize("name", PLANAR)
def test_tangents_point_where_transformed_images_go(rng, name):
    images = pictures(rng, 3, 21, 18)
    images = images * np.exp(-((np.mgrid[:21, :18] - np.array([10, 8.5])[:, None, None]) ** 2).sum(0) / 12)
    got = tangent.tangent_vectors(images[..., None], sigma=1.0, transformations=(name,))
    matrix, shift = (np.array(part, float) for part in PLANAR[name])
    centre = np.array([10.0, 8.5])
    step = 1e-3
    assert len(got) == 3
    for image, direction in zip(images, got[:, 0], strict=True):
        smooth = ndimage.gaussian_filter(image, 1.0, mode="nearest")
        moved = []
        for sign in (step, -step):
            motion = np.eye(2) + sign * matrix
            offset = centre - motion @ centre + sign * shift
            moved.append(ndimage.affine_transform(smooth, motion, offset, mode="nearest"))
        real = (moved[0] - moved[1]).ravel() / (2 * step)
        assert direction @ real / np.linalg.norm(direction) / np.linalg.norm(real) > 0.99
        assert np.linalg.norm(direction) == pytest.approx(np.linalg.norm(real), rel=0.05)


def test_thickness_grows_strokes():
    stroke = np.exp(-((np.mgrid[:15, :15][1] - 7.0) ** 2) / 4)
    thicker = np.exp(-((np.mgrid[:15, :15][1] - 7.0) ** 2) / 4.5)
    (direction,) = tangent.tangent_vectors(stroke[None, ..., None], sigma=0.7, transformations=("thickness",))[0]
    grown = (thicker - stroke).ravel()
    assert direction @ grown / np.linalg.norm(direction) / np.linalg.norm(grown) > 0.8


def test_a_shifted_image_is_near_and_euclid_says_far(rng):
    images = np.pad(pictures(rng, 1, 12, 12), ((0, 0), (4, 4), (4, 4)), mode="edge")[0]
    images = np.stack([images, ndimage.shift(images, (0.3, -0.2), mode="nearest")])
    distance, X = fitted(images)
    kept = distance.prepare(X)
    assert distance.pairwise(kept, kept)[0, 1] < 0.25 * np.linalg.norm(X[0] - X[1])


def test_colour_is_measured_with_one_motion_for_all_channels(way, rng):
    colour = pictures(rng, 4, 6, 9, 3)
    distance, X = fitted(colour, smooth_images=False)
    kept = distance.prepare(X)
    by_channel = [
        tangent.tangent_vectors(colour[..., c : c + 1], sigma=0.7, transformations=tangent.TRANSFORMATIONS)
        for c in range(3)
    ]
    raw = np.stack(by_channel, axis=-1).reshape(4, 7, -1)
    slow = [[reference_pixel.between_planes(X[i], X[j], raw[i], raw[j], 1e-3) for j in range(4)] for i in range(4)]
    np.testing.assert_allclose(distance.pairwise(kept, kept), slow, rtol=1e-10, atol=1e-10)


def test_images_without_contrast_have_no_tangents(way, rng):
    images = np.concatenate([np.zeros((1, 6, 6)), np.full((2, 6, 6), [[[0.1]], [[7.3]]]), pictures(rng, 1, 6, 6)])
    distance, X = fitted(images)
    kept = distance.prepare(X)
    assert (kept["frames"][:3, :, 1:] == 0).all()
    got = distance.pairwise(kept, kept)
    np.testing.assert_allclose(got[:3, :3], np.abs(np.subtract.outer(*[[0, 0.1, 7.3]] * 2)) * 6, atol=1e-9)
    assert np.isfinite(got).all()
    one_sided, _ = fitted(images, two_sided=False, smooth_images=False)
    kept = one_sided.prepare(X)
    assert one_sided.pairwise(kept, kept)[3, 1] == pytest.approx(np.linalg.norm(X[3] - X[1]))


def test_stripes_lose_only_the_tangents_that_vanish(rng):
    distance, X = fitted(np.tile(np.sin(np.arange(9.0)), (1, 9, 1)))
    frames = distance.prepare(X)["frames"][0]
    gram = frames[:, 1:].T @ frames[:, 1:]
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-12)
    assert set(np.round(np.diag(gram), 12)) == {0.0, 1.0}


_image = arrays(np.float64, (2, 5, 4), elements=st.floats(-10, 10, allow_subnormal=False))


@settings(max_examples=60, deadline=None)
@given(images=_image)
def test_identity_symmetry_and_never_farther_than_euclid(images):
    distance, X = fitted(images, smooth_images=False)
    kept = distance.prepare(X)
    D = distance.pairwise(kept, kept)
    scale = 1e-7 * (1 + np.abs(X).max())
    assert (np.diag(D) == 0).all()
    assert abs(D[0, 1] - D[1, 0]) <= scale
    assert D[0, 1] <= np.linalg.norm(X[0] - X[1]) + scale


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rowwise_and_within_are_parts_of_pairwise(way, rng, dtype):
    distance, X = fitted(pictures(rng, 12, 10, 10).astype(dtype))
    kept = distance.prepare(X)
    assert kept["frames"].dtype == dtype
    everything = distance.pairwise(kept, kept)
    assert everything.dtype == dtype
    rows = rng.integers(0, 12, (12, 5))
    tolerance = 1e-12 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(
        distance.rowwise(kept, kept, rows), np.take_along_axis(everything, rows, 1), atol=tolerance
    )
    among = everything[rows[:, :, None], rows[:, None, :]]
    np.testing.assert_allclose(distance.within(kept, rows), among, atol=tolerance)
    origin = distance.pairwise(kept, distance.prepare(np.zeros((1, 100), dtype)))[:, 0]
    np.testing.assert_allclose(distance.to_origin(kept), origin, rtol=1e-6)


def test_float32_agrees_with_float64(rng):
    distance, X = fitted(pictures(rng, 20, 16, 16))
    wide, narrow = distance.prepare(X), distance.prepare(X.astype(np.float32))
    np.testing.assert_allclose(distance.pairwise(narrow, narrow), distance.pairwise(wide, wide), atol=2e-4)


def test_wrong_shapes_and_options_are_named(rng):
    X = rng.random((3, 12))
    with pytest.raises(DataError, match="no square image"):
        distances.make("tangent").fit(X, X[:, 0], sample_shape=(12,))
    with pytest.raises(DataError, match=r"shape \(5, 3\) for samples of 12"):
        distances.make("tangent", image_shape=(5, 3)).fit(X, X[:, 0], sample_shape=(12,))
    fit = distances.make("tangent", image_shape=[4, 3]).fit(X, X[:, 0], sample_shape=(12,))
    assert fit.shape == (4, 3, 1)
    with pytest.raises(DataError, match="Resize"):
        fit.prepare(rng.random((2, 15)))
    with pytest.raises(ParameterError, match="fit"):
        distances.make("tangent").prepare(X)
    for wrong in ({"sigma": -1.0}, {"ridge": -0.1}, {"transformations": ("twist",)}, {"transformations": ()}):
        with pytest.raises(ParameterError):
            distances.make("tangent", **wrong)


def test_classifies_digits_better_than_euclid_by_the_nearest():
    from sklearn.datasets import load_digits

    digits = load_digits()
    images, y = digits.images[:700], digits.target[:700]
    right = {}
    for name in ("tangent", "euclidean"):
        flat = images.reshape(700, -1)
        distance = distances.make(name).fit(flat[:300], y[:300], sample_shape=(8, 8))
        nearest = distance.pairwise(distance.prepare(flat[300:]), distance.prepare(flat[:300])).argmin(axis=1)
        right[name] = (y[nearest] == y[300:]).mean()
    assert right["tangent"] > right["euclidean"]


def test_is_a_distance_of_the_classifier(rng):
    images = pictures(rng, 30, 6, 6)
    y = np.arange(30) % 3
    model = KCRCClassifier(1, distance="tangent", kernel="exp", gamma=1.0, mu=0.01).fit(images, y)
    np.testing.assert_array_equal(model.predict(images), y)  # each is its own nearest


def test_a_kernel_of_the_one_sided_distance_is_symmetric_and_the_same_local_looked_up_and_global():
    images = pictures(np.random.default_rng(3), 24, 8, 8)
    y = np.arange(24) % 3
    one_sided = distances.make("tangent", two_sided=False, sigma=0.7)
    given = {"kernel": "exp", "gamma": 0.5, "mu": 0.1, "form": "rkhs", "decision": "ratio", "scaling": "plain"}
    fits = {
        name: KCRCClassifier(distance=one_sided, locality="atoms", **given, **options).fit(images, y)
        for name, options in {
            "looked up": {"n_neighbors": 24},
            "global": {"n_neighbors": None},
            "made anew": {"n_neighbors": 24, "memory_budget": "1MiB"},
        }.items()
    }
    model = fits["global"].model_
    G = model.method.space.gram(model, None, np.ones((1, 24), bool))[0]
    distance = model.method.distance
    kept = model.examples(distance)
    both = distance.pairwise(kept, kept)
    assert abs(both - both.T).max() > 1e-3
    np.testing.assert_allclose(G, np.exp(-0.5 * ((both + both.T) / 2) ** 2), rtol=1e-6)
    asked = pictures(np.random.default_rng(4), 10, 8, 8)
    wanted = fits["global"].decision_function(asked)
    for one in fits.values():
        np.testing.assert_allclose(one.decision_function(asked), wanted, rtol=1e-5, atol=1e-8)
