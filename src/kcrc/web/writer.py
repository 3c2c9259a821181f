"""Changes are made one after the other by one thread; each is acknowledged once it is kept for good."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from kcrc.gallery import Gallery
from kcrc.web.guard import Refusal

T = TypeVar("T")
WAITING = 1000  # changes, at most


class Writer:
    """``changed()`` is called after each change, before it is acknowledged."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._waiting: queue.Queue[tuple[Callable[[], Any], Future[Any]] | None] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._run, name="kcrc-write", daemon=True)
        self._thread.start()

    def do(self, change: Callable[[], T]) -> Future[T]:
        """What ``change`` returns, once its turn came and it is done."""
        done: Future[T] = Future()
        try:
            self._waiting.put_nowait((change, done))
        except queue.Full:
            raise Refusal(
                503, "Too many changes are waiting. Try again in a moment.", headers={"Retry-After": "1"}
            ) from None
        return done

    def close(self) -> None:
        """Make all changes that wait, then end."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (next_one := self._waiting.get()) is not None:
            change, done = next_one
            if not done.set_running_or_notify_cancel():  # whoever asked for it went away before its turn came
                continue
            try:
                result = change()
                self._changed()
            except BaseException as problem:
                done.set_exception(problem)
            else:
                done.set_result(result)


# What changes teach is learned behind them: how sure answers are, anew from the examples as they are now.
#
# A correction counts for the next query at once; until this is done, answers say that their confidence is being
# learned.

PATIENCE = 5.0  # seconds


class Learner:
    """``learn()`` is called by one thread, and then ``finished(revision)``; ``failed`` is told what went wrong."""

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

    def changed(self) -> None:
        """There may be something to learn."""
        self._wake.set()

    def learning(self, revision: int) -> bool:
        """Whether answers of that revision rest on what was learned before it."""
        return not self._gallery.readonly and revision > self.done

    def close(self) -> None:
        """End; what is being learned is let go where it takes long: whoever opens the gallery next can learn it."""
        self._closing = True
        self._wake.set()
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        while not self._closing:
            self._wake.wait()
            self._wake.clear()
            revision = self._gallery.settings.revision
            if self._closing or self._gallery.readonly or revision <= self.done:
                continue
            try:
                self._learn()
            except Exception as problem:  # answers go on by what was learned before
                if self._closing:
                    return
                self._failed(f"what the changes teach cannot be learned ({type(problem).__name__}: {problem})")
            if self._gallery.settings.revision == revision:
                self.done = revision
                self._finished(revision)
            else:
                self._wake.set()
