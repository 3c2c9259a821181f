"""``kcrc explain``: the examples that decided, as text, JSON, a page or a picture.

Files are written before anything is printed: a reader of our output that goes away (``| head``) must not cost them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcrc.cli.arguments import (
    expand,
    gallery_argument,
    images_argument,
    method_option,
    model_option,
    open_to_ask,
    page_options,
    publish,
)
from kcrc.errors import DataError, ParameterError
from kcrc.report.terminal import complain, note, say, say_json, shown

if TYPE_CHECKING:
    from kcrc.report.case import Case

MOST = 30  # images on a page
IN_TEXT, ON_PAGE = 12, 24  # examples of one answer


@click.command()
@gallery_argument
@images_argument
@page_options
@click.option("--png", type=click.Path(path_type=Path), help="Write a picture (of one image).")
@click.option("--json", "as_json", is_flag=True, help="Print all numbers as JSON, a line for each image.")
@click.option(
    "--top",
    type=click.IntRange(1, 500),
    help=f"How many examples to show. [default: {IN_TEXT}, on a page {ON_PAGE}]",
)
@method_option
@model_option
def explain(
    gallery: Path,
    images: tuple[str, ...],
    html: Path | None,
    open_page: bool,
    png: Path | None,
    as_json: bool,
    top: int | None,
    method: bool,
    model: Path | None,
) -> int:
    """Show which examples of GALLERY decided the class of IMAGES (files, folders or patterns), and by how much.

    Prints the shares as text, and writes a page with --html or --open. A page has room for 30 images. If you give
    several images, those that cannot be read are named on stderr, and the exit code is then 1.
    """
    from kcrc.images.decoding.reading import ImageError
    from kcrc.report.case import case_of
    from kcrc.report.evidence_page import evidence_page
    from kcrc.report.figures import draw_evidence
    from kcrc.report.html import facts_of

    files = expand(images)
    if png is not None and len(files) != 1:
        raise ParameterError(f"--png draws one image; got {len(files)}. --html shows several.")
    unread = 0
    with open_to_ask(gallery, model=model) as opened:

        def cases() -> Iterator[Case]:
            nonlocal unread
            for name in files:
                try:
                    yield case_of(opened, name)
                except ImageError as problem:
                    if len(files) == 1:
                        raise
                    complain([problem])
                    unread += 1

        rest = cases()
        first: list[Case] = []
        if html is not None or open_page:
            first = list(islice(rest, MOST))
            if not first:
                raise DataError(f"None of these {len(files)} images can be read.")
            page = evidence_page(
                first,
                gallery=str(gallery),
                facts=facts_of(opened),
                top=top or ON_PAGE,
                left=len(files) - len(first) - unread,
            )
            publish(page, name="why", html=html, open_page=open_page)
        if png is not None:
            first = first or [next(rest)]
            case = first[0]
            draw_evidence(case.evidence, case.query_pixels(), case.pixels_of, png, top=top or IN_TEXT)
            note(f"wrote {shown(png)}")
        for case in chain(first, rest):
            if as_json:
                say_json({"image": case.name, **_as_json(case)})
            else:
                _print(case, top or IN_TEXT, method)
                if len(files) > 1:
                    say()
    return 1 if unread else 0


def _as_json(case: Case) -> dict[str, Any]:
    facts: Any = case.evidence.to_dict()
    near = case.near([neighbour["row"] for neighbour in facts["neighbours"]])
    for neighbour in facts["neighbours"]:
        neighbour["example"] = neighbour.pop("row")
        neighbour["source"] = case.source_of(neighbour["example"])
        looked = near.get(neighbour["example"])
        if looked is not None:
            neighbour["near_by"], neighbour["nearer"] = list(looked.by), looked.nearer
    return {**facts, "label": case.label, "best": case.best, "why": case.why}


def _print(case: Case, top: int, method: bool) -> None:
    from kcrc._base.words import with_sign
    from kcrc.report.case import answer_sentence, deciding

    say(f"{shown(case.name)}: {shown(case.label)}")
    say(shown(answer_sentence(case)))
    say(f"\nThe examples that decided. {shown(case.evidence.sentences[0])}")
    parts, rest = deciding(case, top)
    for part in parts:
        share = f"{with_sign(part.share):>8}"
        look = "" if part.near is None or not method else f", {shown(part.near.words)}"
        distance = f" distance {part.distance:<9.4g}" if method else ""
        say(f"  {share}  {shown(part.label):<20}{distance} #{part.id} {shown(part.source)}{look}")
    if rest:
        say(f"  {rest}")
    residuals = case.residuals()
    if method and len(residuals) > 1:
        say("\nClass residuals (the smallest wins):")
        for name, residual in residuals[:8]:
            say(f"  {residual:<10.4g} {shown(name)}")
