"""The evaluation as a page: the headline with its interval, mistakes, which class is mistaken for which, classes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from kcrc._base.words import about, file_name, plural
from kcrc.report.case import Case
from kcrc.report.evaluation import Evaluation
from kcrc.report.evidence_page import evidence
from kcrc.report.html import Element, bar, element, fold, masthead, page, picture

TOP = 16  # examples in the evidence of a mistake
CLASSES = 500  # that a page has room for
CONFUSED = 40  # classes in the table of confusions, those with most mistakes
_LONGEST = 28  # characters of a name in it


def evaluation_page(
    result: Evaluation,
    mistakes: Sequence[Case],
    *,
    gallery: str,
    question: str,
    facts: Sequence[str] = (),
    notes: Sequence[str] = (),
    notice: Element | None = None,
    explained: int = 12,
) -> str:
    """The page. ``mistakes`` are the first of ``result.mistakes``, the first ``explained`` with their evidence;
    ``question`` says what was classified, ``notes`` what is not counted, ``notice`` that pictures are unlike the
    examples."""
    low, high = result.interval
    title = f"{result.accuracy:.1%} of {plural(result.total, 'picture')} right"
    heading = [
        f"{result.accuracy:.1%} ",
        element("span", f"of {plural(result.total, 'picture')} right", class_="chance"),
    ]
    interval = element("strong", f"between {low:.1%} and {high:.1%}")
    return page(
        title,
        element("h1", heading, class_="answer measured-share"),
        element(
            "p", "Of more pictures like these, ", interval, " are likely to be right (95 % interval).", class_="lead"
        ),
        element("p", question, class_="quiet"),
        [element("p", note, class_="quiet") for note in notes],
        notice,
        _mistakes(result, mistakes, explained),
        _confusions(result, mistakes),
        element("section", element("h2", "Each class, the weakest first"), _classes(result)),
        header=masthead(gallery, *facts),
    )


def _pair(case: Case) -> tuple[str, str]:
    return case.truth or "", case.best


def _mistakes(result: Evaluation, mistakes: Sequence[Case], explained: int) -> Element:
    """Pictures of the same pair of classes together, the most frequent pair first, in it the surest mistake."""
    total = len(result.mistakes)
    if not total:
        return element("section", element("h2", "No mistakes"))
    often = {(name, answer): times for times, name, answer in result.confusions()}
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
                id=anchor(truth, answer, result.classes),
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


def _confusions(result: Evaluation, mistakes: Sequence[Case]) -> Element | None:
    if not result.mistakes:
        return None
    shown = {anchor(*_pair(case), result.classes) for case in mistakes}
    return element(
        "section",
        element("h2", "Who is taken for whom"),
        element(
            "p",
            "A row for each true class, a column for each answer. A wrong number leads to its pictures.",
            class_="quiet",
        ),
        confusion_table(result, shown),
    )


def _classes(result: Evaluation) -> list[Element]:
    taken: dict[str, list[tuple[str, int]]] = {}
    for times, name, answer in result.confusions():
        taken.setdefault(name, []).append((answer, times))
    every = result.by_need()
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


# Which class is mistaken for which: a table whose cells lead to the pictures, without the classes without a mistake.


def anchor(truth: str, answer: str, classes: tuple[str, ...]) -> str:
    """The place on the page of the pictures of one class that were taken for another."""
    return f"m{classes.index(truth)}-{classes.index(answer)}"


def confusion_table(result: Evaluation, shown: set[str]) -> Element:
    """A row for each true class, a column for each answer. The number is a link if the pictures of its cell are on the
    page, which ``shown`` says by their anchors."""
    wrong = result.confusion * ~np.eye(len(result.classes), dtype=bool)
    mistaken = wrong.sum(axis=0) + wrong.sum(axis=1)
    most = np.argsort(-mistaken, kind="stable")[:CONFUSED]
    which = np.sort(most[mistaken[most] > 0])
    head = [element("th", element("span", _short(result.classes[j])), scope="col") for j in which]
    rows = [
        element(
            "tr",
            element("th", _short(result.classes[i]), scope="row"),
            [_cell(result, int(i), int(j), shown) for j in which],
        )
        for i in which
    ]
    corner = element("td", "true ↓ answer →", class_="corner")
    table = element("table", element("thead", element("tr", corner, head)), element("tbody", rows), class_="confusion")
    left = len(result.classes) - len(which)
    apart = int((mistaken == 0).sum())
    words = f"{plural(apart, 'class', 'classes')} without a mistake {'is' if apart == 1 else 'are'} left out."
    if left > apart:
        words += f" Of the others the {len(which)} with most mistakes are shown."
    label = "Table: who is taken for whom; rows are the true classes, columns the answers"
    return element(
        "div",
        element("div", table, class_="scroll", tabindex="0", role="region", aria_label=label),
        element("p", words, class_="quiet") if left else None,
    )


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def _cell(result: Evaluation, i: int, j: int, shown: set[str]) -> Element:
    count, name, answer = int(result.confusion[i, j]), result.classes[i], result.classes[j]
    if not count:
        return element("td")
    if i == j:
        return element("td", str(count), title=f"{count} of class {name} found", class_="right")
    words, place = f"{count} of class {name} taken for {answer}", anchor(name, answer, result.classes)
    if place not in shown:
        return element("td", element("span", str(count), title=words), class_="wrong")
    return element("td", element("a", str(count), href=f"#{place}", title=words, aria_label=words), class_="wrong")
