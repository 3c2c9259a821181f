"""What takes seconds is computed behind the requests, once for a state of the gallery, and kept until the next."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Generic, TypeVar

from kcrc.web.current import Current
from kcrc.web.events import Events

T = TypeVar("T")
WAIT = 4.0  # seconds that a request waits for it
Report = Callable[[float], None]  # told the share that is done, from 0 to 1


@dataclass(frozen=True)
class Computed(Generic[T]):
    """What is known: the value (None: nothing yet) and whether a newer one is being computed."""

    value: T | None
    working: bool


class Computation(Generic[T]):
    """``compute(current, report)`` is called by one thread at a time; listeners are told how far it is."""

    def __init__(self, name: str, compute: Callable[[Current, Report], T], pool: Executor, events: Events) -> None:
        self.name, self._compute, self._pool, self._events = name, compute, pool, events
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
                self._begun = (wanted, self._pool.submit(self._run, current, wanted))
            begun = self._begun
        done, _ = await asyncio.wait([asyncio.wrap_future(begun[1])], timeout=WAIT)
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
