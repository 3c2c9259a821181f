"""Kernels that cannot be inner products are refused in a sentence, or warned about where there still are answers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from problems import GIVEN, problem

from kcrc import KCRCClassifier, kernels
from kcrc.errors import DataError
from kcrc.method.kernels.definite import IndefiniteKernelWarning, check_definite


def squared(A, B):
    return ((A[:, None] - B[None]) ** 2).sum(axis=-1)


def rbf(A, B):
    return np.exp(-0.1 * squared(A, B))


def flipped(A, B):
    return -rbf(A, B)


def negative_lengths(A, B):
    """Of both signs, also on the diagonal."""
    return A @ np.diag([1.0, 1.0, 1.0, -3.0, -3.0, -3.0]) @ B.T


def indefinite(A, B):
    """1 on the diagonal, with negative eigenvalues."""
    return np.cos(1.5 * np.sqrt(squared(A, B)))


def uneven(A, B):
    return rbf(A, B) * (1.0 + 0.2 * (A[:, :1] - B[:, 0]))


def fit(kernel, matrix, **options):
    X, y, _ = problem(1)
    if matrix:
        X, kernel = kernel(X, X), "precomputed"
    return KCRCClassifier(**{**GIVEN, "n_neighbors": 5, "kernel": kernel, **options}, tuning_seconds=1).fit(X, y)


BOTH = pytest.mark.parametrize("matrix", [False, True], ids=["function", "matrix"])
FORMS = pytest.mark.parametrize("form", ["rkhs", "gram", "auto"])


@BOTH
@FORMS
def test_a_flipped_sign_is_a_mistake_in_every_form(form, matrix):
    with pytest.raises(DataError, match=r"negative definite: no eigenvalue of 40 examples.*flipped; give −k"):
        fit(flipped, matrix, form=form)


@BOTH
@FORMS
def test_so_is_a_kernel_that_is_not_symmetric(form, matrix):
    with pytest.raises(DataError, match=r"not symmetric: k\(a, b\) and k\(b, a\)"):
        fit(uneven, matrix, form=form)


@pytest.mark.parametrize("form", ["rkhs", "auto"])
def test_negative_lengths_are_refused_where_lengths_are_needed(form):
    with pytest.raises(DataError, match=r'k\(x, x\) below 0 for \d+ of 40 examples.*or use form="gram"'):
        fit(negative_lengths, False, form=form)
    assert fit(negative_lengths, False, form="gram").predict(problem(1)[2]).shape == (7,)
    X, y, _ = problem(1)
    odd = {**GIVEN, "kernel": "polynomial", "coef0": -3.0, "gamma": 0.1, "form": form}
    with pytest.raises(DataError, match=r"k\(x, x\) below 0"):
        KCRCClassifier(**odd, tuning_seconds=1).fit(X, y)


def test_distances_given_as_a_kernel_are_told():
    with pytest.raises(DataError, match=r'k\(x, x\) = 0 for all.*distance="precomputed"'):
        fit(squared, True)
    with pytest.raises(DataError, match=r'k\(x, x\) = 0 for all.*kernel="exp"'):
        fit(squared, False)
    with pytest.raises(DataError, match=r"the search for neighbours takes for a squared length"):
        fit(squared, True, form="gram")
    fit(squared, False, form="gram")  # any columns will do
    fit(squared, True, form="gram", n_neighbors=None)


@BOTH
def test_an_indefinite_kernel_is_used_and_warned_about(matrix):
    with pytest.warns(IndefiniteKernelWarning, match=r'not positive definite: its eigenvalues.*form="gram"'):
        fitted = fit(indefinite, matrix)
    X, _, Q = problem(1)
    asked = indefinite(Q, X) if matrix else Q
    assert np.isfinite(fitted.explain(asked).residuals.min(axis=1)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(indefinite, matrix, form="gram", n_neighbors=None)


@BOTH
def test_a_chosen_form_is_warned_about_when_it_is_chosen(matrix):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fitted = fit(indefinite, matrix, form="auto", mu="auto")
    known = [one for one in said if issubclass(one.category, IndefiniteKernelWarning)]
    needed = matrix or type(fitted.model_.method.space).__name__ == "Rkhs"
    assert len(known) == int(needed)


def test_inner_products_are_left_alone():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for kernel in (rbf, kernels.Linear(), kernels.RBF(0.1), "polynomial", lambda A, B: A @ B.T):
            fit(kernel, False)
            fit(kernel, False, form="gram")
        fit(rbf, True)
        fit(lambda A, B: np.zeros((len(A), len(B))), False)  # says nothing, and is answered by the nearest
        fit(lambda A, B: (A @ B.T).astype(np.float32), False)
    assert [one for one in said if issubclass(one.category, IndefiniteKernelWarning)] == []


@pytest.mark.parametrize("size", [1e-300, 1.7e308])
def test_kernels_are_judged_the_same_however_large_their_values_are(size):
    X, _, _ = problem(1)

    def check(kernel):
        values = kernel(X, X)
        values *= size / np.abs(values).max()
        sized = kernels.CallableKernel(lambda A, B: values)
        check_definite(sized, X, form="rkhs", local=True, warn=True)

    with np.errstate(over="raise"):
        check(rbf)
        with pytest.raises(DataError, match="negative definite"):
            check(flipped)
        with pytest.raises(DataError, match="not symmetric"):
            check(uneven)
        with pytest.raises(DataError, match=r"k\(x, x\) below 0"):
            check(negative_lengths)
        with pytest.warns(IndefiniteKernelWarning):
            check(indefinite)
