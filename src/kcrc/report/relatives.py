"""The stored examples of a class that lie nearest to one of the others, to be seen beside it."""

from __future__ import annotations

import numpy as np

from kcrc.method.fitted_model import FittedModel

MOST = 2000  # examples of the class that are measured


def nearest_of_class(model: FittedModel, example: int, label: str, *, count: int) -> list[int]:
    """Their ids, the nearest first; none where what lies between examples is not measured by us."""
    distance = model.method.search_distance
    if distance.given_as_matrix:
        return []
    (at,) = np.flatnonzero(model.ids == example)
    same = model.classes[model.labels].astype(str) == label
    members = np.flatnonzero(same & (model.ids != example))[:MOST]
    if not len(members):
        return []
    prepared = model.examples(distance)
    far = distance.pairwise(prepared.take(np.array([at])), prepared.take(members))[0]
    return [int(model.ids[member]) for member in members[np.argsort(far, kind="stable")[:count]]]
