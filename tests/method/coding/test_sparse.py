"""Sparse coders against celer, scikit-learn and linear programming; the compiled solver against the NumPy one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import references
from kcrc import coding
from kcrc.errors import ParameterError
from kcrc.method.coding import Dictionary, Target, proximal, sparse
from kcrc.native import native

SOLVERS = [
    pytest.param("compiled", marks=pytest.mark.skipif(native is None, reason="the compiled module is not built")),
    "numpy",
]


@pytest.fixture(params=SOLVERS)
def solver(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(sparse, "native", None)
    return request.param


def problem(seed, c, K, B=3, shared=True, correlated=0.0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(1 if shared else B, c, K)) + correlated * rng.normal(size=(c, 1))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    y = rng.normal(size=(B, c)) + correlated * D[0, :, 0]
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    return posed(D.astype(dtype), y.astype(dtype))


def posed(D, y):
    b = np.einsum("bck,bc->bk", np.broadcast_to(D, (len(y), *D.shape[1:])), y)
    return Dictionary(D.transpose(0, 2, 1) @ D, D, np.ones((len(D), D.shape[2]), bool)), Target(b, (y * y).sum(1), y)


def solved(name, dictionary, target, **options):
    coder = coding.make(name, **options)
    return coder.solve(coder.factorise(dictionary), target)


def kkt_residual(D, y, x, lam):
    """How far the conditions Dᵀ(y − Dx) ∈ λ∂‖x‖₁ are from holding."""
    g = D.T @ (y - D @ x)
    return np.where(x != 0, np.abs(g - lam * np.sign(x)), np.maximum(np.abs(g) - lam, 0)).max()


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("c", "K"), [(20, 10), (15, 40)])
@pytest.mark.parametrize("lam", [0.3, 0.05, 0.003])
@pytest.mark.parametrize("correlated", [0.0, 2.0])
def test_lasso_meets_its_conditions(solver, shared, c, K, lam, correlated):
    dictionary, target = problem(0, c, K, shared=shared, correlated=correlated)
    code = solved("lasso", dictionary, target, mu=lam, tol=1e-10)
    assert code.converged.all()
    for i, (x, y) in enumerate(zip(code.coefficients, target.vector, strict=True)):
        assert kkt_residual(dictionary.columns[0 if shared else i], y, x, lam) < 1e-4 * lam


def test_lasso_equals_celer(solver):
    celer = pytest.importorskip("celer")
    dictionary, target = problem(1, 60, 150, B=4, correlated=1.0)
    D = np.asfortranarray(dictionary.columns[0])
    code = solved("lasso", dictionary, target, mu=0.02, tol=1e-10)
    assert len(target.vector) == 4
    for x, y in zip(code.coefficients, target.vector, strict=True):
        other = celer.Lasso(0.02 / 60, fit_intercept=False, tol=1e-12).fit(D, y).coef_
        np.testing.assert_allclose(x, other, atol=1e-5)


@pytest.mark.skipif(native is None, reason="the compiled module is not built")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_and_numpy_solvers_agree(dtype):
    dictionary, target = problem(2, 30, 50, B=5, correlated=0.5, dtype=dtype)
    arguments = (dictionary.gram, dictionary.real.view(np.uint8), np.zeros(5, np.int64), target.correlation)
    lam = np.array([0.5, 0.2, 0.1, 0.03, 0.01])
    x, other = np.zeros((5, 50)), np.zeros((5, 50))
    facts, _ = native.lasso(*arguments, target.energy.astype(float), lam, x, 1e-10, 100)
    expected, _ = proximal.lasso(*arguments, target.energy.astype(float), lam, other, 1e-10, 100)
    np.testing.assert_allclose(x, other, atol=1e-5)
    np.testing.assert_allclose(facts[:, 0], expected[:, 0], rtol=1e-7)
    np.testing.assert_allclose(facts[:, 2:], expected[:, 2:], atol=1e-5)


@pytest.mark.skipif(native is None, reason="the compiled module is not built")
def test_compiled_solver_refuses_shapes_that_do_not_fit():
    dictionary, target = problem(2, 6, 5, B=2)
    with pytest.raises(ValueError, match=r"lam is .* of shape \(2,\)"):
        native.lasso(
            dictionary.gram, dictionary.real.view(np.uint8), np.zeros(2, np.int64), target.correlation,
            target.energy, np.ones(3), np.zeros((2, 5)), 1e-6, 10,
        )  # fmt: skip
    with pytest.raises(ValueError, match="which lie between 0 and 0"):
        native.lasso(
            dictionary.gram, dictionary.real.view(np.uint8), np.array([0, 1]), target.correlation,
            target.energy, np.ones(2), np.zeros((2, 5)), 1e-6, 10,
        )  # fmt: skip


def test_a_penalty_above_the_largest_correlation_leaves_nothing(solver):
    dictionary, target = problem(3, 12, 20)
    most = np.abs(target.correlation).max()
    code = solved("lasso", dictionary, target, mu=most * 1.0001)
    np.testing.assert_array_equal(code.coefficients, 0.0)
    assert code.converged.all()
    assert (np.abs(solved("lasso", dictionary, target, mu=most * 0.99).coefficients) > 0).any()


@pytest.mark.parametrize("name", ["lasso", "bpdn", "l1l1"])
def test_duplicate_and_zero_atoms_permutations_and_zero_targets(solver, name):
    dictionary, target = problem(4, 15, 8)
    D, y = dictionary.columns[0], target.vector.copy()
    y[1] = 0
    mu = {"lasso": 0.05, "bpdn": 0.8, "l1l1": 0.7}[name]

    def objective(columns):
        code = solved(name, *posed(columns[None], y), mu=mu)
        assert code.converged.all()
        np.testing.assert_array_equal(code.coefficients[1], 0.0)
        fit = y - code.coefficients @ columns.T
        size = np.abs(code.coefficients).sum(axis=1)
        terms = {"lasso": 0.5 * (fit**2).sum(1) + mu * size, "bpdn": size, "l1l1": np.abs(fit).sum(1) + mu * size}
        return code.coefficients, terms[name]

    x, plain = objective(D)
    order = np.random.default_rng(0).permutation(8)
    np.testing.assert_allclose(objective(D[:, order])[0], x[:, order], atol=1e-5)
    np.testing.assert_allclose(objective(np.hstack([D, D]))[1], plain, rtol=2e-6)
    np.testing.assert_allclose(objective(np.hstack([D, np.zeros((15, 2))]))[0][:, :8], x, atol=1e-5)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("mu", [0.9, 0.5, 0.05])
def test_bpdn_leaves_what_it_may_and_no_shorter_code_does(solver, shared, mu):
    dictionary, target = problem(5, 12, 40, shared=shared)
    code = solved("bpdn", dictionary, target, mu=mu)
    assert code.converged.all()
    assert (code.gap < 1e-5).all()
    for i, (x, y) in enumerate(zip(code.coefficients, target.vector, strict=True)):
        D = dictionary.columns[0 if shared else i]
        assert np.linalg.norm(y - D @ x) == pytest.approx(mu * np.linalg.norm(y), rel=1e-5)
        other = references.CODERS["bpdn"](D, y, mu)
        assert np.abs(x).sum() == pytest.approx(np.abs(other).sum(), rel=1e-5)


def test_bpdn_says_when_the_dictionary_cannot_come_so_close(solver):
    dictionary, target = problem(6, 30, 5)
    code = solved("bpdn", dictionary, target, mu=0.1)
    assert not code.converged.any()
    for x, y in zip(code.coefficients, target.vector, strict=True):
        np.testing.assert_allclose(x, np.linalg.lstsq(dictionary.columns[0], y, rcond=None)[0], atol=1e-3)
    all_left = solved("bpdn", dictionary, target, mu=1.5)
    assert all_left.converged.all()
    np.testing.assert_array_equal(all_left.coefficients, 0.0)


@pytest.mark.parametrize(("c", "K"), [(20, 8), (10, 25)])
@pytest.mark.parametrize("lam", [0.1, 0.6, 2.0])
def test_l1l1_reaches_the_linear_programme(c, K, lam):
    dictionary, target = problem(7, c, K)
    code = solved("l1l1", dictionary, target, mu=lam)
    assert code.converged.all()
    D = dictionary.columns[0]
    for x, y in zip(code.coefficients, target.vector, strict=True):
        other = references.CODERS["l1l1"](D, y, lam)
        value = lambda x: np.abs(y - D @ x).sum() + lam * np.abs(x).sum()  # noqa: B023, E731
        assert value(x) <= value(other) * (1 + 2e-6)


@pytest.mark.parametrize("name", ["lasso", "bpdn", "l1l1"])
@pytest.mark.parametrize("shared", [True, False])
def test_single_precision(solver, name, shared):
    mu = {"lasso": 0.1, "bpdn": 0.5, "l1l1": 0.7}[name]
    single = solved(name, *problem(8, 15, 20, shared=shared, dtype=np.float32), mu=mu)
    double = solved(name, *problem(8, 15, 20, shared=shared), mu=mu)
    assert single.coefficients.dtype == np.float32
    assert single.converged.all()
    np.testing.assert_allclose(single.coefficients, double.coefficients, atol=1e-4)


# More atoms than the space has dimensions, and a penalty so small that many of them take part.
@example(306, 4, 33, 0.001953125)
@example(9252, 14, 25, 0.001649387360001663)
@example(7740, 5, 9, 0.002071015131919981)
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 15), st.integers(1, 90), st.floats(1e-3, 0.9))
def test_lasso_converges_on_every_shape(seed, c, K, share):
    dictionary, target = problem(seed, c, K, B=1)
    code = solved("lasso", dictionary, target, mu=share * np.abs(target.correlation).max())
    assert code.converged.all()
    assert (code.gap >= 0).all()


def test_an_indefinite_matrix_is_not_called_solved():
    indefinite = Dictionary(np.array([[[1.0, 3.0], [3.0, 1.0]]]), None, np.ones((1, 2), bool))
    coder = coding.make("lasso", mu=0.1)
    code = coder.solve(coder.factorise(indefinite), Target(np.array([[1.0, -1.0]]), np.ones(1), None))
    assert not (code.converged & ~np.isfinite(code.coefficients).all(axis=1)).any()


def test_clear_errors():
    for name in ("lasso", "bpdn", "l1l1"):
        for wrong in ({"mu": 0}, {"tol": -1}, {"max_iter": 0}):
            with pytest.raises(ParameterError, match=next(iter(wrong))):
                coding.make(name, **wrong)
