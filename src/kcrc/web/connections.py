"""Connections: how many there may be, and for how long a client may keep one without sending or reading anything.

At a limit, a connection that only waits for its client makes room for the next one: first those that have never sent
the headers of a request, then those whose body is still arriving, last those between two requests; of each kind the one
that has waited longest. One that has waited for less than a second is left alone, for honest clients need that long,
and so is one whose answer is being made. If all are left alone, the new connection is refused.

Connections from the loopback address count only towards all together: they are the user's own, or those of a proxy that
stands in front and speaks for everybody.
"""

from __future__ import annotations

import asyncio
import json

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from kcrc.web.bodies import Allowed

LOOPBACK = ("127.0.0.1", "::1", "")  # the last is that of a socket without addresses
_GRACE = 1.0  # seconds
_PHRASES = {408: "Request Timeout", 503: "Service Unavailable"}


class BoundedConnection(H11Protocol):
    """uvicorn's connection, with the limits of ``Allowed``."""

    _deadline: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    _since = 0.0
    _has_sent = False

    @property
    def _limits(self) -> Allowed:
        allowed: Allowed = self.config.app.state.service.allowed  # type: ignore[union-attr]  # it is our application
        return allowed

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._since = self.loop.time()
        self._set_deadline()
        others = [
            one for one in self.connections if isinstance(one, BoundedConnection) and not one.transport.is_closing()
        ]
        others.remove(self)
        of_address = [one for one in others if one._address == self._address]
        if self._address not in LOOPBACK and len(of_address) >= self._limits.of_address:
            self._make_room(of_address, f"more than {self._limits.of_address} connections from this address")
        elif len(others) >= self._limits.connections:
            self._make_room(others, f"more than {self._limits.connections} connections")

    def data_received(self, data: bytes) -> None:
        if not self._is_answering and self._deadline is None:
            self._set_deadline()
        super().data_received(data)
        if self._is_answering:
            self._has_sent = True
            self._end_deadline()

    def on_response_complete(self) -> None:
        self._since = self.loop.time()
        super().on_response_complete()  # which starts the time that a connection may be idle
        if self.conn.their_state is h11.SEND_BODY:  # the rest of the body is not wanted any more
            self._set_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_deadline()
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(self._limits.stalled_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    @property
    def _is_answering(self) -> bool:
        """Whether a request has begun, its headers being complete, and its answer is not sent yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def _turn(self) -> tuple[int, float] | None:
        """When this connection is closed to make room, the smallest first; None if it is left alone."""
        is_arriving = self._is_answering and self.conn.their_state is h11.SEND_BODY
        if (self._is_answering and not is_arriving) or self.loop.time() < self._since + _GRACE:
            return None
        return (1 if is_arriving else 2 if self._has_sent else 0), self._since

    def _make_room(self, connections: list[BoundedConnection], why: str) -> None:
        """Close one of the connections, or this one if all others are left alone."""
        turns = [(turn, one) for one in connections if (turn := one._turn()) is not None]
        if turns:
            min(turns, key=lambda entry: entry[0])[1].transport.abort()
        else:
            self._refuse(503, f"There are {why}. Try again in a moment.")

    def _set_deadline(self) -> None:
        self._deadline = self.loop.call_later(self._limits.header_seconds, self._end_late)

    def _end_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end_late(self) -> None:
        """Close a connection that sent no whole request in time, or went on sending a body that was already refused."""
        if self.cycle is None and not self.transport.is_closing():
            self._refuse(408, f"The request did not arrive within {self._limits.header_seconds:g} seconds.")
        else:
            self.transport.abort()

    def _refuse(self, status: int, sentence: str) -> None:
        body = json.dumps({"error": sentence}).encode()
        head = (
            f"HTTP/1.1 {status} {_PHRASES[status]}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode("ascii") + body)
        self.transport.close()
