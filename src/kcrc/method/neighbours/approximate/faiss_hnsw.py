"""faiss's HNSW: a graph in which each vector knows some near ones, walked from a few far ones.

Built on several threads it is never twice quite the same; on one (``n_jobs=1``) it is.
"""

from __future__ import annotations

from typing import Any, BinaryIO, ClassVar, Self

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.neighbours.approximate import faiss_library
from kcrc.method.neighbours.approximate.base import Finder
from kcrc.method.neighbours.approximate.faiss_library import faiss, on_threads

LINKS = 32  # of a vector, twice as many on the ground floor
BUILDING = 80  # candidates looked at for them
EFFORTS = (64, 128, 256, 512, 1024)  # candidates of a query


class FaissHNSW(Finder):
    name: ClassVar[str] = "hnsw"

    @classmethod
    def empty(cls, sample: Array, n: int, *, threads: int) -> Self:
        index = faiss().IndexHNSWFlat(sample.shape[1], LINKS)
        index.hnsw.efConstruction = BUILDING
        room = faiss().downcast_index(index.storage).codes  # made at once: it would grow by moving, twice as large
        room.resize(4 * n * sample.shape[1])
        room.resize(0)
        return cls(index)

    @classmethod
    def settings(cls) -> dict[str, Any]:
        return {"faiss": faiss().__version__, "links": LINKS, "building": BUILDING}

    @property
    def efforts(self) -> tuple[int, ...]:
        return EFFORTS

    @property
    def used(self) -> int:
        return int(self.index.ntotal)

    def _add(self, vectors: Array, threads: int) -> None:
        with on_threads(threads):
            self.index.add(vectors)

    def near(self, queries: Array, count: int, effort: int) -> Array:
        how = faiss().SearchParametersHNSW(efSearch=max(effort, count))
        with self.turns.reading(), on_threads(1):
            return np.asarray(self.index.search(queries, count, params=how)[1])

    def is_for(self, width: int) -> bool:
        if not faiss_library.is_euclidean(self.index, "IndexHNSWFlat", width):
            return False
        stored = faiss().downcast_index(self.index.storage)
        return faiss_library.is_euclidean(stored, "IndexFlatL2", width) and stored.ntotal == self.used

    def write(self, file: BinaryIO) -> None:
        faiss_library.write(self.index, file)

    @classmethod
    def read(cls, file: BinaryIO) -> Self:
        return cls(faiss_library.read(file))
