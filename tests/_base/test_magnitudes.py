"""How large and small samples may be: right answers within the limits, one sentence beyond them, nothing in between."""

from __future__ import annotations

import numpy as np
import pytest

from kcrc import KCRCClassifier
from kcrc._base import validation
from kcrc.errors import DataError
from kcrc.method.learned import LCKSVDClassifier

FIXED = {"mu": 0.01, "form": "rkhs", "decision": "ratio", "locality": "atoms", "gamma": "scale"}


@pytest.fixture
def problem() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 12)), rng.integers(0, 3, 60)


def made(metric: str = "plain", kernel: str = "linear", **options) -> KCRCClassifier:
    return KCRCClassifier(**(FIXED | {"n_neighbors": 10, "scaling": metric, "kernel": kernel} | options))


def measured(X: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Rows of the nearest by differences, in Python's own wide numbers where squares would overflow a float32."""
    far = ((X[None].astype(np.float64) - queries[:, None].astype(np.float64)) ** 2).sum(-1)
    return np.lexsort((np.broadcast_to(np.arange(len(X)), far.shape), far), axis=-1)[:, :k]


@pytest.mark.parametrize("size", [1e20, 1e40, 1e59])
def test_a_query_beyond_single_precision_is_measured(problem, size):
    """It ended the process: its scan coordinates overflowed and nothing was found."""
    X, y = problem
    queries = size * np.random.default_rng(1).normal(size=(70, 12))
    evidence = made().fit(X, y).explain(queries)
    np.testing.assert_array_equal(evidence.rows, measured(X, queries, 10))
    assert np.isfinite(evidence.residuals[np.arange(70), evidence.winner]).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf", "polynomial"])
@pytest.mark.parametrize("metric", ["plain", "unit", "standard"])
def test_a_huge_query_changes_nothing_about_the_others(problem, metric, kernel):
    X, y = problem
    classifier = made(metric, kernel, coef0=0.0, degree=2).fit(X, y)
    alone = classifier.explain(X[:5] + 0.1)
    together = classifier.explain(np.concatenate([X[:5] + 0.1, np.full((1, 12), 1e25)]))[:5]
    for field in ("rows", "distances", "residuals", "coefficients", "contributions"):
        np.testing.assert_array_equal(getattr(alone, field), getattr(together, field))


@pytest.mark.parametrize("size", [1e-50, 1e-20, 1e20, 1e50])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("form", ["rkhs", "gram"])
def test_the_unit_of_the_data_does_not_matter(problem, size, kernel, form):
    """A power of two is exact: the same labels, rows and coefficients."""
    X, y = problem
    size = 2.0 ** np.round(np.log2(size))
    near, far = (made("plain", kernel, form=form).fit(X * s, y).explain((X[:40] + 0.1) * s) for s in (1.0, size))
    np.testing.assert_array_equal(near.labels, far.labels)
    np.testing.assert_array_equal(near.rows, far.rows)
    by = size if kernel == "linear" and form == "rkhs" else size**2 if kernel == "linear" else 1.0
    np.testing.assert_allclose(far.coefficients / by, near.coefficients, rtol=1e-6, atol=1e-9)


def test_a_huge_example_beside_others(problem):
    """New examples too far off for the others' scan coordinates were never found, and then read past the end."""
    X, y = problem
    queries = X[:10] + 0.1
    for more in (np.full((3, 12), 1e40), np.full((3, 12), -1e25)):
        classifier = made(n_neighbors=63).fit(X, y).partial_fit(more, [0, 1, 2])
        rows = classifier.explain(queries).rows
        np.testing.assert_array_equal(np.sort(rows), np.broadcast_to(np.arange(63), rows.shape))
        np.testing.assert_array_equal(rows[:, :10], measured(X, queries, 10))
        np.testing.assert_array_equal(classifier.forget([60, 61]).explain(more[:1]).rows[:, 0], [62])
        both = made(n_neighbors=63).fit(np.concatenate([X, more]), np.append(y, [0, 1, 2]))
        np.testing.assert_array_equal(both.explain(queries).rows, rows)


@pytest.mark.parametrize("metric", ["plain", "unit", "standard", "within"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "polynomial"])
@pytest.mark.parametrize("size", [1e61, 1e150, 1e300, 1e-61, 1e-160, 5e-324])
def test_what_no_arithmetic_serves_gets_one_sentence(problem, metric, kernel, size):
    X, y = problem
    said = (
        "Row 0 of X has the length .* Lengths from 1e-60 to 1e\\+60, or 0, can be compared in double precision. Scale"
    )
    with pytest.raises(DataError, match=said):
        made(metric, kernel).fit(np.full_like(X, size), y)
    classifier = made(metric, kernel).fit(X, y)
    for verb in (classifier.predict, classifier.predict_proba, classifier.explain):
        with pytest.raises(DataError, match=said):
            verb(np.full((2, 12), size))
    with pytest.raises(DataError, match=said):
        classifier.partial_fit(np.full((1, 12), size), [0])
    assert len(classifier.model_) == 60


@pytest.mark.parametrize("distance", ["manhattan", "cosine", "correlation", "chi2", "mahalanobis"])
def test_the_sentence_holds_for_every_distance(problem, distance):
    X, y = problem
    with pytest.raises(DataError, match="Scale the data"):
        made(kernel="exp", distance=distance).fit(np.abs(X) * 1e200, y)


def test_single_precision_has_limits_of_its_own(problem):
    X, y = problem
    X = X.astype(np.float32)
    with pytest.raises(
        DataError, match=r"1e-15 to 1e\+15.*single precision \(float32\). Scale the data, or give float64"
    ):
        made().fit(X * np.float32(1e30), y)
    classifier = made().fit(X, y)
    with pytest.raises(DataError, match="Scale the data, or fit with float64"):
        classifier.predict(np.full((1, 12), 1e30, np.float32))
    with pytest.raises(DataError, match="Scale the data, or fit with float64"):
        classifier.predict(np.full((1, 12), 1e200))
    with pytest.raises(DataError, match="Scale the data, or fit with float64"):
        classifier.partial_fit(np.full((1, 12), 1e30), [0])
    for size in (1e-14, 1e14):
        assert (
            made().fit(X * np.float32(size), y).predict(X[:9] * np.float32(size)) == classifier.predict(X[:9])
        ).all()


def test_the_gram_form_squares_twice(problem):
    """In single precision x⁴ overflows long before x² does: columns without a length took no part in the answer."""
    X, y = problem
    X = X.astype(np.float32)
    right = made(form="gram").fit(X, y).explain(X[:30] + np.float32(0.1))
    for size in (np.float32(2.0**40), np.float32(2.0**-40)):
        scaled = made(form="gram").fit(X * size, y).explain((X[:30] + np.float32(0.1)) * size)
        np.testing.assert_array_equal(scaled.labels, right.labels)
        np.testing.assert_array_equal(scaled.how, right.how)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, bool, np.float16])
def test_other_types_of_numbers(problem, dtype):
    X, y = problem
    X = np.clip(40 * X, 0, 100).astype(dtype)
    labels = made().fit(X, y).predict(X[:30])
    np.testing.assert_array_equal(labels, made().fit(X.astype(np.float64), y).predict(X[:30].astype(np.float64)))


def test_whole_numbers_that_just_fit(problem):
    _, y = problem
    X = 2**53 + np.random.default_rng(0).integers(-1000, 1000, (60, 12))
    rows = made("standard").fit(X, y).explain(X[:20]).rows
    np.testing.assert_array_equal(rows[:, 0], np.arange(20))


def test_a_metric_may_make_samples_too_long(problem):
    X, y = problem
    classifier = made("standard").fit(X * 1e-20, y)
    with pytest.raises(DataError, match=r"Row 1 of X has the length .* under the scaling Standard"):
        classifier.predict(np.stack([X[0], np.full(12, 1e50)]))


def test_a_learned_dictionary_says_the_same(problem):
    X, y = problem
    with pytest.raises(DataError, match="Scale the data"):
        LCKSVDClassifier(n_iter=1, init_iter=1).fit(X * 1e200, y)
    learned = LCKSVDClassifier(n_iter=1, init_iter=1).fit(X, y)
    with pytest.raises(DataError, match="Scale the data"):
        learned.predict(X[:2] * 1e200)


def test_a_row_is_named_and_zero_is_fine():
    X = np.ones((4, 3))
    X[1] = 0.0
    double, single = np.dtype(np.float64), np.dtype(np.float32)
    assert validation.are_in_range(X, double)
    X[2, 0] = -1e80
    with pytest.raises(DataError, match=r"Row 2 of X has the length 1e\+80"):
        validation.check(X, double)
    for strange in (np.nan, np.inf):
        X[2, 0] = strange
        assert not validation.are_in_range(X, double)
    assert not validation.are_in_range(np.full((1, 2), 1e-30, np.float32), single)
    assert validation.are_in_range(np.full((1, 2), 1e-30, np.float32), double)


@pytest.mark.parametrize("gamma", [1e-300, 1e300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_absurd_gamma_makes_no_nan(problem, gamma, dtype):
    """∞ · 0 is no number: a query that is an example has the kernel 1 with it."""
    X, y = problem
    for compiled in ("rbf", "exp"):
        evidence = made(kernel=compiled, gamma=gamma).fit(X.astype(dtype), y).explain(X[:9].astype(dtype))
        assert np.isfinite(evidence.coefficients).all()
        if gamma > 1:
            np.testing.assert_array_equal(evidence.labels, y[:9])


def test_a_polynomial_of_any_degree_ends(problem):
    X, y = problem
    classifier = made(kernel="polynomial", degree=10**6, gamma=1e-9).fit(X, y)
    assert set(classifier.predict(X[:5])) <= {0, 1, 2}
