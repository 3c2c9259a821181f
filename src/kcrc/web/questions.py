"""Questions: what is on a picture, why, what if some examples were not there, and what a change would change."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from kcrc._base.words import file_name, plural
from kcrc.confidence.answers import Answers
from kcrc.gallery.undoing import state_before
from kcrc.method.evidence import HOW, shares
from kcrc.method.neighbours.base import EXACT
from kcrc.report.case import Case, every_part
from kcrc.report.evidence_page import evidence_page, lead
from kcrc.report.html import facts_of
from kcrc.updates.turning_points import tipping, turning_points
from kcrc.updates.what_if import Supposition
from kcrc.web import bodies
from kcrc.web.bodies import read_body
from kcrc.web.current import Current, select
from kcrc.web.guard import Refusal
from kcrc.web.pictures import SentPicture
from kcrc.web.service import Service
from kcrc.web.teaching import Shown

T = TypeVar("T")
FLOATS = "application/x-float32"


async def send(request: Request) -> Response:
    """Take in a picture, for questions about it."""
    service: Service = request.app.state.service
    picture = await service.upload(request)
    width, height = picture.size
    revision = service.gallery.settings.revision
    return JSONResponse({"picture": picture.id, "width": width, "height": height, "revision": revision}, 201)


async def small_picture(request: Request) -> Response:
    """The small copy of a picture that was sent."""
    picture = await request.app.state.service.picture(request.path_params["picture"])
    return Response(picture.small, media_type="image/jpeg", headers={"Cache-Control": "private, max-age=3600"})


async def classify(request: Request) -> Response:
    """Answer for a picture, for several that were sent before, or for vectors."""
    service: Service = request.app.state.service
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == FLOATS:
        return await _vectors(request)
    if kind == "application/json":
        names = (await read_body(request, bodies.SomePictures)).pictures
        return JSONResponse({"verdicts": await _explain(service, [await service.picture(name) for name in names])})
    return JSONResponse((await _explain(service, [await service.upload(request)]))[0])


async def _vectors(request: Request) -> Response:
    """Short answers for vectors."""
    service: Service = request.app.state.service
    given, dim = request.headers.get("x-kcrc-dim", ""), service.gallery.dim
    if given != str(dim):
        raise Refusal(400, f"X-Kcrc-Dim must be {dim}, the length of a vector of this gallery; got '{given[:20]}'.")
    most = 4 * dim * service.allowed.count
    async with service.arriving.content(request, most=most, seconds=service.allowed.seconds) as data:
        if not data or len(data) % (4 * dim):
            rule = f"The body must be vectors of {dim} numbers each, float32 and little-endian"
            raise Refusal(400, f"{rule}; got {len(data)} bytes.")
        vectors = np.frombuffer(data, "<f4").reshape(-1, dim)
        current, answers = await service.answer(vectors, explain=False)
    return JSONResponse({"verdicts": short_json(answers), "revision": current.revision})


async def _explain(service: Service, pictures: list[SentPicture]) -> list[dict[str, Any]]:
    """The answers to pictures, with what they rest on; they are remembered, for what a change would change."""
    start = time.perf_counter()
    current, answers = await service.answer_pictures(pictures)

    def to_json() -> list[dict[str, Any]]:
        results = []
        for at, picture in enumerate(pictures):
            mine = select(answers, slice(at, at + 1))
            tips = None if mine.why[0] is not None else tipping(current.answerer, picture.vector, mine.evidence)
            results.append(answer_json(service, current, mine, picture=picture.id, tips=tips))
        return results

    results = await service.compute(to_json)
    seconds = time.perf_counter() - start
    for picture, rows in zip(pictures, answers.evidence.rows, strict=True):
        service.recent.note(picture, current.revision, rows.tolist())
    return [{**result, "seconds": seconds} for result in results]


async def what_if(request: Request, body: bodies.WhatIfQuestion) -> Response:
    """The answer without some examples: parameters, scaling and calibration stay, the next nearest step in."""
    service: Service = request.app.state.service
    picture = await service.picture(body.picture)
    start = time.perf_counter()

    def suppose() -> dict[str, Any]:
        current = service.now.current()
        left_out = _left_out(current, body)
        answers = current.what_if(picture.vector, left_out)
        near = service.recent.neighbours(picture.id, current.revision)
        if near is None:
            near = frozenset(current.answer(picture.vector[None], explain=True).evidence.rows[0].tolist())
        if picture.empty is not None:
            answers = service.gallery.answering.mark_blank_images_unknown(answers, [picture.empty])
        more = {"picture": picture.id, "left_out": left_out, "tips": None, "seconds": time.perf_counter() - start}
        return answer_json(service, current, answers, near_before=near, **more)

    return JSONResponse(await service.compute(suppose))


async def turning(request: Request, body: bodies.OnePicture) -> Response:
    """The smallest sets of examples without which the answer is another."""
    service: Service = request.app.state.service
    picture = await service.picture(body.picture)

    def search() -> dict[str, Any]:
        current = service.now.current()
        result = turning_points(current.answerer, picture.vector)
        points = [
            {"ids": list(point.without), "label": str(point.label), "probability": point.probability}
            for point in result.points
        ]
        return {
            "found": points,
            "exact": result.exact,
            "sentence": result.sentence,
            "revision": current.revision,
        }

    return JSONResponse(await service.compute(search))


async def why_not(request: Request, body: bodies.WhyNot) -> Response:
    """How another class compares with the answer, which may be the answer without some examples or classes."""
    service: Service = request.app.state.service
    picture, label = await service.picture(body.picture), body.label

    def compare() -> dict[str, Any]:
        current = service.now.current()
        left_out = _left_out(current, body)
        if label not in current.contents.counts:
            raise Refusal(404, f"There is no class '{label}' in the gallery.")
        if left_out:
            evidence = current.what_if(picture.vector, left_out).evidence
        else:
            evidence = current.answer(picture.vector[None], explain=True).evidence
        answer, near = str(evidence.labels[0]), int((evidence.rows[0] >= 0).sum())
        common = {"label": label, "answer": answer, "near": near, "revision": current.revision}
        column = np.flatnonzero(evidence.classes == label)
        if answer == label:
            return {**common, "support": None, "strongest": [], "best": [], "sentence": f"{label} is the answer."}
        if not len(column) or not np.isfinite(evidence.residuals[0, column[0]]):
            sentence = f"No {label} is among the {near} examples nearest to it."
            return {**common, "support": None, "strongest": [], "best": [], "sentence": sentence}
        share = shares(evidence, column[:1], nearest=np.zeros(1, bool))[0]
        theirs = [j for j in np.argsort(share, kind="stable") if evidence.neighbour_labels[0, j] == column[0]]
        mine = np.where(evidence.neighbour_labels[0] == evidence.winner[0], share, 0.0)
        best = [{"id": int(evidence.rows[0, j]), "share": float(-share[j])} for j in theirs[:BEST]]
        strongest = [max(0.0, float(-share[theirs[0]])), max(0.0, float(mine.max()))]
        support = float(np.maximum(share, 0).sum())
        sentence = (
            f"Between {answer} and {label}, {support:.0%} of the evidence is for {answer}. "
            f"The strongest {label} counts {strongest[0]:.0%}, the strongest {answer} {strongest[1]:.0%}."
        )
        return {**common, "support": support, "strongest": strongest, "best": best, "sentence": sentence}

    return JSONResponse(await service.compute(compare))


def _left_out(current: Current, body: bodies.WhatIfQuestion) -> list[int]:
    """The examples that a question leaves out: those named, and those of the classes named."""
    rows, classes = current.contents.rows, set(body.without_classes)
    unknown = [name for name in classes if name not in current.contents.counts]
    if unknown:
        raise Refusal(404, f"There is no class '{unknown[0]}' in the gallery.")
    named = {*body.without, *(row.id for row in rows if row.label in classes)}
    left_out = sorted(named & current.records.keys())
    if len(left_out) == len(rows):
        raise Refusal(400, "Without these examples none is left to answer from. Leave some in.")
    return left_out


async def as_page(request: Request, body: bodies.OnePicture) -> Response:
    """One answer as a page to keep: one file, with its pictures in it."""
    service: Service = request.app.state.service
    picture = await service.picture(body.picture)
    current, answers = await service.answer_pictures([picture])

    def without(ids: list[int]) -> tuple[str, float | None]:
        other = current.answerer.what_if(picture.vector, ids)
        chance = float(other.probability[0])
        return str(other.evidence.labels[0]), None if np.isnan(chance) else chance

    def render() -> str:
        shown = replace(
            case(current, answers, picture.name),
            picture=picture.small,
            thumbnail_of=service.thumbnail,
            without=without if answers.why[0] is None else None,
        )
        return evidence_page([shown], gallery=service.name, facts=facts_of(service.gallery), top=ON_PAGE)

    text = await service.compute(render)
    return HTMLResponse(text, headers={"Content-Disposition": 'attachment; filename="why.html"'})


# Which answers a change would change, before it is made, and what was answered before one.

BEST = 6  # examples of the other class that are named
ON_PAGE = 24


async def preview(request: Request, body: bodies.Preview) -> Response:
    """Which of the latest answers a change would change."""
    service: Service = request.app.state.service
    shown = Shown.of(request, body)
    if body.act != "add":
        examples = _require("examples", body.examples)
        await service.read(lambda: service.gallery.read(lambda reading: shown.check(reading, examples)))
    current = await service.current()
    supposition = await _supposition(service, current, body)
    pictures = service.recent.pictures()
    common = {"answers": [picture.id for picture in pictures], "of": len(pictures), "revision": current.revision}
    if not pictures:
        return JSONResponse({**common, "changed": [], "sentence": "Nothing has been asked yet."})

    def compare() -> dict[str, Any]:
        vectors = np.stack([picture.vector for picture in pictures])
        now = current.answerer.labels(vectors)
        then = replace(current.answerer, model=supposition.of(current.answerer.model)).labels(vectors)
        changed = [
            {"picture": picture.id, "before": str(a), "after": str(b)}
            for picture, a, b in zip(pictures, now, then, strict=True)
            if str(a) != str(b)
        ]
        sentence = f"This changes {len(changed)} of the last {plural(len(pictures), 'answer')}."
        return {**common, "changed": changed, "sentence": sentence}

    return JSONResponse(await service.compute(compare))


async def _supposition(service: Service, current: Current, body: bodies.Preview) -> Supposition:
    """The change as a supposition about the examples."""
    if body.act == "add":
        names = body.pictures or [_require("picture", body.picture)]
        vectors = np.stack([(await service.picture(name)).vector for name in names])
        first = int(current.contents.ids[-1]) + 1
        classes = (_require("label", body.label),) * len(names)
        return Supposition(vectors=vectors, classes=classes, ids=tuple(range(first, first + len(names))))
    examples = _require("examples", body.examples)
    missing = [example for example in examples if example not in current.records]
    if missing:
        raise Refusal(404, f"There is no example {missing[0]} in the gallery.")
    if body.act == "remove":
        return Supposition(gone=set(examples))
    return Supposition(labels=dict.fromkeys(examples, _require("label", body.label)))


def _require(name: str, value: T | None) -> T:
    """A field that this kind of change has to have."""
    if value is None:
        raise Refusal(400, f"'{name}' must be given for this 'act'; got nothing.")
    return value


async def answer_before(request: Request, body: bodies.Before) -> Response:
    """The answer as it was before a change, by the parameters of now."""
    service: Service = request.app.state.service
    picture = await service.picture(body.picture)
    start = time.perf_counter()

    def look_back() -> dict[str, Any]:
        current = service.now.current()
        supposition = service.gallery.read(lambda reading: state_before(reading, body.act))
        then = replace(current, answerer=replace(current.answerer, model=supposition.of(current.answerer.model)))
        answers = then.answer(picture.vector[None], explain=True)
        more: dict[str, Any] = {"picture": picture.id, "tips": None, "act": body.act}
        return answer_json(service, then, answers, **more, seconds=time.perf_counter() - start)

    return JSONResponse(await service.compute(look_back))


# An answer as the API gives it: label, chances and the examples that decided, in plain values.

SHOWN, OTHERS, LIKELY = 60, 24, 20  # examples with a share, without one, and classes


def case(current: Current, answers: Answers, name: str = "") -> Case:
    """One answer as reports show it, without its picture."""
    records = current.records
    return Case(
        name,
        answers.evidence,
        None,
        thumbnail_of=lambda _: None,
        source_of=lambda example: file_name(records[example].source) if example in records else "",
        probabilities=None if len(answers.evidence.classes) == 1 else answers.probabilities[0],
        why=answers.why[0],
    )


def answer_json(
    service: Service, current: Current, answers: Answers, *, near_before: Collection[int] | None = None, **more: Any
) -> dict[str, Any]:
    """The answer to one query, explained. ``label`` is the class that comes nearest, also if the answer is unknown;
    ``near_before`` are the examples that were near while none was left out."""
    evidence, shown = answers.evidence, case(current, answers)
    parts = every_part(shown, SHOWN)
    sharing = [part for part in parts if part.share]
    rest = sharing[SHOWN:]
    chance = float(answers.probability[0])
    return {
        "revision": current.revision,
        "label": shown.best,
        "probability": None if np.isnan(chance) else chance,
        "unknown": shown.why is not None,
        "why": shown.why,
        "set": [] if answers.members is None else list(answers.set_of(0)),
        "likely": [[name, share] for name, share in answers.likely(0).items()][:LIKELY],
        "confidence": service.confidence(current.revision),
        "how": HOW[evidence.how[0]],
        "search": evidence.search,
        "sentence": lead(shown) + ("" if evidence.search == EXACT else f" Approximate search: {evidence.search}."),
        "runner_up": shown.rival,
        "support": float(evidence.support[0]),
        "exact_line": shown.rival is not None,
        "parts": [
            {
                "id": part.id,
                "label": part.label,
                "share": part.share,
                "distance": part.distance,
                "source": part.source,
                "step_in": near_before is not None and part.id not in near_before,
            }
            for part in sharing[:SHOWN]
        ],
        "rest": {
            "count": len(rest),
            "count_for": sum(part.share > 0 for part in rest),
            "count_against": sum(part.share < 0 for part in rest),
            "share_for": sum(part.share for part in rest if part.share > 0),
            "share_against": -sum(part.share for part in rest if part.share < 0),
        },
        "others": [{"id": part.id, "label": part.label} for part in parts if not part.share][:OTHERS],
        **more,
    }


def short_json(answers: Answers) -> list[dict[str, Any]]:
    """Label, probability and whether it is unknown, of each query."""
    columns = zip(answers.evidence.labels, answers.probability, answers.unknown, strict=True)
    return [
        {"label": str(label), "probability": None if np.isnan(chance) else float(chance), "unknown": bool(unknown)}
        for label, chance, unknown in columns
    ]
