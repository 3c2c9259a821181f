"""What the examples say of each other: how good each class is, what to look at again, what to bring more of.

All of it takes seconds: it is computed behind the requests (``computing``), and ``working`` says where it is not of the
latest state yet."""

from __future__ import annotations

from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kcrc.confidence.audit import Audit
from kcrc.web.bodies import fields
from kcrc.web.current import Current
from kcrc.web.guard import Refusal
from kcrc.web.service import Service
from kcrc.web.teaching import Shown

SHOWN = 200  # suspects
NEAREST = 6  # examples of either class beside a suspect
ENOUGH = 0.005  # of accuracy: less gained by ten more is nothing


async def classes(request: Request) -> Response:
    """The classes: how many examples, how many of them the others answer right, what they are taken for."""
    service: Service = request.app.state.service
    counts = await service.apart(lambda: service.gallery.counts)
    told = await service.advice.of(await service.current()) if len(counts) > 1 else None
    known = {} if told is None or told.value is None else {str(one.name): one for one in told.value.classes}

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
    revision = service.gallery.settings.revision
    return JSONResponse({"classes": rows, "working": told is not None and told.working, "revision": revision})


def _enough(ten_more: float) -> str:
    if ten_more < ENOUGH:
        return "Enough: ten more are likely to change nothing."
    return f"Ten more are likely to bring {100 * ten_more:.0f} points." if ten_more >= 0.015 else "Almost enough."


async def advised(request: Request) -> Response:
    """What more examples would bring; nothing where those there are too few to tell (8 are needed)."""
    service: Service = request.app.state.service
    told = await service.advice.of(await service.current())
    revision = service.gallery.settings.revision
    found = None if told.value is None else told.value.to_dict()
    return JSONResponse({"advice": found, "working": told.working, "revision": revision})


async def suspects(request: Request) -> Response:
    """Examples that deserve a second look, as a queue: the surest first."""
    service: Service = request.app.state.service
    current = await service.current()
    told = await service.audit.of(current)
    found = [] if told.value is None else await service.apart(lambda: _suspects(service, current, told.value))
    return JSONResponse({"suspects": found, "working": told.working, "revision": current.revision})


def _suspects(service: Service, current: Current, found: Audit | None) -> list[dict[str, Any]]:
    assert found is not None
    rows: list[dict[str, Any]] = []
    for finding, some in (("mislabelled", found.mislabelled), ("doubtful", found.doubtful)):
        for one in some:
            rows.append(
                {"id": one.row, "finding": finding, "label": one.label, "looks_like": one.answer,
                 "probability": one.probability, "of_label": one.of_label, "duplicate_of": None}
            )  # fmt: skip
    for clash in found.clashes:
        rows.append(
            {"id": clash.row, "finding": "clash", "label": clash.label, "looks_like": clash.other_label,
             "probability": None, "of_label": None, "duplicate_of": clash.other}
        )  # fmt: skip
    seen: set[int] = set()
    told = []
    for row in rows:
        same = row["id"] in current.records and current.records[row["id"]].label == row["label"]
        if row["id"] in seen or not same or (row["id"], row["label"]) in service.confirmed:
            continue
        seen.add(row["id"])
        near = {f"nearest_of_{side}": _nearest(current, row["id"], str(row[key])) for side, key in _SIDES}
        told.append({**row, "label": str(row["label"]), "looks_like": str(row["looks_like"]), **near})
        if len(told) == SHOWN:
            break
    return told


_SIDES = (("label", "label"), ("other", "looks_like"))


def _nearest(current: Current, example: int, label: str) -> list[int]:
    """The examples of a class that are nearest to one."""
    model = current.answerer.model
    place = int((model.ids == example).argmax())
    others = ((model.classes[model.labels] == label) & (model.ids != example)).nonzero()[0]
    distance = model.method.distance
    prepared = model.examples(distance)
    if not len(others):
        return []
    far = distance.pairwise(prepared.take(np.array([place])), prepared.take(others))[0]
    return [int(model.ids[others[at]]) for at in far.argsort(kind="stable")[:NEAREST]]


async def keep(request: Request) -> Response:
    """A label was looked at and is right: it is not asked about again while the server runs."""
    service: Service = request.app.state.service
    given = await fields(request)
    example, shown = given.number("id"), Shown.of(request, given)
    await service.read(lambda: service.gallery.read(lambda reading: shown.check(reading, [example])))
    current = await service.current()
    record = current.records.get(example)
    if record is None:
        raise Refusal(404, f"There is no example {example} in the gallery.")
    service.confirm_label(example, record.label)
    return JSONResponse({"kept": example, "revision": current.revision})


async def plane(request: Request) -> Response:
    """The examples as points of a plane."""
    service: Service = request.app.state.service
    current = await service.current()
    told = await service.plane.of(current)
    found = [{"id": i, "x": x, "y": y, "label": label} for i, x, y, label in told.value or []]
    return JSONResponse({"points": found, "working": told.working, "revision": current.revision})
