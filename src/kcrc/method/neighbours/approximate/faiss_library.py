"""faiss, loaded so that it is at its best, on as many threads as it is told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from math import isqrt
from typing import Any, BinaryIO, ClassVar, Self

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.neighbours.approximate.base import Finder
from kcrc.native import native

BLOCK = 1 << 20  # bytes a time, through files


@cache
def faiss() -> Any:
    """The module.

    Its wheel brings an old OpenBLAS that does not know newer CPUs and falls back to code without AVX. It is told the
    kind of CPU before it loads.
    """
    known = os.environ.get("OPENBLAS_CORETYPE")
    if known is None and native is not None and native.cpu_has_avx2():
        os.environ["OPENBLAS_CORETYPE"] = "Haswell"
    try:
        import faiss as module

        return module
    finally:
        if known is None:
            os.environ.pop("OPENBLAS_CORETYPE", None)


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Inside, what this thread asks of faiss runs on ``count`` threads. The number is the calling thread's own."""
    before = faiss().omp_get_max_threads()
    faiss().omp_set_num_threads(count)
    try:
        yield
    finally:
        faiss().omp_set_num_threads(before)


def is_euclidean(index: Any, kind: str, width: int) -> bool:
    """Whether an index is of this very class, for vectors of this width, and goes by Euclidean distances."""
    same = type(index) is getattr(faiss(), kind) and index.d == width
    return bool(same and index.metric_type == faiss().METRIC_L2)


def write(index: Any, file: BinaryIO) -> None:
    faiss().write_index(index, faiss().PyCallbackIOWriter(file.write, BLOCK))


def read(file: BinaryIO) -> Any:
    return faiss().read_index(faiss().PyCallbackIOReader(file.read, BLOCK))


# faiss's HNSW: a graph in which each vector knows some near ones, walked from a few far ones.
#
# Built on several threads it is never twice quite the same; on one (``n_jobs=1``) it is.

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
    def slot_count(self) -> int:
        return int(self.index.ntotal)

    def _add(self, vectors: Array, threads: int) -> None:
        with on_threads(threads):
            self.index.add(vectors)

    def near(self, queries: Array, count: int, effort: int) -> Array:
        how = faiss().SearchParametersHNSW(efSearch=max(effort, count))
        with self.turns.reading(), on_threads(1):
            return np.asarray(self.index.search(queries, count, params=how)[1])

    def is_for(self, width: int) -> bool:
        if not is_euclidean(self.index, "IndexHNSWFlat", width):
            return False
        stored = faiss().downcast_index(self.index.storage)
        return is_euclidean(stored, "IndexFlatL2", width) and stored.ntotal == self.slot_count

    def write(self, file: BinaryIO) -> None:
        write(self.index, file)

    @classmethod
    def read(cls, file: BinaryIO) -> Self:
        return cls(read(file))


# faiss's IVF: vectors in cells around centres, of which a query looks into the nearest few.
#
# They are kept in half precision, less what their centre is: half the memory, and candidates are measured again.

OF_A_CENTRE = 40  # vectors that each centre is learned from
ROUNDS = 10
MOST_CENTRES = 4096
DEEPEST = 8  # of the cells, one in so many is looked into at most; where they are few, more


class FaissIVF(Finder):
    name: ClassVar[str] = "ivf"

    @classmethod
    def empty(cls, sample: Array, n: int, *, threads: int) -> Self:
        centres = max(1, min(isqrt(n), MOST_CENTRES, len(sample) // OF_A_CENTRE))
        width, halves = sample.shape[1], faiss().ScalarQuantizer.QT_fp16
        index = faiss().IndexIVFScalarQuantizer(faiss().IndexFlatL2(width), width, centres, halves)
        index.cp.niter, index.cp.min_points_per_centroid = ROUNDS, 1
        with on_threads(threads):
            index.train(sample)
        return cls(index)

    @classmethod
    def settings(cls) -> dict[str, Any]:
        return {"faiss": faiss().__version__, "of a centre": OF_A_CENTRE, "rounds": ROUNDS, "most": MOST_CENTRES}

    @property
    def efforts(self) -> tuple[int, ...]:
        most = min(self.index.nlist, max(8, self.index.nlist // DEEPEST))
        return (*(1 << i for i in range(most.bit_length()) if 1 << i < most), most)

    @property
    def slot_count(self) -> int:
        return int(self.index.ntotal)

    def _add(self, vectors: Array, threads: int) -> None:
        with on_threads(threads):
            self.index.add(vectors)

    def near(self, queries: Array, count: int, effort: int) -> Array:
        how = faiss().SearchParametersIVF(nprobe=min(effort, self.index.nlist))
        with self.turns.reading(), on_threads(1):
            return np.asarray(self.index.search(queries, count, params=how)[1])

    def is_for(self, width: int) -> bool:
        if not is_euclidean(self.index, "IndexIVFScalarQuantizer", width):
            return False
        centres = faiss().downcast_index(self.index.quantizer)
        return is_euclidean(centres, "IndexFlatL2", width) and centres.ntotal == self.index.nlist

    def write(self, file: BinaryIO) -> None:
        write(self.index, file)

    @classmethod
    def read(cls, file: BinaryIO) -> Self:
        return cls(read(file))
