"""Queries across threads, one BLAS thread inside each: two-level threading makes small solves many times slower."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, TypeVar

from kcrc.errors import ParameterError

# How many threads a matrix product runs on: one number for the whole process, whoever set it last.
#
# So calls that overlap share one limit. The first to come notes what there was, the smallest that anyone inside wants
# holds, and the last to leave puts back what was noted. A number that is not ours any more was set by somebody else
# meanwhile: it is what is put back.

FOREIGN = "faiss"  # in the path of a library that is not ours to limit
_known: dict[str, Any] = {}


def _libraries() -> list[Any]:
    """Those that are loaded. SciPy brings its own, and comes when something first needs it. That of faiss is left out:
    it counts threads for each thread by itself, and ``scale/indexes/faiss_library.py`` sets them."""
    _look(scipy="scipy.linalg" in sys.modules)
    return list(_known.values())


@cache
def _look(*, scipy: bool) -> None:
    from threadpoolctl import ThreadpoolController

    for library in ThreadpoolController().select(user_api="blas").lib_controllers:
        if FOREIGN not in library.filepath:
            _known.setdefault(library.filepath, library)


def _set(library: Any, number: int) -> int:
    """Give a library ``number`` threads; how many it has now, which may be fewer.

    threadpoolctl 3.8 lets only the thread that set OpenBLAS first set it again, and ignores the others. Here they take
    turns under one lock, so each may.
    """
    release = getattr(library, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)
    library.set_num_threads(number)
    if release is not None:
        release(force=True)
    return int(library.num_threads)


class SharedLimit:
    """The limit on all ``libraries``, and those who are inside: each a key, its thread and the number it wants."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a signal handler may ask for a limit of its own
        self.inside: dict[object, tuple[int, int]] = {}
        self.before: dict[Any, int] = {}  # what each library had when the first came
        self.ours: dict[Any, int] = {}  # and has by us

    def enter(self, key: object, count: int) -> None:
        with self.lock:
            self.inside[key] = threading.get_ident(), count
            self._settle()

    def leave(self, key: object) -> None:
        with self.lock:
            self.inside.pop(key, None)
            self._settle()

    def _settle(self) -> None:
        """Give every library the number that holds now."""
        wanted = min((count for _, count in self.inside.values()), default=None)
        for library in _libraries():
            now = library.num_threads
            if library not in self.before or now != self.ours[library]:
                self.before[library] = now
            number = self.before[library] if wanted is None else wanted
            self.ours[library] = now if number == now else _set(library, number)
        if wanted is None:
            self.before.clear()
            self.ours.clear()

    def reset_after_fork(self) -> None:
        """In a child of the process only the thread that forked goes on; what others wanted they want no longer."""
        self.lock = threading.RLock()
        if self.before:
            mine = threading.get_ident()
            self.inside = {key: value for key, value in self.inside.items() if value[0] == mine}
            self._settle()


_limit = SharedLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _limit.lock.acquire(),
        after_in_parent=lambda: _limit.lock.release(),
        after_in_child=lambda: _limit.reset_after_fork(),
    )


@contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """Inside, a matrix product runs on ``count`` threads, or on fewer where another call is inside that wants fewer."""
    key = object()
    try:
        _limit.enter(key, count)
        yield
    finally:
        _limit.leave(key)


def one_blas_thread() -> AbstractContextManager[None]:
    """Inside, a matrix product runs on the calling thread alone."""
    return blas_threads(1)


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
