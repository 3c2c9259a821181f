"""What all requests share: the gallery, what answers, what changes it, the pictures that are held."""

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
from urllib.parse import unquote

import numpy as np
from starlette.requests import Request

from kcrc._base.arrays import Array
from kcrc.errors import KCRCError
from kcrc.gallery import Gallery
from kcrc.images.features.base import Feature
from kcrc.web.background import MOST_CHANGES, Computation, Learner, WorkThread
from kcrc.web.bodies import Allowed, Arriving
from kcrc.web.current import Answered, Batcher, Current, Now
from kcrc.web.events import Events, Metrics
from kcrc.web.inspection import compute_advice, compute_audit, compute_map
from kcrc.web.people import People
from kcrc.web.pictures import Recent, SentPicture, Shelf, read_picture
from kcrc.web.waiting import ORDERS, WaitingPictures, load, order_by

T = TypeVar("T")
LOOKS = 1.0  # seconds between two checks whether another process changed the gallery
CONFIRMED = 10_000  # labels, at most
THREADS = 4  # of each pool: what takes a moment to compute, and reading the gallery
DECODERS = 8  # pictures at once: as many as the box has workers, so that some that take long leave room for others


class Service:
    """Serves an open gallery, and closes it in the end. ``note`` takes what the person who runs the server should
    know."""

    def __init__(self, gallery: Gallery, *, allowed: Allowed | None = None, note: Callable[[str], None]) -> None:
        self.gallery = gallery
        self.name = gallery.name
        self.allowed = allowed or Allowed()
        self.note = note
        self.events, self.metrics = Events(self.allowed.listeners), Metrics()
        self.people, self.recent = People(), Recent()
        self.shelf = Shelf(self.allowed)
        self.arriving = Arriving(self.allowed.arriving_bytes)
        self.now = Now(gallery)
        self.batcher = Batcher(self._answer_batch)
        self.learner = Learner(gallery, learn=self._learn, finished=self._after_learning, failed=note)
        self.writer, self.behind = WorkThread("kcrc-write", most=MOST_CHANGES), WorkThread("kcrc-behind")
        self._decoding, self._computing, self._reading = (
            ThreadPoolExecutor(threads, thread_name_prefix=f"kcrc-{work}")
            for work, threads in (("pictures", DECODERS), ("compute", THREADS), ("read", THREADS))
        )
        self.advice = Computation("advise", compute_advice, self.behind, self.events)
        self.audit = Computation("audit", partial(compute_audit, self.thumbnail), self.behind, self.events)
        self.map = Computation("map", compute_map, self.behind, self.events)
        self.queue = WaitingPictures()
        self.orders = {
            order: Computation(f"queue by {order}", order_by(self, order), self.behind, self.events) for order in ORDERS
        }
        self.choosing = threading.Lock()
        """Held while the parameters are being chosen."""
        self.confirmed: OrderedDict[tuple[int, str], None] = OrderedDict()
        """Labels that a person has said are right: of an example, for as long as it has that label."""
        self.pictures_key = secrets.token_urlsafe(8)
        """In the address of a thumbnail, it says which run of which server the number of the example is from."""
        self._announced = gallery.settings.revision

    def feature(self) -> Feature:
        return self.gallery.answering.feature()

    # Work in other threads: the loop that serves requests never waits.

    async def compute(self, work: Callable[[], T]) -> T:
        """The result of ``work``, which takes a moment."""
        return await asyncio.get_running_loop().run_in_executor(self._computing, work)

    async def read(self, work: Callable[[], T]) -> T:
        """The result of ``work``, which only reads the gallery, from a thread that no slow work keeps busy."""
        return await asyncio.get_running_loop().run_in_executor(self._reading, work)

    async def decode(self, work: Callable[[], T]) -> T:
        """The result of ``work``, which decodes pictures."""
        return await asyncio.get_running_loop().run_in_executor(self._decoding, work)

    async def change(self, act: Callable[[], T]) -> T:
        """The result of ``act``, which changes the gallery, once it is on the disk."""

        def work() -> T:
            result = act()
            self.learner.wake()
            self._announce_revision()
            return result

        return await asyncio.wrap_future(self.writer.submit(work))

    # Pictures.

    async def upload(self, request: Request) -> SentPicture:
        """The picture in the body of a request, held for a while."""
        name = unquote(request.headers.get("x-kcrc-name", ""), errors="replace")
        name = name.replace("\\", "/").rpartition("/")[2][:200] or "picture"  # never a path
        async with self.arriving.content(request, most=self.allowed.bytes, seconds=self.allowed.seconds) as data:
            return self.shelf.hold(
                await self.decode(lambda: read_picture(data, self.feature(), name=name, allowed=self.allowed))
            )

    async def picture(self, name: str) -> SentPicture:
        """A picture by its name: one that was sent, was answered lately, or waits for a label."""
        waiting = self.queue.get(name)
        if waiting is not None and name not in self.shelf:
            return self.shelf.hold(await self.decode(lambda: load(self, name, waiting)))
        return self.recent.get(name) or self.shelf.get(name)

    def thumbnail(self, example: int) -> bytes | None:
        """The small picture of an example; None if there is none, or it cannot be read."""
        try:
            return self.gallery.thumbnail(example)
        except KCRCError:
            return None

    # Answers.

    async def current(self) -> Current:
        """What answers now."""
        return await self.compute(self.now.current)

    async def answer(self, vectors: Array, *, explain: bool) -> Answered:
        """The answers to vectors (n, d), together with all other queries that wait."""
        return await asyncio.wrap_future(self.batcher.ask(vectors, explain=explain))

    async def answer_pictures(self, pictures: list[SentPicture]) -> Answered:
        """The answers to pictures, explained."""
        current, answers = await self.answer(np.stack([picture.vector for picture in pictures]), explain=True)
        empty = [picture.empty for picture in pictures]
        if any(empty):
            answers = await self.compute(lambda: self.gallery.answering.mark_blank_images_unknown(answers, empty))
        return current, answers

    def _answer_batch(self, vectors: Array, explain: bool) -> Answered:
        current = self.now.current()
        return current, current.answer(vectors, explain=explain)

    def confidence(self, revision: int) -> str:
        """Whether answers of a revision know how sure they are, or rest on what was learned before it."""
        return "learning" if self.learner.is_behind(revision) else "ready"

    def confirm_label(self, example: int, label: str) -> None:
        """Remember that the label of an example is right."""
        self.confirmed[example, label] = None
        while len(self.confirmed) > CONFIRMED:
            self.confirmed.popitem(last=False)

    # What follows from a change.

    def _learn(self) -> None:
        """Learn how sure answers are from the examples of now; if they have outgrown the parameters, choose those."""
        if len(self.gallery) and self.gallery.answering.why_choose is not None:
            self.events.send("progress", job="choose", share=0.0)
            self.gallery.answering.ready()
            self.events.send("progress", job="choose", share=1.0)
        else:
            with contextlib.suppress(KCRCError):  # the next question says what is wrong
                self.gallery.answering.ready()

    def _after_learning(self, revision: int) -> None:
        self.now.note_learning()
        self.events.send("confidence", revision=revision, confidence="ready")

    def _announce_revision(self) -> bool:
        """Send an event if the gallery has changed since the last one; whether it has."""
        revision = self.gallery.settings.revision
        is_new = revision != self._announced
        if is_new:
            self._announced = revision
            self.events.send("revision", revision=revision)
        return is_new

    def check_for_changes(self) -> None:
        """Announce a change that was made otherwise than by ``change``."""
        if self._announce_revision():
            self.learner.wake()

    async def watch(self) -> None:
        """Notice what other processes do to the gallery, for as long as the server runs."""
        while True:
            await asyncio.sleep(LOOKS)
            with contextlib.suppress(Exception):  # the next question says what is wrong with the file
                await self.read(self.check_for_changes)

    def close(self) -> None:
        """Answer and write what waits, then end; nothing that was acknowledged is lost."""
        self.events.end()
        self.queue.close()
        self.behind.drop()
        self.batcher.close()
        self.writer.close()
        self.learner.close()
        for pool in (self._decoding, self._computing, self._reading):
            pool.shutdown()
        self.gallery.close()
