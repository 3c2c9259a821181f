"""Cells rule out only what cannot be near: the very rows and distances of the scan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcrc import KCRCClassifier
from kcrc.method.distances.base import prepare_vectors
from kcrc.method.distances.pixel import Cosine, Euclidean
from kcrc.method.neighbours import cells, searches
from kcrc.method.neighbours.cells import Cells, CellsIndex
from kcrc.method.neighbours.scan import ScanIndex, index_for
from kcrc.method.neighbours.searches import index_by

pytestmark = pytest.mark.skipif(cells.native is None, reason="the compiled module is not built")
SHAPES = ["plain", "tied", "doubled", "outlier", "same", "grouped"]


def drawn(rng: np.random.Generator, shape: str, n: int, d: int) -> np.ndarray:
    X = rng.normal(size=(n, d))
    if shape == "tied":
        X = rng.integers(0, 3, (n, d)).astype(float)
    if shape == "doubled":
        X = X[rng.integers(0, max(1, n // 5), n)]
    if shape == "outlier":
        X[rng.integers(n)] *= 1e6
    if shape == "same":
        X[:] = X[0]
    if shape == "grouped":
        X = 100.0 * rng.normal(size=(3, d))[rng.integers(0, 3, n)] + X
    return X


def over(vectors: np.ndarray, distance=None) -> tuple[ScanIndex, CellsIndex]:
    distance = distance or Euclidean()
    scan = index_for(distance, distance.prepare(vectors), budget=10**8)
    assert isinstance(scan, ScanIndex)
    return scan, CellsIndex.over(scan)


def same(index, scan, queries: np.ndarray, k: int, distance=None) -> None:
    asked = (distance or Euclidean()).prepare(queries)
    found, true = index.query(asked, k), scan.query(asked, k)
    np.testing.assert_array_equal(found.rows, true.rows)
    np.testing.assert_array_equal(found.distances, true.distances)


@settings(deadline=None, max_examples=80)
@given(
    seed=st.integers(0, 10**6), shape=st.sampled_from(SHAPES), n=st.integers(1, 200), d=st.integers(1, 6),
    k=st.integers(1, 30), power=st.integers(-12, 12), single=st.booleans(),
)  # fmt: skip
def test_they_find_what_the_scan_finds(seed, shape, n, d, k, power, single):
    rng = np.random.default_rng(seed)
    X = 10.0**power * drawn(rng, shape, n + 5, d)
    X = X.astype(np.float32) if single else X
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "LARGEST", 4)
        patch.setattr(cells, "MOST_LEFT", 1.0)
        scan, index = over(X[:n])
        assert index._among_cells(X[n : n + 1], min(k, n)) is not None
        same(index, scan, np.vstack([X[n:], X[:3]]), k)
        keep = rng.random(n) < 0.6
        keep[0] = True
        fewer = prepare_vectors(X[:n][keep])
        same(index.keep(fewer, keep), scan.keep(fewer, keep), X[n:], k)
        more = prepare_vectors(X)
        same(index.append(more), scan.append(more), X[n:], k)
        again = prepare_vectors(np.vstack([X[:n][keep], X[n:]]))
        same(index.keep(fewer, keep).append(again), scan.keep(fewer, keep).append(again), X[n:], k)
        same(index, scan, X[n:], k)


def test_a_cell_never_says_more_than_its_examples():
    X = np.random.default_rng(0).normal(size=(2000, 3))
    made = Cells.over(X)
    assert sorted(made.rows) == list(range(2000))
    assert np.diff(made.starts)[:-1].max() <= cells.LARGEST
    for q in 3.0 * np.random.default_rng(1).normal(size=(20, 3)):
        bounds = made.bounds(q)
        for c in range(len(bounds) - 1):
            assert bounds[c] <= ((X[made.of(np.array([c]))] - q) ** 2).sum(axis=1).min() * (1 + 1e-12)


def test_they_leave_most_examples_alone_where_coordinates_are_few(monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20_000, 2))
    scan, index = over(X)
    measured = []
    real = CellsIndex._measure

    def watched(self, query, rows, k):
        measured.append(len(rows))
        return real(self, query, rows, k)

    monkeypatch.setattr(CellsIndex, "_measure", watched)
    same(index, scan, rng.normal(size=(30, 2)), 10)
    assert np.mean(measured) < 0.05 * len(X)


def test_they_are_taken_where_they_pay_and_nowhere_else(monkeypatch):
    rng = np.random.default_rng(3)

    def made(search: str, n: int, d: int):
        return index_by(search, Euclidean(), prepare_vectors(rng.normal(size=(n, d))), budget=10**8, k=10, n_jobs=1)

    assert isinstance(made("cells", 20_000, 2), CellsIndex)
    assert isinstance(made("cells", 5000, 40), ScanIndex)
    assert isinstance(made("exact", 20_000, 2), ScanIndex)
    assert isinstance(made("auto", 20_000, 2), ScanIndex)
    monkeypatch.setattr(searches, "PAY_FROM", 10_000)
    assert isinstance(made("auto", 20_000, 2), CellsIndex)
    assert isinstance(made("auto", 20_000, 5), ScanIndex)


def test_one_after_the_other_until_the_cells_are_made_anew(monkeypatch):
    monkeypatch.setattr(cells, "LARGEST", 8)
    monkeypatch.setattr(cells, "MOST_LEFT", 1.0)
    X = np.random.default_rng(4).normal(size=(300, 2))
    scan, index = over(X[:100])
    late = []
    for n in range(101, 301):
        scan, index = scan.append(prepare_vectors(X[:n])), index.append(prepare_vectors(X[:n]))
        late.append(index.cells.late)
    same(index, scan, X[:20] + 0.1, 7)
    assert 0 < max(late) <= 38
    assert late[-1] < 200


def test_queries_and_examples_that_are_far_beyond(monkeypatch):
    monkeypatch.setattr(cells, "MOST_LEFT", 1.0)
    X = np.random.default_rng(5).normal(size=(600, 3))
    scan, index = over(X)
    same(index, scan, np.array([[1e25, 0, 0], [1e200, 1, 1], [0, 0, 0]]), 5)
    grown = index.append(prepare_vectors(np.vstack([X, [[1e25, 0, 0]]])))
    assert not isinstance(grown, CellsIndex)
    assert grown.search == "exact"


def test_a_zero_vector_has_no_direction():
    X, distance = np.random.default_rng(6).normal(size=(20_000, 2)), Cosine()
    scan, index = over(X, distance)
    same(index, scan, np.array([[0.0, 0.0], [1.0, 2.0]]), 5, distance)


def test_a_classifier_answers_the_same_alone_and_in_a_batch():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(4000, 2))
    y, Q = (X[:, 0] * X[:, 1] > 0).astype(int), rng.normal(size=(20, 2))
    options = {"scaling": "plain", "kernel": "rbf", "gamma": 1.0, "mu": 0.1, "form": "rkhs"}
    by_cells, exact = (
        KCRCClassifier(12, decision="residual", locality="atoms", search=search, **options).fit(X, y).explain(Q)
        for search in ("cells", "exact")
    )
    assert by_cells.search == "exact"
    np.testing.assert_array_equal(by_cells.rows, exact.rows)
    np.testing.assert_array_equal(by_cells.residuals, exact.residuals)
