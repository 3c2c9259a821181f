"""What all requests share: the gallery, what answers, who changes it, the pictures that are held."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.answers import Answers
from kcrc.errors import KCRCError
from kcrc.gallery import Gallery
from kcrc.images.features.base import Feature
from kcrc.web.bodies import Allowed, Arriving
from kcrc.web.computing import Behind, Computation
from kcrc.web.current import Asked, Batcher, Current, Now
from kcrc.web.events import Events, Metrics
from kcrc.web.examining import advice, audited
from kcrc.web.people import People, Recent
from kcrc.web.pictures import SentPicture, Shelf, looked_at
from kcrc.web.plane import points
from kcrc.web.waiting import ORDERS, WaitingPictures, by, loaded
from kcrc.web.writer import Learner, Writer

T = TypeVar("T")
LOOKS = 1.0  # seconds between two looks whether another process changed the gallery
CONFIRMED = 10_000  # labels, at most
THREADS = 4  # of each pool: pictures, what takes a moment to compute, and reading the gallery


class Service:
    """Made of an open gallery, which it closes. ``note`` tells whoever runs the server."""

    def __init__(self, gallery: Gallery, *, allowed: Allowed | None = None, note: Callable[[str], None]) -> None:
        self.gallery = gallery
        self.name = gallery.name
        self.allowed = allowed or Allowed()
        self.note = note
        self.events, self.metrics = Events(self.allowed.listeners), Metrics()
        self.people, self.recent = People(), Recent()
        self.shelf = Shelf(self.allowed)
        self.now = Now(gallery)
        self.batcher = Batcher(self._answered)
        self.learner = Learner(gallery, learn=self._learn, finished=self._learned, failed=note)
        self.writer = Writer(self._changed)
        self.pictures, self.computing, self.reading = (
            ThreadPoolExecutor(THREADS, thread_name_prefix=f"kcrc-{work}") for work in ("pictures", "compute", "read")
        )
        self.arriving = Arriving(self.allowed.arriving_bytes)
        self.behind = Behind()
        self.advice = Computation("advise", advice, self.behind, self.events)
        self.audit = Computation("audit", partial(audited, self.thumbnail), self.behind, self.events)
        self.plane = Computation("map", points, self.behind, self.events)
        self.queue = WaitingPictures()
        self.orders = {
            order: Computation(f"queue by {order}", by(self, order), self.behind, self.events) for order in ORDERS
        }
        self.choosing = threading.Lock()
        """Held while the parameters are chosen anew."""
        self.confirmed: OrderedDict[tuple[int, str], None] = OrderedDict()
        """Labels that somebody looked at and said are right: of an example, for as long as it has that label."""
        self.pictures_key = secrets.token_urlsafe(8)
        """In the address of a thumbnail, it says which run of which server the number of the example is from."""
        self._told = gallery.settings.revision

    def feature(self) -> Feature:
        return self.gallery.answering.feature()

    async def apart(self, work: Callable[[], T]) -> T:
        """The result of ``work``, which takes a moment, from another thread."""
        return await asyncio.get_running_loop().run_in_executor(self.computing, work)

    async def read(self, work: Callable[[], T]) -> T:
        """The result of ``work``, which only reads the gallery, from a thread that no slow work keeps busy."""
        return await asyncio.get_running_loop().run_in_executor(self.reading, work)

    async def look(self, work: Callable[[], T]) -> T:
        """The result of ``work``, which decodes pictures, from a thread for that."""
        return await asyncio.get_running_loop().run_in_executor(self.pictures, work)

    async def changed_by(self, change: Callable[[], T]) -> T:
        """What a change gives, once it is kept for good."""
        return await asyncio.wrap_future(self.writer.do(change))

    async def current(self) -> Current:
        """What answers now."""
        return await self.apart(self.now.current)

    async def picture(self, name: str) -> SentPicture:
        """A picture by its name: one that was sent, was answered lately, or waits for a label."""
        waiting = self.queue.get(name)
        if waiting is not None and name not in self.shelf:
            return self.shelf.put(await self.look(lambda: loaded(self, name, waiting)))
        return self.recent.get(name) or self.shelf.get(name)

    def thumbnail(self, example: int) -> bytes | None:
        """The small picture of an example; None where there is none, or it cannot be read."""
        try:
            return self.gallery.thumbnail(example)
        except KCRCError:
            return None

    def confirm_label(self, example: int, label: str) -> None:
        """Remember that the label of an example is right."""
        self.confirmed[example, label] = None
        while len(self.confirmed) > CONFIRMED:
            self.confirmed.popitem(last=False)

    async def ask(self, vectors: Array, *, explain: bool) -> Asked:
        """The answers to vectors (n, d), asked together with whatever else waits."""
        return await asyncio.wrap_future(self.batcher.ask(vectors, explain=explain))

    async def answered(self, pictures: list[SentPicture]) -> Asked:
        """The answers to pictures, explained."""
        current, answers = await self.ask(np.stack([picture.vector for picture in pictures]), explain=True)
        empty = [picture.empty for picture in pictures]
        if any(empty):
            answers = await self.apart(lambda: self.gallery.answering.mark_blank_images_unknown(answers, empty))
        return current, answers

    async def taken_in(self, content: bytes, name: str) -> SentPicture:
        """A picture that was sent, held for a while."""
        seen = await self.look(lambda: looked_at(content, self.feature(), name=name, allowed=self.allowed))
        return self.shelf.put(seen)

    def learning(self, current: Current) -> bool:
        return self.learner.learning(current.revision)

    def _answered(self, vectors: Array, explain: bool) -> tuple[Current, Answers]:
        current = self.now.current()
        return current, current.answer(vectors, explain=explain)

    def _changed(self) -> None:
        self.learner.changed()
        self._tell_revision()

    def _learn(self) -> None:
        """Learn how sure answers are from the examples of now; where they have outgrown the parameters, those are
        chosen again."""
        if len(self.gallery) and self.gallery.answering.why_choose is not None:
            self.events.tell("progress", job="choose", share=0.0)
            self.gallery.answering.ready()
            self.events.tell("progress", job="choose", share=1.0)
        else:
            with contextlib.suppress(KCRCError):  # the next question says what is wrong
                self.gallery.answering.ready()

    def _learned(self, revision: int) -> None:
        self.now.learned()
        self.events.tell("confidence", revision=revision, confidence="ready")

    def watched(self) -> None:
        """Tell of a change that came by another way than the writer."""
        before = self._told
        self._tell_revision()
        if self._told != before:
            self.learner.changed()

    def _tell_revision(self) -> None:
        revision = self.gallery.settings.revision
        if revision != self._told:
            self._told = revision
            self.events.tell("revision", revision=revision)

    async def watch(self) -> None:
        """Notice what other processes do to the gallery, for as long as the server runs."""
        while True:
            await asyncio.sleep(LOOKS)
            with contextlib.suppress(Exception):  # the next question says what is wrong with the file
                await self.read(self.watched)

    def close(self) -> None:
        """Answer and write what waits, then let go of everything; nothing that was acknowledged is lost."""
        self.events.end()
        self.queue.close()
        self.behind.close()
        self.batcher.close()
        self.writer.close()
        self.learner.close()
        for pool in (self.pictures, self.computing, self.reading):
            pool.shutdown()
        self.gallery.close()
