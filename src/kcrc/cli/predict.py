"""``kcrc predict``: one line an image; as text, JSON lines or CSV."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcrc.cli.arguments import complain, expand, gallery_argument, images_argument, open_gallery, progress, shown

if TYPE_CHECKING:
    from kcrc.evidence import Evidence
    from kcrc.gallery import Gallery

COLUMNS = ("image", "label", "margin", "runner_up", "how")


@click.command(short_help="Say what is on images.")
@gallery_argument
@images_argument
@click.option("--json", "form", flag_value="json", help="A JSON object a line.")
@click.option("--csv", "form", flag_value="csv", help="CSV with a header line.")
def predict(gallery: Path, images: tuple[str, ...], form: str | None) -> int:
    """Say what is on IMAGES: files, folders, patterns, or - for names on stdin.

    Prints the image, its label and the margin (0 a tie, 1 as clear as can be), with tabs between them. Images that
    cannot be read are named on stderr, and the exit code is then 1.
    """
    files = expand(images)
    write = _writer(form)
    failed = 0
    with open_gallery(gallery) as opened, progress(len(files), "images") as bar:
        for names, evidence, problems in answered(opened, files):
            for name, one in zip(names, evidence or (), strict=True):
                write(_row(name, one))
            sys.stdout.flush()
            complain(problems)
            failed += len(problems)
            bar.update(len(names) + len(problems))
    return 1 if failed else 0


def answered(gallery: Gallery, files: list[str]) -> Iterator[tuple[list[str], Evidence | None, list[Any]]]:
    """(names, their evidence, problems) a chunk of files at a time."""
    from kcrc.features.images import read_chunks

    classifier, feature = gallery.classifier(), gallery.answering.feature()
    for batch in read_chunks(files, feature.view, on_error="skip"):
        names = [picture.source for picture in batch.pictures]
        vectors = feature.transform([picture.pixels for picture in batch.pictures])
        yield names, classifier.explain(vectors) if names else None, list(batch.problems)


def _row(name: str, one: Evidence) -> dict[str, Any]:
    said: Any = one.to_dict()
    return {"image": name, **{key: said[key] for key in COLUMNS[1:]}}


def _writer(form: str | None) -> Callable[[dict[str, Any]], None]:
    if form == "json":
        return lambda row: click.echo(json.dumps(row, ensure_ascii=True))
    if form == "csv":
        table = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
        table.writeheader()
        return lambda row: table.writerow(
            {k: f"{v:.6g}" if isinstance(v, float) else _spreadsheet_safe(v) for k, v in row.items()}
        )
    return lambda row: click.echo(f"{shown(row['image'])}\t{shown(row['label'])}\t{row['margin']:.3f}")


def _spreadsheet_safe(value: Any) -> Any:
    """A name that a spreadsheet would run as a formula gets a quote before it; surrogates become escapes."""
    if not isinstance(value, str):
        return value
    text = value.encode("utf-8", "backslashreplace").decode()
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
