"""``kcrc audit``: examples that deserve a second look, as text, JSON, CSV or a page with their pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcrc.cli.arguments import gallery_argument, open_gallery, open_to_ask, page_options, publish
from kcrc.report.terminal import csv_writer, note, quote_command, say, say_json, shown

if TYPE_CHECKING:
    from kcrc.confidence.audit import Audit
    from kcrc.gallery import Gallery

COLUMNS = (
    *("finding", "example", "label", "source", "answer", "probability", "of_label", "by_chance", "because"),
    *("other", "other_label", "other_source", "distance", "relative", "asked"),
    *("decision", "new_label"),
)


@click.command()
@gallery_argument
@click.option("--json", "form", flag_value="json", help="Print all findings as JSON.")
@click.option("--csv", "form", flag_value="csv", help="Print all findings as CSV, a line each.")
@page_options
@click.option("--top", default=20, show_default=True, type=click.IntRange(1, 500), help="How many of a kind to show.")
@click.option(
    "--apply",
    "decided",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Instead: do what was decided in FILE, which --csv or --json wrote and you edited.",
)
@click.option("--dry-run", is_flag=True, help="With --apply: say what would be done, and change nothing.")
def audit(
    gallery: Path,
    form: str | None,
    html: Path | None,
    open_page: bool,
    top: int,
    decided: Path | None,
    dry_run: bool,
) -> int:
    """Look among the examples of GALLERY for those that deserve a second look.

    \b
    mislabelled  the other examples contradict its label, and nothing near it supports the label
    doubtful     they contradict its label, but its class is near, or has only one other example
    clash        the same picture, or almost, has another label
    idle         it never helped towards a right answer

    Each example is classified with itself left out. Nothing is changed. To correct one example, use
    kcrc relabel or kcrc remove. To correct many at once:

    \b
    kcrc audit GALLERY --csv > audit.csv
    (write keep, relabel or remove into the column decision;
    if the new class is not the audit's answer, write it into new_label)
    kcrc audit GALLERY --apply audit.csv
    """
    if decided is not None:
        if form is not None or html is not None or open_page:
            raise click.UsageError(
                "--apply changes the gallery and looks for nothing: give it without --json, --csv, --html, --open."
            )
        return _apply(gallery, decided, dry_run=dry_run)
    if dry_run:
        raise click.UsageError("--dry-run tries what --apply would do; give --apply FILE too.")
    with open_to_ask(gallery) as opened:
        audit_ = opened.audit()
        if html is not None or open_page:
            from kcrc.report.audit_page import audit_page

            publish(audit_page(opened, audit_, top=top), name="audit", html=html, open_page=open_page)
        if form == "json":
            findings = [{**row, "decision": "", "new_label": ""} for row in rows(opened, audit_)]
            counts = {name: getattr(audit_, name) for name in ("examples", "asked", "right", "unseen", "alone")}
            say_json({**counts, "findings": findings})
        elif form == "csv":
            write = csv_writer(COLUMNS)
            for row in rows(opened, audit_):
                write({**row, "because": [f"{b['example']} {b['share']:+.3f}" for b in row.get("because", [])]})
        else:
            _print(opened, audit_, top)
    return 0


def _apply(gallery: Path, decided: Path, *, dry_run: bool) -> int:
    """Do what was decided, as one change."""
    from kcrc.gallery.correcting import Correct, read_decisions

    with open_gallery(gallery, write=not dry_run) as opened:
        decisions = read_decisions(opened, decided)
        if dry_run:
            records = opened.read(Correct(decisions.labels, sorted(decisions.remove), decisions.seen).check)
            for example, label in sorted(decisions.labels.items()):
                say(f"relabel #{example} {shown(records[example].label)} as {shown(label)}")
            for example in sorted(decisions.remove):
                say(f"remove #{example} {shown(records[example].label)}")
            note("This was only tried: nothing was changed.")
            return 0
        done = opened.correct(decisions.labels, remove=decisions.remove, seen=decisions.seen)
    say(f"relabelled {len(done.relabelled)}, removed {len(done.removed)}, left {decisions.kept} as they were")
    if done.relabelled or done.removed:
        note(f"{quote_command('undo', gallery)} takes it back.")
    return 0


def rows(gallery: Gallery, audit_: Audit) -> Iterator[dict[str, Any]]:
    """A dict for every finding, in the order of rank; examples by id and source."""

    def source(example: int) -> str:
        return gallery.example(example).source

    suspects = [("mislabelled", s) for s in audit_.mislabelled] + [("doubtful", s) for s in audit_.doubtful]
    for finding, s in suspects:
        yield {
            "finding": finding,
            "example": s.row,
            "label": s.label,
            "source": source(s.row),
            "answer": s.answer,
            "probability": s.probability,
            "of_label": s.of_label,
            "by_chance": s.by_chance,
            "because": [{"example": row, "source": source(row), "share": share} for row, share in s.because],
        }
    for c in audit_.clashes:
        yield {
            "finding": "clash",
            "example": c.row,
            "label": c.label,
            "source": source(c.row),
            "other": c.other,
            "other_label": c.other_label,
            "other_source": source(c.other),
            "distance": c.distance,
            "relative": c.relative,
        }
    for i in audit_.idle:
        yield {"finding": "idle", "example": i.row, "label": i.label, "source": source(i.row), "asked": i.asked}


def _print(gallery: Gallery, audit_: Audit, top: int) -> None:
    from kcrc._base.words import percent, plural
    from kcrc.confidence.audit import nearness
    from kcrc.report.audit_page import titles, unseen_words

    heading, *sections = titles(audit_)
    say(heading)

    def contradiction(row: dict[str, Any], _: Any) -> str:
        return (
            f"{_example_name(row)}: labelled {shown(row['label'])}, answered {shown(row['answer'])} "
            f"({percent(row['probability'])} to {percent(row['of_label'])})\n"
            + "".join(f"      {b['share']:+4.0%} by {_example_name(b)}\n" for b in row["because"])
        ).rstrip()

    kinds: list[tuple[list[Any], Callable[[dict[str, Any], Any], str]]] = [
        (audit_.mislabelled, contradiction),
        (audit_.doubtful, contradiction),
        (
            audit_.clashes,
            lambda row, clash: (
                f"{_example_name(row)} ({shown(row['label'])})\n      and #{row['other']} {shown(row['other_source'])} "
                f"({shown(row['other_label'])}): {nearness(clash)}"
            ),
        ),
        (
            audit_.idle,
            lambda row, _: (
                f"{_example_name(row)} ({shown(row['label'])}): {plural(row['asked'], 'time')} among the nearest"
            ),
        ),
    ]
    every = rows(gallery, audit_)
    for title, (findings, line) in zip(sections, kinds, strict=True):
        say(f"\n{title}")
        for place, finding in enumerate(findings):
            row = next(every)
            if place < top:
                say(f"  {line(row, finding)}")
        if len(findings) > top:
            say(f"  … and {len(findings) - top} more (--top, --csv)")
    if audit_.unseen:
        say(f"\n{unseen_words(audit_)}")
    if audit_.mislabelled or audit_.clashes:
        say("\nTo correct: kcrc relabel GALLERY ID --label NAME, or kcrc remove GALLERY ID.")


def _example_name(row: dict[str, Any]) -> str:
    return f"#{row['example']} {shown(row['source'])}".rstrip()
