"""A model that follows its examples as they come and go: the parts that were fitted stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from kcrc._base import magnitudes
from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.method.fitted_model import FittedModel
from kcrc.method.samples import or_wider


def with_examples(
    model: FittedModel, vectors: Array, labels: Array, ids: Array, *, announced: Any = None
) -> FittedModel:
    """With new examples (m, d) of the classes ``labels`` (m,), known or new, under the row numbers ``ids`` (m,);
    ``announced`` are classes that have no example yet."""
    magnitudes.check(vectors, model.working_type, or_else=or_wider(model.working_type))
    classes = np.union1d(model.classes, np.unique(labels))
    if announced is not None:
        classes = np.union1d(classes, np.asarray(announced))
    numbers, before = np.searchsorted(classes, labels), np.searchsorted(classes, model.classes)
    return model.with_examples(_as_stored(vectors, model.raw.dtype), classes, numbers, before, ids)


def without_examples(model: FittedModel, ids: Array) -> FittedModel:
    """Without the examples of these row numbers; a class left empty goes too."""
    return model.without(np.flatnonzero(np.isin(model.ids, ids))).without_empty_classes()


def _as_stored(vectors: Array, dtype: np.dtype[Any]) -> Array:
    """New examples in the type the others are stored in."""
    with np.errstate(over="ignore"):
        stored = vectors.astype(dtype, copy=False)
    if stored.dtype == np.float16 and not np.isfinite(stored).all():
        raise DataError(
            "The new examples have values beyond 65504, too large for the half precision (float16) the others are "
            "stored in. Fit with float32."
        )
    return stored
