"""All that can be asked of the server, in one table: what is not here is not served, nor in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response

from kcrc.web import asking, browsing, findings, labelling, openapi, page_files, supposing, teaching, tuning
from kcrc.web.shapes import (
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
    fields,
    maybe,
    named,
    some,
)
from kcrc.web.waiting import ORDERS

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
_ENTRY = fields(act=WHOLE, sentence=TEXT, action=TEXT, when=maybe(TEXT), who=maybe(TEXT), mine=FLAG, undone=FLAG)
_EXAMPLE = fields(id=WHOLE, label=TEXT, source=TEXT, added=maybe(TEXT), probability_of_label=maybe(NUMBER))
_SUSPECT = fields(id=WHOLE, finding=TEXT, label=TEXT, looks_like=TEXT, probability=maybe(NUMBER),
                  of_label=maybe(NUMBER), duplicate_of=maybe(WHOLE), nearest_of_label=some(WHOLE),
                  nearest_of_other=some(WHOLE))  # fmt: skip
_WAITING = fields(picture=TEXT, name=TEXT, label=maybe(TEXT), probability=maybe(NUMBER), doubt=NUMBER)

ROUTES: tuple[Route, ...] = (
    Route("GET", "/", page_files.index, "The page.", gives={"text/html": TEXT}),
    Route("GET", "/static/{name:path}", page_files.static, "A file of the page.", gives={"*/*": _BYTES}),
    Route("GET", "/api/openapi.json", openapi.document, "This document.", gives=_json({"type": "object"})),
    Route("GET", "/api/health", browsing.health, "Whether the gallery can be read.", 
          gives=_json(fields(healthy=FLAG, revision=WHOLE))),
    Route("GET", "/api/metrics", browsing.metrics, "Counters for Prometheus.", gives={"text/plain": TEXT}),
    Route("GET", "/api/events", browsing.events, "What happens, as server-sent events.",
          gives={"text/event-stream": TEXT}),
    Route(
        "GET", "/api/gallery", browsing.gallery, "What is served.",
        gives=_json(fields(name=TEXT, revision=WHOLE, examples=WHOLE, classes=some(fields(name=TEXT, count=WHOLE)),
                           feature=TEXT, dim=WHOLE, readonly=FLAG, tuned=maybe(fields(sentence=TEXT)),
                           retune_due=maybe(TEXT), confidence=CONFIDENCE, token_needed=FLAG, queue=WHOLE,
                           undo=maybe(TEXT), redo=maybe(TEXT),
                           limits=fields(bytes=WHOLE, pixels=WHOLE, count=WHOLE))),
    ),
    Route(
        "POST", "/api/pictures", asking.pictures, "Send a picture, to be asked about by its name.",
        takes={IMAGE: _BYTES}, headers=_NAME, status=201,
        gives=_json(fields(picture=TEXT, width=WHOLE, height=WHOLE, revision=WHOLE)),
    ),
    Route("GET", "/api/pictures/{picture}", asking.picture, "A picture that was sent, small.",
          gives={"image/jpeg": _BYTES}),
    Route(
        "POST", "/api/classify", asking.classify,
        "What is on a picture, on several that were sent before, or what vectors are of (short answers).",
        takes={IMAGE: _BYTES, JSON: fields(pictures=PICTURES), asking.FLOATS: _BYTES},
        headers={**_NAME, "X-Kcrc-Dim": TEXT},
        gives=_json({"anyOf": [_VERDICT, fields(verdicts=some(_VERDICT)),
                               fields(verdicts=some(named("Short")), revision=WHOLE)]}),
    ),
    Route(
        "POST", "/api/what-if", asking.what_if, "The answer without some examples or classes.",
        takes=_json(fields({"without": some(WHOLE, most=500), "without_classes": some(LABEL, most=500)},
                           picture=PICTURE)),
        gives=_json(_VERDICT),
    ),
    Route(
        "POST", "/api/turning", asking.turning, "The smallest sets of examples without which the answer is another.",
        takes=_json(fields(picture=PICTURE)),
        gives=_json(fields(found=some(fields(ids=some(WHOLE), label=TEXT, probability=maybe(NUMBER))), exact=FLAG,
                           sentence=TEXT, revision=WHOLE)),
    ),
    Route(
        "POST", "/api/why-not", supposing.why_not, "How another class fared against the answer.",
        takes=_json(fields(picture=PICTURE, label=LABEL)),
        gives=_json(fields(label=TEXT, answer=TEXT, sentence=TEXT, best=some(fields(id=WHOLE, share=NUMBER)),
                           revision=WHOLE)),
    ),
    Route(
        "POST", "/api/preview", supposing.preview, "Which of the last answers a change would change.",
        takes=_json(fields({"picture": PICTURE, "pictures": PICTURES, "examples": IDS, "label": LABEL},
                           act={"type": "string", "enum": list(supposing.ACTS)})),
        gives=_json(fields(changed=some(fields(picture=TEXT, before=TEXT, after=TEXT)), answers=some(TEXT), of=WHOLE,
                           sentence=TEXT, revision=WHOLE)),
    ),
    Route("POST", "/api/case", supposing.page, "One answer as a page to keep.", takes=_json(fields(picture=PICTURE)),
          gives={"text/html": TEXT}),
    Route(
        "POST", "/api/add", teaching.add, "Add pictures as examples of a class.",
        takes=_json(fields({"new_class": FLAG}, pictures=PICTURES, label=LABEL)), gives=_json(_ACT),
    ),
    Route(
        "POST", "/api/relabel", teaching.relabel, "Give examples another class.",
        takes=_json(fields({"expect": {"type": "object"}, "new_class": FLAG}, examples=IDS, label=LABEL)),
        gives=_json(_ACT),
    ),
    Route(
        "POST", "/api/remove", teaching.remove, "Take examples out, or (erase) out of the file for good.",
        takes=_json(fields({"erase": FLAG}, examples=IDS)), gives=_json(_ACT),
    ),
    Route(
        "POST", "/api/rename", teaching.rename, "Give a class another name, or make it one with another.",
        takes=_json(fields({"merge": FLAG}, old=LABEL, new=LABEL)), gives=_json(_ACT),
    ),
    Route("POST", "/api/undo", teaching.undo, "Take back one's own latest change, or the one named.",
          takes=_json(fields({"act": WHOLE})), gives=_json(_ACT)),
    Route("POST", "/api/redo", teaching.redo, "Do again what one took back, or the change named.",
          takes=_json(fields({"act": WHOLE})), gives=_json(_ACT)),
    Route("GET", "/api/thumbnails/{example:int}", browsing.thumbnail, "The small picture of an example.",
          gives={"image/jpeg": _BYTES}),
    Route(
        "GET", "/api/examples", browsing.examples, "A page of the examples.",
        query={"class": TEXT, "search": TEXT, "offset": WHOLE, "limit": WHOLE, "order": TEXT},
        gives=_json(fields(total=WHOLE, examples=some(_EXAMPLE), revision=WHOLE)),
    ),
    Route("GET", "/api/examples/{example:int}", browsing.example, "All that is known of one example.",
          gives=_json({"type": "object"})),
    Route(
        "GET", "/api/classes", findings.classes, "The classes, and how often the others answer their examples right.",
        gives=_json(fields(classes=some(fields(name=TEXT, count=WHOLE, right_without_itself=maybe(NUMBER),
                                               confused_with=CHANCES, enough=maybe(TEXT))),
                           working=FLAG, revision=WHOLE)),
    ),
    Route("GET", "/api/advise", findings.advised, "Whether there are examples enough, class by class.",
          gives=_json(fields(advice=maybe({"type": "object"}), working=FLAG, revision=WHOLE))),
    Route(
        "GET", "/api/audit", findings.suspects, "Examples that deserve a second look, the surest first.",
        gives=_json(fields(suspects=some(_SUSPECT), working=FLAG, revision=WHOLE)),
    ),
    Route("POST", "/api/audit/keep", findings.keep, "A label was looked at and is right.",
          takes=_json(fields(id=WHOLE)), gives=_json(fields(kept=WHOLE, revision=WHOLE))),
    Route(
        "GET", "/api/map", findings.plane, "The examples as points of a plane.",
        gives=_json(fields(points=some(fields(id=WHOLE, x=NUMBER, y=NUMBER, label=TEXT)), working=FLAG,
                           revision=WHOLE)),
    ),
    Route(
        "GET", "/api/queue", labelling.queue, "Unlabelled pictures, those to label first at the front.",
        query={"order": {"type": "string", "enum": list(ORDERS)}},
        gives=_json(fields(pictures=some(_WAITING), order=TEXT, total=WHOLE, working=FLAG, revision=WHOLE)),
    ),
    Route("POST", "/api/queue", labelling.drop, "Put a picture into the queue.", takes={IMAGE: _BYTES}, headers=_NAME,
          status=201, gives=_json(fields(picture=TEXT, revision=WHOLE))),
    Route("POST", "/api/queue/label", labelling.label, "Label pictures of the queue.",
          takes=_json(fields({"new_class": FLAG}, pictures=PICTURES, label=LABEL)), gives=_json(_ACT)),
    Route("POST", "/api/queue/skip", labelling.skip, "Ask about pictures of the queue no more.",
          takes=_json(fields(pictures=PICTURES)), gives=_json(fields(total=WHOLE, revision=WHOLE))),
    Route(
        "GET", "/api/tuning", tuning.tuning, "On what the parameters rest.",
        gives=_json(fields(sentence=maybe(TEXT), examples=maybe(WHOLE), due=maybe(TEXT), working=FLAG,
                           parameters={"type": "object"}, revision=WHOLE)),
    ),
    Route("POST", "/api/tune", tuning.tune, "Choose the parameters anew, which takes a minute.", takes=_json(fields()),
          status=202, gives=_json(fields(job=TEXT, revision=WHOLE))),
    Route("POST", "/api/history/before", supposing.answered_before, "The answer as it was before a change.",
          takes=_json(fields(act=WHOLE, picture=PICTURE)), gives=_json(_VERDICT)),
    Route(
        "GET", "/api/history", browsing.history, "The changes, newest first.", query={"limit": WHOLE},
        gives=_json(fields(entries=some(_ENTRY), revision=WHOLE)),
    ),
)  # fmt: skip

__all__ = ["ROUTES", "SCHEMAS", "Route"]
