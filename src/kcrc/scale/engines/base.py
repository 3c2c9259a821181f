"""What an engine does: run work on pieces, at least once each, and hold objects on workers.

A subclass says how a piece is started, which one is done first, what its result is, and how pieces that are no longer
needed are stopped. The rest (how many are under way, keys, what happens on an error or Ctrl-C) is written once, here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar

from kcrc.errors import ParameterError

P = TypeVar("P")
R = TypeVar("R")

REPEATS = 3  # times that a piece runs again after its worker was lost; then the piece itself ends workers
_NO_MORE = object()


@dataclass(frozen=True)
class Result(Generic[R]):
    """The result of work on one piece."""

    key: Hashable
    value: R


class Held(ABC):
    """Objects that workers hold. The program and work can both call them: a ``Held`` can be sent."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def ask(self, verb: str, questions: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return ``held[i].verb(*questions[i])`` of all of them, in their order. One that was lost with its worker is
        made again first. A verb only reads: it may run twice."""


class Engine(ABC):
    """Runs work; used in a ``with`` block, at whose end it ends what it started."""

    threads: ClassVar[int | None] = 1
    """Threads that a piece of work should use (None: as many as there are cores)."""

    workers: int
    """How many pieces are worked on at once."""

    def map(self, work: Callable[[P], R], pieces: Iterable[P], *, key: Callable[[P], Hashable]) -> Iterator[Result[R]]:
        """Yield ``work(piece)`` of every piece, in any order, each key once. Work runs at least once for each piece,
        and again if its worker was lost: it must not matter how often it runs.

        Pieces are taken as workers become free, so they need not fit in memory. An error of ``work`` is raised as it
        is. After an error, Ctrl-C, or if the caller stops, nothing new is started; what is under way is cancelled, or
        ends by itself."""
        shared = self._share(work)
        waiting, under_way, keys = iter(pieces), dict[Any, Hashable](), set[Hashable]()
        try:
            while True:
                while len(under_way) < 2 * self.workers and (piece := next(waiting, _NO_MORE)) is not _NO_MORE:
                    name = key(piece)  # type: ignore[arg-type]  # a P by now
                    if name in keys:
                        raise ParameterError(f"Two pieces of work have the key {name!r}; a key names one.")
                    keys.add(name)
                    under_way[self._start(shared, piece)] = name
                if not under_way:
                    return
                done = self._first_done(list(under_way))
                yield Result(under_way.pop(done), self._outcome(done))
        finally:
            self._stop(list(under_way))

    @abstractmethod
    def hold(self, makers: Sequence[Callable[[], Any]]) -> Held:
        """Hold what each maker returns on one worker, spread over all. A maker is sent, and may be called again: it
        should say where things are rather than bring them along."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def _share(self, work: Callable[[P], R]) -> Any:
        """Send ``work`` to all workers once, and not with every piece."""

    @abstractmethod
    def _start(self, shared: Any, piece: Any) -> Any:
        """Start a piece and return a handle on it."""

    @abstractmethod
    def _first_done(self, handles: list[Any]) -> Any:
        """Wait until one is done and return it."""

    @abstractmethod
    def _outcome(self, handle: Any) -> Any:
        """Return its result, or raise the error that work raised."""

    @abstractmethod
    def _stop(self, handles: list[Any]) -> None: ...


def check_workers(workers: int | None) -> None:
    """Raise an error if that many workers cannot be started."""
    if workers is not None and workers < 1:
        raise ParameterError(f"workers must be 1 or more, or None for one per core; got {workers!r}.")
