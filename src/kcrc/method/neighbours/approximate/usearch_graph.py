"""usearch: a graph as HNSW is, from a small package.

Vectors are kept as bfloat16, a few times as quick as single precision here and half as large: candidates are measured
again. How hard it looks is a setting of the whole index and not of a search, so that searches take turns.
"""

from __future__ import annotations

from typing import Any, BinaryIO, ClassVar, Self

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.neighbours.approximate.base import Finder

KEPT_AS = "bf16"
LINKS = 24  # of a vector, twice as many on the ground floor
BUILDING = 96  # candidates looked at for them
EFFORTS = (64, 128, 256, 512, 1024)  # candidates of a query


class UsearchGraph(Finder):
    name: ClassVar[str] = "usearch"

    @classmethod
    def empty(cls, sample: Array, n: int, *, threads: int) -> Self:
        from usearch.index import Index

        width = sample.shape[1]
        return cls(Index(ndim=width, metric="l2sq", dtype=KEPT_AS, connectivity=LINKS, expansion_add=BUILDING))

    @classmethod
    def settings(cls) -> dict[str, Any]:
        import usearch

        return {"usearch": usearch.__version__, "as": KEPT_AS, "links": LINKS, "building": BUILDING}

    @property
    def efforts(self) -> tuple[int, ...]:
        return EFFORTS

    @property
    def slot_count(self) -> int:
        return len(self.index)

    def _add(self, vectors: Array, threads: int) -> None:
        slots = np.arange(self.slot_count, self.slot_count + len(vectors), dtype=np.uint64)
        self.index.add(slots, vectors, threads=threads)

    def near(self, queries: Array, count: int, effort: int) -> Array:
        with self.turns.changing():
            self.index.expansion_search = max(effort, count)
            found = self.index.search(queries, count, threads=1)
        slots = np.asarray(found.keys).astype(np.int64).reshape(len(queries), -1)
        many = np.asarray(getattr(found, "counts", slots.shape[1])).reshape(-1, 1)
        return np.where(np.arange(slots.shape[1]) < many, slots, -1)

    def is_for(self, width: int) -> bool:
        found = (self.index.ndim, self.index.metric_kind.name, self.index.dtype.name)
        return bool(found == (width, "L2sq", KEPT_AS.upper()))

    def write(self, file: BinaryIO) -> None:
        file.write(self.index.save())

    @classmethod
    def read(cls, file: BinaryIO) -> Self:
        from usearch.index import Index

        restored = Index.restore(file.read(), expansion_add=BUILDING)  # which a file does not hold
        if restored is None:
            raise ValueError("it holds no index")
        return cls(restored)
