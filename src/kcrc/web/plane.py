"""Examples as points of a plane: along the two directions in which they differ most."""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array
from kcrc.web.computing import Report
from kcrc.web.current import Current

SHOWN = 2000  # examples
ROUNDS = 12


def points(current: Current, report: Report) -> list[tuple[int, float, float, str]]:
    """(id, x, y, label) of the examples, or of so many of each class as fit; x and y from −1 to 1. The same examples
    have the same places."""
    model = current.answerer.model
    which = _some(model.labels)
    vectors = model.vectors[which].astype(np.float64)
    vectors -= vectors.mean(axis=0)
    places = vectors @ _directions(vectors).T
    largest = np.abs(places).max(axis=0, initial=0.0)
    places /= np.where(largest > 0, largest, 1.0)
    names = model.classes[model.labels[which]]
    ids = model.ids[which]
    return [(int(i), float(x), float(y), str(name)) for i, (x, y), name in zip(ids, places, names, strict=True)]


def _some(labels: Array) -> Array:
    """Positions of at most SHOWN examples: of every class the first, then the second, …"""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    turn = np.concatenate([np.arange(size) for size in sizes])
    return np.sort(order[np.argsort(turn, kind="stable")[:SHOWN]])


def _directions(vectors: Array) -> Array:
    """(2, d) the directions of the largest variance, by repeated multiplication; the side that an axis points to is
    that of its largest entry."""
    count = min(2, vectors.shape[1])
    basis = np.random.default_rng(0).standard_normal((vectors.shape[1], count + 4))
    for _ in range(ROUNDS):
        basis, _ = np.linalg.qr(vectors.T @ (vectors @ basis))
    _, _, axes = np.linalg.svd(vectors @ basis, full_matrices=False)
    found = np.zeros((2, vectors.shape[1]))
    found[:count] = (axes @ basis.T)[:count]
    signs = np.sign(np.take_along_axis(found, np.abs(found).argmax(axis=1)[:, None], 1))
    return found * np.where(signs == 0, 1.0, signs)
