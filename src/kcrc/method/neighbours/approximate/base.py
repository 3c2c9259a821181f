"""The contract of what finds candidates: a library's index, made once, that only ever grows.

Its vectors are in slots, numbered as they came. It knows nothing of examples that left, nor of distances that count:
``ApproximateIndex`` says which slots are its own, and measures.
"""

from __future__ import annotations

import io
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, ClassVar, Self

from kcrc._base.arrays import Array

# Who may use a thing now: any number of threads that read it, or one that changes it.


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


class Finder(ABC):
    """Threads may search at once; ``add`` waits for them."""

    name: ClassVar[str]
    """Of the search, as users know it."""

    def __init__(self, index: Any) -> None:
        self.index = index
        self.turns = Turns()

    @classmethod
    @abstractmethod
    def empty(cls, sample: Array, n: int, *, threads: int) -> Self:
        """For about n vectors like those of ``sample`` (m, d), float32; none is in it yet."""

    @classmethod
    @abstractmethod
    def settings(cls) -> dict[str, Any]:
        """All that an index depends on beside its vectors: what it was made with, and the library's version."""

    @property
    @abstractmethod
    def efforts(self) -> tuple[int, ...]:
        """How hard it may look, rising; what the numbers mean is its own matter."""

    @property
    @abstractmethod
    def slot_count(self) -> int:
        """How many slots are taken."""

    @abstractmethod
    def _add(self, vectors: Array, threads: int) -> None: ...

    @abstractmethod
    def near(self, queries: Array, count: int, effort: int) -> Array:
        """Slots (B, count) int64 that are likely the nearest, in any order; −1 where there are no more."""

    @abstractmethod
    def is_for(self, width: int) -> bool:
        """Whether the index is what ``empty`` makes for vectors of this width: of another that was read, it is not."""

    @abstractmethod
    def write(self, file: BinaryIO) -> None:
        """The whole index."""

    @classmethod
    @abstractmethod
    def read(cls, file: BinaryIO) -> Self:
        """What ``write`` wrote. Libraries do not check what they read: nothing else may come here."""

    def add(self, blocks: Iterable[Array], *, threads: int) -> range:
        """Put vectors (m, d), float32, into the next slots; says which."""
        with self.turns.changing():
            first = self.slot_count
            for block in blocks:
                self._add(block, threads)
            return range(first, self.slot_count)

    def __reduce__(self) -> tuple[Callable[..., Finder], tuple[type[Finder], bytes]]:
        file = io.BytesIO()
        with self.turns.reading():
            self.write(file)
        return _again, (type(self), file.getvalue())


def _again(kind: type[Finder], content: bytes) -> Finder:
    return kind.read(io.BytesIO(content))
