"""All requests that are served, in one table, from which the OpenAPI document is made."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, get_type_hints

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kcrc.web import browsing, findings, page_files, questions, teaching
from kcrc.web.bodies import FLAG, NUMBER, TEXT, WHOLE, Body, Shape, SomePictures, maybe, record, schema, some
from kcrc.web.waiting import ORDERS

Handler = Callable[..., Awaitable[Response]]
IMAGE = "image/*"
JSON = "application/json"


@dataclass(frozen=True)
class Route:
    """One address and method.

    ``body`` is the class of the JSON that the handler takes (None: it takes none, or reads the request itself).
    ``takes`` and ``gives`` are shapes by media type, ``query`` and ``headers`` what may be given beside, and ``status``
    is that of a good answer."""

    method: str
    path: str
    handler: Handler
    about: str
    body: type[Body] | None
    takes: dict[str, Shape]
    gives: dict[str, Shape]
    query: dict[str, Shape]
    headers: dict[str, Shape]
    status: int


def _route(
    method: str,
    path: str,
    handler: Handler,
    about: str,
    gives: Shape,
    *,
    kind: str = JSON,
    takes: dict[str, Shape] | None = None,
    query: dict[str, Shape] | None = None,
    headers: dict[str, Shape] | None = None,
    status: int = 200,
) -> Route:
    """A route that gives one ``kind`` of content; what it takes follows from the handler's parameter ``body``."""
    body: type[Body] | None = get_type_hints(handler).get("body")
    takes = takes or ({} if body is None else {JSON: body.shape()})
    return Route(method, path, handler, about, body, takes, {kind: gives}, query or {}, headers or {}, status)


# The OpenAPI document, made from the table.

_PLACE = re.compile(r"{(\w+)(?::(\w+))?}")
_REFUSED = {
    "400": "something given cannot be used",
    "401": "the token is missing",
    "403": "a request from another site",
    "404": "there is no such thing",
    "405": "this address does not take this method",
    "408": "the body arrived too slowly",
    "409": "it is in conflict with the state of the gallery",
    "413": "the body is too large",
    "421": "the server does not answer to this name",
    "429": "too many requests",
    "503": "too much is waiting",
}


async def document(request: Request) -> Response:
    return JSONResponse(openapi(ROUTES))


def openapi(routes: tuple[Route, ...]) -> dict[str, Any]:
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


# What answers have in common. The names of fields are the API's.

CONFIDENCE: Shape = {**TEXT, "enum": ["ready", "learning"]}
CHANCES = some({"type": "array", "minItems": 2, "maxItems": 2, "items": {"anyOf": [TEXT, NUMBER]}})

SCHEMAS: dict[str, Shape] = {
    "Error": record({"conflict": {"type": "object"}}, error=TEXT),
    "Verdict": record(
        {"left_out": some(WHOLE), "act": WHOLE},
        picture=TEXT,
        revision=WHOLE,
        label=TEXT,
        probability=maybe(NUMBER),
        unknown=FLAG,
        why=maybe(TEXT),
        set=some(TEXT),
        likely=CHANCES,
        confidence=CONFIDENCE,
        how={"type": "string", "enum": ["coded", "unanimous", "nearest"]},
        search=TEXT,
        sentence=TEXT,
        runner_up=maybe(TEXT),
        support=NUMBER,
        exact_line=FLAG,
        parts=some(record(id=WHOLE, label=TEXT, share=NUMBER, distance=NUMBER, source=TEXT, step_in=FLAG)),
        rest=record(count=WHOLE, count_for=WHOLE, count_against=WHOLE, share_for=NUMBER, share_against=NUMBER),
        others=some(record(id=WHOLE, label=TEXT)),
        tips=maybe(WHOLE),
        seconds=NUMBER,
    ),
    "Short": record(label=TEXT, probability=maybe(NUMBER), unknown=FLAG),
    "Act": record(
        {"duplicates": some(record(picture=TEXT, id=WHOLE, label=TEXT))},
        act=maybe(WHOLE),
        sentence=TEXT,
        examples=some(WHOLE),
        revision=WHOLE,
        undo=maybe(TEXT),
        redo=maybe(TEXT),
    ),
}


# The table.

_BYTES: Shape = {"type": "string", "format": "binary"}
_OBJECT: Shape = {"type": "object"}
_VERDICT, _ACT = schema("Verdict"), schema("Act")
_NAME = {"X-Kcrc-Name": TEXT}
_ENTRY = record(act=WHOLE, sentence=TEXT, action=TEXT, when=maybe(TEXT), who=maybe(TEXT), mine=FLAG, undone=FLAG)
_EXAMPLE = record(id=WHOLE, label=TEXT, source=TEXT, added=maybe(TEXT), probability_of_label=maybe(NUMBER))
_SUSPECT = record(id=WHOLE, finding=TEXT, label=TEXT, looks_like=TEXT, probability=maybe(NUMBER),
                  of_label=maybe(NUMBER), duplicate_of=maybe(WHOLE), nearest_of_label=some(WHOLE),
                  nearest_of_other=some(WHOLE))  # fmt: skip
_CLASS = record(name=TEXT, count=WHOLE, right_without_itself=maybe(NUMBER), confused_with=CHANCES, enough=maybe(TEXT))
_WAITING = record(picture=TEXT, name=TEXT, label=maybe(TEXT), probability=maybe(NUMBER), doubt=NUMBER)
_GALLERY = record(name=TEXT, revision=WHOLE, examples=WHOLE,
                  classes=some(record(name=TEXT, count=WHOLE, example=WHOLE)), feature=TEXT, dim=WHOLE, readonly=FLAG,
                  tuned=maybe(record(sentence=TEXT)), retune_due=maybe(TEXT), confidence=CONFIDENCE, token_needed=FLAG,
                  queue=WHOLE, pictures=TEXT, undo=maybe(TEXT), redo=maybe(TEXT),
                  limits=record(bytes=WHOLE, pixels=WHOLE, count=WHOLE))  # fmt: skip
_TURNS = some(record(ids=some(WHOLE), label=TEXT, probability=maybe(NUMBER)))

ROUTES: tuple[Route, ...] = (
    # The page, and how the server is.
    _route("GET", "/", page_files.index, "The page.", TEXT, kind="text/html"),
    _route("GET", "/static/{name:path}", page_files.static, "A file of the page.", _BYTES, kind="*/*"),
    _route("GET", "/api/openapi.json", document, "This document.", _OBJECT),
    _route("GET", "/api/health", browsing.health, "Whether the gallery can be read.",
           record(healthy=FLAG, revision=WHOLE)),
    _route("GET", "/api/metrics", browsing.metrics, "Counters for Prometheus.", TEXT, kind="text/plain"),
    _route("GET", "/api/events", browsing.events, "What happens, as server-sent events.", TEXT,
           kind="text/event-stream"),
    # Questions.
    _route("POST", "/api/pictures", questions.send, "Send a picture, for questions that give its name.",
           record(picture=TEXT, width=WHOLE, height=WHOLE, revision=WHOLE),
           takes={IMAGE: _BYTES}, headers=_NAME, status=201),
    _route("GET", "/api/pictures/{picture}", questions.small_picture, "A picture that was sent, small.", _BYTES,
           kind="image/jpeg"),
    _route("POST", "/api/classify", questions.classify,
           "What is on a picture, on several that were sent before, or what vectors are of (short answers).",
           {"anyOf": [_VERDICT, record(verdicts=some(_VERDICT)),
                      record(verdicts=some(schema("Short")), revision=WHOLE)]},
           takes={IMAGE: _BYTES, JSON: SomePictures.shape(), questions.FLOATS: _BYTES},
           headers={**_NAME, "X-Kcrc-Dim": TEXT}),
    _route("POST", "/api/what-if", questions.what_if, "The answer without some examples or classes.", _VERDICT),
    _route("POST", "/api/turning", questions.turning,
           "The smallest sets of examples without which the answer is another.",
           record(found=_TURNS, exact=FLAG, sentence=TEXT, revision=WHOLE)),
    _route("POST", "/api/why-not", questions.why_not, "How another class compares with the answer.",
           record(label=TEXT, answer=TEXT, sentence=TEXT, near=WHOLE, support=maybe(NUMBER), strongest=some(NUMBER),
                  best=some(record(id=WHOLE, share=NUMBER)), revision=WHOLE)),
    _route("POST", "/api/preview", questions.preview, "Which of the latest answers a change would change.",
           record(changed=some(record(picture=TEXT, before=TEXT, after=TEXT)), answers=some(TEXT), of=WHOLE,
                  sentence=TEXT, revision=WHOLE)),
    _route("POST", "/api/case", questions.as_page, "One answer as a page to keep.", TEXT, kind="text/html"),
    _route("POST", "/api/history/before", questions.answer_before, "The answer as it was before a change.", _VERDICT),
    # Changes.
    _route("POST", "/api/add", teaching.add, "Add pictures as examples of a class.", _ACT),
    _route("POST", "/api/relabel", teaching.relabel, "Give examples another class.", _ACT),
    _route("POST", "/api/remove", teaching.remove, "Take examples out, or (erase) out of the file for good.", _ACT),
    _route("POST", "/api/rename", teaching.rename, "Give a class another name, or make it one with another.", _ACT),
    _route("POST", "/api/undo", teaching.undo, "Take back one's own latest change, or the one named.", _ACT),
    _route("POST", "/api/redo", teaching.redo, "Do again what one took back, or the change named.", _ACT),
    _route("GET", "/api/history", browsing.history, "The changes, newest first.",
           record(entries=some(_ENTRY), revision=WHOLE), query={"limit": WHOLE}),
    # What is there.
    _route("GET", "/api/gallery", browsing.gallery, "What is served.", _GALLERY),
    _route("GET", "/api/thumbnails/{example:int}", browsing.thumbnail, "The small picture of an example.", _BYTES,
           kind="image/jpeg", query={"of": TEXT}),
    _route("GET", "/api/examples", browsing.examples, "A page of the examples.",
           record(total=WHOLE, examples=some(_EXAMPLE), revision=WHOLE),
           query={"class": TEXT, "search": TEXT, "offset": WHOLE, "limit": WHOLE, "order": TEXT}),
    _route("GET", "/api/examples/{example:int}", browsing.example, "All that is known of one example.", _OBJECT),
    # What the examples say of each other.
    _route("GET", "/api/classes", findings.classes,
           "The classes, and how often the others answer their examples right.",
           record(classes=some(_CLASS), working=FLAG, revision=WHOLE)),
    _route("GET", "/api/advise", findings.advise, "Whether there are examples enough, class by class.",
           record(advice=maybe(_OBJECT), working=FLAG, revision=WHOLE)),
    _route("GET", "/api/audit", findings.suspects, "Examples that deserve a second look, the surest first.",
           record(suspects=some(_SUSPECT), working=FLAG, revision=WHOLE)),
    _route("POST", "/api/audit/keep", findings.confirm_label, "A label is right.",
           record(kept=WHOLE, revision=WHOLE)),
    _route("GET", "/api/map", findings.map_points, "The examples as points of a plane, of each class one in turn.",
           record(points=some(record(id=WHOLE, x=NUMBER, y=NUMBER, label=TEXT)), working=FLAG, revision=WHOLE)),
    _route("GET", "/api/tuning", findings.parameters, "On what the parameters rest.",
           record(sentence=maybe(TEXT), examples=maybe(WHOLE), due=maybe(TEXT), working=FLAG, parameters=_OBJECT,
                  revision=WHOLE)),
    _route("POST", "/api/tune", findings.tune, "Choose the parameters again, which takes a minute.",
           record(job=TEXT, revision=WHOLE), takes={JSON: record()}, status=202),
    # Pictures without a label.
    _route("GET", "/api/queue", teaching.queue, "Unlabelled pictures, those to label first at the front.",
           record(pictures=some(_WAITING), order=TEXT, total=WHOLE, working=FLAG, revision=WHOLE),
           query={"order": {**TEXT, "enum": list(ORDERS)}}),
    _route("POST", "/api/queue", teaching.enqueue, "Put a picture into the queue.",
           record(picture=TEXT, revision=WHOLE), takes={IMAGE: _BYTES}, headers=_NAME, status=201),
    _route("POST", "/api/queue/label", teaching.add, "Label pictures of the queue.", _ACT),
    _route("POST", "/api/queue/skip", teaching.skip, "Leave pictures out of the queue.",
           record(total=WHOLE, revision=WHOLE)),
)  # fmt: skip
