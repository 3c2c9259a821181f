"""Examples as a page of their pictures, class by class, with the ids that commands take."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kcrc._base.words import file_name, plural
from kcrc.gallery.history import format_moment
from kcrc.report.html import Element, element, facts_of, masthead, page, shot

if TYPE_CHECKING:
    from kcrc.gallery.examples import Example
    from kcrc.gallery.gallery import Gallery

MOST = 2000  # pictures on a page: about 10 MB


def list_page(gallery: Gallery, found: Sequence[Example]) -> str:
    """The page of these examples, in their order: a heading wherever the class changes."""
    name = gallery.name
    body: list[Any] = [
        element("h1", f"{plural(len(found), 'example')} of {name}"),
        element("p", "The numbers are those that kcrc show, relabel and remove take.", class_="lead"),
    ]
    for label, some in groupby(found[:MOST], key=lambda example: example.label):
        body.append(element("h2", label))
        body.append(element("ul", [_card(gallery, example) for example in some], class_="shots"))
    if len(found) > MOST:
        more = f"… and {len(found) - MOST} more; --label or --since shows fewer at a time."
        body.append(element("p", more, class_="quiet"))
    return page(f"Examples of {name}", *body, header=masthead(name, *facts_of(gallery)))


def _card(gallery: Gallery, example: Example) -> Element:
    spoken = f"Example {example.id} of class {example.label}"
    added = format_moment(example.added_at, "%Y-%m-%d")
    words = " · ".join(part for part in (file_name(example.source) if example.source else "", added) if part)
    caption = (element("strong", f"no. {example.id}"), f" {words}")
    return element("li", shot(gallery.thumbnail(example.id), spoken, *caption))
