"""How many of the nearest an approximate search finds: asked of stored examples, each without itself.

The search looks as hard as the first examples show to be enough; others then tell what that comes to, so that what is
said of it was not chosen for. A neighbour counts as found where something as near was found: of examples equally far,
any will do.

Examples with more copies than neighbours are wanted would find those and say that all is well, while a graph in which
copies know only each other leads no query there. So where they are many nothing is estimated. Nor is a search taken
that finds less than half: where examples are of very different size, a library's few digits tell hardly any apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import floor

import numpy as np

from kcrc._base.arrays import Array, widen
from kcrc._base.parallel import over_chunks, worker_count

Search = Callable[[Array, int], tuple[Array, Array]]
"""Queries (B, d) and k -> rows and squared distances (B, k)."""

TARGET = 0.98
CHOOSING, ESTIMATING = 200, 500  # examples
CROWDED = 0.05  # share of examples with so many copies
LEAST = 0.5  # of the nearest that a search has to find to be one
SEED = 0


@dataclass(frozen=True)
class Recall:
    """The share of the nearest that is found, and by how many examples that is known."""

    share: float
    asked: int

    @property
    def words(self) -> str:
        if not self.asked:
            return "how many of the nearest it finds is not known"
        return f"finds {floor(1000 * self.share) / 10:.1f} % of the nearest (estimated on {self.asked} examples)"


UNKNOWN = Recall(1.0, 0)


def least_effort(
    vectors: Array,
    k: int,
    exact: Search,
    by_effort: Callable[[int], Search],
    efforts: Iterable[int],
    n_jobs: int | None,
) -> tuple[int, Recall] | None:
    """The least effort that finds the share wanted of the k nearest, or else the last, and what it finds; None where
    that is too little, or too many examples are copies for it to be known."""
    n = len(vectors)
    picked = np.random.default_rng(SEED).permutation(n)[: CHOOSING + ESTIMATING]
    cut = min(CHOOSING, len(picked) // 3)
    k = min(k, n - 1)
    asked = widen(vectors[picked])
    reach = _others(picked, exact, asked, k, n_jobs)[:, -1:] if k else np.empty((len(picked), 0))

    if k and np.mean(reach == 0.0) > CROWDED:
        return None

    def share_found(part: slice, search: Search) -> float:
        return float(np.mean(_others(picked[part], search, asked[part], k, n_jobs) <= reach[part]))

    choosing, telling = slice(0, cut), slice(cut, None)
    for effort in efforts:
        if not cut or not k or share_found(choosing, by_effort(effort)) >= TARGET:
            break
    if not k:
        return effort, UNKNOWN
    share = share_found(telling, by_effort(effort))
    return (effort, Recall(share, len(picked) - cut)) if share >= LEAST else None


def _others(picked: Array, search: Search, queries: Array, k: int, n_jobs: int | None) -> Array:
    """(B, k) squared distances to what the search finds beside each query itself, ascending."""

    def piece(part: slice) -> Array:
        rows, squared = search(queries[part], k + 1)
        own = rows == picked[part, None]
        own[~own.any(axis=1), -1] = True  # others as near took its place: the farthest goes instead
        return np.asarray(squared[~own].reshape(len(rows), k))

    return np.concatenate(over_chunks(piece, len(picked), -(-len(picked) // worker_count(n_jobs)), n_jobs))
