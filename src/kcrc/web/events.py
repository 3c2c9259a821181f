"""What happens on the server, told to whoever listens: server-sent events, each a line of JSON."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from kcrc.web.failures import Refusal

LISTENERS, BEHIND = 64, 100  # at most; events that one may be behind before the oldest are dropped
QUIET = 15.0  # seconds after which a line is sent so that nobody takes the connection for dead


class Events:
    """One for all threads; listeners are of the loop that serves requests."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: set[asyncio.Queue[str | None]] = set()

    def begin(self) -> None:
        """Called in the loop that serves."""
        self._loop = asyncio.get_running_loop()

    def tell(self, kind: str, **facts: Any) -> None:
        """An event for all who listen, from any thread."""
        self._from_any_thread(json.dumps({"kind": kind, **facts}))

    def end(self) -> None:
        """Let go of all who listen."""
        self._from_any_thread(None)

    def _from_any_thread(self, line: str | None) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody listens
                self._loop.call_soon_threadsafe(self._put, line)

    def _put(self, line: str | None) -> None:
        for listener in self._listeners:
            while listener.qsize() >= BEHIND:
                listener.get_nowait()
            listener.put_nowait(line)

    def listen(self) -> AsyncIterator[str]:
        """The events from now on, as they are sent."""
        if len(self._listeners) >= LISTENERS:
            raise Refusal(503, f"There are {LISTENERS} listeners already. Close a page.", headers={"Retry-After": "10"})
        return self._lines()

    async def _lines(self) -> AsyncIterator[str]:
        listener: asyncio.Queue[str | None] = asyncio.Queue()
        self._listeners.add(listener)  # here, so that one who leaves before the first line was never there
        try:
            yield ": listening\n\n"
            while True:
                try:
                    line = await asyncio.wait_for(listener.get(), QUIET)
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                if line is None:
                    return
                yield f"data: {line}\n\n"
        finally:
            self._listeners.discard(listener)

    @property
    def listeners(self) -> int:
        return len(self._listeners)
