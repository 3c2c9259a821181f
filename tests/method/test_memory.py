"""What is kept of the caller's examples, and that work stays within the memory budget."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from problems import problem

from kcrc import KCRCClassifier
from kcrc.errors import DataError
from kcrc.method.compiled_plan import plan
from kcrc.method.distances import coordinatewise
from kcrc.native import native
from kcrc.tuning.left_out.sample import duplicate_groups, equal_rows
from lab.bench.memory import measure

compiled = pytest.mark.skipif(native is None, reason="the compiled module is not built")


def given(n_neighbors: int | None = 15, **options) -> KCRCClassifier:
    fixed = {
        "scaling": "plain", "kernel": "rbf", "gamma": 0.05, "mu": 0.05, "form": "rkhs", "decision": "ratio",
        "locality": "atoms",
    }  # fmt: skip
    return KCRCClassifier(n_neighbors, **{**fixed, **options})


@pytest.mark.parametrize("dtype", [np.float64, np.float32, pytest.param(np.float16, marks=compiled)])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "polynomial"])
def test_the_callers_array_is_not_copied(dtype, kernel):
    X, y, Xq = problem(0, n=300, d=10)
    X = X.astype(dtype)
    clf = given(kernel=kernel).fit(X, y)
    assert clf.model_.vectors.dtype == dtype
    assert np.shares_memory(clf.model_.vectors, X)
    clf.predict(Xq)
    assert np.shares_memory(plan(clf.model_)._atoms["vectors"] if native else X, X)


@compiled
@pytest.mark.parametrize("options", [{}, {"form": "gram"}, {"kernel": "linear"}, {"gamma": "scale"}], ids=str)
def test_halves_are_what_their_values_are(options):
    """Stored in half precision, the answers are those of the very same values in single precision."""
    X, y, Xq = problem(1, n=300, d=10, classes=5, queries=40)
    halves = X.astype(np.float16)
    Xq = Xq.astype(np.float32)
    stored = given(**options).fit(halves, y).explain(Xq)
    single = given(**options).fit(halves.astype(np.float32), y).explain(Xq)
    np.testing.assert_array_equal(stored.rows, single.rows)
    np.testing.assert_array_equal(stored.winner, single.winner)
    np.testing.assert_allclose(stored.residuals, single.residuals, rtol=1e-3)
    np.testing.assert_allclose(stored.distances, single.distances, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [{"scaling": "unit"}, {"distance": "manhattan"}, {"form": "raw"}, {"locality": "classes"}, {"kernel": "exp"},
     {"n_neighbors": None}, {"n_candidates": 40}],
    ids=str,
)  # fmt: skip
def test_halves_that_cannot_stay_are_computed_with_in_single(options):
    X, y, Xq = problem(2, n=200, d=10)
    halves = X.astype(np.float16)
    n_neighbors = options.pop("n_neighbors", 3)
    clf = given(n_neighbors, **options).fit(halves, y)
    assert clf.model_.vectors.dtype == np.float32
    np.testing.assert_array_equal(
        clf.predict(Xq), given(n_neighbors, **options).fit(halves.astype(np.float32), y).predict(Xq.astype(np.float32))
    )


@compiled
def test_halves_come_and_go(tmp_path):
    X, y, Xq = problem(3, n=200, d=10)
    clf = given().fit(X.astype(np.float16), y)
    clf.partial_fit(X[:5] + 1, y[:5])
    clf.forget([0, 1])
    assert clf.model_.vectors.dtype == np.float16
    rest = np.concatenate([X.astype(np.float16)[2:], (X[:5] + 1).astype(np.float16)])
    expected = given().fit(rest, np.concatenate([y[2:], y[:5]]))
    np.testing.assert_array_equal(clf.predict(Xq), expected.predict(Xq))
    clf.save(tmp_path / "kept.npz")
    again = KCRCClassifier.load(tmp_path / "kept.npz")
    assert again.model_.vectors.dtype == np.float16
    np.testing.assert_array_equal(again.predict(Xq), clf.predict(Xq))
    with pytest.raises(DataError, match="65504"):
        clf.partial_fit(np.full((1, 10), 1e6), y[:1])


@pytest.mark.parametrize("measure", sorted(coordinatewise.MEASURES))
def test_halves_are_widened_a_block_at_a_time(rng, monkeypatch, measure):
    monkeypatch.setattr(coordinatewise, "_HALVES_AT_ONCE", 7)
    left, halves = rng.random((5, 4), np.float32), rng.random((30, 4)).astype(np.float16)
    rows = rng.integers(0, 30, (5, 6))
    single = halves.astype(np.float32)
    pairs = coordinatewise.pairwise
    np.testing.assert_array_equal(pairs(measure, left, halves), pairs(measure, left, single))
    chosen = coordinatewise.rowwise
    np.testing.assert_array_equal(chosen(measure, left, halves, rows), chosen(measure, left, single, rows))
    among = coordinatewise.within
    np.testing.assert_array_equal(among(measure, halves, rows), among(measure, single, rows))


@compiled
def test_choosing_parameters_with_halves():
    X, y, Xq = problem(4, n=120, d=6)
    clf = KCRCClassifier(tuning_seconds=2, kernel="rbf", scaling="plain").fit(X.astype(np.float16), y)
    assert clf.predict(Xq).shape == (len(Xq),)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 8])
def test_equal_rows(rng, dtype, width):
    X = rng.integers(0, 3, (400, width)).astype(dtype)
    number = equal_rows(X)
    same = (X[:, None] == X[None]).all(axis=2)
    np.testing.assert_array_equal(number[:, None] == number, same)


def test_given_groups_and_duplicates_are_joined():
    X = np.array([[1.0], [2.0], [1.0], [3.0], [4.0]])
    number = duplicate_groups(X, np.array([0, 1, 2, 2, 3]))
    assert number[0] == number[2] == number[3]
    assert len({number[0], number[1], number[4]}) == 3


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")


@on_linux
@compiled
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_peak_memory_is_within_the_budget(dtype):
    peak = measure(30_000, 64, 32_000_000, dtype=dtype, queries=300)
    assert peak.data == 30_000 * 64 * np.dtype(dtype).itemsize
    assert peak.beyond <= peak.budget


@on_linux
@compiled
@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_peak_memory_with_200_000_examples(dtype):
    peak = measure(200_000, 128, 128_000_000, dtype=dtype, queries=2000)
    assert peak.beyond <= peak.budget
