"""A part of the stored examples, and what it is asked: who is near, and what is kept of those that are.

A shard holds consecutive examples in a model of their own, so coarse and fine distances run where the examples are. It
speaks of examples by their place among all of them.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.parallel import one_blas_thread
from kcrc._base.redaction import ServerAddress
from kcrc.classifier.saving import Examples, rebuild_answerer
from kcrc.confidence.answerer import Answerer
from kcrc.confidence.calibration import Confidence
from kcrc.errors import StateError
from kcrc.gallery import Gallery
from kcrc.gallery.contract import Snapshot, TunedRecord
from kcrc.method.fitted_model import RAW, FittedModel, Method
from kcrc.method.neighbours.base import Neighbourhood
from kcrc.method.neighbours.refine import refine
from kcrc.method.preparation import Samples
from kcrc.method.samples import SampleForm

# What tells the classifier of a gallery from every other: so that work which goes on later goes on with the same.


def fingerprint(gallery: Gallery) -> str:
    """A digest of all that its answers follow from: the feature, what was tuned, and each example's id, label and
    vector (by its checksum)."""

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
    """An address as another process finds it, whatever folder that is in."""
    if isinstance(address, str) and "://" in address:
        return ServerAddress(address)  # engines write down what work was given when it fails
    return str(Path(address).absolute())


def check_same(gallery: Gallery, known: str) -> None:
    """An error where the gallery is not what it was when the work began."""
    if fingerprint(gallery) != known:
        raise StateError(
            f"The gallery '{gallery.path}' was changed while it was being asked. Ask again from the start."
        )


@dataclass(frozen=True, eq=False)
class Outline:
    """What is known of all examples beside the examples: ``tip`` answers from the longest of them alone."""

    tip: Answerer
    examples: int


@dataclass(frozen=True, eq=False)
class KeptRows:
    """What parts keep of some examples, by preparation and name, with their class numbers and ids."""

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

    def worked(self) -> float:
        """What the process that holds it has worked so far, in seconds of a core."""
        return time.process_time()

    def near(self, queries: Array) -> Neighbourhood:
        """The nearest by the distance that goes over all examples, as many as the method looks at."""
        method, index = self._model.method, self._model.index
        assert index is not None and method.n_neighbors is not None
        with one_blas_thread():
            found = index.query(
                _samples(queries).of(method.search_distance), max(method.n_candidates or 0, method.n_neighbors)
            )
        return Neighbourhood(found.rows + self._first, found.distances)

    def refined(self, queries: Array, candidates: Array) -> Neighbourhood:
        """The nearest by the fine distance among ``candidates`` (B, C), −1 where one is another shard's."""
        method, model = self._model.method, self._model
        assert method.n_neighbors is not None
        mine = np.where(candidates >= 0, candidates - self._first, -1)
        coarse = Neighbourhood(mine, np.zeros(mine.shape))
        fine = method.distance
        with one_blas_thread():
            found = refine(coarse, _samples(queries).of(fine), model.examples(fine), fine, method.n_neighbors)
        return Neighbourhood(np.where(found.rows >= 0, found.rows + self._first, -1), found.distances)

    def kept(self, rows: Array) -> KeptRows:
        """What is kept of the examples ``rows``."""
        model, mine = self._model, rows - self._first
        stores = {
            key: {name: part[mine] for name, part in store.content.parts.items()}
            for key, store in model.stores.items()
            if key != RAW
        }
        return KeptRows(stores, model.labels[mine], model.ids[mine])


def _placed(sent: Array) -> Array:
    """An array as compiled code reads it: one that was sent may begin anywhere."""
    return np.require(sent, requirements=("C", "A"))


def _samples(queries: Array) -> Samples:
    return Samples(_placed(queries))


@dataclass(frozen=True, eq=False)
class GivenShard:
    """Makes a shard of examples that it brings along: for a classifier that is in memory and nowhere else."""

    method: Method
    examples: Examples
    confidence: Confidence
    samples: SampleForm
    first: int

    def __call__(self) -> Shard:
        some = self.examples
        model = FittedModel.build(self.method, _placed(some.vectors), some.classes, some.labels, some.ids)
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
