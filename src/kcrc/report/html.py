"""Pages as trees of elements, and what pages share: the band at the top, bars, tables, folds, boxes to tick.

Every text and attribute is escaped when it is written, so none can be forgotten.

>>> str(element("p", "a < b", title='say "x"'))
'<p title="say &quot;x&quot;">a &lt; b</p>'
"""

from __future__ import annotations

import base64
import datetime
import html
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kcrc._base.words import file_name, plural, visible
from kcrc.confidence.likeness import Likeness
from kcrc.files.atomic import atomic_write
from kcrc.gallery.choose_looks import looks_of
from kcrc.images.nearness import describe_weights
from kcrc.method.fitted_model import FittedModel
from kcrc.report.style import STYLE

_VOID = frozenset({"img", "meta", "br", "hr", "col", "input"})  # of HTML; in SVG every element has to be closed
_PICTURES = ((b"\xff\xd8\xff", "image/jpeg"), (b"\x89PNG", "image/png"), (b"RIFF", "image/webp"))


@dataclass(frozen=True)
class Element:
    """One element with its attributes and what is in it: text, or elements."""

    tag: str
    children: tuple[Any, ...]
    attributes: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        attributes = "".join(f' {name}="{escape(value)}"' for name, value in self.attributes)
        if self.tag in _VOID:
            return f"<{self.tag}{attributes}>"
        inside = "".join(str(c) if isinstance(c, Element) else escape(c) for c in self.children)
        return f"<{self.tag}{attributes}>{inside}</{self.tag}>"


def element(tag: str, *children: Any, **attributes: Any) -> Element:
    """An element; ``class_`` is class, ``aria_label`` aria-label; children that are None are left out."""
    flat: list[Any] = []
    for child in children:
        if isinstance(child, list | tuple):
            flat += [c for c in child if c is not None]
        elif child is not None:
            flat.append(child)
    named = tuple((k.rstrip("_").replace("_", "-"), str(v)) for k, v in attributes.items() if v is not None)
    return Element(tag, tuple(flat), named)


def escape(text: Any) -> str:
    """Text for HTML: marked characters escaped, control characters and lone surrogates made visible."""
    return html.escape(visible(text), quote=True)


def picture(data: bytes | None, alt: str, **attributes: Any) -> Element:
    """An image with its bytes in the page, without its metadata; a missing picture says so."""
    from kcrc.images.features.metadata import strip_metadata

    data = None if data is None else strip_metadata(data)
    kind = next((mime for head, mime in _PICTURES if data is not None and data.startswith(head)), None)
    if data is None or kind is None:
        return element("span", "no picture", class_="nopicture", role="img", aria_label=alt)
    source = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    return element("img", src=source, alt=alt, **attributes)


def page(title: str, *body: Any, header: Element | None = None, rules: str = "") -> str:
    """A whole page in one file: it loads nothing and runs nothing, which its policy makes the browser enforce.

    ``header`` stands above the body, ``rules`` are style rules of this page alone."""
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    head = (
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
    )
    head_text = "".join(str(part) for part in head)
    return (
        f'<!doctype html>\n<html lang="en"><head>{head_text}<style>{STYLE}{rules}</style></head>\n'
        f"<body>{header or ''}{element('main', *body)}</body></html>\n"
    )


def write_page(path: str | os.PathLike[str], text: str) -> None:
    """Write a page whole or not at all."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


# What several pages share.


def masthead(gallery: str, *facts: str) -> Element:
    """The band at the top: the gallery, facts of it, and the date. Pages are sent to others, so no folder is named."""
    today = datetime.date.today()
    line = " · ".join([*facts, f"{today.day} {today:%B %Y}"])
    mark = element("p", element("i", aria_hidden="true"), element("i", aria_hidden="true"), "kcrc", class_="mark")
    words = element("p", element("strong", file_name(gallery)), f" · {line}")
    return element("header", element("div", mark, words, class_="top"), class_="band")


def facts_of(gallery: Any) -> tuple[str, ...]:
    """How many examples and classes a gallery has, and its looks if they are several, in words."""
    looks = looks_of(gallery.settings)
    seen = [f"compared by {describe_weights(looks)}"] if len(looks) > 1 else []
    return plural(len(gallery), "example"), plural(len(gallery.classes), "class", "classes"), *seen


def swatch(kind: str) -> Element:
    """The colour and hatching of one side, beside its words."""
    return element("span", class_=f"swatch {kind}", aria_hidden="true")


def bar(share: float, kind: str = "") -> Element:
    """A bar, full at 1; the number is written beside it."""
    width = f"width: {100 * min(max(share, 0.0), 1.0):.2f}%"
    return element("span", element("span", class_=kind or None, style=width), class_="bar", aria_hidden="true")


def fold(summary: str, *inside: Any, **attributes: Any) -> Element:
    """Details, folded away."""
    return element("details", element("summary", summary), *inside, **attributes)


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], *, numbers: Sequence[int] = ()) -> Element:
    """A table that scrolls by itself if the page is narrow; the columns ``numbers`` are set to the right, the
    first names its row."""

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


# The stored examples of a class that lie nearest to another example, to be shown beside it.

MOST = 2000  # examples of the class that are measured


def nearest_of_class(model: FittedModel, example: int, label: str, *, count: int) -> list[int]:
    """Their ids, the nearest first; none if the distances are given as a matrix."""
    distance = model.method.search_distance
    if distance.given_as_matrix:
        return []
    (at,) = np.flatnonzero(model.ids == example)
    same = model.classes[model.labels].astype(str) == label
    members = np.flatnonzero(same & (model.ids != example))[:MOST]
    if not len(members):
        return []
    prepared = model.examples(distance)
    far = distance.pairwise(prepared.take(np.array([at])), prepared.take(members))[0]
    return [int(model.ids[member]) for member in members[np.argsort(far, kind="stable")[:count]]]


# The warning that pictures are not like the examples: what it means for the answers, and which pictures show it.

SHOWN = 6  # pictures


def unlike_notice(
    likeness: Likeness | None, names: Sequence[str], picture_of: Callable[[str], bytes | None]
) -> Element | None:
    """None if nothing shows that the pictures, in the order of their names, are unlike the examples."""
    if likeness is None or not likeness.alarm:
        return None
    shots = [
        element(
            "li",
            shot(picture_of(names[row]), f"It shows the difference: {file_name(names[row])}", file_name(names[row])),
        )
        for row in likeness.rows[:SHOWN]
    ]
    return element(
        "section",
        element("h2", f"These {likeness.queries} pictures are not like the examples."),
        element("p", f"They are {likeness.different}. For these, what holds for pictures like the examples becomes:"),
        element(
            "ul",
            element("li", f"wrong answers: {likeness.wrong};"),
            element("li", f"sets that hold the true class: {likeness.covered};"),
            element("li", f"called unknown by --reject: {likeness.unknown:.1%} instead of 5.0%."),
        ),
        element("p", "These show it most:", class_="quiet"),
        element("ul", shots, class_="shots"),
        class_="notice",
    )


# Findings to tick, and the commands for those that are ticked: style rules alone, no script, follow the ticks.
#
# One command takes several examples, so that there are few lines to copy, and few steps for kcrc undo. In a browser
# that does not know the rules (``:has``), the commands are those of what is ticked at the beginning.


@dataclass
class Picks:
    """The boxes of a page, in their order."""

    gallery: str
    lines: dict[tuple[str, str | None], list[tuple[int, bool]]] = field(default_factory=dict)

    def tick(
        self, verb: str, example: int, words: str, *, label: str | None = None, on: bool = False
    ) -> Element | None:
        """A box to tick for ``kcrc relabel`` or ``kcrc remove``; None if a name cannot be typed as it is shown."""
        if not (self.gallery + (label or "")).isprintable():
            return None
        line = self.lines.setdefault((verb, label), [])
        if any(number == example for number, _ in line):
            return element("p", "Its box is above.", class_="quiet")
        line.append((example, on))
        name = f"t{verb[:3]}{example}"
        group = f"g{list(self.lines).index((verb, label))}"
        checked = {"checked": "checked"} if on else {}
        box = element("input", type="checkbox", id=name, class_=group, **checked)
        return element("label", box, " ", words, class_="tick")

    def commands(self) -> Element | None:
        """The lines to copy; all are in the page, and those with something ticked are visible."""
        if not self.lines:
            return None
        lines = []
        for at, ((verb, label), members) in enumerate(self.lines.items()):
            rest = [] if label is None else ["--label", label]
            ids = [
                element("span", f" {example}", class_=f"t{verb[:3]}{example}{'' if on else ' off'}")
                for example, on in members
            ]
            off = "" if any(on for _, on in members) else " off"
            before, after = shlex.join(["kcrc", verb, self.gallery]), " ".join(["", shlex.join(rest)]).rstrip()
            lines.append(element("span", before, *ids, after, "\n", class_=f"line l{at}{off}"))
        return element("pre", element("code", lines), class_="commands", tabindex="0")

    def rules(self) -> str:
        """The style rules of these boxes; they are made of numbers and verbs alone."""
        rules = []
        for at, ((verb, _), members) in enumerate(self.lines.items()):
            rules.append(f"main:has(.g{at}:checked) .l{at} {{ display: block; }}")
            rules.append(f"main:not(:has(.g{at}:checked)) .l{at} {{ display: none; }}")
            for example, _ in members:
                name = f"t{verb[:3]}{example}"
                rules.append(f"main:has(#{name}:checked) .{name} {{ display: inline; }}")
                rules.append(f"main:has(#{name}:not(:checked)) .{name} {{ display: none; }}")
        return "\n".join(rules)
