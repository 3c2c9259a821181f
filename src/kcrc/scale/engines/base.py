"""What an engine does: run work on pieces, at least once each, and hold objects that are asked where they are.

An engine of others has four things to say: how a piece is started, which is done first, what came of it, and how those
that nobody waits for any more are stopped. The rest (how many are under way, keys, what happens on an error or Ctrl-C)
is written once, here.
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

REPEATS = 3  # times that a piece is run again whose worker was lost; then the piece itself is what ends workers
_NO_MORE = object()


@dataclass(frozen=True)
class Result(Generic[R]):
    """What work made of one piece."""

    key: Hashable
    value: R


class Held(ABC):
    """Objects that workers hold. They are asked from the program and from work alike: a ``Held`` can be sent."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def ask(self, verb: str, questions: Sequence[tuple[Any, ...]]) -> list[Any]:
        """``held[i].verb(*questions[i])`` of all of them at once, in their order. One that was lost with its worker is
        made again first. A verb only reads: it may be run twice."""


class Engine(ABC):
    """Used in a ``with`` block; what it started is ended with it."""

    threads: ClassVar[int | None] = 1
    """Threads that a piece of work should use (None: as many as there are cores)."""

    workers: int
    """How many pieces are worked on at once."""

    def map(self, work: Callable[[P], R], pieces: Iterable[P], *, key: Callable[[P], Hashable]) -> Iterator[Result[R]]:
        """``work(piece)`` of every piece, in any order, each key once. Work runs at least once for each piece, and
        again where its worker was lost: it must not matter how often it runs.

        Pieces are taken as workers come free, so they need not fit in memory. An error of ``work`` is raised as it is.
        After an error, Ctrl-C, or where the caller stops, nothing new is started; what is under way is called off, or
        ends by itself."""
        shared = self._sent(work)
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
        """What the makers make, each held by one worker, spread over all. A maker is sent, and may be called again:
        it says where things are and does not bring them."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def _sent(self, work: Callable[[P], R]) -> Any:
        """``work`` where all workers can get at it, sent once and not with every piece."""

    @abstractmethod
    def _start(self, shared: Any, piece: Any) -> Any:
        """Start a piece; a handle on it."""

    @abstractmethod
    def _first_done(self, handles: list[Any]) -> Any:
        """Wait until one is done."""

    @abstractmethod
    def _outcome(self, handle: Any) -> Any:
        """What came of it, or the error that work raised."""

    @abstractmethod
    def _stop(self, handles: list[Any]) -> None: ...


def check_workers(workers: int | None) -> None:
    """An error where that many workers cannot be started."""
    if workers is not None and workers < 1:
        raise ParameterError(f"workers is at least 1, or None for one a core; got {workers!r}.")
