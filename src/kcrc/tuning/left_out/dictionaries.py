"""The dictionaries of stored examples that are asked as if they were not stored, nor their groups."""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.fitted_model import FittedModel
from kcrc.method.neighbours.base import Neighbourhood, nearest
from kcrc.method.neighbours.refine import refine, whole_classes
from kcrc.method.preparation import Samples
from kcrc.tuning.left_out.exclusion import Removed, products_at, to_means
from kcrc.tuning.left_out.surroundings import Surroundings


def neighbours_without(
    model: FittedModel, which: Array, groups: Array, queries: Samples, removed: Removed | None
) -> Neighbourhood:
    """The local dictionary each example at ``which`` would have, groups (n,) left out with their members.

    ``queries`` are these examples. With a global dictionary: all other examples, nearest first.
    """
    method = model.method
    k = len(model) if method.n_neighbors is None else method.n_neighbors
    if method.n_neighbors is not None and method.locality == "classes":
        return _whole_classes(model, which, groups, queries, removed, k)
    if removed is not None:
        return _measure_exactly(
            model, _smallest(_corrected_distances(model, which, groups, removed), k), queries, removed
        )
    if method.n_neighbors is not None and (model.pairs or len(method.distance.components) > 1):
        return _nearest_by_pairs(model, which, groups, k)
    spare = int(np.bincount(groups)[groups[which]].max())
    # A search that must find more than it needs by a whole class is slower than measuring all.
    if method.n_neighbors is None or model.index is None or (method.n_candidates is None and spare > k + 50):
        fine = method.distance
        far = fine.pairwise(queries.of(fine), model.examples(fine))
        return _smallest(np.where(groups[which][:, None] == groups, np.inf, far), k)
    if method.n_candidates is None:
        return _others(model.index.query(queries.of(method.distance), k + spare), which, groups, k)
    wanted = max(method.n_candidates, k)
    coarse = model.index.query(queries.of(method.coarse_distance), wanted + spare)
    fine = method.distance
    return refine(_others(coarse, which, groups, wanted), queries.of(fine), model.examples(fine), fine, k)


def _nearest_by_pairs(model: FittedModel, which: Array, groups: Array, k: int) -> Neighbourhood:
    """By a costly distance, whose pairs of examples are looked up, or by a unified one: the union of k of each."""
    method = model.method
    samples = Samples(model.vectors, {key: store.content for key, store in model.stores.items()})
    coarse = None if method.n_candidates is None else (method.coarse_distance, max(method.n_candidates, k))
    around = Surroundings(samples, model.labels, groups, coarse, model.pairs if method.kernel_of_distance else {})
    rows, far, rank = around.dictionaries(method.distance, which, k)
    if rank is not None:
        rows, far = np.where(rank < k, rows, -1), np.where(rank < k, far, np.inf)
    return _pad(nearest(far, rows, rows.shape[1]))


def _others(near: Neighbourhood, which: Array, groups: Array, k: int) -> Neighbourhood:
    """The k nearest that are not in the example's group."""
    mate = (groups[np.maximum(near.rows, 0)] == groups[which][:, None]) | ~near.real
    return _pad(nearest(np.where(mate, np.inf, near.distances), near.rows, k))


def _pad(near: Neighbourhood) -> Neighbourhood:
    return Neighbourhood(np.where(np.isfinite(near.distances), near.rows, -1), near.distances)


def _smallest(distances: Array, k: int) -> Neighbourhood:
    """The k nearest by a full table (B, n), ∞ where excluded."""
    rows = np.broadcast_to(np.arange(distances.shape[1]), distances.shape)
    if k < distances.shape[1]:
        rows = np.argpartition(distances, k - 1, axis=1)[:, :k]
    found = _pad(nearest(np.take_along_axis(distances, rows, 1), rows, k))
    width = max(1, int(found.real.sum(axis=1).max()))
    return Neighbourhood(found.rows[:, :width], found.distances[:, :width])


def _corrected_distances(model: FittedModel, which: Array, groups: Array, removed: Removed) -> Array:
    """(B, n) in the geometry without the example; ∞ for its group."""
    atoms = model.examples(model.method.distance)
    Z, squares = atoms["vectors"], atoms["squares"]
    gains = removed.gains(Z)
    own = gains[np.arange(len(which)), which][:, None]
    lengths2, lengths = removed.lengths(squares[None], gains)
    own_length2, own_length = removed.lengths(squares[which][:, None], own)
    products = Z[which] @ Z.T
    products += own * gains
    products /= own_length * lengths
    far = np.maximum(own_length2 + lengths2 - 2.0 * products, 0.0)
    if model.method.distance.power == 2:
        np.sqrt(far, out=far)
    far[groups[which][:, None] == groups] = np.inf
    return np.asarray(far)


def _whole_classes(
    model: FittedModel, which: Array, groups: Array, queries: Samples, removed: Removed | None, n_classes: int
) -> Neighbourhood:
    """All examples of the classes with the nearest mean, the example and its group gone from the means too."""
    assert model.class_means is not None
    fine = model.method.distance
    far_means = to_means(fine, model.vectors, model.labels, model.class_means, which, groups, queries)
    if removed is None:
        near = whole_classes(far_means, model.labels, queries.of(fine), model.examples(fine), fine, n_classes)
        return _others(near, which, groups, near.rows.shape[1])
    far = _corrected_distances(model, which, groups, removed)
    # The correction moves means a little. Those that may come among the nearest are measured again, exactly.
    candidates = np.argsort(far_means, axis=1, kind="stable")[:, : min(far_means.shape[1], 2 * n_classes + 4)]
    for at, line in enumerate(candidates):
        exact = _corrected_to_means(model, which[at], groups, removed.take(np.array([at])), line)
        chosen = line[np.argsort(exact, kind="stable")[:n_classes]]
        far[at, ~np.isin(model.labels, chosen[np.isfinite(far_means[at, chosen])])] = np.inf
    near = _smallest(far, int(np.isfinite(far).sum(axis=1).max()))
    return _measure_exactly(model, near, queries, removed)


def _measure_exactly(model: FittedModel, near: Neighbourhood, queries: Samples, removed: Removed) -> Neighbourhood:
    """The same dictionaries with distances that do not depend on who else was asked: one pair after the other."""
    fine = model.method.distance
    near_some, rows = np.unique(np.maximum(near.rows, 0), return_inverse=True)
    rows = rows.reshape(near.rows.shape)
    vectors = model.examples(fine)["vectors"][near_some].astype(np.float64)
    own = queries.of(fine)["vectors"].astype(np.float64)
    gains, own_gains = removed.gains(vectors, rows), removed.gains(own[:, None])
    lengths2, lengths = removed.lengths(np.einsum("nd,nd->n", vectors, vectors)[rows], gains)
    own_length2, own_length = removed.lengths(np.einsum("bd,bd->b", own, own)[:, None], own_gains)
    products = (products_at(own, vectors, rows) + own_gains * gains) / (own_length * lengths)
    far = np.maximum(own_length2 + lengths2 - 2.0 * products, 0.0)
    if fine.power == 2:
        np.sqrt(far, out=far)
    return _pad(nearest(np.where(near.real, far, np.inf), near.rows, near.rows.shape[1]))


def _corrected_to_means(model: FittedModel, row: int, groups: Array, removed: Removed, classes: Array) -> Array:
    """(len(classes),) squared distances of one example to these classes' means in the geometry without it."""
    asked = np.append(np.flatnonzero(np.isin(model.labels, classes) & (groups != groups[row])), row)
    Z = model.vectors[asked].astype(np.float64)
    gains = removed.gains(Z[None])[0]
    lengths = removed.lengths(np.einsum("ij,ij->i", Z, Z)[None], gains[None])[1][0]
    wide = np.concatenate([Z, gains[:, None]], axis=1) / lengths[:, None]
    labels = model.labels[asked[:-1]]
    out = np.full(len(classes), np.inf)
    for at, c in enumerate(classes):
        mine = wide[:-1][labels == c]
        if len(mine):
            out[at] = ((wide[-1] - mine.mean(axis=0)) ** 2).sum()
    return out
