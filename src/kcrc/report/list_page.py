"""Examples as a page of their pictures, class by class, with the ids that commands take."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kcrc.gallery.moments import in_words
from kcrc.report.evidence_page import example_name
from kcrc.report.html import Element, element, page, picture

if TYPE_CHECKING:
    from kcrc.gallery.examples import Example
    from kcrc.gallery.gallery import Gallery

MOST = 2000  # pictures on a page: about 10 MB


def list_page(gallery: Gallery, found: Sequence[Example]) -> str:
    """The page of these examples, in their order: a heading wherever the class changes."""
    count = "1 example" if len(found) == 1 else f"{len(found)} examples"
    body: list[Any] = [
        element("h1", f"{count} of {gallery.path.name}"),
        element("p", "The numbers are those that kcrc show, relabel and remove take.", class_="quiet"),
    ]
    for label, some in groupby(found[:MOST], key=lambda example: example.label):
        body.append(element("h2", label))
        body.append(element("ul", [_card(gallery, example) for example in some], class_="examples"))
    if len(found) > MOST:
        body.append(element("p", f"… and {len(found) - MOST} more; --label or --since shows fewer at a time."))
    return page(f"Examples of {gallery.path.name}", *body)


def _card(gallery: Gallery, example: Example) -> Element:
    spoken = f"Example {example.id} of class {example.label}"
    words = element(
        "figcaption",
        example_name(example.id, example.source),
        element("br"),
        element("small", in_words(example.added_at, "%Y-%m-%d")),
    )
    return element("li", element("figure", picture(gallery.thumbnail(example.id), spoken), words))
