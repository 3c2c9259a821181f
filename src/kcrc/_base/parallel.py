"""Queries across threads, one BLAS thread inside each: two-level threading makes small solves many times slower."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kcrc._base.blas import blas_threads, one_blas_thread
from kcrc.errors import ParameterError

T = TypeVar("T")


def worker_count(n_jobs: int | None) -> int:
    """Threads to use: None is one for each core this process may use, negative counts back from that (−1 = all)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    if n_jobs is None:
        return cores
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise ParameterError(f"n_jobs is None, a positive number of threads, or −1 for all cores; got {n_jobs!r}.")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def chunks(n_items: int, size: int) -> list[slice]:
    """Slices of at most ``size`` items that cover ``n_items``; none is empty."""
    size = max(1, size)
    return [slice(start, min(n_items, start + size)) for start in range(0, n_items, size)]


def over_chunks(work: Callable[[slice], T], n_items: int, size: int, n_jobs: int | None) -> list[T]:
    """``work(slice)`` for every chunk, in order of the chunks, on up to ``n_jobs`` threads."""
    pieces = chunks(n_items, size)
    if len(pieces) == 1:  # nothing to share out: no pool is started for a single query
        with one_blas_thread():
            return [work(pieces[0])]
    workers = min(worker_count(n_jobs), len(pieces))
    with one_blas_thread():
        if workers <= 1:
            return [work(piece) for piece in pieces]
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(work, pieces))


def chunk_after_chunk(work: Callable[[slice], T], n_items: int, size: int, n_jobs: int | None) -> list[T]:
    """``work(slice)`` for every chunk in turn, the threads inside the matrix products: for large ones."""
    with blas_threads(worker_count(n_jobs)):
        return [work(piece) for piece in chunks(n_items, size)]
