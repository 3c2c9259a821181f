"""The queue of unlabelled pictures: what to label next, and many at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kcrc.web.asking import upload
from kcrc.web.bodies import fields
from kcrc.web.guard import Refusal
from kcrc.web.pictures import SentPicture
from kcrc.web.service import Service
from kcrc.web.teaching import add
from kcrc.web.waiting import ORDERS, Ordered, Waiting

PAGE = 60  # pictures


async def queue(request: Request) -> Response:
    service: Service = request.app.state.service
    order = request.query_params.get("order", "doubt")
    if order not in ORDERS:
        raise Refusal(400, f"'order' is one of {', '.join(ORDERS)}; given '{order[:40]}'.")
    contents = await service.apart(lambda: service.gallery.contents)
    still = service.queue.open(contents)
    if len(contents.counts) > 1:
        told = await service.orders[order].of(await service.current(), service.queue.version)
        found, working = told.value or Ordered((), (), np.zeros(0), np.zeros(0)), told.working
        rows = [
            _row(name, still[name], label=label, probability=float(p), doubt=float(doubt))
            for name, label, p, doubt in zip(found.ids, found.labels, found.probabilities, found.doubts, strict=True)
            if name in still
        ]
    else:  # before there are two classes all pictures are alike, and there is nothing to choose parameters by
        working = False
        rows = [_row(name, one, label=None, probability=None, doubt=1.0) for name, one in still.items()]
    more = {"order": order, "total": len(still), "working": working, "revision": contents.revision}
    return JSONResponse({"pictures": rows[:PAGE], **more})


def _row(name: str, one: Waiting, **known: Any) -> dict[str, Any]:
    return {"picture": name, "name": one.name, **known}


async def drop(request: Request) -> Response:
    """A picture dropped on the queue."""
    service: Service = request.app.state.service
    found = await upload(request)
    name = f"q{found.sha256[:24]}"
    if service.queue.get(name) is None:
        held = SentPicture(found.vector, found.sha256, found.name, found.size, found.small, found.empty, name)
        service.queue.put(name, Waiting(found.vector, found.sha256, found.name, held=held))
        service.events.tell("queue", total=len(service.queue), share=1.0)
    return JSONResponse({"picture": name, "revision": service.gallery.settings.revision}, 201)


async def label(request: Request) -> Response:
    """Label pictures of the queue."""
    return await add(request)


async def skip(request: Request) -> Response:
    """Ask about pictures no more, for as long as the server runs."""
    service: Service = request.app.state.service
    service.queue.skip((await fields(request)).texts("pictures"))
    return JSONResponse({"total": len(service.queue), "revision": service.gallery.settings.revision})
