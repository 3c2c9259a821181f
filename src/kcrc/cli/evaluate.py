"""``kcrc evaluate``: accuracy on labelled images, by class, and the worst mistakes with their evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from kcrc.cli.arguments import gallery_argument, model_option, open_to_ask
from kcrc.cli.batch import Batch, warn
from kcrc.cli.output import complain, note, progress, say, say_json, shown
from kcrc.errors import DataError

if TYPE_CHECKING:
    from kcrc.answering import Answers
    from kcrc.report.evaluation import Evaluation


@click.command(short_help="Measure accuracy on a folder of labelled images.")
@gallery_argument
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--html", type=click.Path(path_type=Path), help="Write a page with everything in it.")
@click.option("--png", type=click.Path(path_type=Path), help="Write the confusion matrix as a picture.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.option("--worst", default=12, show_default=True, type=click.IntRange(0, 500), help="Mistakes to show.")
@model_option
def evaluate(
    gallery: Path, folder: Path, html: Path | None, png: Path | None, as_json: bool, worst: int, model: Path | None
) -> int:
    """Classify the images of FOLDER, which has a folder for each class, and compare with those classes."""
    from kcrc.evidence import joined
    from kcrc.gallery.pictures import labelled_files
    from kcrc.report.evaluation import evaluation

    files, classes = labelled_files(folder)
    truth_of = {str(path): label for path, label in zip(files, classes, strict=True)}
    names: list[str] = []
    parts: list[Answers] = []
    unread = 0
    with open_to_ask(gallery, model=model) as opened:
        batch = Batch(opened.answering.answerer())
        answer = batch.watched(opened.answering.asked(explain=html is not None))
        with progress(len(files), "images") as bar:
            for chunk in opened.answering.stream([str(path) for path in files], answer, on_error="skip"):
                names += chunk.names
                parts += [] if chunk.answers is None else [chunk.answers]
                complain(chunk.problems)
                unread += len(chunk.problems)
                bar.update(len(chunk.names) + len(chunk.problems))
        if not names:
            raise DataError(f"None of the images in '{shown(folder)}' can be read.")
        truth = [truth_of[name] for name in names]
        answers = [str(label) for part in parts for label in part.labels]
        every = joined([part.evidence for part in parts])
        probabilities = np.concatenate([part.probabilities for part in parts])
        found = evaluation(truth, answers, probabilities[np.arange(len(every)), every.winner])
        if html is not None:
            from kcrc.features.images import fetch
            from kcrc.report.case import case_from
            from kcrc.report.evaluation_page import evaluation_page
            from kcrc.report.html import write_page

            cases = [
                case_from(
                    opened, names[at], fetch(names[at]), every[at], truth=truth[at], probabilities=probabilities[at]
                )
                for at in found.mistakes[:worst]
            ]
            write_page(html, evaluation_page(found, cases, gallery=str(gallery), folder=str(folder), unread=unread))
            note(f"wrote {shown(html)}")
        if png is not None:
            from kcrc.report.evaluation_page import draw_confusion

            draw_confusion(found, png)
            note(f"wrote {shown(png)}")
        alike = batch.likeness()
        warn(alike, names)
        if as_json:
            say_json({**found.to_dict(), "unread": unread, "likeness": None if alike is None else alike.to_dict()})
        else:
            _print(found, names, truth, answers, worst)
    return 1 if unread else 0


def _print(found: Evaluation, names: list[str], truth: list[str], answers: list[str], worst: int) -> None:
    say(f"{found.accuracy:.2%} of {found.total} images right\n")
    width = min(30, max(len(shown(name)) for name in found.classes))
    say(f"{'class':<{width}}  images   found  precision")
    for name, images, right, precision in found.per_class():
        recall = f"{right / images:7.1%}" if images else "      –"
        say(f"{shown(name)[:width]:<{width}}  {images:6d} {recall}    {precision:7.1%}")
    if found.mistakes and worst:
        say("\nThe mistakes it was surest of:")
        for at in found.mistakes[:worst]:
            say(f"  {shown(names[at])}: {shown(answers[at])} instead of {shown(truth[at])}")
