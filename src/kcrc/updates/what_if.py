"""What would the answers be if some examples were not stored, or had other labels?

Where the dictionary is the K nearest and examples are only left out, the next nearest step in and nothing is copied
(``without``). Otherwise a model as it would be is made once (``supposing``), and all queries are put to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.answerer import Answerer
from kcrc.errors import ParameterError
from kcrc.method import pipeline
from kcrc.method.evidence import Evidence, joined
from kcrc.method.without import by_the_nearest, evidence_without, named
from kcrc.updates.supposing import Supposition

NUMBERS = "biuf"


def evidence_if(answerer: Answerer, X: Array, *, without: Any, relabelled: Mapping[int, Any] | None) -> Evidence:
    """The evidence for the queries X (n, d) without the examples of the row numbers ``without``, and with other labels
    by row number."""
    model = answerer.model
    gone = model.ids[named(model, without)].tolist()
    labels = _relabelled(answerer, relabelled or {})
    if gone and not labels and by_the_nearest(model):
        queries = answerer.scaled(X)
        step = pipeline.chunk_size(model, len(queries), staged=True)
        parts = [queries[start : start + step] for start in range(0, len(queries), step)]
        return joined([evidence_without(model, part, gone) for part in parts])
    supposed = replace(answerer, model=Supposition(labels=labels, gone=gone).of(model))
    return joined(supposed.read(X, lambda evidence: evidence, explain=True, code_all=True))


def _relabelled(answerer: Answerer, given: Mapping[int, Any]) -> dict[int, Any]:
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
    named(model, list(given), by="relabelled")
    for label in given.values():
        kind = np.asarray(label).dtype.kind
        if np.ndim(label) or (classes.dtype.kind != "O" and (kind in NUMBERS) != (classes.dtype.kind in NUMBERS)):
            raise ParameterError(
                f"relabelled gives rows labels such as {classes.tolist()[0]!r}, the kind that the classes are; got "
                f"{label!r}."
            )
    return {int(row): label for row, label in given.items()}
