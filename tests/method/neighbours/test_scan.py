"""The compiled search against brute force in float64: the same rows, ties by row, whatever the storage or the batch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcrc.method.distances.base import prepare_vectors
from kcrc.method.distances.pixel import Correlation, Cosine, Euclidean, Mahalanobis, SquaredEuclidean
from kcrc.method.neighbours import scan
from kcrc.method.neighbours.exact import ExactIndex
from kcrc.method.neighbours.scan import Scan, ScanIndex, index_for

pytestmark = pytest.mark.skipif(scan.native is None, reason="the compiled module is not built")
BUDGET = 10**9


def brute(atoms: np.ndarray, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """All squared distances by differences in float64, sorted by (distance, row)."""
    A, Q = atoms.astype(np.float64), queries.astype(np.float64)
    squared = np.array([((A - q) ** 2).sum(axis=1) for q in Q]).reshape(len(Q), len(A))
    rows = np.array([np.lexsort((np.arange(len(A)), line)) for line in squared]).reshape(len(Q), len(A))[:, :k]
    return rows, np.take_along_axis(squared, rows, 1)


def clustered(n: int, d: int, seed: int = 0, rank: int = 12) -> np.ndarray:
    """Rows near a subspace, so that a few components tell most of the distance."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)) + 0.1 * rng.normal(size=(n, d)) + 3.0


LAYOUTS = ["made", "coded", "leading"]


def laid_out(monkeypatch, layout: str) -> None:
    """Make the choice certain: nothing stored, codes of all coordinates, or of leading ones."""
    monkeypatch.setattr(scan, "CODES_PAY_FROM", 10**12 if layout == "made" else 0)
    monkeypatch.setattr(scan, "PRUNING_PAYS_FROM", 0 if layout == "leading" else 10**12)
    monkeypatch.setattr(scan, "TYPICAL_K", 1)
    monkeypatch.setattr(scan, "MEASURING", 0.5 if layout == "leading" else 0.0)


@pytest.fixture
def always_leading(monkeypatch):
    laid_out(monkeypatch, "leading")


def made(atoms: np.ndarray, layout: str) -> Scan:
    made = Scan.over(atoms, budget=BUDGET)
    assert made is not None
    assert (made.codes is not None) == (layout != "made")
    assert (made.basis is not None) == (layout == "leading")
    return made


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("n", "k"), [(400, 1), (1500, 7), (1500, 1500), (2500, 600)])
@pytest.mark.parametrize("batch", [1, 2, 3, 70])
def test_equals_brute_force(dtype, layout, n, k, batch, monkeypatch):
    laid_out(monkeypatch, layout)
    atoms = clustered(n, 60).astype(dtype)
    queries = clustered(batch, 60, seed=1).astype(np.promote_types(dtype, np.float32))
    rows, squared = made(atoms, layout).nearest(atoms, queries, k)
    true_rows, true_squared = brute(atoms, queries, k)
    np.testing.assert_array_equal(rows, true_rows)
    np.testing.assert_allclose(squared, true_squared, rtol=1e-12)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6), n=st.integers(1, 300), d=st.integers(1, 40), batch=st.integers(1, 9),
    high=st.integers(0, 3), k=st.integers(1, 300), layout=st.sampled_from(LAYOUTS),
)  # fmt: skip
def test_ties_are_broken_by_row(seed, n, d, batch, high, k, layout):
    """Small whole numbers: distances are exact, and most of them tie."""
    rng = np.random.default_rng(seed)
    atoms = rng.integers(0, high + 1, (n, d)).astype(np.float32)
    queries = rng.integers(0, high + 1, (batch, d)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        laid_out(patch, layout)
        searching = Scan.over(atoms, budget=BUDGET)
    rows, squared = searching.nearest(atoms, queries, min(k, n))
    true_rows, true_squared = brute(atoms, queries, min(k, n))
    np.testing.assert_array_equal(rows, true_rows)
    np.testing.assert_array_equal(squared, true_squared)


@pytest.mark.usefixtures("always_leading")
@pytest.mark.parametrize("shift", [0.0, 1e4])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_pruning_survives_rounding(shift, size):
    """Examples a hair apart, far from the origin or not: the bound may not rule out what rounding could hide."""
    rng = np.random.default_rng(0)
    base = clustered(1, 64)
    atoms = size * (shift + base + 1e-7 * rng.normal(size=(1200, 64)))
    atoms[::7] = size * (shift + clustered(len(atoms[::7]), 64, seed=2))
    queries = atoms[:40] + size * 1e-8 * rng.normal(size=(40, 64))
    rows, squared = Scan.over(atoms, budget=BUDGET).nearest(atoms, queries, 20)
    true_rows, true_squared = brute(atoms, queries, 20)
    np.testing.assert_allclose(squared, true_squared, rtol=1e-9)
    assert (rows == true_rows).mean() > 0.999


@pytest.mark.usefixtures("always_leading")
def test_a_query_from_elsewhere():
    atoms = clustered(1500, 64).astype(np.float32)
    queries = np.concatenate([clustered(3, 64, seed=4) * scale for scale in (0.0, 1e3, 1e8, 1e17)]).astype(np.float32)
    _, squared = Scan.over(atoms, budget=BUDGET).nearest(atoms, queries, 5)
    _, true_squared = brute(atoms, queries, 5)
    np.testing.assert_allclose(squared, true_squared, rtol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_answer_does_not_depend_on_its_batch(layout, monkeypatch):
    laid_out(monkeypatch, layout)
    atoms, queries = clustered(1700, 48).astype(np.float32), clustered(300, 48, seed=3).astype(np.float32)
    searching = made(atoms, layout)
    rows, squared = searching.nearest(atoms, queries, 30)
    for part in (slice(0, 1), slice(5, 7), slice(100, 163), slice(299, 300)):
        some_rows, some_squared = searching.nearest(atoms, queries[part], 30)
        np.testing.assert_array_equal(some_rows, rows[part])
        np.testing.assert_array_equal(some_squared, squared[part])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_adding_and_removing(layout, monkeypatch):
    laid_out(monkeypatch, layout)
    rng = np.random.default_rng(5)
    atoms, queries = clustered(1300, 40), clustered(20, 40, seed=6)
    index = ScanIndex(Euclidean(), prepare_vectors(atoms), made(atoms, layout))
    first, first_atoms = index, atoms
    basis = index.scan.basis
    for step in range(6):
        if step % 2 == 0:
            new = clustered(rng.integers(1, 400), 40, seed=10 + step) * (1 + 3 * step)
            atoms = np.concatenate([atoms, new])
            index = index.append(prepare_vectors(atoms))
        else:
            keep = rng.random(len(atoms)) < 0.7
            atoms = atoms[keep]
            index = index.keep(prepare_vectors(atoms), keep)
        assert isinstance(index, ScanIndex)
        assert index.scan.basis is basis  # kept, not made anew
        rows, squared = index.query_squared(queries, 25)
        true_rows, true_squared = brute(atoms, queries, 25)
        np.testing.assert_array_equal(rows, true_rows)
        np.testing.assert_allclose(squared, true_squared, rtol=1e-12)
    rows, _ = first.query_squared(queries, 25)  # an index is a value: the first one still answers as it did
    np.testing.assert_array_equal(rows, brute(first_atoms, queries, 25)[0])


@pytest.mark.usefixtures("always_leading")
def test_two_indexes_grown_from_one():
    atoms, queries = clustered(600, 40), clustered(9, 40, seed=1)
    index = ScanIndex(Euclidean(), prepare_vectors(atoms), made(atoms, "leading")).append(
        prepare_vectors(atoms := np.concatenate([atoms, clustered(30, 40, seed=2)]))
    )
    for seed in (3, 4):
        longer = np.concatenate([atoms, clustered(20, 40, seed=seed)])
        rows, _ = index.append(prepare_vectors(longer)).query_squared(queries, 10)
        np.testing.assert_array_equal(rows, brute(longer, queries, 10)[0])


@pytest.mark.parametrize("distance", [SquaredEuclidean(), Euclidean(), Cosine(), Correlation(), Mahalanobis()])
@pytest.mark.parametrize("n", [30, 900])
def test_equals_the_readable_index(distance, n):
    atoms, queries = clustered(n, 30), clustered(11, 30, seed=8)
    queries[4] = 0.0  # no direction
    distance = distance.fit(atoms, np.zeros(n), sample_shape=(30,))
    known, asked = distance.prepare(atoms), distance.prepare(queries)
    index = index_for(distance, known, budget=BUDGET)
    assert isinstance(index, ScanIndex)
    for k in (1, 9, 10**6):
        fast, slow = index.query(asked, k), ExactIndex(distance, known).query(asked, k)
        np.testing.assert_array_equal(fast.rows, slow.rows)
        np.testing.assert_allclose(fast.distances, slow.distances, rtol=1e-9, atol=1e-12)


def test_what_the_scan_cannot_do_goes_the_readable_way():
    atoms = clustered(50, 10)
    atoms[7] = 0.0
    assert isinstance(index_for(Cosine(), Cosine().prepare(atoms), budget=BUDGET), ExactIndex)
    assert isinstance(index_for(Euclidean(), prepare_vectors(atoms * 1e200), budget=BUDGET), ExactIndex)
    index = index_for(Cosine(), Cosine().prepare(atoms[:7]), budget=BUDGET)
    assert isinstance(index.append(Cosine().prepare(atoms[:8])), ExactIndex)


def test_a_basis_is_kept_within_the_budget():
    atoms = clustered(4000, 1200).astype(np.float32)
    rich, poor = Scan.over(atoms, budget=BUDGET), Scan.over(atoms, budget=100_000)
    assert rich.basis is not None
    assert poor.codes is None


@pytest.mark.parametrize("broken", ["k", "queries", "coordinates", "codes"])
def test_wrong_arrays_are_refused(broken):
    atoms = np.zeros((100, 8), np.float32)
    good = {
        "vectors": atoms, "queries": atoms[:3], "k": 5, "coordinates": atoms[:3], "square": np.zeros(3),
        "rounding": np.zeros(3), "slack": np.zeros(3), "scale": 1.0, "centre": np.zeros(8, np.float32),
    }  # fmt: skip
    scan.native.nearest(**good)
    bad = {
        "k": {"k": 101}, "queries": {"queries": atoms[:3, :4]}, "coordinates": {"coordinates": np.zeros((3, 8))},
        "codes": {"codes": np.zeros((1, 2, 8, 8), np.uint8)},
    }[broken]  # fmt: skip
    with pytest.raises(ValueError, match=r"is|lies"):
        scan.native.nearest(**{**good, **bad})
