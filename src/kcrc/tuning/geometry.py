"""The geometry of leave-one-out trials: how the stored examples lie around each of them, itself left out.

A trial asks a stored example as if it were new: its dictionary comes from the others, without itself and its group
(exact duplicates, and what the caller says belongs together). Trials hold squared distances and dot products of a
dictionary large enough for every setting on the grid; kernels, sizes and penalties are tried on them afterwards.

The within-class metric is fitted with labels, so the example must leave the covariance too. With S = L Lᵀ the shrunk
covariance, u = L⁻¹(xᵢ − mean of its class) and S₋ᵢ = S − a xᵢ-part, Sherman and Morrison give S₋ᵢ⁻¹ exactly: in
whitened coordinates every dot product z_j·z_l gains β (u·z_j)(u·z_l), β = a / (1 − a‖u‖²). No second fit is needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from kcrc.distances.base import Distance
from kcrc.kernels import Kernel
from kcrc.metrics import Metric, Within, within_deviations
from kcrc.prepared import Array, Samples
from kcrc.tuning.surroundings import Surroundings


@dataclass(frozen=True, eq=False)
class Trials:
    """B examples left out, each with a dictionary of up to W of the others, nearest first.

    labels  (B, W)     class numbers, −1 for padding
    truth   (B,)       the left-out examples' own
    cross   (B, W)     Dist (squared) of the example to its dictionary; None where a fixed kernel is given
    among   (B, W, W)  Dist (squared) inside the dictionary
    dot, dots, self_dot  the same for dot products, where the linear kernel is tried; for a fixed kernel its values
    rank    (B, W)     for whole-class dictionaries: how near the atom's class is (0 = nearest); for unions of the
                       nearest of several distances: the atom's best place among them
    asked, atoms       (B, d) and (B, W, d), the vectors themselves, for coders that look at their entries
    """

    labels: Array
    truth: Array
    cross: Array | None
    among: Array | None
    dot: Array | None
    dots: Array | None
    self_dot: Array | None
    rank: Array | None = None
    asked: Array | None = None
    atoms: Array | None = None


class Geometry(ABC):
    """Makes trials, for one metric or distance."""

    members = 1  # distances whose nearest examples make up a dictionary: it has up to so many times n_neighbors atoms

    def __init__(self, labels: Array, groups: Array, width: int) -> None:
        self.labels = labels.astype(np.int32)
        self.groups = groups
        self.width = max(1, min(width, len(labels) - 1))

    @abstractmethod
    def trials(self, which: Array) -> Trials:
        """The examples ``which`` (row numbers) left out, dictionaries of the nearest examples."""

    def class_trials(self, which: Array, n_classes: int) -> Trials | None:
        """The same with all examples of the nearest classes; None where class means are not to be had."""
        return None

    def _nearest(self, distances: Array, which: Array) -> tuple[Array, Array]:
        """Rows (B, W) of the nearest that are in another group, and which of them are real."""
        distances = np.array(distances)
        distances[self.groups[which][:, None] == self.groups[None, :]] = np.inf
        width = self.width
        rows = np.argpartition(distances, width - 1, axis=1)[:, :width]
        order = np.lexsort((rows, np.take_along_axis(distances, rows, 1)), axis=-1)
        rows = np.take_along_axis(rows, order, 1)
        return rows, np.isfinite(np.take_along_axis(distances, rows, 1))


class VectorGeometry(Geometry):
    """Euclidean geometry of the examples under a metric, with the exact leave-one-out correction of ``Within``."""

    def __init__(self, metric: Metric, X: Array, labels: Array, groups: Array, width: int) -> None:
        super().__init__(labels, groups, width)
        self.metric = metric
        self.keeps_vectors = False
        self.unit = isinstance(metric, Within) and metric.unit
        self.directions: Array | None = None
        if isinstance(metric, Within):
            self.Z = metric.whitened(X)
            assert metric.whitening is not None
            deviations, sizes = within_deviations(X, labels)
            self.directions = deviations @ metric.whitening
            self.strength = _downdate(self.directions, sizes, labels, groups, metric.shrinkage)
        else:
            self.Z = metric.transform(X)
        self.squares = np.einsum("ij,ij->i", self.Z, self.Z)

    def _products(self, which: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Dot products (B, n) with all examples, their squared norms (B, n), the left-outs' own (B,), and the
        projections on the removed direction (B, n) with their strength (B,)."""
        Z = self.Z
        products = Z[which] @ Z.T
        norms = np.broadcast_to(self.squares, products.shape)
        own = self.squares[which]
        if self.directions is None:
            return products, norms, own, np.empty((len(which), 0)), np.zeros(len(which))
        along = self.directions[which] @ Z.T
        strength = self.strength[which].astype(Z.dtype)
        mine = along[np.arange(len(which)), which]
        products += strength[:, None] * mine[:, None] * along
        norms = norms + strength[:, None] * along**2
        own = own + strength * mine**2
        return products, norms, own, along, strength

    def _measured(self, which: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Like ``_products`` after scaling to unit length, and the scale (B, n)."""
        products, norms, own, along, strength = self._products(which)
        if not self.unit:
            return products, norms, own, along, strength, np.ones((1, 1), products.dtype)
        tiny = np.finfo(products.dtype).tiny
        scale = 1.0 / np.sqrt(np.maximum(norms, tiny))
        products *= scale
        products /= np.sqrt(np.maximum(own, tiny))[:, None]
        return products, np.minimum(norms * scale**2, 1.0), np.ones_like(own), along, strength, scale

    def _local(self, which: Array, rows: Array, real: Array, measured: tuple[Array, ...], rank: Array | None) -> Trials:
        products, norms, own, along, strength, scale = measured
        atoms = self.Z[rows]
        dots = atoms @ atoms.transpose(0, 2, 1)
        if self.directions is not None:
            part = np.take_along_axis(along, rows, 1)
            dots += strength[:, None, None] * part[:, :, None] * part[:, None, :]
        if self.unit:
            local = np.take_along_axis(scale, rows, 1)
            dots *= local[:, :, None]
            dots *= local[:, None, :]
        dot = np.take_along_axis(products, rows, 1)
        squares = np.take_along_axis(np.broadcast_to(norms, products.shape), rows, 1)
        cross = np.maximum(own[:, None] + squares - 2.0 * dot, 0.0)
        diagonal = np.einsum("bkk->bk", dots)
        among = np.maximum(diagonal[:, :, None] + diagonal[:, None, :] - 2.0 * dots, 0.0)
        labels = np.where(real, self.labels[rows], -1).astype(np.int32)
        vectors = (self.Z[which], atoms) if self.keeps_vectors else (None, None)
        return Trials(labels, self.labels[which], cross, among, dot, dots, own, rank, *vectors)

    def trials(self, which: Array) -> Trials:
        measured = self._measured(which)
        products, norms, own = measured[:3]
        rows, real = self._nearest(own[:, None] + norms - 2.0 * products, which)
        return self._local(which, rows, real, measured, None)

    def class_trials(self, which: Array, n_classes: int) -> Trials:
        measured = self._measured(which)
        products = measured[0]
        near = self._nearest_classes(which, products, n_classes)
        chosen = []
        for i, classes in zip(which, near, strict=True):
            rank_of = np.full(int(self.labels.max()) + 1, -1)
            rank_of[classes] = np.arange(len(classes))
            rank = rank_of[self.labels]
            rank[self.groups == self.groups[i]] = -1
            rows = np.flatnonzero(rank >= 0)
            chosen.append((rows, rank[rows]))
        widest = max(len(rows) for rows, _ in chosen)
        rows = np.zeros((len(which), widest), np.intp)
        rank = np.full((len(which), widest), n_classes)
        for at, (mine, ranks) in enumerate(chosen):
            rows[at, : len(mine)] = mine
            rank[at, : len(mine)] = ranks
        return self._local(which, rows, rank < n_classes, measured, rank)

    def _nearest_classes(self, which: Array, products: Array, n_classes: int) -> Array:
        """(B, c) the classes with the nearest mean, the example and its group left out of their own class's mean."""
        n_all = int(self.labels.max()) + 1
        member = np.zeros((len(self.labels), n_all), products.dtype)
        member[np.arange(len(self.labels)), self.labels] = 1.0
        counts = member.sum(axis=0)
        Z = self.Z / np.sqrt(np.maximum(self.squares, np.finfo(self.Z.dtype).tiny))[:, None] if self.unit else self.Z
        sums = member.T @ Z
        mean_products = products @ member
        squared = np.einsum("cd,cd->c", sums, sums)
        totals = np.broadcast_to(counts, mean_products.shape).copy()
        lengths = np.broadcast_to(squared, mean_products.shape).copy()
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


def _downdate(directions: Array, sizes: Array, labels: Array, groups: Array, shrinkage: float) -> Array:
    """β (n,) of each example: what its removal (with its exact duplicates in the class) does to the inverse."""
    return strengths(directions, removed_weights(sizes, labels, groups, shrinkage))


def removed_weights(sizes: Array, labels: Array, groups: Array, shrinkage: float) -> Array:
    """a (n,): how much of its outer product each example takes along from the shrunk covariance when it leaves."""
    freedom = max(1, len(labels) - len(np.unique(labels)))
    _, first, copies = np.unique(np.stack([groups, labels]), axis=1, return_inverse=True, return_counts=True)
    equal = np.minimum(copies[first.ravel()], np.maximum(sizes - 1, 1))
    # Removing m equal examples from a class of n_c takes m n_c / (n_c − m) of their outer product off the scatter.
    weight = (1.0 - shrinkage) / freedom * equal * sizes / np.maximum(1, sizes - equal)
    return np.where(sizes > 1, weight, 0.0)


def strengths(directions: Array, weights: Array) -> Array:
    """β (n,) = a / (1 − a‖u‖²)."""
    reach = weights * np.einsum("ij,ij->i", directions, directions)
    return np.asarray(weights / np.maximum(1.0 - reach, 0.05))


class MeasuredGeometry(Geometry):
    """The geometry of any distance."""

    def __init__(
        self,
        distance: Distance,
        X: Array | Surroundings,
        labels: Array,
        groups: Array,
        width: int,
    ) -> None:
        super().__init__(labels, groups, width)
        self.distance = distance
        self.around = X if isinstance(X, Surroundings) else Surroundings(Samples(X), labels, groups)
        self.members = len(distance.components)

    def _classes(self, rows: Array) -> Array:
        return np.where(rows >= 0, self.labels[np.maximum(rows, 0)], -1).astype(np.int32)


class DistanceGeometry(MeasuredGeometry):
    """For the kernel that is made from the distance."""

    def _powered(self, values: Array) -> Array:
        return np.asarray(values**2 if self.distance.power == 2 else values, np.float32)

    def trials(self, which: Array) -> Trials:
        rows, far, rank = self.around.dictionaries(self.distance, which, self.width)
        cross = self._powered(np.where(rows >= 0, far, 0.0))
        among = self._powered(self.around.within(self.distance, rows))
        return Trials(self._classes(rows), self.labels[which], cross, among, None, None, None, rank)


class KernelGeometry(MeasuredGeometry):
    """A kernel that is given and not searched: its values stand in for the dot products."""

    def __init__(
        self,
        distance: Distance,
        kernel: Kernel,
        X: Array | Surroundings,
        labels: Array,
        groups: Array,
        width: int,
    ) -> None:
        super().__init__(distance, X, labels, groups, width)
        self.kernel = kernel

    def trials(self, which: Array) -> Trials:
        rows, _, rank = self.around.dictionaries(self.distance, which, self.width)
        alike, near = self.around.samples.of(self.kernel), np.maximum(rows, 0)
        asked = alike.take(which)
        dot = np.asarray(self.kernel.cross(asked, alike, near), np.float32)
        dots = np.asarray(self.kernel.local(alike, near), np.float32)
        own = self.kernel.diagonal(asked)
        return Trials(self._classes(rows), self.labels[which], None, None, dot, dots, own, rank)


def duplicate_groups(X: Array, groups: Array | None) -> Array:
    """Group numbers (n,): exact duplicates share one, and so do examples that ``groups`` puts together."""
    view = np.ascontiguousarray(X).view(np.dtype((np.void, X.dtype.itemsize * X.shape[1]))).ravel()
    _, number = np.unique(view, return_inverse=True)
    if groups is None:
        return np.asarray(number.ravel())
    _, given = np.unique(np.asarray(groups), return_inverse=True)
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n = len(X)  # examples, duplicates and given groups are one graph; its components are the groups
    links = coo_matrix(
        (np.ones(2 * n), (np.tile(np.arange(n), 2), np.concatenate([n + number.ravel(), 2 * n + given.ravel()]))),
        shape=(3 * n, 3 * n),
    )
    return np.asarray(connected_components(links, directed=False)[1][:n])
