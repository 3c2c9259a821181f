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

from kcrc.files.aside import aside
from kcrc.report.words import visible

_VOID = frozenset({"img", "meta", "br", "hr", "col"})  # of HTML; in SVG every element has to be closed
_PICTURES = ((b"\xff\xd8\xff", "image/jpeg"), (b"\x89PNG", "image/png"), (b"RIFF", "image/webp"))

STYLE = """
:root { --ink: #1a1f24; --quiet: #4c5761; --line: #c9d1d8; --for: #0f5c94; --against: #a3225a; --soft: #f3f6f8; }
* { box-sizing: border-box; }
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: var(--ink); background: #fff;
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.15rem; margin-top: 2rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .4rem; }
.quiet, figcaption small { color: var(--quiet); }
.verdict { display: flex; gap: 1.5rem; align-items: flex-start; flex-wrap: wrap; }
.verdict img { max-width: 16rem; max-height: 16rem; }
.verdict div { flex: 1 1 20rem; }
.answer { font-size: 1.4rem; font-weight: 600; margin: 0; }
.examples { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .8rem; padding: 0;
  list-style: none; }
.examples figure { margin: 0; padding: .5rem; border: 2px solid var(--line); border-radius: 6px; height: 100%; }
.examples .for { border-color: var(--for); } .examples .against { border-color: var(--against); }
.examples img, .nopicture { width: 100%; height: 7rem; object-fit: contain; background: var(--soft); display: block; }
.nopicture { display: grid; place-items: center; color: var(--quiet); font-size: .85rem; }
.share { font-weight: 600; font-variant-numeric: tabular-nums; }
.for .share { color: var(--for); } .against .share { color: var(--against); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); vertical-align: middle; }
td.number, th.number { text-align: right; }
.bar { display: block; height: .7rem; background: var(--quiet); min-width: 1px; }
.bar.won { background: var(--for); }
.matrix { overflow-x: auto; } .matrix svg { max-width: 100%; height: auto; }
article + article { border-top: 2px solid var(--line); margin-top: 2.5rem; }
.finding { display: grid; grid-template-columns: 9.5rem minmax(11rem, 1fr) 3.2fr; gap: 1.2rem; align-items: start;
  padding: 1rem 0; break-inside: avoid; }
.finding.pair { grid-template-columns: 21rem 1fr; }
article.finding + article.finding { border-top: 1px solid var(--line); margin-top: 0; }
.finding .examples { grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); margin: 0; }
.finding .words p { margin: 0 0 .5rem; } .examples .doubted { border: 2px dashed var(--against); }
code { font: .85rem/1.4 ui-monospace, monospace; background: var(--soft); padding: .1rem .3rem; }
@media (max-width: 46rem) { .finding, .finding.pair { grid-template-columns: 1fr; } }
@media print {
  body { margin: 0; max-width: none; font-size: 11pt; }
  figure, tr, article, .verdict { break-inside: avoid; }
  .finding .examples { grid-template-columns: repeat(auto-fill, minmax(6.2rem, 1fr)); gap: .4rem; }
  h2, h3 { break-after: avoid; }
  article + article { break-before: page; border: 0; }
  article.finding + article.finding { break-before: auto; border-top: 1px solid var(--line); }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""


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
    from kcrc.features.bare import bare

    data = None if data is None else bare(data)
    kind = next((mime for head, mime in _PICTURES if data is not None and data.startswith(head)), None)
    if data is None or kind is None:
        return element("span", "no picture", class_="nopicture", role="img", aria_label=alt)
    source = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    return element("img", src=source, alt=alt, **attributes)


def page(title: str, *body: Any) -> str:
    """A whole page in one file: it loads nothing, runs nothing, and its policy tells the browser so."""
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    head = (
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
    )
    written = "".join(str(part) for part in head)
    content = "".join(str(part) if isinstance(part, Element) else escape(part) for part in body)
    return (
        f'<!doctype html>\n<html lang="en"><head>{written}<style>{STYLE}</style></head>\n'
        f"<body><main>{content}</main></body></html>\n"
    )


def write_page(path: str | os.PathLike[str], text: str) -> None:
    """Write a page so that it is there whole or not at all."""
    with aside(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
