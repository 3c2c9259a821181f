"""The evaluation as a page: the headline with its interval, mistakes first, who is taken for whom, classes by need."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from kcrc._base.words import about, file_name, plural
from kcrc.report.case import Case
from kcrc.report.confusion import anchor, confusion_table
from kcrc.report.evaluation import Evaluation
from kcrc.report.evidence_page import evidence
from kcrc.report.html import Element, element, page, picture
from kcrc.report.pieces import bar, fold, masthead

TOP = 16  # examples in the evidence of a mistake
CLASSES = 500  # that a page has room for


def evaluation_page(
    found: Evaluation,
    mistakes: Sequence[Case],
    *,
    gallery: str,
    asked: str,
    facts: Sequence[str] = (),
    notes: Sequence[str] = (),
    notice: Element | None = None,
    explained: int = 12,
) -> str:
    """The page. ``mistakes`` are the first of ``found.mistakes``, the first ``explained`` with their evidence;
    ``asked`` says what was asked, ``notes`` what is not counted, ``notice`` that pictures are unlike the examples."""
    low, high = found.interval
    title = f"{found.accuracy:.1%} of {plural(found.total, 'picture')} right"
    heading = [
        f"{found.accuracy:.1%} ",
        element("span", f"of {plural(found.total, 'picture')} right", class_="chance"),
    ]
    interval = element("strong", f"between {low:.1%} and {high:.1%}")
    return page(
        title,
        element("h1", heading, class_="answer measured-share"),
        element(
            "p", "Of more pictures like these, ", interval, " are likely to be right (95 % interval).", class_="lead"
        ),
        element("p", asked, class_="quiet"),
        [element("p", note, class_="quiet") for note in notes],
        notice,
        _mistakes(found, mistakes, explained),
        _taken(found, mistakes),
        element("section", element("h2", "Each class, the weakest first"), _classes(found)),
        header=masthead(gallery, *facts),
    )


def _pair(case: Case) -> tuple[str, str]:
    return case.truth or "", case.best


def _mistakes(found: Evaluation, mistakes: Sequence[Case], explained: int) -> Element:
    """Pictures of the same pair of classes together, the most frequent pair first, in it the surest mistake."""
    total = len(found.mistakes)
    if not total:
        return element("section", element("h2", "No mistakes"))
    often = {(name, answer): times for times, name, answer in found.confused()}
    order = sorted(range(len(mistakes)), key=lambda at: (-often.get(_pair(mistakes[at]), 0), _pair(mistakes[at]), at))
    groups = []
    for (truth, answer), places in groupby(order, key=lambda at: _pair(mistakes[at])):
        cards = [_card(mistakes[at], explain=at < explained) for at in places]
        times = often.get((truth, answer), len(cards))
        groups.append(
            element(
                "section",
                element("h3", element("strong", truth), " taken for ", element("strong", answer), f" · {times}"),
                element("div", cards, class_="mistakes"),
                id=anchor(truth, answer, found.classes),
                class_="pair" + (" several many" if len(cards) > 2 else " several" if len(cards) > 1 else ""),
            )
        )
    left = total - len(mistakes)
    return element(
        "section",
        element("h2", plural(total, "mistake")),
        element("p", "Together those of one kind; of a kind the surest first.", class_="quiet") if total > 1 else None,
        element("div", groups, class_="kinds"),
        element(
            "p", f"{plural(left, 'more mistake')}, of which it was less sure: kcrc evaluate --json.", class_="quiet"
        )
        if left
        else None,
    )


def _card(case: Case, *, explain: bool) -> Element:
    chance = case.chance(case.best)
    said = case.best if chance is None else f"{case.best} {about(chance)}"
    name = file_name(case.name)
    words = element(
        "div",
        element("p", "said ", element("strong", said)),
        element("p", "is ", element("strong", case.truth)),
        element("p", name, class_="quiet"),
    )
    shown = picture(case.picture, f"{name}, of class {case.truth}, taken for {case.best}")
    why = fold("Why?", evidence(case, top=TOP, level=4)) if explain else None
    return element("article", element("div", shown, words, class_="said"), why, class_="card mistake")


def _taken(found: Evaluation, mistakes: Sequence[Case]) -> Element | None:
    if not found.mistakes:
        return None
    shown = {anchor(*_pair(case), found.classes) for case in mistakes}
    return element(
        "section",
        element("h2", "Who is taken for whom"),
        element(
            "p",
            "A row for each true class, a column for each answer. A wrong number leads to its pictures.",
            class_="quiet",
        ),
        confusion_table(found, shown),
    )


def _classes(found: Evaluation) -> list[Element]:
    taken: dict[str, list[tuple[str, int]]] = {}
    for times, name, answer in found.confused():
        taken.setdefault(name, []).append((answer, times))
    every = found.by_need()
    rows = []
    for name, images, right, precision in every[:CLASSES]:
        others = taken.get(name, [])
        mostly = (
            f"{images - right} mistaken, {'mostly ' if len(others) > 1 else ''}for {others[0][0]}"
            if others
            else "none mistaken"
        )
        said = "never said" if np.isnan(precision) else f"right when said: {precision:.1%}"
        rows.append(
            element(
                "li",
                element(
                    "div",
                    element(
                        "p",
                        element("strong", name),
                        element("span", f"{right} of {images}" if images else "none there"),
                        class_="title",
                    ),
                    bar(right / images if images else 0.0, "for"),
                    element(
                        "p", element("span", mostly if images else ""), element("span", said), class_="title quiet"
                    ),
                ),
                class_="plain",
            )
        )
    left = len(every) - len(rows)
    more = f"{plural(left, 'more class', 'more classes')} with fewer mistakes: kcrc evaluate --json."
    return [element("ul", rows, class_="classes"), *([element("p", more, class_="quiet")] if left else [])]
