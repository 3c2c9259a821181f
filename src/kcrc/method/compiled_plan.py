"""What the compiled path covers, and how it goes about it: the one gate that ``pipeline.classify`` asks.

Covered: any neighbourhood (exact, coarse to fine, whole classes), kernels of dot products and Euclidean distance or a
given kernel matrix, the ridge coder, the three forms without Ψ, the decisions "ratio" and "residual", evidence always.
The answers are those of the staged pipeline to rounding; a query without a Cholesky factor is left to it.

The kernel among neighbours is computed from their vectors until that has cost as much as the n × n matrix of all
examples would; then the matrix is stored, if it fits the memory budget and reading it is quicker than computing. Both
ways give the same bits, so no answer depends on when it was asked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method import decisions
from kcrc.method.distances.base import VECTORS
from kcrc.method.evidence import UNANIMOUS, Evidence
from kcrc.method.fitted_model import FittedModel
from kcrc.method.kernels import Kernel, Shape
from kcrc.method.local_problem import single_will_do
from kcrc.method.neighbours.base import Neighbourhood
from kcrc.method.preparation import POSITION, Samples
from kcrc.native import native as _native

native: Any = _native

NOT_SOLVED = 3

Plan = Callable[[Samples, Neighbourhood, Evidence], Array]
_plans: WeakKeyDictionary[FittedModel, Plan | None] = WeakKeyDictionary()
_making = threading.RLock()  # ``single`` asks for the plan while it holds it


def plan(model: FittedModel) -> Plan | None:
    """The compiled stage for a model with local dictionaries, or None where ``why_not`` has a reason.

    It takes the queries, their neighbours and the verdict under construction, fills in every query it can answer,
    and returns the numbers of those it leaves.
    """
    try:
        return _plans[model]
    except KeyError:
        with _making:
            if model not in _plans:
                _plans[model] = None if why_not(model) else Stage(model)
            return _plans[model]


def why_not(model: FittedModel) -> str | None:
    """The reason the compiled path does not cover a model, or None."""
    method = model.method
    if native is None:
        return "the compiled module is not built"
    if method.n_neighbors is None:
        return "a global dictionary is one matrix product already"
    if method.coder.ridge_penalty is None:
        return f"the coder {type(method.coder).__name__} is not compiled"
    if not method.coder.ridge_penalty and not method.space.normalize:
        return "without a penalty and unit columns it is the longest atom that says which pivots are rounding"
    if not decisions.resolve(method.decision).compiled:
        return f"the decision {method.decision!r} is not compiled"
    if not method.projection.identity:
        return f"the projection {type(method.projection).__name__} is not compiled"
    if _shape(method.kernel) is None and _given_matrix(model) is None:
        return f"the kernel {method.kernel!r} is not compiled"
    return None


def _shape(kernel: Kernel) -> Shape | None:
    """A kernel as a function of dot products and squared norms, in the terms of the compiled module."""
    return None if kernel.of_products is None else kernel.of_products.shape


def _given_matrix(model: FittedModel) -> Array | None:
    """The kernel matrix the caller gave, where its columns are still the examples in their order."""
    kernel = model.method.kernel
    if not kernel.given_as_matrix:
        return None
    atoms = model.examples(kernel)
    matrix, position = atoms["to_examples"], atoms[POSITION]
    if matrix.shape[0] != matrix.shape[1] or not np.array_equal(position, np.arange(len(matrix))):
        return None
    return np.ascontiguousarray(matrix)


class Stage:
    """The compiled local stage of one model, with the kernel matrix of all examples once that pays."""

    def __init__(self, model: FittedModel) -> None:
        method = model.method
        self._kernel = method.kernel
        self._shape = _shape(method.kernel)
        self._matrix = _given_matrix(model)
        self._atoms = model.examples(method.kernel)
        self._labels = np.ascontiguousarray(model.labels, np.int32)
        storage = self._matrix if self._matrix is not None else self._atoms["vectors"]
        self._wide = storage.dtype == np.float64 or not single_will_do(model)
        self._working = np.dtype(np.float64 if self._wide else np.float32)
        self._options = {
            "labels": self._labels,
            "n_classes": len(model.classes),
            "mu": method.coder.ridge_penalty,
            "gram_form": method.space.squares_kernel,
            "normalize": method.space.normalize,
            "ratio": decisions.resolve(method.decision).over_length,
            "wide": self._wide,
            **(self._shape.options if self._shape else {}),
        }
        if self._shape is not None:
            self._squares = self._atoms["squares"].astype(self._working, copy=False)
        # The exact search measures ‖y − a‖² in double precision: all the radial kernel needs, given the same vectors.
        self._distances_serve = (
            self._shape is not None
            and self._shape.of_distance
            and model.index is not None
            and model.index.compiled
            and method.n_candidates is None
            and method.distance.squared_euclidean
            and method.distance.preparation == method.kernel.preparation
        )
        self._power = method.distance.power
        self._budget = method.memory_budget // 4
        self._spent = 0.0
        self._buying = threading.Lock()

    def __call__(self, queries: Samples, near: Neighbourhood, verdict: Evidence) -> Array:
        asked = queries.of(self._kernel)
        flags = native.local_stage(
            rows=np.ascontiguousarray(near.rows, np.int64),
            self=np.ascontiguousarray(self._kernel.diagonal(asked), np.float64),
            coefficients=verdict.coefficients,
            contributions=verdict.contributions,
            residuals=verdict.residuals,
            energy=verdict.energy,
            winner=verdict.winner,
            **(self._source(near.rows.shape) | self._query_side(asked, near)),
            **self._options,
        )
        verdict.how[:] = flags
        verdict.n_iter[:] = flags != UNANIMOUS
        return np.flatnonzero(flags == NOT_SOLVED)

    @property
    def wide(self) -> bool:
        """Whether it works in double precision."""
        return bool(self._wide)

    @property
    def by_distance(self) -> bool:
        """Whether a query's kernel values follow from its distances to its neighbours, as the search measures them."""
        return self._distances_serve

    @property
    def options(self) -> dict[str, Any]:
        """What its compiled call is given beside the queries and the kernel matrix."""
        return {**self._options, "squares": self._squares, "by_distance": self._distances_serve}

    def matrix_for(self, batch: int, k: int) -> Array | None:
        """The kernel matrix of all examples, if it is stored by now; ``batch`` more queries of k neighbours each may be
        what makes it pay."""
        if self._matrix is None:
            self._consider_storing(batch, k)
        return self._matrix

    def store_matrix(self) -> None:
        """Compute the kernel matrix of all examples now, whether or not that would pay."""
        with self._buying:
            if self._matrix is None:
                self._matrix = self._whole_matrix()

    def _query_side(self, asked: Any, near: Neighbourhood) -> dict[str, Array]:
        """How the query's kernel with its neighbours is had."""
        if self._shape is None:
            cross = self._kernel.cross(asked, self._atoms, np.maximum(near.rows, 0))
            return {"cross": np.ascontiguousarray(cross, self._working)}
        if self._distances_serve and near.distances.dtype == np.float64:
            return {"squared": near.distances**2 if self._power == 2 else np.ascontiguousarray(near.distances)}
        return {
            "queries": np.ascontiguousarray(asked["vectors"], self._working),
            "vectors": self._atoms["vectors"],
        }

    def _source(self, asked: tuple[int, int]) -> dict[str, Array]:
        """How the kernel among the neighbours is had."""
        matrix = self.matrix_for(*asked)
        if matrix is not None:
            return {"kernel": matrix}
        return {"vectors": self._atoms["vectors"], "squares": self._squares}

    def _consider_storing(self, batch: int, k: int) -> None:
        n, width = self._atoms["vectors"].shape
        size = n * n * self._working.itemsize
        if size > self._budget:
            return
        # Cycles, measured: a product runs at 13 multiplications a cycle, exp costs two, packing a value 0.4; reading an
        # entry of the matrix costs 4 from the cache and 20 from memory.
        entry = width / (13.0 if self._working == np.float32 else 6.5) + 2.0
        computing = 0.5 * k * k * entry + 0.4 * k * width
        reading = 0.5 * k * k * (4.0 if size < 16 << 20 else 20.0)
        if reading >= computing:
            return
        self._spent += batch * (computing - reading)
        if self._spent < 0.5 * n * n * entry or not self._buying.acquire(blocking=False):
            return
        try:
            if self._matrix is None:
                self._matrix = self._whole_matrix()
        finally:
            self._buying.release()

    def _whole_matrix(self) -> Array:
        assert self._shape is not None
        n = len(self._labels)
        out = np.empty((n, n), self._working)
        for start in range(0, n, 240):
            native.kernel_rows(
                vectors=self._atoms["vectors"],
                squares=self._squares,
                start=start,
                stop=min(n, start + 240),
                out=out,
                **self._shape.options,
            )
        return out


# One query, by a model that was looked at once: one compiled call from its vector to its evidence.
#
# Covered: what ``plan`` covers, where the dictionary is the K nearest by the Euclidean distance of the vectors as they
# are. The call searches and codes by what serves a batch, so an answer is the same alone or in one. Everything else,
# and a query that the compiled stage leaves, goes the way of a batch.

_prepared: WeakKeyDictionary[FittedModel, Single | None] = WeakKeyDictionary()


def single(model: FittedModel) -> Single | None:
    """What answers single queries of a model; None where they go the way of a batch."""
    try:
        return _prepared[model]
    except KeyError:
        with _making:
            if model not in _prepared:
                _prepared[model] = Single(model) if _is_covered(model) else None
            return _prepared[model]


def _is_covered(model: FittedModel) -> bool:
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
            "wide_queries": np.promote_types(model.vectors.dtype, np.float32) == np.float64,
            "ids": np.ascontiguousarray(model.ids),
            "root": method.distance.power == 2,
            **stage.options,
            **(model.index.for_one_query or {}),
        }
        self._ready = self._with(None)

    def _with(self, matrix: Array | None) -> tuple[Array | None, Any]:
        return matrix, native.PreparedSingle(kernel=matrix, **self._options)

    def __call__(self, X: Array) -> Evidence | None:
        """The evidence of a query (1, d), scaled; None where it goes the way of a batch."""
        matrix = self._stage.matrix_for(1, self._width)
        known, ready = self._ready
        if matrix is not known:
            self._ready = _, ready = self._with(matrix)
        own = self._own
        if own is None:
            own = float(self._kernel.diagonal(self._kernel.prepare(X))[0])
        found = native.answer_single(ready, X, own)
        return None if found is None else Evidence(self._classes, self._decision, *found)
