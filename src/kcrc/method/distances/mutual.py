"""A distance as a kernel sees it: the mean of both directions where they differ.

A kernel has k(a, b) = k(b, a), and coders need a symmetric matrix of it. The search goes by the distance from the query
to the example alone, and so does a kernel's row of a query where that direction is meant (``Distance.directed``).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.distances.base import Distance
from kcrc.method.distances.pair_cache import PairCache, PairTable
from kcrc.method.preparation import Prepared


def is_mutual(distance: Distance) -> bool:
    """Whether a kernel of it measures both directions between queries and examples."""
    return any(not part.symmetric and not part.directed for part in distance.components.values())


def pairwise(distance: Distance, a: Prepared, b: Prepared) -> Array:
    """Of all pairs: (len(a), len(b))."""
    if not is_mutual(distance):
        return distance.pairwise(a, b)
    parts = []
    for name, part in distance.components.items():
        left, right = distance.part(a, name), distance.part(b, name)
        far = part.pairwise(left, right)
        parts.append((far + part.pairwise(right, left).T) / 2 if is_mutual(part) else far)
    return distance.combine(parts)


def rowwise(distance: Distance, a: Prepared, b: Prepared, rows: Array, known: Array | None = None) -> Array:
    """Of sample i of ``a`` with the samples ``rows[i]`` of ``b``: (B, K); ``known`` are those from ``a`` to ``b``,
    where the search has them."""
    if not is_mutual(distance):
        return distance.rowwise(a, b, rows) if known is None else known
    back = np.repeat(np.arange(len(rows)), rows.shape[1])[:, None]
    parts = []
    for name, part in distance.components.items():
        left, right = distance.part(a, name), distance.part(b, name)
        single = known is not None and part is distance
        far = np.asarray(known) if single else part.rowwise(left, right, rows)
        if is_mutual(part):
            far = (far + part.rowwise(right.take(rows.ravel()), left, back).reshape(rows.shape)) / 2
        parts.append(far)
    return distance.combine(parts)


def within(distance: Distance, atoms: Prepared, rows: Array, caches: Mapping[str, PairCache | PairTable]) -> Array:
    """Among the samples ``rows[i]`` of ``atoms``: (B, K, K); the components that have a cache are looked up there."""
    parts = []
    for name, part in distance.components.items():
        mine = distance.part(atoms, name)
        known = caches.get(name)
        among = part.within(mine, np.maximum(rows, 0)) if known is None else known.within(part, mine, rows)
        parts.append(both_ways(part, among))
    return distance.combine(parts)


def both_ways(distance: Distance, among: Array) -> Array:
    """Distances (…, K, K) among samples, the mean of both directions where they differ."""
    if distance.symmetric:
        return among
    mean = np.asarray((among + among.swapaxes(-1, -2)) / 2)
    if is_mutual(distance):  # a user's function may give what it likes here; a cache never asks it
        diagonal = np.arange(mean.shape[-1])
        mean[..., diagonal, diagonal] = 0.0
    return mean
