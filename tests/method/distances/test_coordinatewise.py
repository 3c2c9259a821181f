"""The compiled and the NumPy way of the coordinate-wise measures agree with each other and with SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import additive_chi2_kernel

from kcrc.method.distances import coordinatewise
from kcrc.method.distances.coordinatewise import MEASURES

ORACLES = {
    "manhattan": lambda a, b: cdist(a, b, "cityblock"),
    "chessboard": lambda a, b: cdist(a, b, "chebyshev"),
    "sqeuclidean": lambda a, b: cdist(a, b, "sqeuclidean"),
    "chi2": lambda a, b: -additive_chi2_kernel(a, b),
    "common_mass": lambda a, b: np.minimum(a[:, None], b[None]).sum(axis=-1),
}
# One row, edges of the register blocks, of the panels of rows and of the chunks of coordinates.
SHAPES = [(1, 1, 1), (3, 7, 5), (1, 70, 16), (6, 1, 3), (7, 66, 513), (125, 67, 17), (4, 5, 1030)]


def samples(rng, n, d, dtype=np.float64):
    X = rng.random((n, d))
    X[X < 0.2] = 0.0
    return X.astype(dtype)


@pytest.fixture(params=["compiled", "numpy"])
def way(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(coordinatewise, "native", None)
    elif coordinatewise.native is None:
        pytest.skip("the compiled module is not built")
    return request.param


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "m", "d"), SHAPES)
def test_all_pairs_equal_the_oracle(way, rng, measure, dtype, n, m, d):
    a, b = samples(rng, n, d, dtype), samples(rng, m, d, dtype)
    got = coordinatewise.pairwise(measure, a, b)
    assert got.dtype == dtype
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    slow = ORACLES[measure](a.astype(float), b.astype(float))
    np.testing.assert_allclose(got, slow, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_pair_has_one_value_wherever_it_stands(rng, measure, dtype):
    if coordinatewise.native is None:
        pytest.skip("the compiled module is not built")
    a, b = samples(rng, 131, 530, dtype), samples(rng, 77, 530, dtype)
    rows = rng.integers(-77, 77, (131, 9))
    everything = coordinatewise.pairwise(measure, a, b)
    np.testing.assert_array_equal(coordinatewise.pairwise(measure, b, a), everything.T)
    np.testing.assert_array_equal(coordinatewise.pairwise(measure, a[5:6], b), everything[5:6])
    chosen = coordinatewise.rowwise(measure, a, b, rows)
    np.testing.assert_array_equal(chosen, np.take_along_axis(everything, rows % 77, axis=1))
    among = coordinatewise.pairwise(measure, b, b)
    sets = rng.integers(0, 77, (2, 150))
    np.testing.assert_array_equal(coordinatewise.within(measure, b, sets), among[sets[:, :, None], sets[:, None, :]])


@pytest.mark.parametrize("measure", MEASURES)
def test_the_numpy_way_selects_the_same(monkeypatch, rng, measure):
    a, b = samples(rng, 6, 40), samples(rng, 8, 40)
    rows = rng.integers(0, 8, (6, 3))
    first = coordinatewise.rowwise(measure, a, b, rows), coordinatewise.within(measure, b, rows)
    monkeypatch.setattr(coordinatewise, "native", None)
    second = coordinatewise.rowwise(measure, a, b, rows), coordinatewise.within(measure, b, rows)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_no_rows_no_coordinates_other_types_and_views(way, rng):
    X = samples(rng, 9, 12)
    assert coordinatewise.pairwise("manhattan", X[:0], X).shape == (0, 9)
    assert coordinatewise.pairwise("manhattan", X, X[:0]).shape == (9, 0)
    assert (coordinatewise.pairwise("chessboard", X[:, :0], X[:, :0]) == 0).all()
    whole = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(coordinatewise.pairwise("manhattan", whole, whole)[0], [0, 16, 32])
    np.testing.assert_allclose(
        coordinatewise.pairwise("chi2", X[::2, ::3], X.astype(np.float32)[1:, ::3]),
        ORACLES["chi2"](X[::2, ::3].copy(), X.astype(np.float32)[1:, ::3].astype(float)),
        atol=1e-12,
    )
    with pytest.raises(IndexError):
        coordinatewise.rowwise("manhattan", X, X, np.full((9, 1), 9))


def test_chi_square_of_extreme_values(way):
    a = np.array([[1e120, 0.0, 1e-200, 3.0], [0.0, 0.0, 0.0, 0.0]])
    b = np.array([[3e120, 0.0, 1e-200, 1.0], [0.0, 0.0, 0.0, 2.0]])
    got = coordinatewise.pairwise("chi2", a, b)
    np.testing.assert_allclose(got, [[1e120, 1e120], [3e120, 2.0]], rtol=1e-12)
