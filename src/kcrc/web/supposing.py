"""What would be, and what was: which answers a correction would change before it is made, why not another class, what
was answered before a change."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from kcrc._base.words import counted
from kcrc.gallery.earlier import before
from kcrc.gallery.examples import checked_label
from kcrc.method.shares import shares
from kcrc.report.evidence_page import evidence_page
from kcrc.report.pieces import facts_of
from kcrc.updates.supposing import Supposition
from kcrc.web.bodies import Fields, fields
from kcrc.web.current import Current
from kcrc.web.failures import Refusal
from kcrc.web.service import Service
from kcrc.web.verdicts import case, verdict

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
        said = f"This changes {len(changed)} of the last {counted(len(pictures), 'answer')}."
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
    """How another class fared against the answer."""
    service: Service = request.app.state.service
    given = await fields(request)
    asked = await service.picture(given.text("picture"))
    label = checked_label(given.text("label"))
    current, answers = await service.answered([asked])
    one = answers.evidence
    at = np.flatnonzero(one.classes == label)
    if not len(at):
        raise Refusal(404, f"There is no class '{label}' in the gallery.")
    answer = str(one.labels[0])
    told = {"label": label, "answer": answer, "revision": current.revision}
    if answer == label:
        return JSONResponse({**told, "sentence": f"{label} is the answer.", "best": []})
    if not np.isfinite(one.residuals[0, at[0]]):
        said = f"No {label} is among the {int((one.rows[0] >= 0).sum())} examples nearest to it."
        return JSONResponse({**told, "sentence": said, "best": []})
    share = shares(one, at[:1], nearest=np.zeros(1, bool))[0]
    theirs = [j for j in np.argsort(share, kind="stable") if one.neighbour_labels[0, j] == at[0]]
    mine = np.where(one.neighbour_labels[0] == one.winner[0], share, 0.0)
    best = [{"id": int(one.rows[0, j]), "share": float(-share[j])} for j in theirs[:BEST]]
    strongest = [max(0.0, best[0]["share"]), max(0.0, float(mine.max()))]
    said = (
        f"Between {answer} and {label}, {np.maximum(share, 0).sum():.0%} of the evidence is for {answer}. "
        f"The strongest {label} counts {strongest[0]:.0%}, the strongest {answer} {strongest[1]:.0%}."
    )
    return JSONResponse({**told, "sentence": said, "best": best})


async def answered_before(request: Request) -> Response:
    """The answer as it was before a change, by the parameters of now."""
    service: Service = request.app.state.service
    given = await fields(request)
    act, asked = given.number("act"), await service.picture(given.text("picture"))
    begun = time.perf_counter()

    def told() -> dict[str, Any]:
        current = service.now.current()
        supposed = service.gallery.read(lambda reading: before(reading, act))
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
