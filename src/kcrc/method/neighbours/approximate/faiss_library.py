"""faiss, loaded so that it is at its best, on as many threads as it is told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, BinaryIO

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
