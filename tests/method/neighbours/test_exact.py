"""The readable search where examples differ in size: nothing is let go that rounding could hide; memory is bounded."""

from __future__ import annotations

import numpy as np
import pytest

from kcrc.method.distances.base import prepare_vectors
from kcrc.method.distances.pixel import Euclidean, Manhattan
from kcrc.method.neighbours import exact
from kcrc.method.neighbours.exact import ExactIndex


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(exact, "BLOCK", 50)
    monkeypatch.setattr(exact, "WIDEST", 60)


def brute(atoms: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    far = ((atoms[None] - queries[:, None]) ** 2).sum(-1)
    return np.lexsort((np.broadcast_to(np.arange(len(atoms)), far.shape), far), axis=-1)[:, :k]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("place", [0, 3, 120, 399])
def test_one_huge_example_among_others(place):
    """The screen's error is the largest seen: a block after that of the huge example is no more exact for it."""
    rng = np.random.default_rng(0)
    atoms, queries = rng.normal(size=(400, 7)), rng.normal(size=(6, 7))
    atoms[place] = 1e9
    found = ExactIndex(Euclidean(), prepare_vectors(atoms)).query(prepare_vectors(queries), 8)
    np.testing.assert_array_equal(found.rows, brute(atoms, queries, 8))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("distance", [Euclidean(), Manhattan()])
def test_no_table_of_all_pairs_where_all_are_equally_far(distance, monkeypatch):
    widest = []
    real = exact._within_reach

    def watched(values, *given):
        widest.append(values.shape[1])
        return real(values, *given)

    monkeypatch.setattr(exact, "_within_reach", watched)
    atoms = np.tile([[1.0, 0.0], [0.0, 1.0]], (1000, 1))
    found = ExactIndex(distance, prepare_vectors(atoms)).query(prepare_vectors(np.zeros((2, 2))), 5)
    np.testing.assert_array_equal(found.rows, [[0, 1, 2, 3, 4]] * 2)
    assert max(widest) <= 5 + 60 + 2 * 50
