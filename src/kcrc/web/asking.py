"""Questions: what is on a picture, why, and what if some examples were not there."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import numpy as np
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from kcrc._base.words import plural
from kcrc.gallery.examples import checked_label
from kcrc.gallery.undoing import state_before
from kcrc.method.evidence import shares
from kcrc.report.evidence_page import evidence_page
from kcrc.report.pieces import facts_of
from kcrc.updates.turning_points import tipping, turning_points
from kcrc.updates.what_if import Supposition
from kcrc.web.bodies import Fields, fields
from kcrc.web.current import Current, part
from kcrc.web.guard import Refusal
from kcrc.web.pictures import SentPicture
from kcrc.web.service import Service
from kcrc.web.teaching import Shown
from kcrc.web.verdicts import case, short, verdict

FLOATS = "application/x-float32"


async def upload(request: Request) -> SentPicture:
    """The picture in a body."""
    service: Service = request.app.state.service
    allowed = service.allowed
    async with service.arriving.content(request, most=allowed.bytes, seconds=allowed.seconds) as data:
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
    async with service.arriving.content(request, most=most, seconds=service.allowed.seconds) as data:
        if not data or len(data) % (4 * wanted):
            rule = f"The body must be vectors of {wanted} numbers each, float32 and little-endian"
            raise Refusal(400, f"{rule}; got {len(data)} bytes.")
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
    """The answer without some examples: parameters, scaling and calibration stay, the next nearest step in."""
    service: Service = request.app.state.service
    given = await fields(request)
    asked = await service.picture(given.text("picture"))
    begun = time.perf_counter()

    def told() -> dict[str, Any]:
        current = service.now.current()
        left_out = _left_out(current, given)
        answers = current.what_if(asked.vector, left_out)
        before = service.recent.near(asked.id, current.revision)
        if before is None:
            before = frozenset(current.answer(asked.vector[None], explain=True).evidence.rows[0].tolist())
        if asked.empty is not None:
            answers = service.gallery.answering.mark_blank_images_unknown(answers, [asked.empty])
        more = {"picture": asked.id, "left_out": left_out, "tips": None, "seconds": time.perf_counter() - begun}
        return verdict(current, answers, learning=service.learning(current), before=before, **more)

    return JSONResponse(await service.apart(told))


def _left_out(current: Current, given: Fields) -> list[int]:
    """The examples that a question is asked without: those named, and those of the classes named."""
    rows = current.contents.rows
    classes = set(given.texts("without_classes", needed=False))
    unknown = [name for name in classes if name not in current.contents.counts]
    if unknown:
        raise Refusal(404, f"There is no class '{unknown[0]}' in the gallery.")
    wanted = given.numbers("without", needed=False)
    left_out = sorted({*wanted, *(row.id for row in rows if row.label in classes)} & current.records.keys())
    if len(left_out) == len(rows):
        raise Refusal(400, "Without these examples none is left to answer from. Leave some in.")
    return left_out


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


# What would be, and what was: which answers a correction would change before it is made, why not another class, what
# was answered before a change.

ACTS = ("add", "relabel", "remove")
BEST = 6  # examples of the other class that are named
ON_PAGE = 24


async def preview(request: Request) -> Response:
    """Which of the last answers a change would change."""
    service: Service = request.app.state.service
    given = await fields(request)
    act = given.text("act")
    if act not in ACTS:
        raise Refusal(400, f"'act' is one of {', '.join(ACTS)}; given '{act[:40]}'.")
    shown = Shown.of(request, given)
    if act != "add":
        examples = given.numbers("examples")
        await service.read(lambda: service.gallery.read(lambda reading: shown.check(reading, examples)))
    current = await service.current()
    supposed = await _supposed(service, current, act, given)
    pictures = service.recent.pictures()

    def told() -> dict[str, Any]:
        if not pictures:
            nothing = "Nothing has been asked yet."
            return {"changed": [], "answers": [], "of": 0, "sentence": nothing, "revision": current.revision}
        vectors = np.stack([one.vector for one in pictures])
        now = current.answerer.labels(vectors)
        then = replace(current.answerer, model=supposed.of(current.answerer.model)).labels(vectors)
        changed = [
            {"picture": one.id, "before": str(a), "after": str(b)}
            for one, a, b in zip(pictures, now, then, strict=True)
            if str(a) != str(b)
        ]
        said = f"This changes {len(changed)} of the last {plural(len(pictures), 'answer')}."
        return {
            "changed": changed,
            "answers": [one.id for one in pictures],
            "of": len(pictures),
            "sentence": said,
            "revision": current.revision,
        }

    return JSONResponse(await service.apart(told))


async def _supposed(service: Service, current: Current, act: str, given: Fields) -> Supposition:
    if act == "add":
        names = given.texts("pictures") if "pictures" in given.given else [given.text("picture")]
        found = [await service.picture(name) for name in names]
        first = int(current.contents.ids[-1]) + 1
        label = checked_label(given.text("label"))
        vectors = np.stack([one.vector for one in found])
        return Supposition(vectors=vectors, classes=(label,) * len(found), ids=tuple(range(first, first + len(found))))
    wanted = given.numbers("examples")
    missing = [example for example in wanted if example not in current.records]
    if missing:
        raise Refusal(404, f"There is no example {missing[0]} in the gallery.")
    if act == "remove":
        return Supposition(gone=set(wanted))
    return Supposition(labels=dict.fromkeys(wanted, checked_label(given.text("label"))))


async def why_not(request: Request) -> Response:
    """How another class fared against the answer, which may be the answer without some examples or classes."""
    service: Service = request.app.state.service
    given = await fields(request)
    asked = await service.picture(given.text("picture"))
    label = checked_label(given.text("label"))

    def told() -> dict[str, Any]:
        current = service.now.current()
        left_out = _left_out(current, given)
        if left_out:
            one = current.what_if(asked.vector, left_out).evidence
        else:
            one = current.answer(asked.vector[None], explain=True).evidence
        if label not in current.contents.counts:
            raise Refusal(404, f"There is no class '{label}' in the gallery.")
        answer, near = str(one.labels[0]), int((one.rows[0] >= 0).sum())
        facts = {"label": label, "answer": answer, "near": near, "revision": current.revision}
        at = np.flatnonzero(one.classes == label)
        if answer == label:
            return {**facts, "support": None, "strongest": [], "best": [], "sentence": f"{label} is the answer."}
        if not len(at) or not np.isfinite(one.residuals[0, at[0]]):
            said = f"No {label} is among the {near} examples nearest to it."
            return {**facts, "support": None, "strongest": [], "best": [], "sentence": said}
        share = shares(one, at[:1], nearest=np.zeros(1, bool))[0]
        theirs = [j for j in np.argsort(share, kind="stable") if one.neighbour_labels[0, j] == at[0]]
        mine = np.where(one.neighbour_labels[0] == one.winner[0], share, 0.0)
        best = [{"id": int(one.rows[0, j]), "share": float(-share[j])} for j in theirs[:BEST]]
        strongest = [max(0.0, best[0]["share"]), max(0.0, float(mine.max()))]
        support = float(np.maximum(share, 0).sum())
        said = (
            f"Between {answer} and {label}, {support:.0%} of the evidence is for {answer}. "
            f"The strongest {label} counts {strongest[0]:.0%}, the strongest {answer} {strongest[1]:.0%}."
        )
        return {**facts, "support": support, "strongest": strongest, "best": best, "sentence": said}

    return JSONResponse(await service.apart(told))


async def answered_before(request: Request) -> Response:
    """The answer as it was before a change, by the parameters of now."""
    service: Service = request.app.state.service
    given = await fields(request)
    act, asked = given.number("act"), await service.picture(given.text("picture"))
    begun = time.perf_counter()

    def told() -> dict[str, Any]:
        current = service.now.current()
        supposed = service.gallery.read(lambda reading: state_before(reading, act))
        answerer = replace(current.answerer, model=supposed.of(current.answerer.model))
        then = Current(answerer, current.contents)
        answers = then.answer(asked.vector[None], explain=True)
        more: dict[str, Any] = {"picture": asked.id, "tips": None, "act": act, "seconds": time.perf_counter() - begun}
        return verdict(then, answers, learning=service.learning(current), **more)

    return JSONResponse(await service.apart(told))


async def page(request: Request) -> Response:
    """One answer as a page to keep: one file, with its pictures in it."""
    service: Service = request.app.state.service
    asked = await service.picture((await fields(request)).text("picture"))
    current, answers = await service.answered([asked])

    def without(ids: list[int]) -> tuple[str, float | None]:
        other = current.answerer.what_if(asked.vector, ids)
        chance = float(other.probability[0])
        return str(other.evidence.labels[0]), None if np.isnan(chance) else chance

    def made() -> str:
        shown = replace(
            case(current, answers, asked.name),
            picture=asked.small,
            thumbnail_of=service.thumbnail,
            without=without if answers.why[0] is None else None,
        )
        return evidence_page([shown], gallery=service.name, facts=facts_of(service.gallery), top=ON_PAGE)

    text = await service.apart(made)
    return HTMLResponse(text, headers={"Content-Disposition": 'attachment; filename="why.html"'})
