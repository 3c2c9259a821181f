"""Changes of an object that several threads use: one after the other, each whole or not at all."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self


class Transactional:
    """An object whose attributes are replaced all at once.

    A verb that changes it changes a copy (``_change``), whose attributes then take the place of its own in one step.
    So calls that change it wait for each other, and one that fails leaves it as it was. A call that only reads it
    takes a snapshot first: it never waits, and it never sees half a change.

    The lock belongs to one object: copies and pickles have another.
    """

    _lock: threading.RLock

    def __new__(cls, *args: Any, **options: Any) -> Self:
        made = super().__new__(cls)
        made._lock = threading.RLock()
        return made

    @contextmanager
    def _change(self) -> Iterator[Self]:
        """A copy to change, which becomes this object unless something is raised."""
        with self._lock:
            made = copy.copy(self)
            made._lock = self._lock
            yield made
            self.__dict__ = made.__dict__

    def _snapshot(self) -> Self:
        """This object as it is now, whatever other threads do to it from here on: its attributes, which a change
        replaces and never touches."""
        now: Self = object.__new__(type(self))
        now.__dict__ = self.__dict__
        return now

    def __copy__(self) -> Self:
        """One that shares all there is, and does nothing that waits."""
        made = type(self).__new__(type(self))
        lock = made._lock
        made.__dict__.update(self.__dict__)
        made._lock = lock
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.copy().items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()
