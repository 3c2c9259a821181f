"""What goes on behind the requests, in threads of its own: changes one after the other, learning, slow computations."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from kcrc.gallery import Gallery
from kcrc.web.current import Current
from kcrc.web.events import Events
from kcrc.web.guard import Refusal

T = TypeVar("T")
MOST_CHANGES = 1000  # that wait
PATIENCE = 5.0  # seconds that the end of the server waits for work that can be done again
WAIT = 4.0  # seconds that a request waits for a computation

Report = Callable[[float], None]  # takes the share that is done, from 0 to 1


class WorkThread:
    """One thread that does one piece of work after the other; at most ``most`` pieces wait (0: any number)."""

    def __init__(self, name: str, *, most: int = 0) -> None:
        self._waiting: queue.Queue[tuple[Callable[[], Any], Future[Any]] | None] = queue.Queue(most)
        self._is_dropping = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """The result of ``work``, once its turn has come and it is done."""
        done: Future[T] = Future()
        try:
            self._waiting.put_nowait((work, done))
        except queue.Full:
            full = "Too many changes are waiting. Try again in a moment."
            raise Refusal(503, full, headers={"Retry-After": "1"}) from None
        return done

    def close(self) -> None:
        """Do all that waits, then end."""
        self._waiting.put(None)
        self._thread.join()

    def drop(self) -> None:
        """Drop what waits, and wait a while for what is being done."""
        self._is_dropping = True
        self._waiting.put(None)
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        while (entry := self._waiting.get()) is not None:
            work, done = entry
            if self._is_dropping:
                done.cancel()
            if not done.set_running_or_notify_cancel():  # its client has gone away
                continue
            try:
                result = work()
            except BaseException as problem:
                done.set_exception(problem)
            else:
                done.set_result(result)


# What changes teach is learned after they are acknowledged: how sure answers are, from the examples as they are now. A
# correction counts for the next query at once; until this is done, answers say that their confidence is being learned.


class Learner:
    """One thread calls ``learn()``, and then ``finished(revision)``; ``failed`` takes what went wrong."""

    def __init__(
        self,
        gallery: Gallery,
        *,
        learn: Callable[[], None],
        finished: Callable[[int], None],
        failed: Callable[[str], None],
    ) -> None:
        self._gallery = gallery
        self._learn, self._finished, self._failed = learn, finished, failed
        self._wake = threading.Event()
        self._closing = False
        self.done = gallery.settings.revision
        """The revision up to which there is nothing to learn."""
        self._thread = threading.Thread(target=self._run, name="kcrc-learn", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """There may be something to learn."""
        self._wake.set()

    def is_behind(self, revision: int) -> bool:
        """Whether answers of that revision rest on what was learned before it."""
        return not self._gallery.readonly and revision > self.done

    def close(self) -> None:
        """End. Learning that takes long is left undone; the next opening of the gallery can do it."""
        self._closing = True
        self._wake.set()
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._closing:
                return
            revision = self._gallery.settings.revision
            if self._gallery.readonly or revision <= self.done:
                continue
            try:
                self._learn()
            except Exception as problem:  # answers go on by what was learned before
                if not self._closing:
                    self._failed(f"what the changes teach cannot be learned ({type(problem).__name__}: {problem})")
            if self._closing:  # the gallery may be closed by now
                return
            if self._gallery.settings.revision == revision:
                self.done = revision
                self._finished(revision)
            else:
                self._wake.set()


# What takes seconds is computed once for a state of the gallery, and kept until the next.


@dataclass(frozen=True)
class Computed(Generic[T]):
    """The latest value (None: there is none yet) and whether a newer one is being computed."""

    value: T | None
    working: bool


class Computation(Generic[T]):
    """``compute(current, report)`` runs once at a time; events say how far it is."""

    def __init__(self, name: str, compute: Callable[[Current, Report], T], worker: WorkThread, events: Events) -> None:
        self.name, self._compute, self._worker, self._events = name, compute, worker, events
        self._lock = threading.Lock()
        self._latest: tuple[Hashable, T] | None = None
        self._running: tuple[Hashable, Future[T]] | None = None

    async def value(self, current: Current, key: Hashable = None) -> Computed[T]:
        """The value for this state of the gallery (and ``key``, what else it depends on); an older one if that takes
        longer than a request waits."""
        wanted = (current.revision, key)
        with self._lock:
            if self._latest is not None and self._latest[0] == wanted:
                return Computed(self._latest[1], False)
            if self._running is None or (self._running[0] != wanted and self._running[1].done()):
                self._running = (wanted, self._worker.submit(partial(self._run, current, wanted)))
            running = self._running
        waiting = asyncio.wrap_future(running[1])
        waiting.add_done_callback(lambda one: one.cancelled() or one.exception())  # also if all clients went away
        done, _ = await asyncio.wait([waiting], timeout=WAIT)
        for task in done:
            if running[0] == wanted:
                return Computed(task.result(), False)
            task.exception()  # of an older state: the next request computes it again
        with self._lock:
            return Computed(None if self._latest is None else self._latest[1], True)

    def _run(self, current: Current, wanted: Hashable) -> T:
        def report(share: float) -> None:
            self._events.send("progress", job=self.name, share=share)

        report(0.0)
        try:
            value = self._compute(current, report)
            with self._lock:
                self._latest = (wanted, value)
            return value
        finally:
            report(1.0)
