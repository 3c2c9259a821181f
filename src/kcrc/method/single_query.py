"""One query, by a model that was looked at once: one compiled call from its vector to its evidence.

Covered: what ``plan`` covers, where the dictionary is the K nearest by the Euclidean distance of the vectors as they
are. The call searches and codes by what serves a batch, so an answer is the same alone or in one. Everything else, and
a query that the compiled stage leaves, goes the way of a batch.
"""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.compiled_plan import Stage, plan
from kcrc.method.distances.base import VECTORS
from kcrc.method.evidence import Evidence
from kcrc.method.fitted_model import FittedModel
from kcrc.native import native as _native

native: Any = _native

_prepared: WeakKeyDictionary[FittedModel, Single | None] = WeakKeyDictionary()
_making = threading.Lock()


def single(model: FittedModel) -> Single | None:
    """What answers single queries of a model; None where they go the way of a batch."""
    try:
        return _prepared[model]
    except KeyError:
        with _making:
            if model not in _prepared:
                _prepared[model] = Single(model) if _covered(model) else None
            return _prepared[model]


def _covered(model: FittedModel) -> bool:
    method = model.method
    return (
        isinstance(plan(model), Stage)
        and model.index is not None
        and model.index.for_one_query is not None
        and method.n_candidates is None
        and method.distance.is_euclidean
        and method.kernel.preparation == VECTORS
        and model.ids.dtype == model.labels.dtype == np.int64
    )


class Single:
    """Threads share it: the compiled call keeps what it needs by thread, and nothing here changes but that the kernel
    matrix of all examples, once it is stored, takes the place of their vectors."""

    def __init__(self, model: FittedModel) -> None:
        method, stage = model.method, plan(model)
        assert isinstance(stage, Stage)
        assert model.index is not None
        self._stage, self._kernel = stage, method.kernel
        self._classes, self._decision = model.classes, method.decision
        self._width = min(method.n_neighbors or 0, len(model))
        self._own = 1.0 if stage.by_distance else None
        self._options = {
            "k": self._width,
            "wide_queries": model.working_type == np.float64,
            "ids": np.ascontiguousarray(model.ids),
            "root": method.distance.power == 2,
            **stage.options,
            **(model.index.for_one_query or {}),
        }
        self._ready = self._with(None)

    def _with(self, matrix: Array | None) -> tuple[Array | None, Any]:
        return matrix, native.PreparedSingle(kernel=matrix, **self._options)

    def __call__(self, X: Array) -> Evidence | None:
        """The evidence of a query (1, d), scaled by the metric; None where it goes the way of a batch."""
        matrix = self._stage.matrix_for(1, self._width)
        known, ready = self._ready
        if matrix is not known:
            self._ready = _, ready = self._with(matrix)
        own = self._own
        if own is None:
            own = float(self._kernel.diagonal(self._kernel.prepare(X))[0])
        found = native.answer_single(ready, X, own)
        return None if found is None else Evidence(self._classes, self._decision, *found)
