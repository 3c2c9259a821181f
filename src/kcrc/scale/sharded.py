"""A gallery in shards: each shard finds who is near among its examples, and the local problems are solved here.

queries -> every shard: its nearest -> the nearest of all, ties by row
        -> (coarse to fine: every shard measures the candidates that it holds -> the nearest of those)
        -> what is stored of the K nearest, from their shards -> local problems

From there on it is the pipeline of one process (``pipeline.among``), over a model of the few examples that are near. A
shard holds consecutive examples in a model of their own, so coarse and fine distances run where the examples are.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.parallel import chunks, one_blas_thread
from kcrc._base.redaction import ServerAddress
from kcrc.classifier.saving import Examples, rebuild_answerer
from kcrc.confidence.answerer import Answerer
from kcrc.confidence.answers import Answers, answers_of
from kcrc.confidence.calibration import Confidence
from kcrc.errors import ParameterError, StateError
from kcrc.gallery import Gallery
from kcrc.gallery.contract import Snapshot, TunedRecord
from kcrc.method import pipeline
from kcrc.method.evidence import Evidence, join_evidence
from kcrc.method.fitted_model import RAW, FittedModel, Method
from kcrc.method.neighbours.approximate import LIBRARIES
from kcrc.method.neighbours.base import Neighbourhood, nearest
from kcrc.method.neighbours.refine import refine
from kcrc.method.preparation import POSITION, Prepared, PreparedExamples, Samples
from kcrc.method.samples import SampleForm
from kcrc.scale.engines.base import Engine, Held

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
    """Answers as an ``Answerer`` over all examples does. It can be sent to workers, which then use the same shards."""

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
        queries = self.tip.scale_queries(self.tip.samples.rows(vectors))
        return join_evidence([self._classify(queries[piece], code_all) for piece in chunks(len(queries), self._chunk)])

    @property
    def _chunk(self) -> int:
        model = self.tip.model
        one = sum(store.content.nbytes for store in model.stores.values())
        return max(1, min(MOST, AT_ONCE // (one * (model.method.n_neighbors or 1))))

    def _classify(self, queries: Array, code_all: bool) -> Evidence:
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
        near = _merge(self.shards.ask("search", [(queries,)] * len(self.shards)), min(wanted, self.starts[-1]))
        if method.n_candidates is None:
            return near
        candidates = []
        for first, stop in zip(self.starts[:-1], self.starts[1:], strict=True):
            candidates.append((queries, np.where((near.rows >= first) & (near.rows < stop), near.rows, -1)))
        return _merge(self.shards.ask("refine", candidates), min(method.n_neighbors, self.starts[-1]))

    def _model_of(self, rows: Array) -> FittedModel:
        """A model of these examples in their order, and the longest of all behind them."""
        bounds = np.searchsorted(rows, self.starts)
        wanted = [(rows[first:stop],) for first, stop in itertools.pairwise(bounds)]
        stored: list[StoredRows] = self.shards.ask("take", wanted)
        tip = self.tip.model
        stores = {
            key: PreparedExamples(
                Prepared(
                    {
                        name: np.concatenate([*(part.stores[key][name] for part in stored), last])
                        for name, last in store.content.parts.items()
                    }
                )
            )
            for key, store in tip.stores.items()
            if key in stored[0].stores
        }
        return replace(
            tip,
            labels=np.concatenate([*(part.labels for part in stored), tip.labels]),
            ids=np.concatenate([*(part.ids for part in stored), tip.ids]),
            stores=stores,
        )


def _merge(found: Sequence[Neighbourhood], k: int) -> Neighbourhood:
    """The k nearest of those that the shards found; no two shards hold the same row."""
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
        raise ParameterError(f"The number of shards must be 1 to {examples}, the number of examples; got {shards}.")
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


# The identity of a gallery's classifier: work that is resumed later has to find the same one.


def fingerprint(gallery: Gallery) -> str:
    """A digest of all that answers follow from: the feature, the parameters, and each example's id, label and vector
    (by its checksum)."""

    def look(reading: Snapshot) -> str:
        settings, contents = gallery.settings, gallery.contents
        digest = hashlib.sha256(f"{settings.identity}\0{settings.fingerprint}\0{settings.tuned}\0".encode())
        for piece in sorted(reading.find(TunedRecord, act=settings.tuned), key=lambda piece: piece.name):
            digest.update(f"{piece.name}\0{len(piece.data)}\0".encode() + piece.data)
        digest.update(contents.ids.tobytes() + contents.vector_crcs.tobytes())
        for row in contents.rows:
            digest.update(f"{row.label}\0".encode())
        return digest.hexdigest()

    return gallery.read(look)


def reachable(address: str | os.PathLike[str]) -> str:
    """Return an address that another process finds, whatever folder that is in."""
    if isinstance(address, str) and "://" in address:
        return ServerAddress(address)  # engines print the arguments of work that fails
    return str(Path(address).absolute())


def check_same(gallery: Gallery, known: str) -> None:
    """Raise an error if the gallery has changed since the work began."""
    if fingerprint(gallery) != known:
        raise StateError(
            f"The gallery '{gallery.path}' was changed while it was answering. Run the command again from the start."
        )


@dataclass(frozen=True, eq=False)
class Outline:
    """What a shard knows beside its examples; ``tip`` answers from the longest of them alone."""

    tip: Answerer
    examples: int


@dataclass(frozen=True, eq=False)
class StoredRows:
    """What is stored of some examples, by preparation and name, with their class numbers and ids."""

    stores: Mapping[Hashable, Mapping[str, Array]]
    labels: Array
    ids: Array


class Shard:
    """The examples from the ``first`` on that ``answerer`` answers from. Queries (B, d) are scaled already."""

    def __init__(self, answerer: Answerer, first: int) -> None:
        self._answerer, self._model, self._first = answerer, answerer.model, first

    def outline(self) -> Outline:
        model, mine = self._model, self._answerer
        longest = int(np.argmax(np.einsum("ij,ij->i", model.vectors, model.vectors, dtype=np.float64)))
        one = slice(longest, longest + 1)
        tip = FittedModel.build(
            model.method, np.array(model.raw[one]), model.classes, model.labels[one], model.ids[one]
        )
        return Outline(Answerer(tip, mine.confidence, mine.samples), len(model))

    def cpu_seconds(self) -> float:
        """How long the process that holds the shard has computed so far, in seconds of one core."""
        return time.process_time()

    def search(self, queries: Array) -> Neighbourhood:
        """The nearest by the distance that searches all examples, as many as the method uses."""
        method, index = self._model.method, self._model.index
        assert index is not None and method.n_neighbors is not None
        with one_blas_thread():
            found = index.query(
                _samples(queries).of(method.search_distance), max(method.n_candidates or 0, method.n_neighbors)
            )
        return Neighbourhood(found.rows + self._first, found.distances)

    def refine(self, queries: Array, candidates: Array) -> Neighbourhood:
        """The nearest by the fine distance among ``candidates`` (B, C), in which −1 is one of another shard."""
        method, model = self._model.method, self._model
        assert method.n_neighbors is not None
        mine = np.where(candidates >= 0, candidates - self._first, -1)
        coarse = Neighbourhood(mine, np.zeros(mine.shape))
        fine = method.distance
        with one_blas_thread():
            found = refine(coarse, _samples(queries).of(fine), model.examples(fine), fine, method.n_neighbors)
        return Neighbourhood(np.where(found.rows >= 0, found.rows + self._first, -1), found.distances)

    def take(self, rows: Array) -> StoredRows:
        """What is stored of the examples ``rows``."""
        model, mine = self._model, rows - self._first
        stores = {
            key: {name: part[mine] for name, part in store.content.parts.items()}
            for key, store in model.stores.items()
            if key != RAW
        }
        return StoredRows(stores, model.labels[mine], model.ids[mine])


def _align(sent: Array) -> Array:
    """Return an array as compiled code reads it: one that was sent may begin at any address."""
    return np.require(sent, requirements=("C", "A"))


def _samples(queries: Array) -> Samples:
    return Samples(_align(queries))


@dataclass(frozen=True, eq=False)
class GivenShard:
    """Makes a shard of examples that are sent with it: for a classifier that is in memory and in no file."""

    method: Method
    examples: Examples
    confidence: Confidence
    samples: SampleForm
    first: int

    def __call__(self) -> Shard:
        some = self.examples
        model = FittedModel.build(self.method, _align(some.vectors), some.classes, some.labels, some.ids)
        return Shard(Answerer(model, self.confidence, self.samples), self.first)


@dataclass(frozen=True)
class StoredShard:
    """Makes a shard of the gallery at ``address``, which has this ``fingerprint``: the examples from ``first`` up to
    ``stop``, with the parameters that are stored."""

    address: str
    fingerprint: str
    first: int
    stop: int

    def __call__(self) -> Shard:
        with Gallery.open(self.address, readonly=True) as gallery:
            check_same(gallery, self.fingerprint)
            header, arrays = gallery.tuned_state(gallery.settings.tuned)
            ids, vectors, labels = gallery.vectors()
            classes, numbers = np.unique(labels, return_inverse=True)
            mine = slice(self.first, self.stop)
            some = Examples(classes, np.array(vectors[mine]), numbers[mine], ids[mine])
        return Shard(rebuild_answerer(header, arrays, some, path=self.address), self.first)
