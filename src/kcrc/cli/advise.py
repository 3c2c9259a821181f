"""``kcrc advise``: whether there are examples enough, class by class, and which images to label next."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from kcrc._base.arrays import Array
from kcrc.cli.arguments import expand, gallery_argument, model_option, open_to_ask, page_options, publish
from kcrc.cli.batch import FEWEST, warn
from kcrc.report.terminal import complain, progress, say, say_json, shown


@click.command()
@gallery_argument
@click.argument("images", nargs=-1)
@click.option("--count", default=10, show_default=True, type=click.IntRange(1, 500), help="How many images to suggest.")
@page_options
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@model_option
def advise(
    gallery: Path,
    images: tuple[str, ...],
    count: int,
    html: Path | None,
    open_page: bool,
    as_json: bool,
    model: Path | None,
) -> int:
    """Say whether GALLERY has enough examples, and what to label next.

    Each example is classified with itself left out. From this follows how often each class is answered
    right, what it is mistaken for, how accuracy grew with the number of examples, and what more would probably bring.

    If you give unlabelled IMAGES (files, folders, patterns, or - for names on stdin), it also says which of them to
    label next, and why, and whether they are like the examples. Images that cannot be read are named on stderr, and the
    exit code is then 1.
    """
    names: list[str] = []
    vectors: list[Array] = []
    unread = 0
    files = expand(images)
    with open_to_ask(gallery, model=model) as opened:
        if files:
            with progress(len(files), "images") as bar:
                for chunk in opened.answering.vectors(files, on_error="skip"):
                    names += chunk.names
                    vectors += [] if chunk.answers is None else [chunk.answers]
                    complain(chunk.problems)
                    unread += len(chunk.problems)
                    bar.update(len(chunk.names) + len(chunk.problems))
        classifier = opened.classifier()
        queries = np.concatenate(vectors) if vectors else None
        advice = classifier.advise(queries, count=count)
        comparable = queries is not None and len(names) >= FEWEST and classifier.confidence_.usual is not None
        alike = classifier.likeness(queries) if comparable else None
        if html is not None or open_page:
            from kcrc.report.advice_page import advice_page
            from kcrc.report.case import small_picture

            page = advice_page(opened, advice, names=names, picture_of=small_picture, alike=alike)
            publish(page, name="advice", html=html, open_page=open_page)
    warn(alike, names)
    if as_json:
        facts = advice.to_dict()
        for row in facts["label_next"]:
            row["image"] = names[row.pop("row")]
        say_json({**facts, "unread": unread, "likeness": None if alike is None else alike.to_dict()})
    else:
        say(advice.text(named=shown, query=lambda row: shown(names[row])))
    return 1 if unread else 0
