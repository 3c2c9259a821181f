"""What the examples say of each other: how good each class is, what to look at again, what to bring more of; and on
what the parameters rest.

All of it takes seconds: it is computed behind the requests, and ``working`` says that it is not of the latest state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kcrc.confidence.audit import Audit
from kcrc.errors import KCRCError
from kcrc.web import bodies
from kcrc.web.current import Current
from kcrc.web.guard import Refusal
from kcrc.web.people import person_of
from kcrc.web.service import Service
from kcrc.web.teaching import Shown

SHOWN = 200  # suspects
NEAREST = 6  # examples of either class beside a suspect
ENOUGH, ALMOST = 0.005, 0.015  # of accuracy that ten more examples are likely to bring


async def classes(request: Request) -> Response:
    """The classes: how many examples, how many of them the others answer right, what they are taken for."""
    service: Service = request.app.state.service
    counts = await service.compute(lambda: service.gallery.counts)
    advice = await service.advice.value(await service.current()) if len(counts) > 1 else None
    known = {} if advice is None or advice.value is None else {str(one.name): one for one in advice.value.classes}

    def row(name: str, count: int) -> dict[str, Any]:
        one = known.get(name)
        return {
            "name": name,
            "count": count,
            "right_without_itself": None if one is None else one.right,
            "confused_with": [] if one is None else [[str(other), n] for other, n in one.confused],
            "enough": None if one is None or one.ten_more is None else _enough(one.ten_more),
        }

    rows = [row(name, count) for name, count in counts.items()]
    working, revision = advice is not None and advice.working, service.gallery.settings.revision
    return JSONResponse({"classes": rows, "working": working, "revision": revision})


def _enough(ten_more: float) -> str:
    if ten_more < ENOUGH:
        return "Enough: ten more are likely to change nothing."
    return f"Ten more are likely to bring {100 * ten_more:.0f} points." if ten_more >= ALMOST else "Almost enough."


async def advise(request: Request) -> Response:
    """What more examples would bring; nothing if there are too few to say (8 are needed)."""
    service: Service = request.app.state.service
    advice = await service.advice.value(await service.current())
    revision = service.gallery.settings.revision
    value = None if advice.value is None else advice.value.to_dict()
    return JSONResponse({"advice": value, "working": advice.working, "revision": revision})


async def suspects(request: Request) -> Response:
    """Examples that deserve a second look, as a queue: the surest first."""
    service: Service = request.app.state.service
    current = await service.current()
    audit = await service.audit.value(current)
    value = audit.value
    rows = [] if value is None else await service.compute(lambda: _suspects(service, current, value))
    return JSONResponse({"suspects": rows, "working": audit.working, "revision": current.revision})


def _suspects(service: Service, current: Current, audit: Audit) -> list[dict[str, Any]]:
    """Each example once, as far as it still has the label and that is not confirmed."""
    rows: dict[int, dict[str, Any]] = {}
    for row in _rows(audit):
        example, label = row["id"], row["label"]
        record = current.records.get(example)
        is_open = record is not None and record.label == label and (example, label) not in service.confirmed
        if is_open and example not in rows and len(rows) < SHOWN:
            near = {
                "nearest_of_label": _nearest(current, example, label),
                "nearest_of_other": _nearest(current, example, row["looks_like"]),
            }
            rows[example] = {**row, **near}
    return list(rows.values())


def _rows(audit: Audit) -> list[dict[str, Any]]:
    rows = [
        {"id": one.row, "finding": finding, "label": str(one.label), "looks_like": str(one.answer),
         "probability": one.probability, "of_label": one.of_label, "duplicate_of": None}
        for finding, found in (("mislabelled", audit.mislabelled), ("doubtful", audit.doubtful))
        for one in found
    ]  # fmt: skip
    return rows + [
        {"id": clash.row, "finding": "clash", "label": str(clash.label), "looks_like": str(clash.other_label),
         "probability": None, "of_label": None, "duplicate_of": clash.other}
        for clash in audit.clashes
    ]  # fmt: skip


def _nearest(current: Current, example: int, label: str) -> list[int]:
    """The examples of a class that are nearest to one."""
    model = current.answerer.model
    place = int((model.ids == example).argmax())
    others = ((model.classes[model.labels] == label) & (model.ids != example)).nonzero()[0]
    distance = model.method.distance
    prepared = model.examples(distance)
    if not len(others):
        return []
    distances = distance.pairwise(prepared.take(np.array([place])), prepared.take(others))[0]
    return [int(model.ids[others[at]]) for at in distances.argsort(kind="stable")[:NEAREST]]


async def confirm_label(request: Request, body: bodies.ConfirmLabel) -> Response:
    """A label is right: it is not in doubt again while the server runs."""
    service: Service = request.app.state.service
    shown = Shown.of(request, body)
    await service.read(lambda: service.gallery.read(lambda reading: shown.check(reading, [body.id])))
    current = await service.current()
    record = current.records.get(body.id)
    if record is None:
        raise Refusal(404, f"There is no example {body.id} in the gallery.")
    service.confirm_label(body.id, record.label)
    return JSONResponse({"kept": body.id, "revision": current.revision})


async def map_points(request: Request) -> Response:
    """The examples as points of a plane."""
    service: Service = request.app.state.service
    current = await service.current()
    points = await service.map.value(current)
    rows = [{"id": i, "x": x, "y": y, "label": label} for i, x, y, label in points.value or []]
    return JSONResponse({"points": rows, "working": points.working, "revision": current.revision})


# The parameters.

TUNING_SECONDS = 60.0
TUNING = "tune"  # the name of the job


async def parameters(request: Request) -> Response:
    """On what the parameters rest, and whether they should be chosen again."""
    service: Service = request.app.state.service

    def look() -> dict[str, Any]:
        facts = service.gallery.answering.facts()
        return {
            "sentence": None if facts is None else facts.chosen,
            "examples": None if facts is None else facts.examples,
            "due": service.gallery.retune_due,
            "working": service.choosing.locked(),
            "parameters": service.gallery.parameters,
            "revision": service.gallery.settings.revision,
        }

    return JSONResponse(await service.compute(look))


async def tune(request: Request) -> Response:
    """Begin to choose the parameters; an event says what came of it, and it is a change of this person."""
    service: Service = request.app.state.service
    if service.gallery.readonly:
        raise Refusal(409, "The gallery is served for reading only; tuning stores what it chooses.", {})
    person = person_of(request)
    if not service.choosing.acquire(blocking=False):
        raise Refusal(409, "The parameters are being chosen already.", {"job": TUNING})

    def run() -> None:
        try:
            service.events.send("progress", job=TUNING, share=0.0)
            classifier = service.gallery.answering.tune(tuning_seconds=TUNING_SECONDS)
            service.people.note_change(person, service.gallery.settings.tuned)
            tuning = classifier.tuning_
            outcome = {"sentence": "nothing to choose" if tuning is None else repr(tuning)}
        except KCRCError as problem:
            outcome = {"error": str(problem)}
        finally:
            service.choosing.release()
        service.events.send("progress", job=TUNING, share=1.0, **outcome)
        service.check_for_changes()

    service.behind.submit(run)
    return JSONResponse({"job": TUNING, "revision": service.gallery.settings.revision}, 202)
