"""What leaves with an example: its group, and its part of the within-class metric.

The within-class metric is fitted with labels, so an example that is asked as if it were new must leave the covariance
too (``kcrc.tuning.left_out.exclusion`` has the formula): every dot product z_j·z_l of whitened vectors gains
β (u·z_j)(u·z_l), as if each z had one more coordinate √β u·z. Where z is then scaled to unit length the gain may be
applied to the scaled vectors and the length taken again, so the stored vectors are enough.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from kcrc._base.arrays import Array, widen
from kcrc.method.distances.base import VECTORS, Distance, prepare_vectors
from kcrc.method.fitted_model import FittedModel
from kcrc.method.kernels import Kernel, VectorKernel
from kcrc.method.preparation import Prepared, Samples
from kcrc.method.scaling import tiled_product
from kcrc.tuning.left_out.sample import duplicate_groups, equal_rows, folds_of_small_classes

# What an example's leaving does to the within-class metric.
#
# The metric is fitted with labels, so an example that is asked as if it were new must leave the covariance too. With
# S = L Lᵀ the shrunk covariance, u = L⁻¹(xᵢ − mean of its class) and S₋ᵢ = S − a (xᵢ − mean)(xᵢ − mean)ᵀ, Sherman and
# Morrison give S₋ᵢ⁻¹ exactly: in whitened coordinates every dot product z_j·z_l gains β (u·z_j)(u·z_l),
# β = a / (1 − a‖u‖²). No second fit is needed.


def removed_weights(sizes: Array, labels: Array, groups: Array, shrinkage: float) -> Array:
    """a (n,): how much of its outer product each example takes along from the shrunk covariance when it leaves."""
    freedom = max(1, len(labels) - len(np.unique(labels)))
    _, first, copies = np.unique(np.stack([groups, labels]), axis=1, return_inverse=True, return_counts=True)
    equal = np.minimum(copies[first.ravel()], np.maximum(sizes - 1, 1))
    # Removing m equal examples from a class of n_c takes m n_c / (n_c − m) of their outer product off the scatter.
    weight = (1.0 - shrinkage) / freedom * equal * sizes / np.maximum(1, sizes - equal)
    return np.where(sizes > 1, weight, 0.0)


def strengths(directions: Array, weights: Array) -> Array:
    """β (n,) = a / (1 − a‖u‖²).

    What remains of the covariance is positive definite by its shrinkage, so 1 − a‖u‖² is above 0, however little is
    left of it where there are fewer examples than features. Only what rounding could have made of it is cut off.
    """
    exact = directions.astype(np.float64)
    reach = weights * np.einsum("ij,ij->i", exact, exact)
    return np.asarray(weights / np.maximum(1.0 - reach, np.sqrt(np.finfo(directions.dtype).eps)))


@dataclass(frozen=True, eq=False)
class Exclusion:
    """Who leaves with whom, by row number, as of the fit: examples added later were never in the covariance.

    ids, groups, labels (m,) of the examples of the fit; means (C, d) of their classes and weights (m,) where the
    metric is fitted with labels. ``in_folds``: the groups are folds, see ``sample.folds_of_small_classes``.
    """

    ids: Array
    groups: Array
    labels: Array
    means: Array | None
    weights: Array | None
    in_folds: bool = False

    @classmethod
    def of(cls, model: FittedModel, groups: Array | None = None, *, fixed: bool = False) -> Exclusion:
        """For a model just fitted; ``groups`` (n,) are examples that must leave together, beside exact duplicates.
        ``fixed``: the metric was fitted elsewhere, so that none leaves it."""
        raw, labels = model.raw, model.labels
        together = duplicate_groups(raw, groups)
        metric = model.method.scaling.by_class
        if fixed or metric is None:
            return cls(model.ids, together, labels, None, None)
        raw = metric.ready(raw)
        sizes = np.bincount(labels, minlength=len(model.classes))
        means = np.zeros((len(model.classes), raw.shape[1]))
        for c in range(len(means)):
            if sizes[c]:
                means[c] = raw[labels == c].mean(axis=0, dtype=np.float64)
        weights = removed_weights(sizes[labels], labels, together, metric.shrinkage)
        return cls(model.ids, together, labels, means, weights)

    def with_groups(self, model: FittedModel, groups: Array) -> Exclusion:
        """The same with these groups (n,) in place of its own."""
        at, known = self._places(model.ids)
        own = np.array(self.groups)
        own[at[known]] = groups[known]
        return replace(self, groups=own)

    def with_copies(self, model: FittedModel) -> Exclusion:
        """The same with exact duplicates as its only groups."""
        own = np.arange(len(self.ids))
        at, known = self._places(model.ids)
        own[at[known]] = len(own) + equal_rows(model.raw)[known]
        metric, weights = model.method.scaling.by_class, self.weights
        if weights is not None and metric is not None:
            weights = removed_weights(np.bincount(self.labels)[self.labels], self.labels, own, metric.shrinkage)
        return replace(self, groups=own, weights=weights)

    def with_folds(self, model: FittedModel) -> Exclusion:
        """The same where classes that are small leave in folds; this one where none is."""
        groups = self.groups_of(model)
        folds = folds_of_small_classes(model.labels, groups)
        return self if folds is groups else replace(self.with_groups(model, folds), in_folds=True)

    def _places(self, ids: Array) -> tuple[Array, Array]:
        """Where the examples ``ids`` stand here, and which of them were there at the fit."""
        at = np.minimum(np.searchsorted(self.ids, ids), max(0, len(self.ids) - 1))
        return at, self.ids[at] == ids

    def groups_of_rows(self, rows: Array) -> Array:
        """Group numbers (m,) of the examples with these row numbers; those that came after the fit are alone."""
        at, known = self._places(rows)
        return np.where(known, self.groups[at], int(self.groups.max(initial=0)) + 1 + np.arange(len(rows)))

    def groups_of(self, model: FittedModel) -> Array:
        """(n,) group numbers of the examples as they are now; later ones leave alone or with exact duplicates."""
        at, known = self._places(model.ids)
        if known.all():
            return np.asarray(self.groups[at])
        alone = int(self.groups.max()) + 1 + np.arange(len(model))
        return duplicate_groups(model.raw, np.where(known, self.groups[at], alone))

    def correction(self, model: FittedModel, which: Array) -> Removed | None:
        """What the covariance loses with the examples at ``which``; None where nothing has to be corrected."""
        metric = model.method.scaling.by_class
        if self.means is None or self.weights is None or metric is None or not _correctable(model):
            return None
        assert metric.whitening is not None
        at, known = self._places(model.ids[which])
        deviations = metric.ready(model.raw[which]) - self.means[self.labels[at]]
        directions = tiled_product(deviations, metric.whitening.astype(np.float64))
        weights = np.where(known, self.weights[at], 0.0)
        return Removed(directions, strengths(directions, weights), metric.unit)


def _correctable(model: FittedModel) -> bool:
    """Whether all that is judged follows from dot products."""
    method = model.method
    if not method.distance.is_euclidean or method.n_candidates is not None:
        return False
    if method.space.of_vectors:
        return not method.coder.needs_columns
    return profile_of(method.kernel) is not None


def profile_of(kernel: Kernel) -> VectorKernel | None:
    """The kernel as a function of dot products of the vectors themselves, where it is one."""
    return kernel.of_products if kernel.preparation == VECTORS else None


@dataclass(frozen=True, eq=False)
class Removed:
    """Directions u (B, d) and strengths β (B,) of B examples that leave; ``unit``: lengths are scaled to 1 again."""

    directions: Array
    strength: Array
    unit: bool

    def take(self, which: Array) -> Removed:
        return Removed(self.directions[which], self.strength[which], self.unit)

    def gains(self, vectors: Array, rows: Array | None = None) -> Array:
        """The additional coordinate √β u·z, (B, K): of all vectors (n, d), of each trial's own (B, K, d), or of those
        at its ``rows`` (B, K) among (n, d)."""
        u = self.directions.astype(np.promote_types(vectors.dtype, np.float32))
        if rows is not None:
            along = products_at(u, vectors, rows)
        else:
            along = u @ vectors.T if vectors.ndim == 2 else np.einsum("bd,bkd->bk", u, vectors)
        return np.asarray(along * np.sqrt(self.strength)[:, None].astype(u.dtype))

    def lengths(self, squares: Array, gains: Array) -> tuple[Array, Array]:
        """Squared lengths (B, K) and what vectors are divided by, (B, K)."""
        total = squares + gains**2
        if not self.unit:
            return total, np.ones_like(total)
        length = np.sqrt(np.maximum(total, np.finfo(total.dtype).tiny))
        return np.minimum(total / length**2, 1.0), length


def products_at(asked: Array, vectors: Array, rows: Array) -> Array:
    """(B, K) dot products of each of ``asked`` (B, d) with the ``vectors`` (n, d) at its own ``rows`` (B, K), in the
    precision of ``asked``: one after the other, since the rows of all at once would leave the processor's cache."""
    found = np.empty(rows.shape, asked.dtype)
    for one, mine, out in zip(asked, rows, found, strict=True):
        np.einsum("d,kd->k", one, vectors[mine].astype(asked.dtype, copy=False), out=out)
    return found


@dataclass(frozen=True, eq=False)
class TrialKernel(Kernel):
    """A kernel of dot products in the geometry each trial would have without its example: query i has its own.

    removed: what the geometry loses; products (n, n): the dot products of all examples, where they are few enough to be
    kept and trials need not make them again.
    """

    base: VectorKernel
    removed: Removed
    products: Array | None

    @property
    def preparation(self) -> Hashable:
        return VECTORS

    def prepare(self, X: Array) -> Prepared:
        return prepare_vectors(X)

    def gram(self, a: Prepared, b: Prepared) -> Array:
        raise NotImplementedError("Every trial has its own geometry: there is no kernel of all with all.")

    def _queries(self, queries: Prepared) -> tuple[Array, Array, Array]:
        gains = self.removed.gains(widen(queries["vectors"])[:, None])
        return gains, *self.removed.lengths(queries["squares"][:, None], gains)

    def diagonal(self, a: Prepared) -> Array:
        squares = self._queries(a)[1][:, 0]
        return self.base.profile(squares.copy(), squares, squares)

    def cross(self, queries: Prepared, atoms: Prepared, rows: Array) -> Array:
        gains = self.removed.gains(atoms["vectors"], rows)
        squares, lengths = self.removed.lengths(atoms["squares"][rows], gains)
        own_gain, own_square, own_length = self._queries(queries)
        dot = products_at(queries["vectors"], atoms["vectors"], rows) + own_gain * gains
        return self.base.profile(dot / (own_length * lengths), own_square, squares)

    def local(self, atoms: Prepared, rows: Array) -> Array:
        squares = atoms["squares"][rows]
        if self.products is not None:
            dot = self.products[rows[:, :, None], rows[:, None, :]]
        else:
            vectors = widen(atoms["vectors"][rows])
            dot = vectors @ vectors.transpose(0, 2, 1)
        gains = self.removed.gains(atoms["vectors"], rows)
        squares, lengths = self.removed.lengths(squares, gains)
        dot += gains[:, :, None] * gains[:, None, :]
        dot /= lengths[:, :, None] * lengths[:, None, :]
        return self.base.profile(dot, squares[:, :, None], squares[:, None, :])


# Vectors under a metric that forgets an example: what ``Within`` would make of them, fitted without it.
#
# Whitened by all, z = L⁻¹(x − m). Without the example the covariance is L (I − a u uᵀ) Lᵀ
# (``kcrc.tuning.left_out.exclusion``), so dot products gain β (u·z)(u·z'), β = a / (1 − a‖u‖²), as if z had one more
# coordinate √β u·z.


def lengthen(z: Array, u: Array | None, strength: float, *, unit: bool) -> Array:
    """Vectors (n, d) in double precision, with the coordinate that makes their dot products those of the geometry
    without the example (none where ``u`` is None), then of length 1 where ``unit``."""
    z = z.astype(np.float64)
    if u is not None:
        z = np.concatenate([z, np.sqrt(strength) * (z @ u.astype(np.float64))[:, None]], axis=1)
    return _of_length_1(z) if unit else z


def rewhiten(z: Array, u: Array, strength: float, *, unit: bool) -> Array:
    """Vectors (n, d) in the very coordinates of the metric without the example, for coders that look at entries.

    They are C⁻¹z, C the lower Cholesky factor of I − a u uᵀ. With s_j = 1 − a Σ_{i≤j} u_i² forward substitution gives

        (C⁻¹z)_j = (z_j + a u_j Σ_{i<j} u_i z_i / s_{j−1}) / √(s_j / s_{j−1})
    """
    z, u = z.astype(np.float64), u.astype(np.float64)
    a = strength / (1.0 + strength * float(u @ u))
    s = np.concatenate([[1.0], 1.0 - a * np.cumsum(u**2)])
    before = np.cumsum(z * u, axis=1) - z * u
    z = (z + a * u * before / s[:-1]) / np.sqrt(s[1:] / s[:-1])
    return _of_length_1(z) if unit else z


def _of_length_1(z: Array) -> Array:
    length = np.sqrt(np.einsum("ij,ij->i", z, z))[:, None]
    return np.asarray(np.divide(z, length, out=np.zeros_like(z), where=length > 0))


# Class means without an example and its group: what whole-class dictionaries of left-out examples are ranked by.


def class_means(vectors: Array, labels: Array, n_classes: int) -> Samples:
    """(C, d) means of all examples (n, d); 0 for a class without any."""
    means = np.zeros((n_classes, vectors.shape[1]), vectors.dtype)
    for c in np.unique(labels):
        means[c] = vectors[labels == c].mean(axis=0)
    return Samples(means)


def to_means(
    distance: Distance, vectors: Array, labels: Array, means: Samples, which: Array, groups: Array, asked: Samples
) -> Array:
    """(B, C) distances of the examples ``which`` (``asked`` are they) to the class means, each one's group left out of
    them; ∞ for a class left empty."""
    far = distance.pairwise(asked.of(distance), means.of(distance))
    counts = np.bincount(labels, minlength=len(means))
    far[:, counts == 0] = np.inf
    members = _members(groups)
    pairs, moved = [], []
    for at, i in enumerate(which):
        mates = members[groups[i]]
        for c in np.unique(labels[mates]):
            out = mates[labels[mates] == c]
            if len(out) == counts[c]:
                far[at, c] = np.inf
                continue
            rest = counts[c] * means.X[c].astype(np.float64) - vectors[out].sum(axis=0)
            pairs.append((at, c))
            moved.append(rest / (counts[c] - len(out)))
    if pairs:
        at, c = np.array(pairs).T
        left = Samples(np.array(moved, vectors.dtype)).of(distance)
        far[at, c] = distance.rowwise(asked.take(at).of(distance), left, np.arange(len(at))[:, None])[:, 0]
    return far


def _members(groups: Array) -> dict[int, Array]:
    order = np.argsort(groups, kind="stable")
    numbers, starts = np.unique(groups[order], return_index=True)
    return dict(zip(numbers.tolist(), np.split(order, starts[1:]), strict=True))
