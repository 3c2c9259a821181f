"""What takes seconds is computed behind the requests, once for a state of the gallery, and kept until the next."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from kcrc.web.current import Current
from kcrc.web.events import Events

T = TypeVar("T")
WAIT = 4.0  # seconds that a request waits for it
PATIENCE = 3.0  # seconds that the end of the server waits for it
Report = Callable[[float], None]  # told the share that is done, from 0 to 1


class Behind:
    """One thread for what takes long; what it is at when the server ends is let go, for nobody waits for it."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="kcrc-behind", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        done: Future[T] = Future()
        self._waiting.put((work, done))
        return done

    def close(self) -> None:
        self._closing = True
        self._waiting.put(None)
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        while (next_one := self._waiting.get()) is not None:
            work, done = next_one
            if self._closing:
                done.cancel()
            if not done.set_running_or_notify_cancel():
                continue
            try:
                done.set_result(work())
            except BaseException as problem:
                done.set_exception(problem)


@dataclass(frozen=True)
class Computed(Generic[T]):
    """What is known: the value (None: nothing yet) and whether a newer one is being computed."""

    value: T | None
    working: bool


class Computation(Generic[T]):
    """``compute(current, report)`` is called by one thread at a time; listeners are told how far it is."""

    def __init__(self, name: str, compute: Callable[[Current, Report], T], behind: Behind, events: Events) -> None:
        self.name, self._compute, self._behind, self._events = name, compute, behind, events
        self._lock = threading.Lock()
        self._known: tuple[Hashable, T] | None = None
        self._begun: tuple[Hashable, Future[T]] | None = None

    async def of(self, current: Current, key: Hashable = None) -> Computed[T]:
        """For this state of the gallery (and ``key``, what else it depends on); an older one where that takes longer
        than a request waits."""
        wanted = (current.revision, key)
        with self._lock:
            if self._known is not None and self._known[0] == wanted:
                return Computed(self._known[1], False)
            if self._begun is None or (self._begun[0] != wanted and self._begun[1].done()):
                self._begun = (wanted, self._behind.submit(partial(self._run, current, wanted)))
            begun = self._begun
        waiting = asyncio.wrap_future(begun[1])
        waiting.add_done_callback(lambda one: one.cancelled() or one.exception())  # also where nobody waits any more
        done, _ = await asyncio.wait([waiting], timeout=WAIT)
        for task in done:
            if begun[0] == wanted:
                return Computed(task.result(), False)
            task.exception()  # of an older state: it is computed anew when somebody asks again
        with self._lock:
            return Computed(None if self._known is None else self._known[1], True)

    def _run(self, current: Current, wanted: Hashable) -> T:
        def report(share: float) -> None:
            self._events.tell("progress", job=self.name, share=share)

        report(0.0)
        try:
            found = self._compute(current, report)
            with self._lock:
                self._known = (wanted, found)
            return found
        finally:
            report(1.0)
