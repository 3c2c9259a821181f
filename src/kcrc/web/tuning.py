"""Choosing the parameters anew, behind the requests."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kcrc.errors import KCRCError
from kcrc.web.guard import Refusal
from kcrc.web.people import person_of
from kcrc.web.service import Service

SECONDS = 60.0
JOB = "tune"


async def tune(request: Request) -> Response:
    """Begin; what comes of it is told as an event, and is a change of whoever asked for it."""
    service: Service = request.app.state.service
    if service.gallery.readonly:
        raise Refusal(409, "The gallery is served for reading only; tuning stores what it finds.", {})
    person = person_of(request)
    if not service.choosing.acquire(blocking=False):
        raise Refusal(409, "The parameters are being chosen already.", {"job": JOB})

    def run() -> None:
        try:
            service.events.tell("progress", job=JOB, share=0.0)
            made = service.gallery.answering.tune(tuning_seconds=SECONDS)
            service.people.did(person, service.gallery.settings.tuned)
            told: dict[str, Any] = {"sentence": "nothing to choose" if made.tuning_ is None else repr(made.tuning_)}
        except KCRCError as problem:
            told = {"error": str(problem)}
        finally:
            service.choosing.release()
        service.events.tell("progress", job=JOB, share=1.0, **told)
        service.watched()

    service.behind.submit(run)
    return JSONResponse({"job": JOB, "revision": service.gallery.settings.revision}, 202)


async def tuning(request: Request) -> Response:
    """On what the parameters rest, and whether choosing anew is due."""
    service: Service = request.app.state.service

    def told() -> dict[str, Any]:
        facts = service.gallery.answering.facts()
        return {
            "sentence": None if facts is None else facts.chosen,
            "examples": None if facts is None else facts.examples,
            "due": service.gallery.retune_due,
            "working": service.choosing.locked(),
            "parameters": service.gallery.parameters,
            "revision": service.gallery.settings.revision,
        }

    return JSONResponse(await service.apart(told))
