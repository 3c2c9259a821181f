"""What several pages share: the band at the top, bars, swatches, folds, tables."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from kcrc._base.words import counted, file_name
from kcrc.gallery.seeing import looks_of
from kcrc.images.look_words import proportioned
from kcrc.report.html import Element, element, picture


def masthead(gallery: str, *facts: str) -> Element:
    """The band at the top: which gallery, what is known of it, today. Pages are sent on, so no folder is named."""
    today = datetime.date.today()
    said = " · ".join([*facts, f"{today.day} {today:%B %Y}"])
    mark = element("p", element("i", aria_hidden="true"), element("i", aria_hidden="true"), "kcrc", class_="mark")
    words = element("p", element("strong", file_name(gallery)), f" · {said}")
    return element("header", element("div", mark, words, class_="top"), class_="band")


def facts_of(gallery: Any) -> tuple[str, ...]:
    """How many examples and classes a gallery has, and by which looks it sees where they are several, in words."""
    looks = looks_of(gallery.settings)
    seen = [f"compared by {proportioned(looks)}"] if len(looks) > 1 else []
    return counted(len(gallery), "example"), counted(len(gallery.classes), "class", "classes"), *seen


def swatch(kind: str) -> Element:
    """The colour and hatching of one side, beside its words."""
    return element("span", class_=f"swatch {kind}", aria_hidden="true")


def bar(share: float, kind: str = "") -> Element:
    """A bar, full at 1. It says nothing that is not written beside it."""
    width = f"width: {100 * min(max(share, 0.0), 1.0):.2f}%"
    return element("span", element("span", class_=kind or None, style=width), class_="bar", aria_hidden="true")


def fold(summary: str, *inside: Any, **attributes: Any) -> Element:
    """What is there for those who want it, folded away."""
    return element("details", element("summary", summary), *inside, **attributes)


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], *, numbers: Sequence[int] = ()) -> Element:
    """A table that scrolls by itself where the page is narrow; the columns ``numbers`` stand to the right, the first
    names its row."""

    def kind(column: int) -> str | None:
        return "number" if column in numbers else None

    header = element("tr", [element("th", name, scope="col", class_=kind(at)) for at, name in enumerate(head)])
    lines = [
        element(
            "tr",
            element("th", row[0], scope="row", class_=kind(0)),
            [element("td", value, class_=kind(at)) for at, value in enumerate(row[1:], 1)],
        )
        for row in rows
    ]
    content = element("table", element("thead", header), element("tbody", lines))
    return element("div", content, class_="scroll", tabindex="0", role="region", aria_label=f"Table: {', '.join(head)}")


def shot(data: bytes | None, alt: str, *caption: Any, class_: str | None = None) -> Element:
    """A small picture with a line below it."""
    return element("figure", picture(data, alt), element("figcaption", *caption), class_=class_)
