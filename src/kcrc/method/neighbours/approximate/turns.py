"""Who may use a thing now: any number of threads that read it, or one that changes it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """A thread that wants to change waits for those that read; those that come after it wait for it."""

    def __init__(self) -> None:
        self._entry = threading.Lock()
        self._empty = threading.Condition()
        self._readers = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._entry, self._empty:
            self._readers += 1
        try:
            yield
        finally:
            with self._empty:
                self._readers -= 1
                self._empty.notify_all()

    @contextmanager
    def changing(self) -> Iterator[None]:
        with self._entry, self._empty:
            self._empty.wait_for(lambda: not self._readers)
            yield
