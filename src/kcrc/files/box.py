"""Bytes of strangers are read in a box: in worker processes with hard limits, ended and replaced when over them.

Decoders of pictures, Parquet, networks and weights are large programs by others. What a file makes them do cannot be
foreseen from its bytes, so nothing here tries to: a worker (``boxed``) gets the bytes and gives back arrays, and

- its processor time for one request, the time on the clock, its memory and the size of its reply are limited;
- it is started by ``subprocess`` with an entry of its own, so that a script needs no main guard; it inherits no
  descriptors but its pipes and none of the environment but a few variables;
- once it has imported what it needs, it opens no file and no connection.

What the system enforces:

================================  ==================  =====================  =====================
limit                             Linux               macOS                  Windows
================================  ==================  =====================  =====================
processor time                    timer of the kernel timer of the kernel    the clock alone
time on the clock, size of reply  yes                 yes                    yes
memory                            RLIMIT_DATA         no                     no
no new files or connections       RLIMIT_NOFILE       RLIMIT_NOFILE          no
no programs, renaming, deleting,  seccomp (x86-64)    no                     no
signals to other processes
================================  ==================  =====================  =====================

Replies come through the pipe: for pixels of the sizes that features want, shared memory is no faster.
A worker that takes long loses its priority, so that others are answered meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import kcrc
from kcrc.errors import DataError, StateError
from kcrc.files.boxed import LONGEST_PIECE, Head, receive, send

START = 30.0  # seconds on the clock that a worker may take to begin
_LONG = 0.5  # seconds of processor time (where it is not known, on the clock) after which a request counts as long
_LOWEST = 19
_INHERITED = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE")


class Broken(Exception):
    """A worker gave no answer. ``reason`` is "time", "memory" or "ended"; the text says more."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class _Unreadable(Exception):
    """The file that a worker reads from gave an error, which is the cause."""


class Worker:
    """One process that answers requests by the job ``job``, the name of a module.

    ``memory`` is what it may take beyond what it has once its job is prepared. One that ``yields`` loses its
    priority when a request takes long.
    """

    def __init__(self, job: str, *options: str, memory: int, yields: bool = False) -> None:
        if not sys.executable:
            raise StateError("This program does not know its Python, which it needs to read files of others apart.")
        self.memory, self.yields = memory, yields
        self.is_slowed = self.is_overdue = False
        self._begin = 0.0
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self.is_ready = False
        # Packages are found where this process finds them, and nothing in the folder it is started in.
        places = [str(Path(kcrc.__file__).parent.parent), *filter(None, sys.path)]
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-P", "-m", "kcrc.files.boxed", job, str(memory), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={
                **{name: os.environ[name] for name in _INHERITED if name in os.environ},
                "PYTHONPATH": os.pathsep.join(dict.fromkeys(places)),
                # One arena, and large blocks given back to the system when they are freed.
                "MALLOC_ARENA_MAX": "1",
                "MALLOC_MMAP_THRESHOLD_": "4194304",
                "OPENBLAS_NUM_THREADS": "1",
                "ARROW_DEFAULT_MEMORY_POOL": "system",  # the others reserve more than they use
            },
        )
        _workers.add(self)
        self.close = weakref.finalize(self, _end, self._process, self._owner)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_usable(self) -> bool:
        """False if the process has ended, or belongs to the process that this one was forked from."""
        return self._owner == os.getpid() and self._process.poll() is None and not self.is_overdue

    def ask(
        self,
        head: Head,
        content: Any = b"",
        *,
        clock: float,
        limit: int,
        seconds: float = 0.0,
        file: IO[bytes] | None = None,
    ) -> tuple[Head, bytearray]:
        """The reply to one request, in ``clock`` seconds, ``seconds`` of processor time and ``limit`` bytes.

        0 seconds of processor time are no limit. Of ``file`` the worker may fetch pieces while it works. Raises
        ``Broken`` if there is no reply, and a DataError with the words of the worker if that is its reply.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        size = memoryview(content).nbytes
        with self._lock:
            try:
                if not self.is_ready:
                    with _clock.limit(self, START):
                        self.is_ready = receive(stdout, limit=0) is not None
                with _clock.limit(self, clock):
                    send(stdin, {**head, "seconds": seconds}, size, [content])
                    while (reply := receive(stdout, limit=limit)) is not None and "fetch" in reply[0]:
                        piece = _piece(file, reply[0]["fetch"])
                        send(stdin, {}, len(piece), [piece])
            except _Unreadable as problem:
                self._process.kill()
                assert problem.__cause__ is not None
                raise problem.__cause__ from None
            except (OSError, DataError):  # it has ended, or gives back more than it may
                reply = None
            except BaseException:  # half a message would be taken for the next
                self._process.kill()
                raise
        if reply is None:
            raise self._why()
        if reply[0].get("fault") == "memory":
            raise Broken("memory", f"it needs more than {self.memory} bytes of memory")
        if "error" in reply[0]:
            raise DataError(str(reply[0]["error"])[:2000])
        return reply

    def begin(self) -> None:
        """Count its seconds from here."""
        self._begin = self._time()

    def _seconds(self) -> float:
        """The processor time since ``begin``, or, where the system does not tell it, the time on the clock."""
        return self._time() - self._begin

    def _time(self) -> float:
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                return time.clock_gettime(~self.pid << 3 | 2)  # CPUCLOCK_SCHED of the process, as glibc makes it
        return time.monotonic()

    def slow_down(self) -> None:
        """Take away its priority, for good, if its request takes long."""
        if not self.yields or not self.is_ready or self.is_slowed or self._seconds() < _LONG:
            return
        self.is_slowed = True
        if hasattr(os, "setpriority"):
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, self.pid, _LOWEST)

    def stop(self) -> None:
        """End it in the middle of a request that is overdue."""
        self.is_overdue = True
        self._process.kill()

    def _why(self) -> Broken:
        try:
            code = self._process.wait(1.0)  # its pipe is closed: it has ended, or is about to
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if self.is_overdue or code == -getattr(signal, "SIGPROF", 0):
            return Broken("time", "it took too long")
        how = signal.Signals(-code).name if -code in set(signal.Signals) else f"exit code {code}"
        return Broken("ended", how)


def _piece(file: IO[bytes] | None, wanted: Any) -> bytes:
    """The piece of the file that a worker fetches: [offset, bytes]."""
    if file is None or not isinstance(wanted, list) or [type(n) for n in wanted] != [int, int]:
        raise DataError("The worker asked for what it cannot have.")
    offset, size = wanted
    if offset < 0 or not 0 <= size <= LONGEST_PIECE:
        raise DataError("The worker asked for what it cannot have.")
    try:
        file.seek(offset)
        return file.read(size)
    except OSError as problem:
        raise _Unreadable from problem


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() == owner:
        process.kill()
        process.communicate()


class WorkerPool:
    """The workers of one job: a few that wait, more while they are needed, ``most`` at once.

    ``memory`` gives the bytes that a worker may take; workers with another limit are replaced.
    """

    def __init__(self, job: str, *options: str, memory: Callable[[], int], most: int = 8) -> None:
        self._command = (job, *options)
        self._memory, self._most = memory, most
        self._kept = min(most, os.cpu_count() or 1)
        self._forget()
        _pools.add(self)

    def _forget(self) -> None:
        self._idle: list[Worker] = []
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(self._most)

    def warm(self, count: int = 1) -> None:
        """Start workers now, to be ready when the first request comes. They are not waited for."""
        with self._lock:
            for _ in range(min(count, self._kept) - len(self._idle)):
                self._idle.append(self._start())

    def ask(self, head: Head, content: Any = b"", **limits: Any) -> tuple[Head, bytearray]:
        """The reply of a worker, as ``Worker.ask``. While all are busy, it waits."""
        with self._room:
            worker = self._take()
            try:
                return worker.ask(head, content, **limits)
            finally:
                self._return(worker)

    def _take(self) -> Worker:
        memory = self._memory()
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.is_usable and worker.memory == memory:
                    return worker
                worker.close()
        return self._start()

    def _start(self) -> Worker:
        return Worker(*self._command, memory=self._memory(), yields=True)

    def _return(self, worker: Worker) -> None:
        with self._lock:
            if worker.is_usable and not worker.is_slowed and len(self._idle) < self._kept:
                self._idle.append(worker)
                return
        worker.close()


class _Clock:
    """One thread that slows down what takes long and stops what takes too long."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._due: dict[Worker, tuple[float, float]] = {}
        self._changed = threading.Condition()
        self._is_running = False

    @contextlib.contextmanager
    def limit(self, worker: Worker, seconds: float) -> Iterator[None]:
        """Inside, the worker has so many seconds."""
        now = time.monotonic()
        with self._changed:
            worker.begin()
            self._due[worker] = (now, now + seconds)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name="kcrc-box", daemon=True).start()
            elif len(self._due) == 1:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._due.pop(worker, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._due)
                self._look()
            time.sleep(0.1)

    def _look(self) -> None:
        now = time.monotonic()
        for worker, (begin, end) in self._due.items():
            if now >= end:
                worker.stop()
            elif now - begin >= _LONG:
                worker.slow_down()


_clock = _Clock()
_workers: weakref.WeakSet[Worker] = weakref.WeakSet()
_pools: weakref.WeakSet[WorkerPool] = weakref.WeakSet()


def _after_fork() -> None:
    """A forked process has workers of its own: it closes its copies of the pipes, which would keep the others alive."""
    for worker in list(_workers):
        process = worker._process
        process.returncode = 0  # not this process's to wait for
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
    _clock._forget()
    for pool in list(_pools):
        pool._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
