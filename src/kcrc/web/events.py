"""What happens on the server: events for the pages that are open, and counters for Prometheus."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from kcrc.web.guard import Refusal

if TYPE_CHECKING:
    from kcrc.web.service import Service

BEHIND = 100  # events that a listener may be behind before the oldest are dropped
QUIET = 15.0  # seconds after which a line is sent, so that the connection is not taken for dead


class Events:
    """One for all threads; listeners are of the loop that serves requests."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: set[asyncio.Queue[str | None]] = set()

    def begin(self) -> None:
        """Called in the loop that serves."""
        self._loop = asyncio.get_running_loop()

    def send(self, kind: str, **facts: Any) -> None:
        """An event for all listeners, from any thread."""
        self._send(json.dumps({"kind": kind, **facts}))

    def end(self) -> None:
        """End the stream of every listener."""
        self._send(None)

    def _send(self, line: str | None) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and all listeners with it
                self._loop.call_soon_threadsafe(self._queue, line)

    def _queue(self, line: str | None) -> None:
        for listener in self._listeners:
            while listener.qsize() >= BEHIND:
                listener.get_nowait()
            listener.put_nowait(line)

    def listen(self) -> EventStream:
        """The events from now on, as a response. The place is taken now, so the limit holds for any number of clients
        that connect at the same time."""
        if len(self._listeners) >= self._most:
            full = f"{self._most} pages listen already, which is the limit. Close one."
            raise Refusal(503, full, headers={"Retry-After": "10"})
        listener: asyncio.Queue[str | None] = asyncio.Queue()
        self._listeners.add(listener)
        return EventStream(listener, lambda: self._listeners.discard(listener))

    @property
    def listeners(self) -> int:
        return len(self._listeners)


class EventStream(StreamingResponse):
    """The events of one listener, whose place is free again when the response ends, whether or not it was read."""

    def __init__(self, listener: asyncio.Queue[str | None], leave: Callable[[], None]) -> None:
        super().__init__(_lines(listener), media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self._leave = leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._leave()


async def _lines(listener: asyncio.Queue[str | None]) -> AsyncIterator[str]:
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


# What the server counts, in the text form that Prometheus reads.

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # seconds


class Metrics:
    """Requests by route and status, and how long they took by route."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._within: Counter[tuple[str, float]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._begun = time.time()

    def count(self, route: str, status: int, seconds: float) -> None:
        """``route`` is one of the table's, or "other": names that clients make up are not plural one by one."""
        with self._lock:
            self._requests[route, status] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]  # a Counter adds any numbers
            for bound in BOUNDS:
                if seconds <= bound:
                    self._within[route, bound] += 1

    def text(self, service: Service) -> str:
        with self._lock:
            requests, within, seconds = dict(self._requests), dict(self._within), dict(self._seconds)
        lines = ["# TYPE kcrc_requests_total counter"]
        lines += [
            f'kcrc_requests_total{{route="{route}",status="{status}"}} {n}' for (route, status), n in requests.items()
        ]
        lines.append("# TYPE kcrc_request_seconds histogram")
        for route, spent in seconds.items():
            total = sum(n for (name, _), n in requests.items() if name == route)
            for bound in BOUNDS:
                n = within.get((route, bound), 0)
                lines.append(f'kcrc_request_seconds_bucket{{route="{route}",le="{bound}"}} {n}')
            lines.append(f'kcrc_request_seconds_bucket{{route="{route}",le="+Inf"}} {total}')
            lines.append(f'kcrc_request_seconds_sum{{route="{route}"}} {spent:.6f}')
            lines.append(f'kcrc_request_seconds_count{{route="{route}"}} {total}')
        values = {
            "kcrc_revision": service.gallery.settings.revision,
            "kcrc_learned_revision": service.learner.done,
            "kcrc_pictures_held": len(service.shelf),
            "kcrc_listeners": service.events.listeners,
            "kcrc_start_time_seconds": self._begun,
            "kcrc_peak_memory_bytes": _peak(),
        }
        counters = {"kcrc_batches_total": service.batcher.batches, "kcrc_vectors_total": service.batcher.vectors}
        for name, value in values.items():
            lines += [f"# TYPE {name} gauge", f"{name} {value}"]
        for name, value in counters.items():
            lines += [f"# TYPE {name} counter", f"{name} {value}"]
        return "\n".join(lines) + "\n"


def _peak() -> int:
    """Bytes; 0 where the system does not say."""
    try:
        import resource
    except ImportError:
        return 0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else 1024 * used
