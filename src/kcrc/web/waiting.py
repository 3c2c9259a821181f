"""Pictures that wait for a label, of a folder or dropped on the page, ordered by doubt or by what would teach most.

A picture that is in the gallery by now is not shown, and is shown again when that is undone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.words import file_name
from kcrc.confidence.advice import Doubt, next_to_label
from kcrc.errors import KCRCError
from kcrc.gallery.examples import Contents
from kcrc.images.decoding.reading import ImageError, fetch, read_chunks
from kcrc.images.stream import Arrivals
from kcrc.web.background import Report
from kcrc.web.current import Current
from kcrc.web.guard import Refusal
from kcrc.web.pictures import SentPicture, read_picture

if TYPE_CHECKING:
    from kcrc.web.service import Service

MOST = 5000  # pictures
LOOKS = 2.0  # seconds between two checks of the folder
CHUNK = 32
TEACHING = 50  # pictures that are chosen to teach most; the others follow by doubt
ORDERS = ("doubt", "teach")


@dataclass(frozen=True, eq=False)
class Waiting:
    """One picture that waits for a label: its vector, the SHA-256 of its bytes, its name, and its file, if it has one;
    else it is held."""

    vector: Array
    sha256: str
    name: str
    file: str | None = None
    held: SentPicture | None = None


@dataclass(frozen=True, eq=False)
class Order:
    """Pictures by id in an order, with the answer to each, its probability, and how much it is in doubt."""

    ids: tuple[str, ...]
    labels: tuple[str, ...]
    probabilities: Array
    doubts: Array

    @classmethod
    def empty(cls) -> Order:
        return cls((), (), np.zeros(0), np.zeros(0))

    def rows(self) -> list[tuple[str, str, float, float]]:
        """(id, answer, its probability, doubt) of each picture."""
        return list(zip(self.ids, self.labels, self.probabilities.tolist(), self.doubts.tolist(), strict=True))


class WaitingPictures:
    """The queue; a thread fills it from the folder."""

    def __init__(self) -> None:
        self._waiting: dict[str, Waiting] = {}
        self._skipped: set[str] = set()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self.version = 0

    def follow(self, service: Service, folder: str) -> None:
        """Take in what is in a folder, and what arrives there."""
        arrivals = Arrivals(folder)
        self._thread = threading.Thread(target=self._run, args=(service, arrivals), name="kcrc-queue", daemon=True)
        self._thread.start()

    def add(self, name: str, waiting: Waiting) -> None:
        with self._lock:
            if len(self._waiting) >= MOST:
                raise Refusal(409, f"The queue holds {MOST} pictures, which is the most. Label or skip some.", {})
            self._waiting[name] = waiting
            self.version += 1

    def skip(self, names: list[str]) -> None:
        with self._lock:
            self._skipped |= {name for name in names if name in self._waiting}
            self.version += 1

    def get(self, name: str) -> Waiting | None:
        return self._waiting.get(name)

    def __len__(self) -> int:
        return len(self._waiting) - len(self._skipped)

    def open(self, contents: Contents) -> dict[str, Waiting]:
        """Those that are neither skipped nor in the gallery."""
        there = {row.content.hex() for row in contents.rows}
        with self._lock:
            return {
                name: one
                for name, one in self._waiting.items()
                if name not in self._skipped and one.sha256 not in there
            }

    def close(self) -> None:
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, service: Service, arrivals: Arrivals) -> None:
        try:
            while not self._closing.is_set():
                self._take(service, arrivals.look())
                self._closing.wait(LOOKS)
        except (KCRCError, Refusal) as problem:
            service.note(f"new pictures in the folder are no longer taken in: {problem}")

    def _take(self, service: Service, paths: list[str]) -> None:
        feature, limits, done = service.feature(), service.allowed.of_pictures, 0
        begun = time.monotonic()
        for start in range(0, len(paths), CHUNK):
            for batch in read_chunks(paths[start : start + CHUNK], feature.view, on_error="skip", limits=limits):
                if self._closing.is_set():
                    return
                vectors = feature.transform_pixels([one.pixels for one in batch.pictures])
                for one, vector in zip(batch.pictures, vectors, strict=True):
                    name = f"q{one.sha256[:24]}"
                    if name not in self._waiting:
                        self.add(name, Waiting(vector, one.sha256, file_name(one.source), file=one.source))
                for problem in batch.problems:
                    service.note(str(problem))
            done = min(len(paths), start + CHUNK)
            if done == len(paths) or time.monotonic() - begun > 0.5:
                begun = time.monotonic()
                service.events.send("queue", total=len(self), share=done / len(paths))


def load(service: Service, name: str, waiting: Waiting) -> SentPicture:
    """A picture of the queue, read again from its file if it has one."""
    if waiting.held is not None:
        return waiting.held
    assert waiting.file is not None
    try:
        content = fetch(waiting.file, limits=service.allowed.of_pictures)
    except ImageError:  # which names the folder
        raise Refusal(404, f"'{waiting.name}' can no longer be read.") from None
    now = read_picture(content, service.feature(), name=waiting.name, allowed=service.allowed)
    if now.sha256 != waiting.sha256:
        raise Refusal(404, f"'{waiting.name}' is no longer the picture that it was.")
    return replace(now, id=name)


def _order(service: Service, current: Current, order: str) -> Order:
    """The queue in one of its orders."""
    waiting = service.queue.open(current.contents)
    if not waiting:
        return Order.empty()
    names, answerer = list(waiting), current.answerer
    vectors = np.stack([one.vector for one in waiting.values()])
    doubt = Doubt.join(answerer.read(vectors, lambda e: Doubt.of(answerer.confidence, e), explain=True))
    places = np.argsort(-doubt.worth, kind="stable").tolist()
    if order == "teach":
        first = [one.row for one in next_to_label(answerer.model, doubt, vectors, min(TEACHING, len(names)))]
        places = first + [place for place in places if place not in set(first)]
    return Order(
        tuple(names[place] for place in places),
        tuple(str(doubt.classes[place, 0]) for place in places),
        doubt.probabilities[places, 0],
        doubt.worth[places],
    )


def order_by(service: Service, order: str) -> Callable[[Current, Report], Order]:
    """A function that computes an order, for a ``Computation``."""
    return lambda current, report: _order(service, current, order)
