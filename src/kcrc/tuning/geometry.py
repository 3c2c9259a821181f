"""The geometry of vectors under a metric: how the stored examples lie around each of them, itself left out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kcrc._fused.native import native
from kcrc.metrics import Metric, Within, within_deviations
from kcrc.prepared import Array
from kcrc.tuning.leverage import removed_weights, strengths
from kcrc.tuning.surroundings import STORED
from kcrc.tuning.trials import Geometry, Trials


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


class VectorGeometry(Geometry):
    """Euclidean geometry of the examples under a metric, with the exact leave-one-out correction of ``Within``.

    What was found around an example is kept: the search over settings asks for the same examples again and again.
    """

    def __init__(self, metric: Metric, X: Array, labels: Array, groups: Array) -> None:
        super().__init__(labels, groups)
        self.metric = metric
        self.keeps_vectors = False
        self.unit = isinstance(metric, Within) and metric.unit
        self.directions: Array | None = None
        if isinstance(metric, Within):
            self.Z = metric.whitened(X)
            assert metric.whitening is not None
            deviations, sizes = within_deviations(metric.ready(X), labels)
            self.directions = deviations @ metric.whitening
            self.strength = strengths(self.directions, removed_weights(sizes, labels, groups, metric.shrinkage)).astype(
                self.Z.dtype
            )
        else:
            self.Z = np.ascontiguousarray(metric.transform(X))
        self.squares = np.einsum("ij,ij->i", self.Z, self.Z)
        self.own = self.squares
        if self.directions is not None:
            self.own = self.squares + self.strength * np.einsum("ij,ij->i", self.directions, self.Z) ** 2
        if self.unit:
            self.own = np.ones_like(self.squares)
        # Dot products of all pairs are looked up where they are few: every trial would make them again.
        self.products = self.Z @ self.Z.T if len(X) <= STORED else None
        self._nearest: dict[int, Around] = {}
        self._classes: dict[int, tuple[int, Around]] = {}

    def cost(self, trials: int, width: float) -> float:
        n, d = self.Z.shape
        finding = (2.0 if self.directions is None else 4.0) * n * d + 30.0 * n
        pair = 6.0 if self.products is not None else d + 6.0
        return float(trials * (finding + width**2 / 2 * pair))

    def _measured(self, which: Array) -> tuple[Array, Array, Array | None, Array | None]:
        """To all examples, each (B, n): dot products, squared lengths, projections on the removed direction, scale."""
        products = self.Z[which] @ self.Z.T if self.products is None else self.products[which]
        norms = np.broadcast_to(self.squares, products.shape)
        along = None
        if self.directions is not None:
            along = self.directions[which] @ self.Z.T
            strength = self.strength[which]
            mine = along[np.arange(len(which)), which]
            products = products + (strength * mine)[:, None] * along
            norms = norms + strength[:, None] * along**2
        if not self.unit:
            return products, norms, along, None
        tiny = np.finfo(products.dtype).tiny
        scale = 1.0 / np.sqrt(np.maximum(norms, tiny))
        products *= scale * scale[np.arange(len(which)), which][:, None]
        return products, np.minimum(norms * scale**2, 1.0), along, scale

    def _around(self, which: Array, width: int) -> list[Around]:
        """The ``width`` nearest of each that are in another group; fewer where there are no more."""
        missing = np.array([i for i in which if i not in self._nearest or len(self._nearest[i].rows) < width], int)
        if len(missing):
            measured = self._measured(missing)
            far = measured[1] - 2.0 * measured[0]
            far[self.groups[missing][:, None] == self.groups[None, :]] = np.inf
            rows = np.argpartition(far, width - 1, axis=1)[:, :width]
            order = np.lexsort((rows, np.take_along_axis(far, rows, 1)), axis=-1)
            rows = np.take_along_axis(rows, order, 1)
            real = np.isfinite(np.take_along_axis(far, rows, 1))
            for at, i in enumerate(missing):
                self._nearest[i] = _picked(measured, at, rows[at][real[at]], None)
        return [self._nearest[i] for i in which]

    def _around_classes(self, which: Array, n_classes: int) -> list[Around]:
        """All examples of the nearest classes but those of its group."""
        missing = np.array([i for i in which if i not in self._classes or self._classes[i][0] < n_classes], int)
        if len(missing):
            measured = self._measured(missing)
            near = self._nearest_classes(missing, measured[0], n_classes)
            for at, (i, classes) in enumerate(zip(missing, near, strict=True)):
                rank_of = np.full(int(self.labels.max()) + 1, -1)
                rank_of[classes] = np.arange(len(classes))
                rank = rank_of[self.labels]
                rank[self.groups == self.groups[i]] = -1
                rows = np.flatnonzero(rank >= 0)
                rows = rows[np.argsort(rank[rows], kind="stable")]
                self._classes[i] = n_classes, _picked(measured, at, rows, rank[rows])
        found = [self._classes[i][1] for i in which]
        return [_cut(one, int(np.searchsorted(one.rank, n_classes))) for one in found if one.rank is not None]

    def trials(self, which: Array, width: int) -> Trials:
        width = max(1, min(width, len(self.labels) - 1))
        return self._local(which, [_cut(one, width) for one in self._around(which, width)])

    @property
    def has_folds(self) -> bool:  # type: ignore[override]
        return self.directions is None  # the correction of ``Within`` is another for each

    def fold(self, which: Array) -> Trials:
        rows = np.flatnonzero(~np.isin(self.groups, self.groups[which]))
        atoms, asked = self.Z[rows], self.Z[which]
        dot, squares, own = asked @ atoms.T, self.squares[rows], self.own[which]
        return Trials(
            labels=np.broadcast_to(self.labels[rows], dot.shape),
            truth=self.labels[which],
            cross=np.maximum(own[:, None] + squares - 2.0 * dot, 0.0),
            dot=dot,
            dots=(atoms @ atoms.T)[None],
            self_dot=own,
            squares=squares[None],
            asked=asked if self.keeps_vectors else None,
            atoms=atoms[None] if self.keeps_vectors else None,
        )

    def class_trials(self, which: Array, n_classes: int) -> Trials:
        return self._local(which, self._around_classes(which, n_classes))

    def _local(self, which: Array, around: list[Around]) -> Trials:
        widest = max(1, *(len(one.rows) for one in around))

        def stacked(values: list[Array], fill: float) -> Array:
            out = np.full((len(which), widest), fill, values[0].dtype)
            for at, one in enumerate(values):
                out[at, : len(one)] = one
            return out

        rows = stacked([one.rows for one in around], -1)
        real, rows = rows >= 0, np.maximum(rows, 0)
        dot, squares = stacked([one.dot for one in around], 0), stacked([one.squares for one in around], 0)
        along = None if self.directions is None else stacked([one.along for one in around if one.along is not None], 0)
        scale = stacked([one.scale for one in around if one.scale is not None], 0) if self.unit else None
        rank = None
        if around[0].rank is not None:
            rank = stacked([one.rank for one in around if one.rank is not None], len(self.labels))
        own = self.own[which]
        return Trials(
            labels=np.where(real, self.labels[rows], -1).astype(np.int32),
            truth=self.labels[which],
            cross=np.maximum(own[:, None] + squares - 2.0 * dot, 0.0),
            dot=dot,
            dots=self._products_among(which, rows, along, scale),
            self_dot=own,
            squares=squares,
            rank=rank,
            asked=self.Z[which] if self.keeps_vectors else None,
            atoms=self.Z[rows] if self.keeps_vectors else None,
        )

    def _products_among(self, which: Array, rows: Array, along: Array | None, scale: Array | None) -> Array:
        strength = None if along is None else self.strength[which]
        if native is not None:
            values = self.Z if self.products is None else self.products
            made = native.left_out_products(values, self.products is not None, rows, along, strength, scale)
            return np.asarray(made)
        atoms = self.Z[rows]
        dots = atoms @ atoms.transpose(0, 2, 1)
        if along is not None and strength is not None:
            dots += strength[:, None, None] * along[:, :, None] * along[:, None, :]
        if scale is not None:
            dots *= scale[:, :, None] * scale[:, None, :]
        return np.asarray(dots)

    @cached_property
    def _class_sums(self) -> tuple[Array, Array, Array]:
        """Membership (n, C), the vectors as they are compared (n, d), and their sums by class (C, d)."""
        member = np.zeros((len(self.labels), int(self.labels.max()) + 1), self.Z.dtype)
        member[np.arange(len(self.labels)), self.labels] = 1.0
        tiny = np.finfo(self.Z.dtype).tiny
        Z = self.Z / np.sqrt(np.maximum(self.squares, tiny))[:, None] if self.unit else self.Z
        return member, Z, member.T @ Z

    def _nearest_classes(self, which: Array, products: Array, n_classes: int) -> Array:
        """(B, c) the classes with the nearest mean, the example and its group left out of their own class's mean."""
        member, Z, sums = self._class_sums
        mean_products = products @ member
        totals = np.broadcast_to(member.sum(axis=0), mean_products.shape).copy()
        lengths = np.broadcast_to(np.einsum("cd,cd->c", sums, sums), mean_products.shape).copy()
        for at, i in enumerate(which):  # without the example's group: the sums of the classes it touches change
            mates = np.flatnonzero(self.groups == self.groups[i])
            for c in np.unique(self.labels[mates]):
                out = mates[self.labels[mates] == c]
                left = sums[c] - Z[out].sum(axis=0)
                mean_products[at, c] -= products[at, out].sum()
                totals[at, c] -= len(out)
                lengths[at, c] = left @ left
        with np.errstate(divide="ignore", invalid="ignore"):
            score = lengths / totals**2 - 2.0 * mean_products / totals
        score = np.where(totals > 0, score, np.inf)
        return np.argsort(score, axis=1, kind="stable")[:, :n_classes]


def _picked(
    measured: tuple[Array, Array, Array | None, Array | None], at: int, rows: Array, rank: Array | None
) -> Around:
    products, norms, along, scale = (None if part is None else part[at][rows] for part in measured)
    assert products is not None and norms is not None
    return Around(rows, rank, products, norms, along, scale)


def _cut(around: Around, width: int) -> Around:
    if len(around.rows) <= width:
        return around
    cut: dict[str, Any] = {name: None if part is None else part[:width] for name, part in vars(around).items()}
    return Around(**cut)
