"""Contracts of every registered kernel, against the slow formulas."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from problems import problem

import references
from kcrc import distances, kernels
from kcrc.errors import DataError, ParameterError, UnknownName
from kcrc.method.preparation import Samples

OPTIONS = {"gamma": 0.3, "degree": 2, "coef0": 0.5}


def made(name):
    return kernels.resolve(name, distance=distances.make("manhattan"), **OPTIONS)


def sampled(name):
    """The kernel fitted on the samples of its row, what is known of it then, and queries and examples prepared."""
    X, y, Q, shape = references.KERNELS[name].samples()
    kernel = made(name).fit(X)
    known = references.Known(X, y, shape, SimpleNamespace(**OPTIONS))
    return kernel, known, Q, kernel.prepare(Q), Samples(X, columns=np.arange(len(X))).of(kernel)


def test_the_rows_are_those_of_the_registry():
    assert set(references.KERNELS) == set(kernels.names())


@pytest.mark.parametrize("name", kernels.names())
def test_gram_equals_the_slow_formula(name):
    kernel, known, Q, a, b = sampled(name)
    slow = np.array([[references.KERNELS[name].formula(q, x, known) for x in known.X] for q in Q])
    np.testing.assert_allclose(kernel.gram(a, b), slow, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", kernels.names())
def test_diagonal_cross_and_local_are_parts_of_gram(name):
    kernel, known, Q, a, b = sampled(name)
    rows = np.random.default_rng(0).integers(len(known.X), size=(len(Q), 9))
    np.testing.assert_allclose(kernel.diagonal(b), np.diag(kernel.gram(b, b)), atol=1e-12)
    np.testing.assert_allclose(kernel.cross(a, b, rows), np.take_along_axis(kernel.gram(a, b), rows, 1), atol=1e-12)
    everything = kernel.gram(b, b)
    np.testing.assert_allclose(kernel.local(b, rows), everything[rows[:, :, None], rows[:, None, :]], atol=1e-12)


def test_polarisation_of_euclidean_is_the_linear_kernel():
    """The rule holds for squared distances: Euclidean (a plain length) is squared first."""
    X, _, Q = problem(3)
    for name in ("euclidean", "sqeuclidean"):
        kernel = kernels.Polarisation(distances.make(name))
        np.testing.assert_allclose(kernel.gram(kernel.prepare(Q), kernel.prepare(X)), Q @ X.T, atol=1e-12)


def test_exp_of_euclidean_is_the_rbf_kernel():
    X, _, Q = problem(4)
    exp, rbf = kernels.Exponential(distances.make("euclidean"), 0.2), kernels.RBF(0.2)
    np.testing.assert_allclose(
        exp.gram(exp.prepare(Q), exp.prepare(X)), rbf.gram(rbf.prepare(Q), rbf.prepare(X)), atol=1e-13
    )


def test_clear_errors():
    with pytest.raises(UnknownName, match="Did you mean 'rbf'"):
        made("rfb")
    with pytest.raises(ParameterError, match="gamma is a number above 0; got -1"):
        kernels.make("rbf", gamma=-1)
    with pytest.raises(ParameterError, match="polarisation"):
        kernels.Polarisation(distances.make("precomputed"))
    with pytest.raises(ParameterError, match="name, a Kernel or a function"):
        made(7)
    X, _, Q = problem(5)
    wrong = kernels.CallableKernel(lambda A, B: np.zeros(3))
    with pytest.raises(DataError, match="returned shape"):
        wrong.gram(wrong.prepare(Q), wrong.prepare(X))
    with pytest.raises(DataError, match="square"):
        kernels.PrecomputedKernel().fit(np.zeros((3, 4)))
