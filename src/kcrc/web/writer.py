"""Changes are made one after the other by one thread; each is acknowledged once it is kept for good."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from kcrc.web.failures import Refusal

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
