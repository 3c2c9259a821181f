"""The application: the table of routes behind its guard, over one service."""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Served

from kcrc.errors import KCRCError
from kcrc.web.bodies import read_body
from kcrc.web.connections import BoundedConnection
from kcrc.web.guard import Guard, Guarded, Refusal, not_found, refuse, refuse_error, refuse_fault, wrong_method
from kcrc.web.page_files import compress
from kcrc.web.routes import ROUTES, Route
from kcrc.web.service import Service


def application(service: Service, guard: Guard) -> Starlette:
    """The application, which closes the service when it ends."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.events.begin()
        watching = asyncio.create_task(service.watch())
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.to_thread(service.close)

    app = Starlette(
        routes=[Served(route.path, _endpoint(route), methods=[route.method]) for route in ROUTES],
        middleware=[Middleware(Guarded)],
        exception_handlers={404: not_found, 405: wrong_method},
        lifespan=lifespan,
    )
    app.state.service, app.state.guard = service, guard
    return app


def _endpoint(route: Route) -> Callable[[Request], Awaitable[Response]]:
    """The handler of a route, with its body read, its answer compressed, and every error as an answer."""

    async def answer(request: Request) -> Response:
        try:
            body = () if route.body is None else (await read_body(request, route.body),)
            return await compress(request, await route.handler(request, *body))
        except Refusal as problem:
            return refuse(problem)
        except KCRCError as problem:
            return refuse_error(request, problem)
        except Exception as problem:
            return refuse_fault(request, problem)

    return answer


# Running the server: uvicorn, on one address, until it is told to end.

GRACE = 10  # seconds that requests under way have to end


class Server(uvicorn.Server):
    """uvicorn's server, which also ends the streams of events when it is to end: it would wait for them."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.config.app.state.started()  # type: ignore[union-attr]  # it is our application

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.config.app.state.service.events.end()  # type: ignore[union-attr]
        super().handle_exit(sig, frame)


def bind(host: str, port: int) -> socket.socket:
    """A socket on an address; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except BaseException:
        sock.close()
        raise
    return sock


def own_address() -> str:
    """The address under which others in the network reach this machine; the loopback address if there is none.

    A datagram socket that has a destination knows its own address; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("192.0.2.1", 9))  # an address for documentation, of no machine
            return str(sock.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def server(
    app: Starlette, *, started: Callable[[], None], certificate: str | None = None, key: str | None = None
) -> Server:
    """A server of the application: ``run([socket])`` serves until a signal ends it, or ``should_exit`` is set;
    ``started`` is called once it takes requests."""
    app.state.started = started
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        backlog=256,
        http=BoundedConnection,
        timeout_keep_alive=math.ceil(app.state.service.allowed.idle_seconds),
        timeout_graceful_shutdown=GRACE,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    return Server(config)
