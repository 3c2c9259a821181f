"""What the examples say of each other: advice, an audit, and a map. Each takes seconds, and is computed behind the
requests, once for a state of the gallery.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.parallel import chunks
from kcrc.confidence.advice import Advice, advise
from kcrc.confidence.audit import Audit, audit
from kcrc.errors import StateError
from kcrc.web.background import Report
from kcrc.web.current import Current


def compute_advice(current: Current, report: Report) -> Advice | None:
    """Whether there are examples enough; None if there are too few to say anything."""
    try:
        return advise(current.answerer.model, current.answerer.confidence)
    except StateError:
        return None


def compute_audit(thumbnail: Callable[[int], bytes | None], current: Current, report: Report) -> Audit:
    """Examples that deserve a second look, among them pictures that look alike and have different labels."""
    from kcrc.images.look_alikes import with_look_alikes  # loads SciPy, which no question needs

    model = current.answerer.model
    result = audit(model, current.answerer.audit_confidence, None, report)
    return with_look_alikes(result, model.ids, model.classes[model.labels], thumbnail, None)


# The map: examples as points of a plane, along the two directions in which they differ most.

MOST = 20_000  # examples on the map; of more classes than that, one each
SAMPLE = 2000  # examples that the directions are found from
CHUNK = 4096
ROUNDS = 12
DECIMALS = 4  # of a coordinate: finer than a pixel at any zoom


def compute_map(current: Current, report: Report) -> list[tuple[int, float, float, str]]:
    """(id, x, y, label) of the examples, or of as many of each class as fit; x and y from −1 to 1.

    They come in turns, the first example of each class, then the second of each, …: so the first n points show all
    classes, if n is not smaller than their number. The same examples have the same places."""
    model = current.answerer.model
    which = _by_turns(model.labels)[: max(MOST, len(model.classes))]
    sample = model.vectors[np.sort(which[:SAMPLE])].astype(np.float64)
    mean = sample.mean(axis=0)
    directions = _directions(sample - mean).T
    places = np.concatenate([(model.vectors[which[piece]] - mean) @ directions for piece in chunks(len(which), CHUNK)])
    largest = np.abs(places).max(axis=0, initial=0.0)
    places = (places / np.where(largest > 0, largest, 1.0)).round(DECIMALS)
    names = model.classes[model.labels[which]]
    return list(zip(model.ids[which].tolist(), *places.T.tolist(), names.tolist(), strict=True))


def _by_turns(labels: Array) -> Array:
    """Positions of all examples: of every class the first, then the second, …"""
    order = np.argsort(labels, kind="stable")
    turn = np.concatenate([np.arange(size) for size in np.bincount(labels)])
    return order[np.argsort(turn, kind="stable")]


def _directions(vectors: Array) -> Array:
    """(2, d) the directions of the largest variance, by repeated multiplication; the side that an axis points to is
    that of its largest entry."""
    count = min(2, vectors.shape[1])
    basis = np.random.default_rng(0).standard_normal((vectors.shape[1], count + 4))
    for _ in range(ROUNDS):
        basis, _ = np.linalg.qr(vectors.T @ (vectors @ basis))
    _, _, axes = np.linalg.svd(vectors @ basis, full_matrices=False)
    directions = np.zeros((2, vectors.shape[1]))
    directions[:count] = (axes @ basis.T)[:count]
    signs = np.sign(np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], 1))
    return directions * np.where(signs == 0, 1.0, signs)
