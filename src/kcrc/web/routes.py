"""All that can be asked of the server, in one table: what is not here is not served, nor in the OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kcrc.web import asking, browsing, findings, labelling, page_files, teaching, tuning
from kcrc.web.bodies import (
    CHANCES,
    CONFIDENCE,
    FLAG,
    IDS,
    LABEL,
    NUMBER,
    PICTURE,
    PICTURES,
    SCHEMAS,
    TEXT,
    WHOLE,
    Shape,
    maybe,
    named,
    record,
    some,
)
from kcrc.web.waiting import ORDERS

__all__ = ["ROUTES", "SCHEMAS", "Route"]


# The OpenAPI document, made from the table of routes: it says what is served, and cannot say anything else.

_PLACE = re.compile(r"{(\w+)(?::(\w+))?}")
_REFUSED = {
    "400": "something given cannot be used",
    "401": "the token is missing",
    "403": "a request from another site",
    "404": "there is no such thing",
    "405": "this address does not take this method",
    "408": "the body came too slowly",
    "409": "it is in conflict with the state of the gallery",
    "413": "the body is too large",
    "421": "the server does not answer to this name",
    "429": "too many requests",
    "503": "too much is waiting",
}


async def document(request: Request) -> Response:
    return JSONResponse(described(ROUTES))


def described(routes: tuple[Route, ...]) -> dict[str, Any]:
    """All routes, as OpenAPI 3.1."""
    from kcrc import __version__

    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(_PLACE.sub(r"{\1}", route.path), {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "kcrc serve", "version": __version__},
        "paths": paths,
        "components": {"schemas": SCHEMAS, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(route: Route) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "integer" if kind == "int" else "string"}}
        for name, kind in _PLACE.findall(route.path)
    ]
    parameters += [{"name": name, "in": "query", "schema": shape} for name, shape in route.query.items()]
    parameters += [{"name": name, "in": "header", "schema": shape} for name, shape in route.headers.items()]
    responses: dict[str, Any] = {str(route.status): {"description": route.about, "content": _content(route.gives)}}
    error = _content({"application/json": {"$ref": "#/components/schemas/Error"}})
    responses |= {status: {"description": why, "content": error} for status, why in _REFUSED.items()}
    name = re.sub(r"\W+", "_", route.method.lower() + _PLACE.sub(r"_\1", route.path)).strip("_")
    operation = {"operationId": name, "summary": route.about, "parameters": parameters, "responses": responses}
    if route.takes:
        operation["requestBody"] = {"required": True, "content": _content(route.takes)}
    return operation


def _content(shapes: dict[str, Shape]) -> dict[str, Any]:
    return {kind: {"schema": shape} for kind, shape in shapes.items()}


Handler = Callable[[Request], Awaitable[Response]]
IMAGE = "image/*"
JSON = "application/json"


@dataclass(frozen=True)
class Route:
    """One address and method. ``takes`` and ``gives`` are shapes by media type; ``query`` and ``headers`` what may be
    said beside; ``status`` that of a good answer."""

    method: str
    path: str
    handler: Handler
    about: str
    takes: dict[str, Shape] = field(default_factory=dict)
    gives: dict[str, Shape] = field(default_factory=dict)
    query: dict[str, Shape] = field(default_factory=dict)
    headers: dict[str, Shape] = field(default_factory=dict)
    status: int = 200


def _json(shape: Shape) -> dict[str, Shape]:
    return {JSON: shape}


_BYTES: Shape = {"type": "string", "format": "binary"}
_VERDICT, _ACT = named("Verdict"), named("Act")
_NAME = {"X-Kcrc-Name": TEXT}
_ENTRY = record(act=WHOLE, sentence=TEXT, action=TEXT, when=maybe(TEXT), who=maybe(TEXT), mine=FLAG, undone=FLAG)
_EXAMPLE = record(id=WHOLE, label=TEXT, source=TEXT, added=maybe(TEXT), probability_of_label=maybe(NUMBER))
_SUSPECT = record(id=WHOLE, finding=TEXT, label=TEXT, looks_like=TEXT, probability=maybe(NUMBER),
                  of_label=maybe(NUMBER), duplicate_of=maybe(WHOLE), nearest_of_label=some(WHOLE),
                  nearest_of_other=some(WHOLE))  # fmt: skip
_WAITING = record(picture=TEXT, name=TEXT, label=maybe(TEXT), probability=maybe(NUMBER), doubt=NUMBER)

ROUTES: tuple[Route, ...] = (
    Route("GET", "/", page_files.index, "The page.", gives={"text/html": TEXT}),
    Route("GET", "/static/{name:path}", page_files.static, "A file of the page.", gives={"*/*": _BYTES}),
    Route("GET", "/api/openapi.json", document, "This document.", gives=_json({"type": "object"})),
    Route("GET", "/api/health", browsing.health, "Whether the gallery can be read.", 
          gives=_json(record(healthy=FLAG, revision=WHOLE))),
    Route("GET", "/api/metrics", browsing.metrics, "Counters for Prometheus.", gives={"text/plain": TEXT}),
    Route("GET", "/api/events", browsing.events, "What happens, as server-sent events.",
          gives={"text/event-stream": TEXT}),
    Route(
        "GET", "/api/gallery", browsing.gallery, "What is served.",
        gives=_json(record(name=TEXT, revision=WHOLE, examples=WHOLE, classes=some(record(name=TEXT, count=WHOLE)),
                           feature=TEXT, dim=WHOLE, readonly=FLAG, tuned=maybe(record(sentence=TEXT)),
                           retune_due=maybe(TEXT), confidence=CONFIDENCE, token_needed=FLAG, queue=WHOLE, pictures=TEXT,
                           undo=maybe(TEXT), redo=maybe(TEXT),
                           limits=record(bytes=WHOLE, pixels=WHOLE, count=WHOLE))),
    ),
    Route(
        "POST", "/api/pictures", asking.pictures, "Send a picture, to be asked about by its name.",
        takes={IMAGE: _BYTES}, headers=_NAME, status=201,
        gives=_json(record(picture=TEXT, width=WHOLE, height=WHOLE, revision=WHOLE)),
    ),
    Route("GET", "/api/pictures/{picture}", asking.picture, "A picture that was sent, small.",
          gives={"image/jpeg": _BYTES}),
    Route(
        "POST", "/api/classify", asking.classify,
        "What is on a picture, on several that were sent before, or what vectors are of (short answers).",
        takes={IMAGE: _BYTES, JSON: record(pictures=PICTURES), asking.FLOATS: _BYTES},
        headers={**_NAME, "X-Kcrc-Dim": TEXT},
        gives=_json({"anyOf": [_VERDICT, record(verdicts=some(_VERDICT)),
                               record(verdicts=some(named("Short")), revision=WHOLE)]}),
    ),
    Route(
        "POST", "/api/what-if", asking.what_if, "The answer without some examples or classes.",
        takes=_json(record({"without": some(WHOLE, most=500), "without_classes": some(LABEL, most=500)},
                           picture=PICTURE)),
        gives=_json(_VERDICT),
    ),
    Route(
        "POST", "/api/turning", asking.turning, "The smallest sets of examples without which the answer is another.",
        takes=_json(record(picture=PICTURE)),
        gives=_json(record(found=some(record(ids=some(WHOLE), label=TEXT, probability=maybe(NUMBER))), exact=FLAG,
                           sentence=TEXT, revision=WHOLE)),
    ),
    Route(
        "POST", "/api/why-not", asking.why_not, "How another class fared against the answer.",
        takes=_json(record({"without": some(WHOLE, most=500), "without_classes": some(LABEL, most=500)},
                           picture=PICTURE, label=LABEL)),
        gives=_json(record(label=TEXT, answer=TEXT, sentence=TEXT, near=WHOLE, support=maybe(NUMBER),
                           strongest=some(NUMBER), best=some(record(id=WHOLE, share=NUMBER)), revision=WHOLE)),
    ),
    Route(
        "POST", "/api/preview", asking.preview, "Which of the last answers a change would change.",
        takes=_json(record({"picture": PICTURE, "pictures": PICTURES, "examples": IDS, "label": LABEL,
                            "revision": WHOLE},
                           act={"type": "string", "enum": list(asking.ACTS)})),
        gives=_json(record(changed=some(record(picture=TEXT, before=TEXT, after=TEXT)), answers=some(TEXT), of=WHOLE,
                           sentence=TEXT, revision=WHOLE)),
    ),
    Route("POST", "/api/case", asking.page, "One answer as a page to keep.", takes=_json(record(picture=PICTURE)),
          gives={"text/html": TEXT}),
    Route(
        "POST", "/api/add", teaching.add, "Add pictures as examples of a class.",
        takes=_json(record({"new_class": FLAG, "revision": WHOLE}, pictures=PICTURES, label=LABEL)), gives=_json(_ACT),
    ),
    Route(
        "POST", "/api/relabel", teaching.relabel, "Give examples another class.",
        takes=_json(record({"expect": {"type": "object"}, "new_class": FLAG, "revision": WHOLE},
                           examples=IDS, label=LABEL)),
        gives=_json(_ACT),
    ),
    Route(
        "POST", "/api/remove", teaching.remove, "Take examples out, or (erase) out of the file for good.",
        takes=_json(record({"erase": FLAG, "revision": WHOLE}, examples=IDS)), gives=_json(_ACT),
    ),
    Route(
        "POST", "/api/rename", teaching.rename, "Give a class another name, or make it one with another.",
        takes=_json(record({"merge": FLAG, "revision": WHOLE}, old=LABEL, new=LABEL)), gives=_json(_ACT),
    ),
    Route("POST", "/api/undo", teaching.undo, "Take back one's own latest change, or the one named.",
          takes=_json(record({"act": WHOLE})), gives=_json(_ACT)),
    Route("POST", "/api/redo", teaching.redo, "Do again what one took back, or the change named.",
          takes=_json(record({"act": WHOLE})), gives=_json(_ACT)),
    Route("GET", "/api/thumbnails/{example:int}", browsing.thumbnail, "The small picture of an example.",
          query={"of": TEXT}, gives={"image/jpeg": _BYTES}),
    Route(
        "GET", "/api/examples", browsing.examples, "A page of the examples.",
        query={"class": TEXT, "search": TEXT, "offset": WHOLE, "limit": WHOLE, "order": TEXT},
        gives=_json(record(total=WHOLE, examples=some(_EXAMPLE), revision=WHOLE)),
    ),
    Route("GET", "/api/examples/{example:int}", browsing.example, "All that is known of one example.",
          gives=_json({"type": "object"})),
    Route(
        "GET", "/api/classes", findings.classes, "The classes, and how often the others answer their examples right.",
        gives=_json(record(classes=some(record(name=TEXT, count=WHOLE, right_without_itself=maybe(NUMBER),
                                               confused_with=CHANCES, enough=maybe(TEXT))),
                           working=FLAG, revision=WHOLE)),
    ),
    Route("GET", "/api/advise", findings.advised, "Whether there are examples enough, class by class.",
          gives=_json(record(advice=maybe({"type": "object"}), working=FLAG, revision=WHOLE))),
    Route(
        "GET", "/api/audit", findings.suspects, "Examples that deserve a second look, the surest first.",
        gives=_json(record(suspects=some(_SUSPECT), working=FLAG, revision=WHOLE)),
    ),
    Route("POST", "/api/audit/keep", findings.keep, "A label was looked at and is right.",
          takes=_json(record({"revision": WHOLE}, id=WHOLE)), gives=_json(record(kept=WHOLE, revision=WHOLE))),
    Route(
        "GET", "/api/map", findings.plane, "The examples as points of a plane.",
        gives=_json(record(points=some(record(id=WHOLE, x=NUMBER, y=NUMBER, label=TEXT)), working=FLAG,
                           revision=WHOLE)),
    ),
    Route(
        "GET", "/api/queue", labelling.queue, "Unlabelled pictures, those to label first at the front.",
        query={"order": {"type": "string", "enum": list(ORDERS)}},
        gives=_json(record(pictures=some(_WAITING), order=TEXT, total=WHOLE, working=FLAG, revision=WHOLE)),
    ),
    Route("POST", "/api/queue", labelling.drop, "Put a picture into the queue.", takes={IMAGE: _BYTES}, headers=_NAME,
          status=201, gives=_json(record(picture=TEXT, revision=WHOLE))),
    Route("POST", "/api/queue/label", labelling.label, "Label pictures of the queue.",
          takes=_json(record({"new_class": FLAG, "revision": WHOLE}, pictures=PICTURES, label=LABEL)),
          gives=_json(_ACT)),
    Route("POST", "/api/queue/skip", labelling.skip, "Ask about pictures of the queue no more.",
          takes=_json(record(pictures=PICTURES)), gives=_json(record(total=WHOLE, revision=WHOLE))),
    Route(
        "GET", "/api/tuning", tuning.tuning, "On what the parameters rest.",
        gives=_json(record(sentence=maybe(TEXT), examples=maybe(WHOLE), due=maybe(TEXT), working=FLAG,
                           parameters={"type": "object"}, revision=WHOLE)),
    ),
    Route("POST", "/api/tune", tuning.tune, "Choose the parameters anew, which takes a minute.", takes=_json(record()),
          status=202, gives=_json(record(job=TEXT, revision=WHOLE))),
    Route("POST", "/api/history/before", asking.answered_before, "The answer as it was before a change.",
          takes=_json(record(act=WHOLE, picture=PICTURE)), gives=_json(_VERDICT)),
    Route(
        "GET", "/api/history", browsing.history, "The changes, newest first.", query={"limit": WHOLE},
        gives=_json(record(entries=some(_ENTRY), revision=WHOLE)),
    ),
)  # fmt: skip
