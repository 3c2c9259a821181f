"""What requests leave for later ones (pictures that were sent, whose change was whose, the answers given last, labels
that were confirmed): in this process, or in one of its own for several that serve the same gallery behind one address.

The processes are ours, started by one command; what goes between them is theirs alone (a key of this run).
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.managers import BaseManager
from multiprocessing.process import BaseProcess
from typing import Any

from kcrc.web.allowed import Allowed
from kcrc.web.guard import Pace
from kcrc.web.people import People
from kcrc.web.pictures import Shelf
from kcrc.web.recent import Recent

CONFIRMED = 10_000  # labels, at most


class Confirmed:
    """Labels that somebody looked at and said are right: of an example, for as long as it has that label."""

    def __init__(self) -> None:
        self._labels: OrderedDict[tuple[int, str], None] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, example: int, label: str) -> None:
        with self._lock:
            self._labels[example, label] = None
            while len(self._labels) > CONFIRMED:
                self._labels.popitem(last=False)

    def all(self) -> set[tuple[int, str]]:
        with self._lock:
            return set(self._labels)


@dataclass(frozen=True)
class Shared:
    """``several``: it is shared by several processes, each of which holds stand-ins; ``pace``: how many requests all of
    them take from one address."""

    shelf: Shelf
    people: People
    recent: Recent
    confirmed: Confirmed
    several: bool = False
    pace: Pace | None = None

    @classmethod
    def alone(cls, allowed: Allowed) -> Shared:
        return cls(Shelf(allowed), People(), Recent(), Confirmed())


class _Holder(BaseManager):
    """The process that holds it."""

    def is_alive(self) -> bool:
        process: BaseProcess = self._process  # type: ignore[attr-defined]  # which it tells nobody otherwise
        return process.is_alive()


_Holder.register("shelf", Shelf, exposed=("put", "get", "__contains__", "__len__"))
_Holder.register("people", People, exposed=("of", "did", "undid", "redid", "who", "made"))
_Holder.register("recent", Recent, exposed=("note", "near", "get", "pictures"))
_Holder.register("confirmed", Confirmed, exposed=("add", "all"))
_Holder.register("pace", Pace, exposed=("allows",))


def end_with_parent() -> None:
    """Let this process end when the one that started it is gone, however that came."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=wait, name="kcrc-parent", daemon=True).start()


@contextlib.contextmanager
def without_interrupts() -> Iterator[None]:
    """A process that is started inside never hears of Ctrl-C, which a terminal sends to all of them: it is for the one
    that starts them, and waits there until the end."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def held(allowed: Allowed, *, rate: float = 0.0) -> Iterator[tuple[Shared, Callable[[], bool]]]:
    """What several processes share, for as long as the block lasts, and whether it is still held; ``rate`` is that of
    all of them together (0: any)."""
    holder = _Holder(ctx=multiprocessing.get_context("spawn"))
    with without_interrupts():
        holder.start(end_with_parent)
    try:
        makers: Any = holder
        pace = makers.pace(rate) if rate else None
        kept = (makers.shelf(allowed), makers.people(), makers.recent(), makers.confirmed())
        shared = Shared(*kept, several=True, pace=pace)
        yield shared, holder.is_alive
    finally:
        holder.shutdown()
