"""What would the answers be if some examples were not stored, or had other labels?

Where the dictionary is the K nearest and examples are only left out, the next nearest step in and nothing is copied
(``without``). Otherwise a model as it would be is made once (``supposing``), and all queries are put to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kcrc._base import validation
from kcrc._base.arrays import Array
from kcrc.confidence.answerer import Answerer
from kcrc.errors import DataError, ParameterError, StateError
from kcrc.method import pipeline
from kcrc.method.evidence import Evidence, join_evidence
from kcrc.method.fitted_model import FittedModel
from kcrc.method.samples import or_wider
from kcrc.method.without import by_the_nearest, evidence_without, rows_mask

# A model that follows its examples as they come and go: the parts that were fitted stay as they are.


def with_examples(
    model: FittedModel, vectors: Array, labels: Array, ids: Array, *, announced: Any = None
) -> FittedModel:
    """With new examples (m, d) of the classes ``labels`` (m,), known or new, under the row numbers ``ids`` (m,);
    ``announced`` are classes that have no example yet."""
    validation.check(vectors, model.working_type, or_else=or_wider(model.working_type))
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


# A model as if some examples had other classes, were not stored, or others were: to ask what that would change.
#
# Nothing is fitted again: parameters and scaling stay as they are.


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


NUMBERS = "biuf"


def evidence_if(answerer: Answerer, X: Array, *, without: Any, relabelled: Mapping[int, Any] | None) -> Evidence:
    """The evidence for the queries X (n, d) without the examples of the row numbers ``without``, and with other labels
    by row number."""
    model = answerer.model
    gone = model.ids[rows_mask(model, without)].tolist()
    labels = _check_labels(answerer, relabelled or {})
    if gone and not labels and by_the_nearest(model):
        queries = answerer.scale_queries(X)
        step = pipeline.chunk_size(model, len(queries), staged=True)
        parts = [queries[start : start + step] for start in range(0, len(queries), step)]
        return join_evidence([evidence_without(model, part, gone) for part in parts])
    supposed = replace(answerer, model=Supposition(labels=labels, gone=gone).of(model))
    return join_evidence(supposed.read(X, lambda evidence: evidence, explain=True, code_all=True))


def _check_labels(answerer: Answerer, given: Mapping[int, Any]) -> dict[int, Any]:
    """Other labels by row number; an error where there is no such row, or a label is of another kind than the classes
    are."""
    if not given:
        return {}
    model, classes = answerer.model, answerer.classes
    if model.method.distance.given_as_matrix or model.method.kernel.given_as_matrix:
        raise ParameterError(
            "relabelled cannot be asked of a precomputed matrix: an example's place in it is its own. Use fit with the "
            "other labels."
        )
    rows_mask(model, list(given), by="relabelled")
    for label in given.values():
        kind = np.asarray(label).dtype.kind
        if np.ndim(label) or (classes.dtype.kind != "O" and (kind in NUMBERS) != (classes.dtype.kind in NUMBERS)):
            raise ParameterError(
                f"relabelled gives rows labels such as {classes.tolist()[0]!r}, the kind that the classes are; got "
                f"{label!r}."
            )
    return {int(row): label for row, label in given.items()}
