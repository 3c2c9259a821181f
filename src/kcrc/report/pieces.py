"""What several pages share: the band at the top, bars, swatches, folds, tables."""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kcrc._base.words import file_name, plural
from kcrc.confidence.likeness import Likeness
from kcrc.gallery.choose_looks import looks_of
from kcrc.images.nearness import proportioned
from kcrc.method.fitted_model import FittedModel
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
    return plural(len(gallery), "example"), plural(len(gallery.classes), "class", "classes"), *seen


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


# The stored examples of a class that lie nearest to one of the others, to be seen beside it.

MOST = 2000  # examples of the class that are measured


def nearest_of_class(model: FittedModel, example: int, label: str, *, count: int) -> list[int]:
    """Their ids, the nearest first; none where what lies between examples is not measured by us."""
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


# The warning that pictures are not like the examples, on a page: what it means for the answers, and who shows it.

SHOWN = 6  # pictures


def unlike_notice(
    found: Likeness | None, names: Sequence[str], picture_of: Callable[[str], bytes | None]
) -> Element | None:
    """None where nothing shows that the pictures, in the order of their names, are unlike the examples."""
    if found is None or not found.alarm:
        return None
    shots = [
        element(
            "li",
            shot(picture_of(names[row]), f"It shows the difference: {file_name(names[row])}", file_name(names[row])),
        )
        for row in found.rows[:SHOWN]
    ]
    return element(
        "section",
        element("h2", f"These {found.queries} pictures are not like the examples."),
        element(
            "p", f"They are {found.different}. What is promised for pictures like the examples becomes, for these:"
        ),
        element(
            "ul",
            element("li", f"wrong answers: {found.wrong};"),
            element("li", f"sets that hold the true class: {found.covered};"),
            element("li", f"called unknown by --reject: {found.unknown:.1%} instead of 5.0%."),
        ),
        element("p", "These show it most:", class_="quiet"),
        element("ul", shots, class_="shots"),
        class_="notice",
    )


# Findings to tick, and the commands for those that are ticked: style rules alone, no script, follow the ticks.
#
# Of one command several examples are parts, so that what is ticked is few lines to copy, and few steps for kcrc undo.
# Where a browser does not know the rules (``:has``), the commands are those of what is ticked to begin with.


@dataclass
class Picks:
    """What can be ticked on a page, in the order it was made."""

    gallery: str
    lines: dict[tuple[str, str | None], list[tuple[int, bool]]] = field(default_factory=dict)

    def tick(
        self, verb: str, example: int, words: str, *, label: str | None = None, on: bool = False
    ) -> Element | None:
        """A box to tick for ``kcrc relabel`` or ``kcrc remove``; None where a name cannot be typed as it is shown."""
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
        """The lines to copy; all are in the page, and those are seen that something is ticked for."""
        if not self.lines:
            return None
        written = []
        for at, ((verb, label), members) in enumerate(self.lines.items()):
            rest = [] if label is None else ["--label", label]
            ids = [
                element("span", f" {example}", class_=f"t{verb[:3]}{example}{'' if on else ' off'}")
                for example, on in members
            ]
            off = "" if any(on for _, on in members) else " off"
            before, after = shlex.join(["kcrc", verb, self.gallery]), " ".join(["", shlex.join(rest)]).rstrip()
            written.append(element("span", before, *ids, after, "\n", class_=f"line l{at}{off}"))
        return element("pre", element("code", written), class_="commands", tabindex="0")

    def rules(self) -> str:
        """The style rules of these ticks; they are made of numbers and verbs alone."""
        found = []
        for at, ((verb, _), members) in enumerate(self.lines.items()):
            found.append(f"main:has(.g{at}:checked) .l{at} {{ display: block; }}")
            found.append(f"main:not(:has(.g{at}:checked)) .l{at} {{ display: none; }}")
            for example, _ in members:
                name = f"t{verb[:3]}{example}"
                found.append(f"main:has(#{name}:checked) .{name} {{ display: inline; }}")
                found.append(f"main:has(#{name}:not(:checked)) .{name} {{ display: none; }}")
        return "\n".join(found)
