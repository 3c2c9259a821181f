"""What lies around a left-out example by any distance: single or unified, over all examples or coarse candidates.

Distances between examples by a costly distance come from the cache of pairs, which the fitted model takes over. Those
that have none come from a table where examples are few enough: every trial would measure thousands of them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.distances.base import Distance
from kcrc.method.distances.mutual import is_mutual, within
from kcrc.method.distances.pair_cache import PairCache, PairTable
from kcrc.method.neighbours.exact import ExactIndex
from kcrc.method.neighbours.refine import UnionIndex, union_ranks
from kcrc.method.preparation import Samples
from kcrc.tuning.left_out.exclusion import class_means, to_means

STORED = 4000  # examples of which all pairs are kept: 64 MB for each distance
MICROSECOND = 1e4  # the arithmetic of one
A_COORDINATE = 3e-4  # µs a coordinate of a pair takes


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The examples and how they are searched: what all geometries of a distance share."""

    samples: Samples
    labels: Array
    groups: Array
    coarse: tuple[Distance, int] | None = None
    pairs: Mapping[str, PairCache | PairTable] = field(default_factory=dict)

    def arithmetic(self, distance: Distance, name: str) -> float:
        """What a pair takes by the component ``name``, roughly."""
        part, kept = distance.components[name], distance.part(self.samples.of(distance), name)
        if part.given_as_matrix:
            return 0.0
        coordinates = sum(values[:1].size for values in kept.parts.values())
        return MICROSECOND * max(part.cost, A_COORDINATE * coordinates)

    def with_tables(self, distance: Distance, work: float, n_jobs: int | None) -> Surroundings:
        """With a table for each component of ``distance`` that has no cache, where ``work`` is enough for all."""
        n = len(self.labels)
        open_ = {name: part for name, part in distance.components.items() if name not in self.pairs}
        if n > STORED or n * n * sum(self.arithmetic(distance, name) for name in open_) > work:
            return self
        kept = self.samples.of(distance)
        tables = {name: PairTable.of(part, distance.part(kept, name), n_jobs) for name, part in open_.items()}
        return replace(self, pairs={**self.pairs, **tables})

    def candidates(self, which: Array) -> Array:
        """Rows (B, C) that may enter the dictionary of each left-out example, −1 for those that may not: its group,
        and all but the ``n_candidates`` nearest others where the search is coarse to fine."""
        n = len(self.labels)
        if self.coarse is None:
            rows = np.broadcast_to(np.arange(n), (len(which), n))
            return np.where(self.groups[which][:, None] == self.groups[None, :], -1, rows)
        distance, count = self.coarse
        kept = self.samples.of(distance)
        union = distance.is_union
        index = UnionIndex.over(distance, kept, ExactIndex) if union else ExactIndex(distance, kept)
        spare = int(np.bincount(self.groups)[self.groups[which]].max())
        near = index.query(kept.take(which), min(n, count + spare)).rows
        near = np.where(self.groups[which][:, None] == self.groups[np.maximum(near, 0)], -1, near)
        order = np.argsort(near < 0, axis=1, kind="stable")[:, :count]  # the nearest that remain
        return np.take_along_axis(near, order, 1)

    def measure(self, distance: Distance, name: str, which: Array, rows: Array) -> Array:
        """Distances (B, C) of ``which`` to ``rows`` by the component ``name``; ∞ where a row is −1."""
        if name in self.pairs or self.coarse is not None:
            far = self._between(distance, name, which, rows)
        else:
            kept = distance.part(self.samples.of(distance), name)
            far = distance.components[name].pairwise(kept.take(which), kept)
        return np.where(rows >= 0, far, np.inf)

    def _between(self, distance: Distance, name: str, which: Array, rows: Array) -> Array:
        """Distances (B, C) of ``which`` to ``rows``, those and no others; anything where a row is −1."""
        part, kept = distance.components[name], distance.part(self.samples.of(distance), name)
        if name in self.pairs:
            return self.pairs[name].rowwise(part, kept, which, rows)
        return part.rowwise(kept.take(which), kept, np.maximum(rows, 0))

    def facing(self, distance: Distance, which: Array, rows: Array, far: Array) -> Array:
        """Distances (B, W) of ``which`` and ``rows`` as a kernel sees them; ``far`` are those from ``which``."""
        if not is_mutual(distance):
            return far
        parts = []
        for name, part in distance.components.items():
            one_way = self._between(distance, name, which, rows)
            if is_mutual(part):
                back = np.repeat(which, rows.shape[1])[:, None]
                other = self._between(distance, name, np.maximum(rows, 0).ravel(), back)
                one_way = (one_way + other.reshape(rows.shape)) / 2
            parts.append(one_way)
        return distance.combine(parts)

    def dictionaries(self, distance: Distance, which: Array, width: int) -> tuple[Array, Array, Array | None]:
        """Rows (B, W), nearest first, −1 for padding, their distances (B, W), and for a unified distance the rank of
        each row (B, W): it is in the union of the K nearest of each member when that is below K, and all below
        ``width`` are there."""
        rows = self.candidates(which)
        parts = [self.measure(distance, name, which, rows) for name in distance.components]
        far = distance.combine(parts)
        if len(parts) == 1:
            rank, order = None, np.lexsort((rows, far), axis=-1)[:, :width]
        else:
            rank = np.where(rows >= 0, union_ranks(parts, rows), far.shape[1])
            wanted = max(1, int((rank < width).sum(axis=1).max()))
            order = np.lexsort((rows, far, rank >= width), axis=-1)[:, :wanted]
            rank = np.take_along_axis(rank, order, 1)
        return np.take_along_axis(rows, order, 1), np.take_along_axis(far, order, 1), rank

    @cached_property
    def _means(self) -> Samples:
        return class_means(self.samples.X, self.labels, int(self.labels.max()) + 1)

    def whole_classes(self, distance: Distance, which: Array, n_classes: int) -> tuple[Array, Array, Array]:
        """Rows (B, W) of all examples of the classes with the nearest mean but those of the example's group, nearest
        first, −1 for padding; their distances (B, W), and how near their class is (B, W)."""
        X, asked = self.samples.X, self.samples.take(which)
        far_means = to_means(distance, X, self.labels, self._means, which, self.groups, asked)
        near = np.argsort(far_means, axis=1, kind="stable")[:, :n_classes]
        place = np.full(far_means.shape, -1)
        np.put_along_axis(place, near, np.broadcast_to(np.arange(near.shape[1]), near.shape), axis=1)
        place[~np.isfinite(far_means)] = -1
        rank = np.where(self.groups[which][:, None] == self.groups, -1, place[:, self.labels])
        width = max(1, int((rank >= 0).sum(axis=1).max()))
        rows = np.argsort(rank < 0, axis=1, kind="stable")[:, :width]
        rank = np.take_along_axis(rank, rows, 1)
        far = distance.combine([self._between(distance, name, which, rows) for name in distance.components])
        rows, far = np.where(rank >= 0, rows, -1), np.where(rank >= 0, far, np.inf)
        order = np.lexsort((rows, far), axis=-1)
        rank = np.where(rank >= 0, rank, len(self.labels))
        return tuple(np.take_along_axis(part, order, 1) for part in (rows, far, rank))  # type: ignore[return-value]

    def within(self, distance: Distance, rows: Array) -> Array:
        """Distances (B, W, W) among ``rows``."""
        return within(distance, self.samples.of(distance), rows, self.pairs)


# What lies around a left-out example among vectors, and the nearest of it.

Measured = tuple[Array, Array, Array | None, Array | None]
"""Of some examples to all, each (B, n): dot products, squared lengths, projections on the removed direction, scale."""


@dataclass(frozen=True, eq=False)
class Around:
    """What lies around one left-out example, each (W,): rows and how near their class is (whole-class dictionaries),
    their dot products with it, squared lengths, projections on the removed direction, and scale to unit length."""

    rows: Array
    rank: Array | None
    dot: Array
    squares: Array
    along: Array | None
    scale: Array | None


def smallest(far: Array, width: int) -> Array:
    """Places (B, width) of the smallest of each line, ascending, equal ones in their order."""
    if width >= far.shape[1]:
        return np.argsort(far, axis=1, kind="stable")
    rows = np.argpartition(far, width - 1, axis=1)[:, :width]
    values = np.take_along_axis(far, rows, 1)
    rows = np.take_along_axis(rows, np.lexsort((rows, values), axis=-1), 1)
    # Of several that are equally far and not all among the nearest, the partition took any.
    for at in np.flatnonzero((far <= values.max(axis=1)[:, None]).sum(axis=1) > width):
        rows[at] = np.argsort(far[at], kind="stable")[:width]
    return rows


def pick(measured: Measured, at: int, rows: Array, rank: Array | None) -> Around:
    """What was measured of example number ``at`` and ``rows``."""
    products, norms, along, scale = (None if part is None else part[at][rows] for part in measured)
    assert products is not None and norms is not None
    return Around(rows, rank, products, norms, along, scale)


def cut(around: Around, which: slice | Array) -> Around:
    """Some of what lies around an example."""
    parts: dict[str, Any] = {name: None if part is None else part[which] for name, part in vars(around).items()}
    return Around(**parts)
