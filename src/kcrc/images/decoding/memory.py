"""The memory that reading images may take, all threads together: counted before it is taken.

Who needs some holds it first, and waits while others hold it. Turns are taken in the order of asking, so that a large
image is not passed over for ever, and whoever asks while nobody holds anything goes ahead: nobody waits for nothing.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from kcrc.images.decoding.accepted import from_environment

VARIABLE = "KCRC_IMAGE_MEMORY"
_USUAL = 1_500_000_000
_FILES = 256_000_000


def allowed() -> int:
    """Bytes that decoding may take at once: ``$KCRC_IMAGE_MEMORY``, or 1.5 GB."""
    return from_environment(VARIABLE, _USUAL)


class Budget:
    """Bytes that are held and given back; ``total()`` says how many there are."""

    def __init__(self, total: Callable[[], int]) -> None:
        self._total = total
        self._forget()
        if hasattr(os, "register_at_fork"):
            # What the parent's threads hold is not held in the child, where nobody would give it back.
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._held = 0
        self._queue: deque[object] = deque()
        self._changed = threading.Condition()

    @contextmanager
    def hold(self, needed: int) -> Iterator[None]:
        """Inside, ``needed`` bytes are this thread's; before, it waits until they are free."""
        turn = object()
        with self._changed:
            self._queue.append(turn)
            try:
                self._changed.wait_for(lambda: self._queue[0] is turn and self._fits(needed))
                self._held += needed
            finally:
                self._queue.remove(turn)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._held -= needed
                self._changed.notify_all()

    def _fits(self, needed: int) -> bool:
        return not self._held or self._held + needed <= self._total()


@cache
def _trim() -> Callable[[int], int] | None:
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    return trim


def give_back() -> None:
    """Have the C library return what is free to the system; glibc keeps some hundred megabytes for each thread."""
    trim = _trim()
    if trim is not None:
        trim(0)


DECODING = Budget(allowed)
"""Of decoded images and what decoders need beside them."""

FILES = Budget(lambda: _FILES)
"""Of files that are read and wait to be decoded. Held first, DECODING second, never the other way round."""
