"""Questions: what is on a picture, why, and what if some examples were not there."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import unquote

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kcrc.updates.turning_points import tipping, turning_points
from kcrc.web.batching import part
from kcrc.web.bodies import content, fields
from kcrc.web.failures import Refusal
from kcrc.web.pictures import SentPicture
from kcrc.web.service import Service
from kcrc.web.verdicts import short, verdict

FLOATS = "application/x-float32"


async def upload(request: Request) -> SentPicture:
    """The picture in a body."""
    service: Service = request.app.state.service
    allowed = service.allowed
    async with service.uploading:
        data = await content(request, most=allowed.bytes, seconds=allowed.seconds)
        return await service.taken_in(data, _name(request))


def _name(request: Request) -> str:
    """What the sender calls the picture: a name and never a path."""
    given = unquote(request.headers.get("x-kcrc-name", ""), errors="replace")
    return given.replace("\\", "/").rpartition("/")[2][:200] or "picture"


async def pictures(request: Request) -> Response:
    found = await upload(request)
    width, height = found.size
    revision = request.app.state.service.gallery.settings.revision
    return JSONResponse({"picture": found.id, "width": width, "height": height, "revision": revision}, 201)


async def picture(request: Request) -> Response:
    found = await request.app.state.service.picture(request.path_params["picture"])
    return Response(found.small, media_type="image/jpeg", headers={"Cache-Control": "private, max-age=3600"})


async def classify(request: Request) -> Response:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == FLOATS:
        return await _vectors(request)
    if kind == "application/json":
        given = await fields(request)
        found = [await request.app.state.service.picture(name) for name in given.texts("pictures")]
        return JSONResponse({"verdicts": await _verdicts(request, found)})
    return JSONResponse((await _verdicts(request, [await upload(request)]))[0])


async def _vectors(request: Request) -> Response:
    """Ready vectors, and short answers."""
    service: Service = request.app.state.service
    dim = request.headers.get("x-kcrc-dim", "")
    wanted = service.gallery.dim
    if dim != str(wanted):
        raise Refusal(400, f"X-Kcrc-Dim says how many numbers a vector has; it is {wanted} here, given '{dim[:20]}'.")
    most = 4 * wanted * service.allowed.count
    data = await content(request, most=most, seconds=service.allowed.seconds)
    if not data or len(data) % (4 * wanted):
        raise Refusal(400, f"The body holds vectors of {wanted} float32 each, little-endian; given {len(data)} bytes.")
    vectors = np.frombuffer(data, "<f4").reshape(-1, wanted)
    current, answers = await service.ask(vectors, explain=False)
    return JSONResponse({"verdicts": short(answers), "revision": current.revision})


async def _verdicts(request: Request, found: list[SentPicture]) -> list[dict[str, Any]]:
    service: Service = request.app.state.service
    begun = time.perf_counter()
    current, answers = await service.answered(found)

    def told() -> list[dict[str, Any]]:
        learning = service.learning(current)
        verdicts = []
        for at, one in enumerate(found):
            mine = part(answers, slice(at, at + 1))
            tips = None if mine.why[0] is not None else tipping(current.answerer, one.vector, mine.evidence)
            verdicts.append(verdict(current, mine, learning=learning, picture=one.id, tips=tips))
        return verdicts

    verdicts = await service.apart(told)
    seconds = time.perf_counter() - begun
    for one, rows in zip(found, answers.evidence.rows, strict=True):
        service.recent.note(one, current.revision, rows.tolist())
    return [{**each, "seconds": seconds} for each in verdicts]


async def what_if(request: Request) -> Response:
    """The answer without some examples: parameters, metric and calibration stay, the next nearest step in."""
    service: Service = request.app.state.service
    given = await fields(request)
    asked = await service.picture(given.text("picture"))
    wanted = given.numbers("without", needed=False)
    classes = set(given.texts("without_classes", needed=False))
    begun = time.perf_counter()

    def told() -> dict[str, Any]:
        current = service.now.current()
        rows = current.contents.rows
        unknown = [name for name in classes if name not in current.contents.counts]
        if unknown:
            raise Refusal(404, f"There is no class '{unknown[0]}' in the gallery.")
        left_out = sorted({*wanted, *(row.id for row in rows if row.label in classes)} & current.records.keys())
        if len(left_out) == len(rows):
            raise Refusal(400, "Without these examples there is none left to answer from. Leave some in.")
        answers = current.what_if(asked.vector, left_out)
        before = service.recent.near(asked.id, current.revision)
        if before is None:
            before = frozenset(current.answer(asked.vector[None], explain=True).evidence.rows[0].tolist())
        if asked.empty is not None:
            answers = service.gallery.answering.told(answers, [asked.empty])
        more = {"picture": asked.id, "left_out": left_out, "tips": None, "seconds": time.perf_counter() - begun}
        return verdict(current, answers, learning=service.learning(current), before=before, **more)

    return JSONResponse(await service.apart(told))


async def turning(request: Request) -> Response:
    """What would change its mind?"""
    service: Service = request.app.state.service
    asked = await service.picture((await fields(request)).text("picture"))

    def told() -> dict[str, Any]:
        current = service.now.current()
        found = turning_points(current.answerer, asked.vector)
        return {
            "found": [
                {"ids": list(one.without), "label": str(one.label), "probability": one.probability}
                for one in found.points
            ],
            "exact": found.exact,
            "sentence": found.sentence,
            "revision": current.revision,
        }

    return JSONResponse(await service.apart(told))
