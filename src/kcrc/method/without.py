"""The evidence for queries as if some stored examples were not: what the next nearest would say.

Nothing is fitted again. Where the dictionary is the K nearest, K and as many more are looked up, those left out are
passed over, and the K × K problem of the others is solved: no example is copied. A global dictionary, whole classes
and a union of neighbourhoods depend on all examples; for those a model without them is made.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.method import pipeline
from kcrc.method.evidence import Evidence
from kcrc.method.fitted_model import FittedModel
from kcrc.method.neighbours.base import Neighbourhood
from kcrc.method.preparation import Samples


def evidence_without(model: FittedModel, queries: Array, rows: Any) -> Evidence:
    """The evidence for queries (B, d), scaled, without the examples of these row numbers."""
    left_out = np.flatnonzero(rows_mask(model, rows))
    method, index = model.method, model.index
    if index is None or method.n_neighbors is None or not by_the_nearest(model):
        return pipeline.classify(model.without(left_out).without_empty_classes(), queries, code_all=True)
    samples = Samples(queries)
    width = min(method.n_neighbors, len(model) - len(left_out))
    found = index.query(samples.of(method.distance), method.n_neighbors + len(left_out))
    stay = ~np.isin(found.rows, left_out)
    first = np.argsort(~stay, axis=1, kind="stable")[:, :width]
    near = Neighbourhood(*(np.take_along_axis(part, first, 1) for part in (found.rows, found.distances)))
    return _of_classes_left(pipeline.among(model, samples, near, code_all=True), np.delete(model.labels, left_out))


def by_the_nearest(model: FittedModel) -> bool:
    """Whether the dictionary is the K nearest by themselves, so that the next nearest can step in."""
    method = model.method
    local = method.n_neighbors is not None and method.n_candidates is None
    return local and model.index is not None and not method.distance.is_union


def rows_mask(model: FittedModel, rows: Any, *, by: str = "without") -> Array:
    """(n,) which examples have these row numbers, which ``by`` names; an error where one has none of them, or all."""
    wanted = np.unique(np.atleast_1d(np.asarray(rows)))
    if wanted.dtype.kind not in "iu" and len(wanted):
        raise ParameterError(f"{by} takes row numbers (whole numbers); got {rows!r}.")
    unknown = wanted[~np.isin(wanted, model.ids)]
    if len(unknown):
        raise ParameterError(f"No stored example has row number {unknown[0]}.")
    if by == "without" and len(wanted) == len(model):
        raise ParameterError(f"Without these {len(wanted)} rows there is no example left to answer from.")
    return np.isin(model.ids, wanted)


def _of_classes_left(evidence: Evidence, labels: Array) -> Evidence:
    """The evidence with only the classes that ``labels`` (m,) have."""
    present = np.unique(labels)
    if len(present) == len(evidence.classes):
        return evidence
    number = np.full(len(evidence.classes), -1)
    number[present] = np.arange(len(present))
    return replace(
        evidence,
        classes=evidence.classes[present],
        winner=number[evidence.winner],
        residuals=evidence.residuals[:, present],
        neighbour_labels=np.where(evidence.neighbour_labels < 0, -1, number[evidence.neighbour_labels]),
    )
