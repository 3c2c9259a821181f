"""``kcrc evaluate``: how often the answers are right, what it gets wrong first, then class by class."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from kcrc._base.few_examples import caution, too_few_to_say
from kcrc._base.words import file_name, percent, plural, some_of
from kcrc.cli.arguments import gallery_argument, model_option, open_to_ask, page_options, publish
from kcrc.cli.batch import Batch, warn
from kcrc.errors import DataError
from kcrc.report.terminal import column, complain, note, progress, say, say_json, shown

if TYPE_CHECKING:
    from kcrc.confidence.likeness import Likeness
    from kcrc.gallery import Gallery
    from kcrc.report.evaluation import Evaluation, Measured

WIDEST = 30  # characters of a class's name
PICTURES = 100  # of mistakes on a page at most, those beyond --worst without their evidence


@click.command()
@gallery_argument
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@page_options
@click.option("--png", type=click.Path(path_type=Path), help="Write the confusion matrix as a picture.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.option("--worst", default=12, show_default=True, type=click.IntRange(0, 500), help="Mistakes to show.")
@click.option("--known", is_flag=True, help="Also count images of FOLDER that are in GALLERY.")
@model_option
def evaluate(
    gallery: Path,
    folder: Path | None,
    html: Path | None,
    open_page: bool,
    png: Path | None,
    as_json: bool,
    worst: int,
    known: bool,
    model: Path | None,
) -> int:
    """Classify the images of FOLDER, which has a folder for each class, and say how many answers are right.

    Images that are in GALLERY would be answered right for that reason alone, so they are named and not counted.
    Without FOLDER, the examples of GALLERY are classified, each as if it were not in it.

    In the table of classes, "right" is the share of a class's images that were answered right, and "when said" is how
    often the answer was right when it named this class.
    """
    from kcrc.report.evaluation import evaluation

    if folder is None and known:
        raise click.UsageError("--known is about the images of a FOLDER; give one.")
    with open_to_ask(gallery, model=model) as opened:
        batch = Batch(opened.answering.answerer())
        inside: list[str] = []
        if folder is None:
            measured = _classify_examples(opened)
        else:
            measured, inside = _classify_folder(
                opened, folder, batch, known=known, evidence=html is not None or open_page
            )
        result = evaluation(measured.truth, measured.answers, np.array(measured.sure), known=opened.classes)
        if not result.total:
            raise DataError(
                f"The gallery knows no class of '{shown(folder)}': {some_of(list(map(shown, result.unknown)))}."
            )
        alike = batch.likeness()
        only_class = opened.classes[0] if len(opened.classes) == 1 else None
        few = None
        if folder is None and only_class is None:
            few = caution(result.total, len(opened), len(opened.classes))
        if html is not None or open_page:
            page = _page(
                opened,
                result,
                measured,
                alike,
                folder=folder,
                worst=worst,
                notes=_notes(result, measured, inside, known=known, show=file_name, only_class=only_class, few=few),
            )
            publish(page, name="evaluation", html=html, open_page=open_page)
        if png is not None:
            from kcrc.report.figures import draw_confusion

            draw_confusion(result, png)
            note(f"wrote {shown(png)}")
    warn(alike, measured.names)
    for sentence in _notes(result, measured, inside, known=known, show=shown, only_class=only_class, few=few):
        note(sentence)
    if as_json:
        say_json(_as_json(result, measured, inside, alike))
    else:
        instead_of_interval = None
        if only_class is not None:
            instead_of_interval = "With one class nothing can be told apart yet, so this says nothing."
        elif folder is None and too_few_to_say(result.total) is not None:
            instead_of_interval = "So few examples say nothing of other images."
        _print(result, measured, worst, "image" if folder else "example", instead_of_interval)
    return 1 if measured.problems else 0


def _classify_examples(gallery: Gallery) -> Measured:
    from kcrc._base.progress import share_bar
    from kcrc.report.evaluation import classify_left_out

    with share_bar("asking the examples") as report:
        return classify_left_out(gallery, progress=report)


def _classify_folder(
    gallery: Gallery, folder: Path, batch: Batch, *, known: bool, evidence: bool
) -> tuple[Measured, list[str]]:
    """What was answered, and the images of the folder that are in the gallery; ``known`` classifies those too."""
    from kcrc.gallery.exchange.layouts import read_layout
    from kcrc.report.evaluation import classify_files, in_gallery

    contents = read_layout(folder)
    split = next((name for name in ("test", "val") if name in contents.splits), None)
    if split is not None:
        note(f"{shown(contents.shape)}; the pictures of {split} are counted.")
        contents = contents.splits[split]
    files, labels = list(contents.paths), contents.labels
    known_images = in_gallery(gallery, files)
    rows = [row for row, is_known in enumerate(known_images) if known or not is_known]
    with progress(len(rows), "images") as bar:
        measured = classify_files(
            gallery,
            [files[row] for row in rows],
            [labels[row] for row in rows],
            wrap=batch.watch,
            evidence=evidence,
            progress=bar.update,
        )
    complain(measured.problems)
    if not measured.names and any(known_images):
        raise DataError(
            f"All images in '{shown(folder)}' that can be read are in the gallery, and say nothing of how good it is "
            "on others. Without a folder, kcrc evaluate asks the examples, each as if it were not there; with --known "
            "these are counted all the same."
        )
    if not measured.names:
        raise DataError(f"None of the images in '{shown(folder)}' can be read.")
    return measured, [os.fspath(name) for name, is_known in zip(files, known_images, strict=True) if is_known]


def _page(
    gallery: Gallery,
    result: Evaluation,
    measured: Measured,
    alike: Likeness | None,
    *,
    folder: Path | None,
    worst: int,
    notes: Sequence[str],
) -> str:
    from kcrc.report.case import small_picture
    from kcrc.report.evaluation_page import evaluation_page
    from kcrc.report.html import facts_of, unlike_notice

    if folder is None:
        question = "The examples of the gallery, each asked as if it were not in it."
    else:
        question = f"The pictures in {file_name(str(folder))}, whose folders say what they are."
    unread = [f"Not counted, unreadable: {plural(len(measured.problems), 'file')}."] if measured.problems else []
    return evaluation_page(
        result,
        [measured.case(row).smaller() for row in result.mistakes[:PICTURES]],
        gallery=str(gallery.path),
        question=question,
        facts=facts_of(gallery),
        notes=[*notes, *unread],
        notice=unlike_notice(alike, measured.names, small_picture),
        explained=worst,
    )


def _notes(
    result: Evaluation,
    measured: Measured,
    inside: Sequence[str],
    *,
    known: bool,
    show: Callable[[str], str],
    only_class: str | None,
    few: str | None,
) -> list[str]:
    """Sentences on what was not counted, and on what the numbers do not mean. ``show`` writes the name of an image;
    ``only_class``: the class of a gallery that has one alone; ``few``: why few examples say little."""
    sentences = [] if few is None else [f"{few[0].upper()}{few[1:]}."]
    if only_class is not None:
        sentences.append(
            f"There is only one class, {shown(only_class)}, so nothing can be told apart yet: with no other "
            "answer to give, all are right, which says nothing. Add examples of another class."
        )
    if inside and known:
        sentences.append(f"Counted though in the gallery, and easy for that: {_list_names('image', inside, show)}.")
    elif inside:
        images = _list_names("image", inside, show)
        sentences.append(f"Not counted, in the gallery already: {images}. --known counts them.")
    if result.unknown:
        some = [f"{shown(strange)} ({number})" for strange, number in result.unknown.items()]
        images = plural(sum(result.unknown.values()), "image")
        sentences.append(f"Not counted, of classes the gallery does not know: {images}: {some_of(some, 5)}.")
    if measured.alone:
        sentences.append(
            f"Not asked, the only example of their class: {_list_names('example', measured.alone, shown)}."
        )
    return sentences


def _list_names(what: str, names: Sequence[str], show: Callable[[str], str]) -> str:
    return f"{plural(len(names), what)} ({some_of(list(map(show, names)))})"


def _as_json(result: Evaluation, measured: Measured, inside: Sequence[str], alike: Likeness | None) -> dict[str, Any]:
    return {
        **result.to_dict(),
        "mistakes": [
            {
                "image": measured.names[row],
                "class": measured.truth[row],
                "answer": measured.answers[row],
                "sure": measured.sure[row],
            }
            for row in result.mistakes
        ],
        "in_gallery": list(inside),
        "alone": measured.alone,
        "unread": len(measured.problems),
        "likeness": None if alike is None else alike.to_dict(),
    }


def _print(result: Evaluation, measured: Measured, worst: int, what: str, instead_of_interval: str | None) -> None:
    """``instead_of_interval``: why the share says nothing of other images, or None."""
    low, high = result.interval
    how = "" if what == "image" else " when left out"
    say(f"{result.right} of {plural(result.total, what)} are answered right{how}: {result.accuracy:.1%}")
    say(instead_of_interval or f"Of new pictures like these, likely {low:.1%} to {high:.1%} (95% interval).")
    if result.mistakes and worst:
        say("\nThe mistakes, those it was surest of first:")
        for row in result.mistakes[:worst]:
            sure = "" if np.isnan(measured.sure[row]) else f" ({percent(measured.sure[row])})"
            answer = f"{shown(measured.answers[row])}{sure}"
            say(f"  {shown(measured.names[row])}: {answer} instead of {shown(measured.truth[row])}")
        if len(result.mistakes) > worst:
            say(f"  … and {len(result.mistakes) - worst} more (--worst, --json)")
    width = max(len("class"), min(WIDEST, max(len(shown(name)) for name in result.classes)))
    say(f"\n{'class':<{width}}  {what + 's':>8}   right  when said")
    for name, images, right, precision in result.by_need():
        recall = f"{right / images:.1%}" if images else "–"
        precision_text = "–" if np.isnan(precision) else f"{precision:.1%}"
        say(f"{column(name, width)}  {images:8d}  {recall:>6}  {precision_text:>9}")
