"""The evidence report: one page in one file that says what was answered, and shows who decided it."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from kcrc.report.case import Case, Part, deciding, verdict_sentence
from kcrc.report.html import Element, element, page, picture
from kcrc.report.words import file_name


def evidence_page(cases: Sequence[Case], *, gallery: str, top: int = 12) -> str:
    """The page about one or several answered images. Pages are sent on, so they name files, not where those lie."""
    title = f"Why “{cases[0].label}”?" if len(cases) == 1 else f"{len(cases)} answers and their evidence"
    stamp = f"{datetime.datetime.now():%Y-%m-%d %H:%M}"
    return page(
        title,
        element("h1", title),
        element("p", f"Answered from the gallery {file_name(gallery)} on {stamp} by kcrc.", class_="quiet"),
        *(case_article(case, top=top) for case in cases),
        reading_help(),
    )


def case_article(case: Case, *, top: int = 12, heading: str = "h2") -> Element:
    """One answered image: picture and verdict, deciding examples, classes."""
    parts, rest = deciding(case, top)
    truth = None if case.truth is None else element("p", "Its label is ", element("strong", case.truth), ".")
    return element(
        "article",
        element(
            "div",
            picture(case.picture, f"The image in question, {file_name(case.name)}"),
            element(
                "div",
                element("p", case.label, class_="answer"),
                truth,
                element("p", verdict_sentence(case)),
                element("p", file_name(case.name), class_="quiet"),
            ),
            class_="verdict",
        ),
        element(heading, "The examples that decided"),
        element("p", case.evidence.sentences[0]),
        element("ul", [_card(case, part) for part in parts], class_="examples"),
        element("p", rest, class_="quiet") if rest else None,
        element(heading, "The classes compared"),
        _classes(case),
    )


def _card(case: Case, part: Part) -> Element:
    words = f"{part.share:+.1%}" if part.share else "no share"
    kind = "for" if part.share > 0 else "against" if part.share < 0 else None
    spoken = f"Example {part.id} of class {part.label}, {words}"
    return element(
        "li",
        element(
            "figure",
            picture(case.thumbnail_of(part.id), spoken),
            element(
                "figcaption",
                element("span", words, class_="share"),
                " ",
                part.label,
                element("br"),
                example_name(part.id, part.source),
            ),
            class_=kind,
        ),
    )


def example_name(example: int, source: str) -> Element:
    """An example by its number and the name of its file, in a small line; not the path, a page may be sent on."""
    return element("small", f"no. {example}, {file_name(source)}" if source else f"no. {example}")


def _classes(case: Case, most: int = 10) -> Element:
    residuals = case.residuals()[:most]
    if len(residuals) < 2:
        return element("p", "There was nothing to compare: no other class is among the nearest examples.")
    explained = case.explained()
    worst = max(value for _, value in residuals) or 1.0
    rows = []
    for name, value in residuals:
        bar = element(
            "span",
            class_="bar won" if name == case.best else "bar",
            style=f"width: {12 * value / worst:.2f}rem",
            aria_hidden="true",
        )
        share = explained.get(name)
        rows.append(
            element(
                "tr",
                element("th", name, scope="row"),
                element("td", f"{value:.4g}", class_="number"),
                element("td", "" if share is None else f"{share:.1%}", class_="number"),
                element("td", bar),
            )
        )
    header = element(
        "tr",
        element("th", "class", scope="col"),
        element("th", "residual", scope="col", class_="number"),
        element("th", "explains", scope="col", class_="number"),
        element("td"),
    )
    return element("table", element("thead", header), element("tbody", rows))


def reading_help() -> Element:
    """What the numbers mean."""
    return element(
        "section",
        element("h2", "How to read this"),
        element(
            "p",
            "The image is rebuilt from its nearest stored examples, all together. The percentage at an example is its "
            "share in the answer: blue and with a plus for it, red and with a minus against it. What speaks for the "
            "runner-up speaks against the answer, and so does an example of the answer's own class that made the class "
            "fit worse. All shares together are 100 %; examples of further classes have none. The residual of a class "
            "is what its examples leave unexplained, and the smallest wins; “explains” is the part of the image that "
            "they rebuild by themselves.",
        ),
        class_="quiet",
    )
