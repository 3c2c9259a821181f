"""Class means without an example and its group: what whole-class dictionaries of left-out examples are ranked by."""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.distances.base import Distance
from kcrc.method.preparation import Samples


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
        far[at, c] = distance.selected(asked.take(at).of(distance), left, np.arange(len(at))[:, None])[:, 0]
    return far


def _members(groups: Array) -> dict[int, Array]:
    order = np.argsort(groups, kind="stable")
    numbers, starts = np.unique(groups[order], return_index=True)
    return dict(zip(numbers.tolist(), np.split(order, starts[1:]), strict=True))
