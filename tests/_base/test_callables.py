"""Users' own functions that give what cannot be used: one sentence that names them; their failures stay to be read."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from problems import GIVEN, problem

from kcrc import KCRCClassifier
from kcrc.errors import DataError
from kcrc.images.features.callables import FunctionFeature
from kcrc.method.distances.custom import SlowDistanceWarning

WRONG = {
    "None": (lambda *given: None, "returned None"),
    "text": (lambda *given: "far", "returned the text 'far'"),
    "a complex number": (lambda *given: 1 + 2j, r"returned the number \(1\+2j\)"),
    "a complex array": (lambda *given: np.ones((2, 2), complex), r"array of shape \(2, 2\) of complex128"),
    "objects": (lambda *given: np.array([None, "a"], object), r"array of shape \(2,\) of object"),
    "uneven lists": (lambda *given: [[1.0], [1.0, 2.0]], "returned a list"),
    "a dict": (lambda *given: {"distance": 1.0}, "returned a dict"),
    "one line too few": (lambda *given: np.ones((1, 3, 1)), r"shape \(1, 3, 1\)"),
}


def fit(**options):
    X, y, _ = problem(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowDistanceWarning)
        return KCRCClassifier(**{**GIVEN, "n_neighbors": 5, **options}).fit(X, y)


@pytest.mark.parametrize("name", WRONG)
def test_a_distance_that_is_no_number(name):
    function, said = WRONG[name]
    with pytest.raises(DataError, match=rf"(?s)The distance function .*lambda.* {said}.*must return one number"):
        fit(distance=function, kernel="exp")


@pytest.mark.parametrize("name", WRONG)
def test_a_kernel_that_is_no_matrix(name):
    function, said = WRONG[name]
    with pytest.raises(DataError, match=rf"(?s)The kernel function .*lambda.* {said}.*must return \("):
        fit(kernel=function)


@pytest.mark.parametrize("name", WRONG)
def test_a_feature_that_is_no_table(name):
    function, said = WRONG[name]
    with pytest.raises(DataError, match=rf"(?s)The function .*lambda.* {said}.* for 4 pictures; it must return"):
        FunctionFeature(function).fit_transform(np.zeros((4, 8, 8), np.uint8))


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_numbers_that_cannot_be_used(value):
    with pytest.raises(DataError, match=rf"negative or non-finite value, {value:g}, for the vectors \[.*\] and \["):
        fit(distance=lambda u, v: value, kernel="exp")
    if not np.isfinite(value):
        with pytest.raises(DataError, match=r"kernel function .* returned NaN or infinite values for sets of"):
            fit(kernel=lambda A, B: np.full((len(A), len(B)), value))
        with pytest.raises(DataError, match="NaN, infinite or too large numbers for 4 pictures"):
            FunctionFeature(lambda p: np.full((len(p), 3), value)).fit_transform(np.zeros((4, 8, 8), np.uint8))
    with pytest.raises(DataError, match="too large"):
        FunctionFeature(lambda p: np.full((len(p), 3), 1e300)).fit_transform(np.zeros((4, 8, 8), np.uint8))


def test_a_function_that_fails_keeps_its_own_failure():
    def broken(*given):
        raise KeyError("weights")

    for role, ask in (
        ("distance function", lambda: fit(distance=broken, kernel="exp")),
        ("kernel function", lambda: fit(kernel=broken)),
        ("function", lambda: FunctionFeature(broken).fit_transform(np.zeros((4, 8, 8), np.uint8))),
    ):
        with pytest.raises(DataError, match=rf"The {role} .*broken.* failed for .*: KeyError: 'weights'") as caught:
            ask()
        assert isinstance(caught.value.__cause__, KeyError)
        assert caught.value.__cause__.__traceback__ is not None


def test_a_compiled_function_that_fails_names_the_pair():
    numba = pytest.importorskip("numba")

    @numba.njit
    def picky(u, v):
        if u[0] > 2.0 and v[0] > 2.0:
            raise ValueError("too far out")
        return np.abs(u - v).sum()

    X, y, _ = problem(1)
    X[[5, 9], 0] = 3.5, 2.5
    X[:, 0] = np.where(np.isin(np.arange(40), [5, 9]), X[:, 0], 0.0)
    with pytest.raises(
        DataError, match=r"(?s)distance function .*picky.* failed for the vectors \[ ?[23]\.5 .*ValueError: too"
    ):
        KCRCClassifier(**{**GIVEN, "n_neighbors": 5, "distance": picky, "kernel": "exp"}).fit(X, y)


def test_numbers_of_every_kind_are_taken():
    Q = problem(1)[2]
    plain = fit(distance=lambda u, v: float(np.abs(u - v).sum()), kernel="exp", gamma=0.2).predict(Q)
    for kind in (np.float32, np.float64, np.array, lambda value: np.float16(value) * 0 + value):
        again = fit(distance=lambda u, v, kind=kind: kind(np.abs(u - v).sum()), kernel="exp", gamma=0.2).predict(Q)
        np.testing.assert_array_equal(again, plain)
    assert fit(distance=lambda u, v: int(u[0] != v[0]), kernel="exp", gamma=0.2).predict(Q).shape == (7,)
