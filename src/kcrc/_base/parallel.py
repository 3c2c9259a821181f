"""Spread queries over threads, with one BLAS thread in each: threads inside threads make small solves much slower."""

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

# The number of threads of a matrix product is one setting for the whole process.
#
# So calls that overlap share one limit. The first to enter saves the setting it finds, the smallest number that any
# call wants is in force, and the last to leave restores the saved setting. If some other code changed the setting in
# between, that change is what is restored.

FOREIGN = "faiss"  # in the path of a library whose threads are set elsewhere
_blas_libraries: dict[str, Any] = {}


def _libraries() -> list[Any]:
    """Return the BLAS libraries that are loaded. SciPy has its own, which is loaded when it is first needed. That of
    faiss is left out: it has one setting per thread, which ``method/neighbours/approximate/faiss_library.py`` sets."""
    _find_libraries(scipy="scipy.linalg" in sys.modules)
    return list(_blas_libraries.values())


@cache
def _find_libraries(*, scipy: bool) -> None:
    from threadpoolctl import ThreadpoolController

    for library in ThreadpoolController().select(user_api="blas").lib_controllers:
        if FOREIGN not in library.filepath:
            _blas_libraries.setdefault(library.filepath, library)


def _set_threads(library: Any, number: int) -> int:
    """Set the number of threads of a library; return how many it has now, which may be fewer.

    threadpoolctl 3.8 lets only the thread that first set OpenBLAS set it again, and ignores all others. Here each call
    holds the lock, so that restriction is lifted.
    """
    release = getattr(library, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)
    library.set_num_threads(number)
    if release is not None:
        release(force=True)
    return int(library.num_threads)


class SharedLimit:
    """The thread limit that overlapping calls share: each call has a key, its thread and the number it wants."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a signal handler may set a limit of its own
        self.calls: dict[object, tuple[int, int]] = {}
        self.saved: dict[Any, int] = {}  # the setting of each library before the first call
        self.ours: dict[Any, int] = {}  # the setting that this class made

    def enter(self, key: object, count: int) -> None:
        with self.lock:
            self.calls[key] = threading.get_ident(), count
            self._apply()

    def leave(self, key: object) -> None:
        with self.lock:
            self.calls.pop(key, None)
            self._apply()

    def _apply(self) -> None:
        """Give every library the number of threads that is in force now."""
        wanted = min((count for _, count in self.calls.values()), default=None)
        for library in _libraries():
            now = library.num_threads
            if library not in self.saved or now != self.ours[library]:
                self.saved[library] = now
            number = self.saved[library] if wanted is None else wanted
            self.ours[library] = now if number == now else _set_threads(library, number)
        if wanted is None:
            self.saved.clear()
            self.ours.clear()

    def reset_after_fork(self) -> None:
        """Drop the calls of other threads: in the child process only the thread that forked continues."""
        self.lock = threading.RLock()
        if self.saved:
            mine = threading.get_ident()
            self.calls = {key: value for key, value in self.calls.items() if value[0] == mine}
            self._apply()


_limit = SharedLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _limit.lock.acquire(),
        after_in_parent=lambda: _limit.lock.release(),
        after_in_child=lambda: _limit.reset_after_fork(),
    )


@contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """Limit matrix products in the block to ``count`` threads, or fewer if an overlapping call wants fewer."""
    key = object()
    try:
        _limit.enter(key, count)
        yield
    finally:
        _limit.leave(key)


def one_blas_thread() -> AbstractContextManager[None]:
    """Limit matrix products in the block to the calling thread."""
    return blas_threads(1)


T = TypeVar("T")


def worker_count(n_jobs: int | None) -> int:
    """Return the number of threads to use: None is one per core that this process may use, −1 all, −2 all but one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    if n_jobs is None:
        return cores
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise ParameterError(f"n_jobs must be None, a positive number of threads, or −1 for all cores; got {n_jobs!r}.")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def chunks(n_items: int, size: int) -> list[slice]:
    """Return slices of at most ``size`` items that cover ``n_items``; none is empty."""
    size = max(1, size)
    return [slice(start, min(n_items, start + size)) for start in range(0, n_items, size)]


def over_chunks(work: Callable[[slice], T], n_items: int, size: int, n_jobs: int | None) -> list[T]:
    """Return ``work(slice)`` for every chunk, in the order of the chunks, computed on up to ``n_jobs`` threads."""
    pieces = chunks(n_items, size)
    if len(pieces) == 1:  # a single chunk needs no pool
        with one_blas_thread():
            return [work(pieces[0])]
    workers = min(worker_count(n_jobs), len(pieces))
    with one_blas_thread():
        if workers <= 1:
            return [work(piece) for piece in pieces]
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(work, pieces))


def chunk_after_chunk(work: Callable[[slice], T], n_items: int, size: int, n_jobs: int | None) -> list[T]:
    """Return ``work(slice)`` for every chunk, one after the other, with threads inside the (large) matrix products."""
    with blas_threads(worker_count(n_jobs)):
        return [work(piece) for piece in chunks(n_items, size)]
