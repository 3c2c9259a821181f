"""``kcrc explain``: the examples that decided, as text, JSON, a page or a picture.

Files are written before anything is printed: a reader of our output that goes away (``| head``) must not cost them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcrc.cli.arguments import gallery_argument, model_option, open_to_ask
from kcrc.cli.output import note, say, say_json, shown

if TYPE_CHECKING:
    from kcrc.report.case import Case


@click.command(short_help="Show which examples decided an answer, and by how much.")
@gallery_argument
@click.argument("image")
@click.option("--html", type=click.Path(path_type=Path), help="Write a page: one file, with all pictures in it.")
@click.option("--png", type=click.Path(path_type=Path), help="Write a picture.")
@click.option("--json", "as_json", is_flag=True, help="Print all numbers as JSON.")
@click.option("--top", default=12, show_default=True, type=click.IntRange(1, 500), help="How many examples to show.")
@model_option
def explain(
    gallery: Path, image: str, html: Path | None, png: Path | None, as_json: bool, top: int, model: Path | None
) -> int:
    """Show which examples of GALLERY decided what IMAGE is, and by how much."""
    from kcrc.report.case import case_of

    with open_to_ask(gallery, model=model) as opened:
        case = case_of(opened, image)
        if html is not None:
            from kcrc.report.evidence_page import evidence_page
            from kcrc.report.html import write_page

            write_page(html, evidence_page([case], gallery=str(gallery), top=top))
            note(f"wrote {shown(html)}")
        if png is not None:
            from kcrc.report.figure import draw_evidence

            draw_evidence(case.evidence, case.query_pixels(), case.pixels_of, png, top=top)
            note(f"wrote {shown(png)}")
        if as_json:
            say_json({"image": image, **_as_json(case)})
        else:
            _print(case, top)
    return 0


def _as_json(case: Case) -> dict[str, Any]:
    said: Any = case.evidence.to_dict()
    for neighbour in said["neighbours"]:
        neighbour["example"] = neighbour.pop("row")
        neighbour["source"] = case.source_of(neighbour["example"])
    return {**said, "label": case.label, "best": case.best, "why": case.why}


def _print(case: Case, top: int) -> None:
    from kcrc.report.case import deciding, verdict_sentence

    say(f"{shown(case.name)}: {shown(case.label)}")
    say(shown(verdict_sentence(case)))
    say(f"\nThe examples that decided. {shown(case.evidence.sentences[0])}")
    parts, rest = deciding(case, top)
    for part in parts:
        share = f"{part.share:+8.1%}"
        say(f"  {share}  {shown(part.label):<20} distance {part.distance:<9.4g} #{part.id} {shown(part.source)}")
    if rest:
        say(f"  {rest}")
    residuals = case.residuals()
    if len(residuals) > 1:
        say("\nClass residuals (the smallest wins):")
        for name, residual in residuals[:8]:
            say(f"  {residual:<10.4g} {shown(name)}")
