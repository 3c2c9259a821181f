"""From candidates to the local dictionary: coarse to fine (paper, Algorithm 4) and whole classes."""

from __future__ import annotations

import numpy as np

from kcrc.distances.base import Distance
from kcrc.neighbours.base import Neighbourhood, nearest
from kcrc.prepared import Array, Prepared


def refine(coarse: Neighbourhood, queries: Prepared, atoms: Prepared, distance: Distance, k: int) -> Neighbourhood:
    """The k nearest by ``distance`` among the coarse candidates; no other pair is measured."""
    fine = distance.selected(queries, atoms, np.maximum(coarse.rows, 0))
    fine = np.where(coarse.real, fine, np.inf)
    return nearest(fine, coarse.rows, k)


def whole_classes(
    to_means: Array, labels: Array, queries: Prepared, atoms: Prepared, distance: Distance, n_classes: int
) -> Neighbourhood:
    """All examples of the ``n_classes`` classes whose mean is nearest; padded, as classes differ in size.

    to_means (B, C) distances to the class means, ∞ for a class without examples; labels (n,).
    """
    n_all = to_means.shape[1]
    near = np.argsort(to_means, axis=1, kind="stable")[:, : min(n_classes, n_all)]
    members = [np.flatnonzero(labels == c) for c in range(n_all)]
    chosen = [np.sort(np.concatenate([members[c] for c in line])) for line in near]
    width = max(len(rows) for rows in chosen)
    rows = np.full((len(near), width), -1, np.intp)
    for i, wanted in enumerate(chosen):
        rows[i, : len(wanted)] = wanted
    distances = np.where(rows >= 0, distance.selected(queries, atoms, np.maximum(rows, 0)), np.inf)
    return nearest(distances, rows, width)
