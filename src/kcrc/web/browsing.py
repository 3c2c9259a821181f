"""What is in the gallery, one example, the history, and how the server is."""

from __future__ import annotations

import itertools
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from kcrc._base.words import file_name
from kcrc.errors import DataError
from kcrc.gallery.contract import ExampleRecord, Snapshot
from kcrc.gallery.listing import ORDERS, example_details, list_examples
from kcrc.web import bodies
from kcrc.web.guard import Refusal
from kcrc.web.people import person_of
from kcrc.web.service import Service
from kcrc.web.teaching import sentence, steps

PAGE, LARGEST_PAGE = 60, 500  # examples
HISTORY = 200  # entries


async def gallery(request: Request) -> Response:
    service: Service = request.app.state.service
    person = person_of(request)

    def look() -> dict[str, Any]:
        opened = service.gallery
        contents, facts = opened.contents, opened.answering.facts()
        first = {row.label: row.id for row in reversed(contents.rows)}
        return {
            "name": service.name,
            "revision": contents.revision,
            "examples": len(contents),
            "classes": [
                {"name": name, "count": count, "example": first[name]} for name, count in contents.counts.items()
            ],
            "feature": opened.settings.feature,
            "dim": opened.dim,
            "readonly": opened.readonly,
            "tuned": None if facts is None else {"sentence": facts.chosen or "The usual parameters are in use."},
            "retune_due": opened.retune_due,
            "confidence": service.confidence(contents.revision),
            "token_needed": request.app.state.guard.token is not None,
            "queue": len(service.queue.open(contents)),
            "pictures": service.pictures_key,
            **steps(service, person),
            "limits": {
                "bytes": service.allowed.bytes,
                "pixels": service.allowed.pixels,
                "count": service.allowed.count,
            },
        }

    return JSONResponse(await service.read(look))


async def thumbnail(request: Request) -> Response:
    service: Service = request.app.state.service
    example = _example(request)

    def look(reading: Snapshot) -> bytes | None:
        record = next(reading.find(ExampleRecord, id=example), None)  # one that was removed may be in the history
        return None if record is None else reading.thumbnail(record)

    picture = await service.read(lambda: service.gallery.read(look))
    if picture is None:
        raise Refusal(404, f"There is no picture of example {example}.")
    kind = "image/png" if picture[:1] == b"\x89" else "image/webp" if picture[:4] == b"RIFF" else "image/jpeg"
    keep = "max-age=86400, immutable" if request.query_params.get("of") == service.pictures_key else "max-age=600"
    return Response(picture, media_type=kind, headers={"Cache-Control": f"private, {keep}"})


async def example(request: Request) -> Response:
    service: Service = request.app.state.service
    number = _example(request)
    try:
        details = (await service.compute(lambda: example_details(service.gallery, number))).to_dict()
    except DataError as problem:
        raise Refusal(404, str(problem)) from None
    for one in [details, *details["nearest"]]:
        one["source"] = file_name(one["source"])
    return JSONResponse({**details, "revision": service.gallery.settings.revision})


def _example(request: Request) -> int:
    number: int = request.path_params["example"]
    if not 0 < number < 1 << 60:
        raise Refusal(404, "There is no example of this number.")
    return number


async def examples(request: Request) -> Response:
    """A page of the examples, of a class or all, by what their label or file name holds."""
    service: Service = request.app.state.service
    label, search = request.query_params.get("class"), request.query_params.get("search", "").casefold()
    offset = bodies.count(request, "offset", 0, 1 << 40)
    limit = bodies.count(request, "limit", PAGE, LARGEST_PAGE)
    order = bodies.choice(request, "order", tuple(ORDERS))

    def look() -> dict[str, Any]:
        rows = [
            one
            for one in list_examples(service.gallery, by=order)
            if (label is None or one.label == label)
            and (not search or search in f"{one.label}\n{file_name(one.source)}".casefold())
        ]
        return {
            "total": len(rows),
            "examples": [
                {
                    "id": one.id,
                    "label": one.label,
                    "source": file_name(one.source),
                    "added": None if one.added_at is None else one.added_at.isoformat(),
                    "probability_of_label": None,
                }
                for one in rows[offset : offset + limit]
            ],
            "revision": service.gallery.settings.revision,
        }

    return JSONResponse(await service.read(look))


async def history(request: Request) -> Response:
    service: Service = request.app.state.service
    limit, person = bodies.count(request, "limit", HISTORY, HISTORY), person_of(request)

    def look() -> dict[str, Any]:
        people = service.people
        changes = (entry for entry in service.gallery.history() if entry.action not in ("undo", "redo"))
        entries = [
            {
                "act": entry.id,
                "sentence": sentence(entry.summary),
                "action": entry.action,
                "when": None if entry.at is None else entry.at.isoformat(),
                "who": people.alias(entry.id),
                "mine": people.author(entry.id) == person,
                "undone": entry.undone_by is not None,
            }
            for entry in itertools.islice(changes, limit)
        ]
        return {"entries": entries, "revision": service.gallery.settings.revision}

    return JSONResponse(await service.read(look))


async def health(request: Request) -> Response:
    """Whether answers can be had: the gallery can be read."""
    service: Service = request.app.state.service
    revision = await service.read(lambda: service.gallery.settings.revision)
    return JSONResponse({"healthy": True, "revision": revision})


async def metrics(request: Request) -> Response:
    service: Service = request.app.state.service
    text = await service.read(lambda: service.metrics.text(service))
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


async def events(request: Request) -> Response:
    stream: Response = request.app.state.service.events.listen()
    return stream
