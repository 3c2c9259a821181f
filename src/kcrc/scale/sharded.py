"""A gallery in shards: who is near is asked of all, merged exactly, and the local problems are solved where we are.

queries -> every shard: its nearest -> the nearest of all, ties by row
        -> (coarse to fine: every shard measures the candidates that it holds -> the nearest of those)
        -> what is kept of the K nearest, from their shards -> local problems

From there on it is the pipeline of one process (``pipeline.among``), over a model of the few examples that are near.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.parallel import chunks, one_blas_thread
from kcrc.classifier.saving import Examples
from kcrc.confidence.answerer import Answerer
from kcrc.confidence.answers import Answers, answers_of
from kcrc.errors import ParameterError, StateError
from kcrc.gallery import Gallery
from kcrc.method import pipeline
from kcrc.method.evidence import Evidence, join_evidence
from kcrc.method.fitted_model import FittedModel, Method
from kcrc.method.neighbours.approximate import LIBRARIES
from kcrc.method.neighbours.base import Neighbourhood, nearest
from kcrc.method.preparation import POSITION, Prepared, PreparedExamples, Samples
from kcrc.scale.engines.base import Engine, Held
from kcrc.scale.shards import GivenShard, KeptRows, StoredShard, fingerprint, reachable

AT_ONCE = 64 << 20  # bytes of examples that are near to a chunk of queries
MOST = 256  # queries in a chunk


def why_not(method: Method) -> str | None:
    """Why a classifier cannot answer from shards, or None."""
    if method.n_neighbors is None:
        return "its dictionary is made of all examples at once"
    if method.locality == "classes":
        return "its dictionaries are whole classes"
    if method.distance.is_union or method.search_distance.is_union:
        return "its neighbours are a union by several distances"
    if method.kernel.given_as_matrix:
        return "its kernel is a matrix over all examples"
    if method.search in LIBRARIES:
        return f'its search is approximate (search="{method.search}"), and what shards find is merged as exact'
    return None


@dataclass(frozen=True, eq=False)
class ShardedAnswerer:
    """Answers as an ``Answerer`` over all examples would. It can be sent: work that has it asks the same shards."""

    shards: Held
    starts: Array
    """(S + 1,) the first row of each shard, and how many examples there are."""
    tip: Answerer
    """Answers from the longest example alone: method, classes and scaling, and what precision goes by."""

    @property
    def classes(self) -> Array:
        return self.tip.classes

    def answer(
        self,
        vectors: Any,
        *,
        reject: float | None = None,
        unknown: Any = None,
        coverage: float | None = None,
        explain: bool = False,
    ) -> Answers:
        """As ``Answerer.answer``."""
        evidence = self.evidence(vectors, code_all=explain)
        return answers_of(self.tip.confidence, evidence, reject=reject, unknown=unknown, coverage=coverage)

    def evidence(self, vectors: Any, *, code_all: bool = False) -> Evidence:
        queries = self.tip.scaled(self.tip.samples.rows(vectors))
        return join_evidence(
            [self._classified(queries[piece], code_all) for piece in chunks(len(queries), self._chunk)]
        )

    @property
    def _chunk(self) -> int:
        model = self.tip.model
        one = sum(store.content.nbytes for store in model.stores.values())
        return max(1, min(MOST, AT_ONCE // (one * (model.method.n_neighbors or 1))))

    def _classified(self, queries: Array, code_all: bool) -> Evidence:
        near = self.neighbours(queries)
        rows, local = np.unique(near.rows, return_inverse=True)
        model = self._model_of(rows)
        here = Neighbourhood(local.reshape(near.rows.shape), near.distances)
        with one_blas_thread():
            return pipeline.among(model, Samples(queries), here, code_all=code_all)

    def neighbours(self, queries: Array) -> Neighbourhood:
        """The local dictionary of each query, rows by their place among all examples."""
        method = self.tip.model.method
        assert method.n_neighbors is not None
        wanted = max(method.n_candidates or 0, method.n_neighbors)
        near = _merged(self.shards.ask("near", [(queries,)] * len(self.shards)), min(wanted, self.starts[-1]))
        if method.n_candidates is None:
            return near
        asked = []
        for first, stop in zip(self.starts[:-1], self.starts[1:], strict=True):
            asked.append((queries, np.where((near.rows >= first) & (near.rows < stop), near.rows, -1)))
        return _merged(self.shards.ask("refined", asked), min(method.n_neighbors, self.starts[-1]))

    def _model_of(self, rows: Array) -> FittedModel:
        """A model of these examples in their order, and the longest of all behind them."""
        bounds = np.searchsorted(rows, self.starts)
        asked = [(rows[first:stop],) for first, stop in itertools.pairwise(bounds)]
        kept: list[KeptRows] = self.shards.ask("kept", asked)
        tip = self.tip.model
        stores = {
            key: PreparedExamples(
                Prepared(
                    {
                        name: np.concatenate([*(part.stores[key][name] for part in kept), last])
                        for name, last in store.content.parts.items()
                    }
                )
            )
            for key, store in tip.stores.items()
            if key in kept[0].stores
        }
        return replace(
            tip,
            labels=np.concatenate([*(part.labels for part in kept), tip.labels]),
            ids=np.concatenate([*(part.ids for part in kept), tip.ids]),
            stores=stores,
        )


def _merged(found: Sequence[Neighbourhood], k: int) -> Neighbourhood:
    """The k nearest of what shards found: their rows are none of each other's."""
    return nearest(
        np.concatenate([near.distances for near in found], axis=1), np.concatenate([near.rows for near in found], 1), k
    )


def shards_of_gallery(engine: Engine, address: str | os.PathLike[str], shards: int) -> ShardedAnswerer:
    """The gallery at ``address`` in so many shards, each read by the worker that holds it."""
    where = reachable(address)
    with Gallery.open(where, readonly=True) as gallery:
        known, starts = fingerprint(gallery), _starts(len(gallery), shards)
    makers = [StoredShard(where, known, int(a), int(b)) for a, b in itertools.pairwise(starts)]
    return _over(engine.hold(makers), starts)


def shards_of_answerer(engine: Engine, answerer: Answerer, shards: int) -> ShardedAnswerer:
    """The examples of a classifier in so many shards, sent to the workers that hold them."""
    model, starts = answerer.model, _starts(len(answerer.model), shards)
    _check(model.method)
    makers = [
        GivenShard(
            model.method,
            Examples(model.classes, np.array(model.raw[a:b]), model.labels[a:b], model.ids[a:b]),
            answerer.confidence,
            answerer.samples,
            int(a),
        )
        for a, b in itertools.pairwise(starts)
    ]
    return _over(engine.hold(makers), starts)


def _starts(examples: int, shards: int) -> Array:
    if not 1 <= shards <= examples:
        raise ParameterError(f"{examples} examples are held in 1 to {examples} shards; got {shards}.")
    return np.linspace(0, examples, shards + 1).astype(np.int64)


def _check(method: Method) -> None:
    if (reason := why_not(method)) is not None:
        raise StateError(f"This classifier cannot answer from shards: {reason}.")


def _over(held: Held, starts: Array) -> ShardedAnswerer:
    outlines = held.ask("outline", [()] * len(held))
    tips = [outline.tip for outline in outlines]
    tip = max(tips, key=lambda tip: tip.model.longest)
    _check(tip.model.method)
    if any(POSITION in store.content.parts for store in tip.model.stores.values()):
        raise StateError("This classifier cannot answer from shards: its distances are a matrix over all examples.")
    return ShardedAnswerer(held, starts, tip)
