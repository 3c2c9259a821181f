"""Contracts of every registered coder and projection, against the slow formulas."""

from __future__ import annotations

import numpy as np
import pytest

import references
from kcrc import coding, projections
from kcrc.errors import ParameterError
from kcrc.method.coding import Dictionary, Target


def batch(rng, shared=False, B=5, c=12, K=8):
    D = rng.normal(size=(1 if shared else B, c, K))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    y = rng.normal(size=(B, c))
    return D, y


def posed(D, y, real=None):
    real = np.ones((len(D), D.shape[2]), bool) if real is None else real
    spread = np.broadcast_to(D, (len(y), *D.shape[1:]))
    target = Target(np.einsum("bck,bc->bk", spread, y), np.einsum("bc,bc->b", y, y), y)
    labels = np.where(real, np.arange(D.shape[2]) % 3, -1)  # as in references.coders.classes_of
    return Dictionary(D.transpose(0, 2, 1) @ D, D, real, labels), target


def solved(coder, D, y, real=None):
    dictionary, target = posed(D, y, real)
    return coder.solve(coder.factorise(dictionary), target)


def test_the_rows_are_those_of_the_registries():
    assert set(references.CODERS) == set(coding.names())
    assert set(references.PROJECTIONS) == set(projections.names())


@pytest.mark.parametrize("name", projections.names())
def test_projections_equal_the_slow_formula(name, rng):
    X, labels = rng.normal(size=(13, 20)), np.arange(13) % 3
    gram = np.exp(-0.02 * ((X[:, None] - X) ** 2).sum(-1))
    psi = projections.make(name).matrix(gram[None], labels[None], np.ones((1, 13), bool), np.random.default_rng(0))
    got = np.eye(13) if psi is None else psi[0]
    slow = references.PROJECTIONS[name](gram, labels, {})
    assert got.shape == slow.shape
    np.testing.assert_allclose(got @ got.T, slow @ slow.T, atol=1e-7 * np.abs(slow @ slow.T).max())


@pytest.mark.parametrize("name", coding.names())
@pytest.mark.parametrize("shared", [True, False])
def test_coefficients_equal_the_slow_formula(name, shared, rng):
    D, y = batch(rng, shared)
    mu = references.CODER_MU.get(name, 0.1)
    code = solved(coding.make(name, mu=mu), D, y)
    for i in range(len(y)):
        np.testing.assert_allclose(code.coefficients[i], references.CODERS[name](D[i % len(D)], y[i], mu), atol=1e-6)
    assert code.converged.all()


@pytest.mark.parametrize("name", coding.names())
def test_a_query_does_not_depend_on_its_batch_and_padding_changes_nothing(name, rng):
    D, y = batch(rng)
    coder = coding.make(name, mu=references.CODER_MU.get(name, 0.1))
    together = solved(coder, D, y).coefficients
    alone = np.concatenate([solved(coder, D[i : i + 1], y[i : i + 1]).coefficients for i in range(len(y))])
    np.testing.assert_allclose(together, alone, atol=1e-9)
    padded = np.concatenate([D, np.zeros((5, 12, 3))], axis=2)
    real = np.arange(11) < 8
    code = solved(coder, padded, y, np.broadcast_to(real, (5, 11)))
    np.testing.assert_allclose(code.coefficients[:, :8], together, atol=1e-9)
    np.testing.assert_array_equal(code.coefficients[:, 8:], 0.0)


@pytest.mark.parametrize("name", coding.names())
def test_a_zero_target_has_a_zero_code(name, rng):
    D, y = batch(rng)
    np.testing.assert_allclose(solved(coding.make(name, mu=0.1), D, 0 * y).coefficients, 0.0, atol=1e-12)


def test_ridge_without_a_cholesky_factor(rng):
    D, y = batch(rng, K=8)
    D[:, :, 1] = D[:, :, 0]  # dependent atoms and no penalty: the shortest solution
    x = solved(coding.make("ridge", mu=0.0), D, y).coefficients
    for i in range(len(y)):
        np.testing.assert_allclose(x[i], np.linalg.lstsq(D[i], y[i], rcond=None)[0], atol=1e-6)
    indefinite = Dictionary(np.diag([1.0, -2.0, 3.0])[None], None, np.ones((1, 3), bool))
    coder = coding.make("ridge", mu=0.5)
    target = Target(np.ones((1, 3)), np.ones(1), None)
    got = coder.solve(coder.factorise(indefinite), target).coefficients
    np.testing.assert_allclose(got, [[1 / 1.5, 1 / 0.5, 1 / 3.5]], atol=1e-12)


def test_clear_errors():
    with pytest.raises(ParameterError, match="mu is a number, 0 or more; got -1"):
        coding.make("ridge", mu=-1)
    with pytest.raises(ParameterError, match="coder is a name or a Coder"):
        coding.resolve(3)
    with pytest.raises(ParameterError, match="Did you mean 'ridge'"):
        coding.resolve("rigde")
    with pytest.raises(ParameterError, match="projection is a name or a Projection"):
        projections.resolve(3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", coding.names())
def test_a_dictionary_that_is_used_once_gives_the_same_code(name, dtype, rng):
    coder, (D, y) = coding.make(name), batch(rng)
    real = np.ones((5, 8), bool)
    real[1, 5:], D[1, :, 5:] = False, 0.0  # padding
    dictionary, target = posed(D.astype(dtype), y.astype(dtype), real)
    due, found = coder.solve(coder.factorise(dictionary), target), coder.code(dictionary, target)
    close = 1e-5 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(found.coefficients, due.coefficients, rtol=close, atol=close)
    assert found.coefficients.dtype == due.coefficients.dtype
    assert (found.converged == due.converged).all()
    assert (found.n_iter == due.n_iter).all()


@pytest.mark.parametrize("mu", [0.0, 0.01])
def test_atoms_without_a_cholesky_factor_are_coded_once_as_they_are_often(mu, rng):
    coder, (D, y) = coding.make("ridge", mu=mu), batch(rng)
    dictionary, target = posed(D, y)
    dictionary.gram[2] -= 2.0 * np.eye(8)  # of a kernel that is not positive
    due, found = coder.solve(coder.factorise(dictionary), target), coder.code(dictionary, target)
    np.testing.assert_array_equal(found.coefficients, due.coefficients)
