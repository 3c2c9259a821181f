"""A model as if some examples had other classes, were not stored, or others were: to ask what that would change.

Nothing is fitted anew: parameters and metric stay as they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import StateError
from kcrc.method.fitted_model import FittedModel
from kcrc.updates.following import with_examples, without_examples


@dataclass(frozen=True, eq=False)
class Supposition:
    """What is supposed: other classes by row number, row numbers that are gone, new examples: their vectors (m, d) as
    they are given, their classes and row numbers (m,)."""

    labels: Mapping[int, Any] = field(default_factory=dict)
    gone: Collection[int] = ()
    vectors: Array | None = None
    classes: tuple[Any, ...] = ()
    ids: tuple[int, ...] = ()

    def of(self, model: FittedModel) -> FittedModel:
        """The model as it would be."""
        moved = [row for row in self.labels if row not in set(self.gone)]
        vectors = [model.raw[np.flatnonzero(np.isin(model.ids, moved))]]
        ids = model.ids[np.isin(model.ids, moved)]
        names = [self.labels[int(row)] for row in ids]
        if self.vectors is not None and len(self.vectors):
            vectors.append(np.asarray(self.vectors, vectors[0].dtype))
            ids, names = np.concatenate([ids, np.asarray(self.ids, ids.dtype)]), [*names, *self.classes]
        leaving = np.array([*self.gone, *moved], model.ids.dtype)
        if len(ids):
            made = with_examples(model, np.concatenate(vectors), np.array(names), ids)
            first = np.flatnonzero(np.isin(made.ids[: len(model)], leaving))
            return made.without(first).without_empty_classes() if len(first) else made
        if np.isin(model.ids, leaving).all():
            raise StateError("Without these examples there is none left to answer from.")
        return without_examples(model, leaving) if len(leaving) else model
