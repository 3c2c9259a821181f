"""``kcrc advise``: whether there are examples enough, class by class, and which images to label next."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from kcrc.arrays import Array
from kcrc.cli.arguments import expand, gallery_argument, model_option, open_to_ask
from kcrc.cli.output import complain, progress, say, say_json, shown


@click.command(short_help="Say whether there are examples enough, and what to label next.")
@gallery_argument
@click.argument("images", nargs=-1)
@click.option("--count", default=10, show_default=True, type=click.IntRange(1, 500), help="Images to name.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@model_option
def advise(gallery: Path, images: tuple[str, ...], count: int, as_json: bool, model: Path | None) -> int:
    """Say whether GALLERY has examples enough.

    Each example is asked as if it were not in the gallery: how often each class is right, what it is taken for, how
    accuracy grew with examples, and what more are likely to bring. Of unlabelled IMAGES (files, folders, patterns, or
    - for names on stdin) also which to label next, and why. Images that cannot be read are named on stderr, and the
    exit code is then 1.
    """
    names: list[str] = []
    vectors: list[Array] = []
    unread = 0
    files = expand(images)
    with open_to_ask(gallery, model=model) as opened:
        if files:
            with progress(len(files), "images") as bar:
                for chunk in opened.answering.stream(files, lambda vectors: vectors, on_error="skip"):
                    names += chunk.names
                    vectors += [] if chunk.answers is None else [chunk.answers]
                    complain(chunk.problems)
                    unread += len(chunk.problems)
                    bar.update(len(chunk.names) + len(chunk.problems))
        told = opened.classifier().advise(np.concatenate(vectors) if vectors else None, count=count)
    if as_json:
        found = told.to_dict()
        for row in found["label_next"]:
            row["image"] = names[row.pop("row")]
        say_json({**found, "unread": unread})
    else:
        say(told.text(named=shown, query=lambda row: shown(names[row])))
    return 1 if unread else 0
