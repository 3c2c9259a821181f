"""faiss's IVF: vectors in cells around centres, of which a query looks into the nearest few.

They are kept in half precision, less what their centre is: half the memory, and candidates are measured again.
"""

from __future__ import annotations

from math import isqrt
from typing import Any, BinaryIO, ClassVar, Self

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.neighbours.approximate import faiss_library
from kcrc.method.neighbours.approximate.base import Finder
from kcrc.method.neighbours.approximate.faiss_library import faiss, on_threads

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
    def used(self) -> int:
        return int(self.index.ntotal)

    def _add(self, vectors: Array, threads: int) -> None:
        with on_threads(threads):
            self.index.add(vectors)

    def near(self, queries: Array, count: int, effort: int) -> Array:
        how = faiss().SearchParametersIVF(nprobe=min(effort, self.index.nlist))
        with self.turns.reading(), on_threads(1):
            return np.asarray(self.index.search(queries, count, params=how)[1])

    def is_for(self, width: int) -> bool:
        if not faiss_library.is_euclidean(self.index, "IndexIVFScalarQuantizer", width):
            return False
        centres = faiss().downcast_index(self.index.quantizer)
        return faiss_library.is_euclidean(centres, "IndexFlatL2", width) and centres.ntotal == self.index.nlist

    def write(self, file: BinaryIO) -> None:
        faiss_library.write(self.index, file)

    @classmethod
    def read(cls, file: BinaryIO) -> Self:
        return cls(faiss_library.read(file))
