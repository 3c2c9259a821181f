"""Algorithm 2, its finish, and the same model solved by others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import references
from kcrc import coding, paper
from kcrc.errors import ParameterError
from kcrc.method.coding import Dictionary, Target, interior


def problem(seed, c, K, B=1, shared=True, corrupted=0.2, dtype=np.float64):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(1 if shared else B, c, K))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    x = rng.normal(size=(B, K)) * (rng.random((B, K)) < 0.3)
    y = np.einsum("bck,bk->bc", np.broadcast_to(D, (B, c, K)), x) + 0.01 * rng.normal(size=(B, c))
    hit = rng.random((B, c)) < corrupted
    y[hit] += 3 * rng.normal(size=hit.sum())
    D, y = D.astype(dtype), y.astype(dtype)
    H = D.transpose(0, 2, 1) @ D
    b = np.einsum("bck,bc->bk", np.broadcast_to(D, (B, c, K)), y)
    return Dictionary(H, D, np.ones((len(D), K), bool)), Target(b, (y * y).sum(1), y)


def solved(coder, dictionary, target):
    return coder.solve(coder.factorise(dictionary), target)


def objective(D, y, x, mu):
    return np.abs(y - D @ x).sum() + mu * x @ x


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("c", "K"), [(20, 8), (12, 12), (9, 16)])
@pytest.mark.parametrize("mu", [1e-3, 0.1, 2.0])
def test_reaches_the_optimum_of_another_solver(shared, c, K, mu):
    dictionary, target = problem(1, c, K, B=3, shared=shared)
    code = solved(coding.make("robust", mu=mu), dictionary, target)
    assert code.converged.all()
    assert (code.gap <= 1e-6).all()
    assert (code.n_iter > 0).all()
    for i, (x, y) in enumerate(zip(code.coefficients, target.vector, strict=True)):
        D = dictionary.columns[0 if shared else i]
        best = objective(D, y, references.CODERS["robust"](D, y, mu), mu)
        assert objective(D, y, x, mu) <= best * (1 + 1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_equals_the_algorithm_as_the_paper_writes_it(shared):
    dictionary, target = problem(2, 15, 10, B=3, shared=shared)
    code = solved(coding.make("robust", mu=0.2, tol=1e-9), dictionary, target)
    assert len(target.vector) == 3
    for i, (x, y) in enumerate(zip(code.coefficients, target.vector, strict=True)):
        D = dictionary.columns[0 if shared else i]
        expected, e, stopped = paper.robust_code(D, y, 0.2)
        assert stopped
        np.testing.assert_allclose(D @ expected + e, y, atol=1e-7)
        np.testing.assert_allclose(x, expected, atol=1e-5)


def test_the_alternating_steps_alone_reach_the_optimum_too():
    dictionary, target = problem(3, 20, 8, B=4)
    pure = solved(coding.make("robust", mu=0.1, finish=False, max_iter=20_000, sigma=5.0), dictionary, target)
    assert pure.converged.all()
    finished = solved(coding.make("robust", mu=0.1), dictionary, target)
    np.testing.assert_allclose(pure.coefficients, finished.coefficients, atol=2e-3)


@pytest.mark.parametrize("shared", [True, False])
def test_too_few_steps_are_reported(shared):
    dictionary, target = problem(4, 30, 20, B=4, shared=shared)
    code = solved(coding.make("robust", mu=1e-3, finish=False, max_iter=7), dictionary, target)
    assert not code.converged.any()
    assert (code.n_iter == 7).all()
    assert (code.gap > 1e-6).all()


def test_a_sigma_that_grows_too_fast_is_not_called_converged():
    dictionary, target = problem(5, 30, 20, B=4)
    code = solved(coding.make("robust", mu=1e-2, finish=False, max_iter=400, growth=10.0), dictionary, target)
    exact = solved(coding.make("robust", mu=1e-2), dictionary, target)
    D = dictionary.columns[0]
    assert len(target.vector) == 4
    for i, y in enumerate(target.vector):
        reached, best = objective(D, y, code.coefficients[i], 1e-2), objective(D, y, exact.coefficients[i], 1e-2)
        assert (reached - best) / reached <= code.gap[i] + 1e-9
        assert code.converged[i] == (code.gap[i] <= 1e-6)


def test_ignores_gross_corruption_that_ridge_follows():
    rng = np.random.default_rng(6)
    D = rng.normal(size=(60, 10))
    D /= np.linalg.norm(D, axis=0)
    x = rng.normal(size=10)
    y = D @ x
    y[:15] += 10 * rng.normal(size=15)
    dictionary = Dictionary((D.T @ D)[None], D[None], np.ones((1, 10), bool))
    target = Target((y @ D)[None], np.array([y @ y]), y[None])
    robust = solved(coding.make("robust", mu=1e-3), dictionary, target).coefficients[0]
    ridge = solved(coding.make("ridge", mu=1e-3), dictionary, target).coefficients[0]
    assert np.abs(robust - x).max() < 0.05 < np.abs(ridge - x).max()


def test_atoms_permuted_duplicated_or_zero():
    dictionary, target = problem(7, 20, 8, B=2)
    D = dictionary.columns[0]
    order = np.random.default_rng(0).permutation(8)
    coder = coding.make("robust", mu=0.1)

    def code(columns):
        made = Dictionary((columns.T @ columns)[None], columns[None], np.ones((1, columns.shape[1]), bool))
        y = target.vector
        return solved(coder, made, Target(y @ columns, (y * y).sum(1), y)).coefficients

    plain = code(D)
    np.testing.assert_allclose(code(D[:, order]), plain[:, order], atol=1e-7)
    twice = code(np.hstack([D, D[:, :1]]))
    np.testing.assert_allclose(twice[:, 0], twice[:, 8], atol=1e-6)  # the squared norm shares evenly
    np.testing.assert_allclose(code(np.hstack([D, np.zeros((20, 1))]))[:, 8], 0.0)


@pytest.mark.parametrize("shared", [True, False])
def test_single_precision(shared):
    dictionary, target = problem(8, 20, 12, B=3, shared=shared, dtype=np.float32)
    code = solved(coding.make("robust", mu=0.1), dictionary, target)
    assert code.coefficients.dtype == np.float32
    assert code.converged.all()
    wide = [None if a is None else a.astype(float) for a in (target.correlation, target.energy, target.vector)]
    columns = dictionary.columns.astype(float)
    double = solved(
        coding.make("robust", mu=0.1),
        Dictionary(columns.transpose(0, 2, 1) @ columns, columns, dictionary.real),
        Target(*wide),
    )
    np.testing.assert_allclose(code.coefficients, double.coefficients, atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 12), st.sampled_from([1e-4, 1e-2, 1.0]))
def test_the_gap_certifies_every_shape(seed, c, K, mu):
    dictionary, target = problem(seed, c, K)
    code = solved(coding.make("robust", mu=mu), dictionary, target)
    assert code.converged.all()


def test_duality_gap_of_a_known_problem():
    # min |2 − x| + x²: x = ½ where the slopes −1 and 2x meet; there P = 1.75 and z = 1 gives 2 − ¼.
    D, y = np.ones((1, 1)), np.array([2.0])
    assert interior.duality_gap(D, y, np.array([0.5]), np.ones(1), mu=1.0) == 0.0
    assert interior.duality_gap(D, y, np.array([0.0]), np.ones(1), mu=1.0) == pytest.approx(0.25 / 2)
    found = interior.minimise(D, y, mu=1.0, tol=1e-12)
    assert found.x[0] == pytest.approx(0.5, abs=1e-9)


def test_clear_errors():
    for wrong in ({"mu": 0}, {"mu": "a"}, {"tol": 0}, {"sigma": -1}, {"growth": 0.5}, {"max_iter": 1.5}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            coding.make("robust", **wrong)
