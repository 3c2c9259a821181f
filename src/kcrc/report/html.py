"""Pages as trees of elements: every text and attribute is escaped when it is written, so none can be forgotten.

>>> str(element("p", "a < b", title='say "x"'))
'<p title="say &quot;x&quot;">a &lt; b</p>'
"""

from __future__ import annotations

import base64
import html
import os
from dataclasses import dataclass
from typing import Any

from kcrc._base.words import visible
from kcrc.files.atomic import atomic_write
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
    """An image with its bytes in the page, without what else its file said; a picture that is missing says so."""
    from kcrc.images.features.metadata import strip_metadata

    data = None if data is None else strip_metadata(data)
    kind = next((mime for head, mime in _PICTURES if data is not None and data.startswith(head)), None)
    if data is None or kind is None:
        return element("span", "no picture", class_="nopicture", role="img", aria_label=alt)
    source = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    return element("img", src=source, alt=alt, **attributes)


def page(title: str, *body: Any, header: Element | None = None, rules: str = "") -> str:
    """A whole page in one file: it loads nothing, runs nothing, and its policy tells the browser so. ``header`` stands
    above the body, ``rules`` are style rules of this page alone."""
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    head = (
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
    )
    written = "".join(str(part) for part in head)
    return (
        f'<!doctype html>\n<html lang="en"><head>{written}<style>{STYLE}{rules}</style></head>\n'
        f"<body>{header or ''}{element('main', *body)}</body></html>\n"
    )


def write_page(path: str | os.PathLike[str], text: str) -> None:
    """Write a page so that it is there whole or not at all."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
