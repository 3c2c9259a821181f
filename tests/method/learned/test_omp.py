"""Batch-OMP against scikit-learn's, against least squares, and the compiled way against the NumPy way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import orthogonal_mp_gram

from kcrc.errors import ParameterError
from kcrc.method.learned import ksvd
from kcrc.method.learned.ksvd import batch_omp
from kcrc.native import native


@pytest.fixture(params=["compiled", "numpy"])
def way(request, monkeypatch):
    """Every test here runs both ways."""
    if request.param == "numpy":
        monkeypatch.setattr(ksvd, "native", None)
    elif native is None:
        pytest.skip("the compiled module is not built")
    return request.param


def problem(seed, *, n_atoms=40, n_features=25, n_signals=30, dtype=np.float64):
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((n_atoms, n_features))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    Y = rng.standard_normal((n_signals, n_features))
    return D.astype(dtype), Y.astype(dtype)


@pytest.mark.parametrize(("dtype", "close"), [(np.float64, 1e-10), (np.float32, 2e-4)])
@pytest.mark.parametrize("sparsity", [1, 4, 12])
def test_equals_scikit_learn(way, dtype, close, sparsity):
    D, Y = problem(sparsity, dtype=dtype)
    codes = batch_omp(D @ D.T, Y @ D.T, sparsity=sparsity)
    expected = orthogonal_mp_gram((D @ D.T).astype(float), (D @ Y.T).astype(float), n_nonzero_coefs=sparsity).T
    assert codes.values.dtype == dtype
    np.testing.assert_allclose(codes.matrix().toarray(), expected, atol=close)


def test_is_the_projection_on_the_picked_atoms(way):
    D, Y = problem(5)
    codes = batch_omp(D @ D.T, Y @ D.T, sparsity=7)
    assert codes.values.shape == (len(Y), 7)
    for y, atoms, values in zip(Y, codes.atoms, codes.values, strict=True):
        np.testing.assert_allclose(values, np.linalg.lstsq(D[atoms].T, y)[0], atol=1e-10)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000), n_atoms=st.integers(1, 12), n_features=st.integers(1, 8), sparsity=st.integers(1, 14)
)
def test_both_ways_agree_on_any_shape(seed, n_atoms, n_features, sparsity):
    if native is None:
        pytest.skip("the compiled module is not built")
    D, Y = problem(seed, n_atoms=n_atoms, n_features=n_features, n_signals=5)
    compiled = batch_omp(D @ D.T, Y @ D.T, sparsity=sparsity)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ksvd, "native", None)
        plain = batch_omp(D @ D.T, Y @ D.T, sparsity=sparsity)
    scale = max(1.0, float(np.abs(plain.values).max()))
    np.testing.assert_array_equal(compiled.atoms, plain.atoms)
    np.testing.assert_allclose(compiled.values, plain.values, atol=1e-6 * scale)


def test_stops_when_the_signal_is_represented(way):
    D, _ = problem(1)
    Y = np.stack([3 * D[4], np.zeros(D.shape[1])])
    codes = batch_omp(D @ D.T, Y @ D.T, sparsity=6)
    np.testing.assert_array_equal(codes.atoms[:, :2], [[4, -1], [-1, -1]])
    np.testing.assert_allclose(codes.values[:, 0], [3, 0])
    assert not codes.values[:, 1:].any()


def test_duplicate_and_zero_atoms_are_not_picked_twice(way):
    D, Y = problem(2)
    D = np.concatenate([D, D, np.zeros((2, D.shape[1]))])
    codes = batch_omp(D @ D.T, Y @ D.T, sparsity=25)
    assert codes.atoms.max() < 40
    for atoms in codes.atoms:
        used = atoms[atoms >= 0]
        assert len(np.unique(used)) == len(used)
    assert np.isfinite(codes.values).all()


def test_one_signal_at_a_time_gives_the_same(way, monkeypatch):
    D, Y = problem(3)
    together = batch_omp(D @ D.T, Y @ D.T, sparsity=5)
    monkeypatch.setattr(ksvd, "_CHUNK_BYTES", 1)
    alone = batch_omp(D @ D.T, Y @ D.T, sparsity=5)
    np.testing.assert_array_equal(together.atoms, alone.atoms)
    np.testing.assert_allclose(together.values, alone.values, atol=1e-12)


def test_no_signals(way):
    D, _ = problem(4)
    codes = batch_omp(D @ D.T, np.empty((0, len(D))), sparsity=3)
    assert codes.matrix().shape == (0, len(D))


def test_says_what_does_not_fit(way):
    with pytest.raises(ParameterError, match=r"sparsity is 1 or more; got 0"):
        batch_omp(np.eye(3), np.ones((2, 3)), sparsity=0)
    with pytest.raises(ParameterError, match=r"got \(3, 3\) and \(2, 4\)"):
        batch_omp(np.eye(3), np.ones((2, 4)), sparsity=1)


@pytest.mark.skipif(native is None, reason="the compiled module is not built")
def test_the_compiled_functions_refuse_wrong_shapes():
    with pytest.raises(ValueError, match="correlations"):
        native.batch_omp(np.eye(3), np.ones((2, 4)), 1, 0.0)
    with pytest.raises(ValueError, match="sparsity"):
        native.batch_omp(np.eye(3), np.ones((2, 3)), 4, 0.0)
    atoms, residual, values = np.eye(2), np.ones((3, 2)), np.ones((3, 1))
    ends = np.array([0, 1, 1])
    with pytest.raises(ValueError, match="slots lie between 0 and 2"):
        native.update_atoms(atoms, residual, values, np.array([3]), ends, 0.0)
    with pytest.raises(ValueError, match="ends"):
        native.update_atoms(atoms, residual, values, np.array([0]), np.array([0, 5, 1]), 0.0)
