"""The application: the table of routes behind its guard, over one service."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Served

from kcrc.errors import KCRCError
from kcrc.web import failures
from kcrc.web.guard import Guard, Guarded
from kcrc.web.routes import ROUTES, Handler
from kcrc.web.service import Service


def application(service: Service, guard: Guard) -> Starlette:
    """What serves; it closes the service when it ends."""

    @contextlib.asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        service.events.begin()
        watching = asyncio.create_task(service.watch())
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.to_thread(service.close)

    app = Starlette(
        routes=[Served(route.path, _sound(route.handler), methods=[route.method]) for route in ROUTES],
        middleware=[Middleware(Guarded)],
        exception_handlers={404: failures.not_found, 405: failures.wrong_method},
        lifespan=running,
    )
    app.state.service, app.state.guard = service, guard
    return app


def _sound(handler: Handler) -> Handler:
    """The handler, with every error as an answer."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except failures.Refusal as problem:
            return failures.refused_as(problem)
        except KCRCError as problem:
            return await failures.told(request, problem)
        except Exception as problem:
            return await failures.fault(request, problem)

    return answer
