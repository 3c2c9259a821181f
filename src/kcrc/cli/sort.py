"""``kcrc sort``: images into class folders by what the gallery answers, and back again."""

from __future__ import annotations

import os
from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kcrc.cli.arguments import Decimal, GalleryAddress, expand, in_percent, model_option, open_to_ask
from kcrc.cli.predict import Share
from kcrc.errors import FileError, KCRCError
from kcrc.report.terminal import complain, note, progress, quote_command, say, say_json, shown

if TYPE_CHECKING:
    from kcrc._base.arrays import Array
    from kcrc.confidence.answers import Answers
    from kcrc.gallery import Gallery
    from kcrc.gallery.sorting.sorter import SortAnswer, Sorter

DONE = {"copy": "copied", "move": "moved", "link": "linked"}


@click.command()
@click.argument("gallery", metavar="GALLERY", type=GalleryAddress(path_type=Path), required=False)
@click.argument("images", metavar="IN", required=False)
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path), required=False)
@click.option("--copy", "how", flag_value="copy", default="copy", help="Copy the images [default].")
@click.option("--move", "how", flag_value="move", help="Move them.")
@click.option("--link", "how", flag_value="link", help="Make symbolic links to them.")
@click.option(
    "--below",
    type=Decimal(0, 1),
    default=0.9,
    show_default=True,
    help="Answers less probable than this go into _doubtful, as do the unknown.",
)
@click.option(
    "--reject",
    type=Share(),
    default=0.05,
    show_default=True,
    help="The share of images of these classes that may be called unknown by mistake.",
)
@click.option("--undo", type=click.Path(path_type=Path), metavar="OUT", help="Take back the latest sorting into OUT.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on each line.")
@model_option
def sort(
    gallery: Path | None,
    images: str | None,
    out: Path | None,
    how: str,
    below: float,
    reject: float,
    undo: Path | None,
    dry_run: bool,
    as_json: bool,
    model: Path | None,
) -> int:
    """Sort the images of the folder IN into folders of OUT that are named after the classes. Images whose answer is
    less probable than --below, or that resemble no class, go into the folder _doubtful.

    Nothing is overwritten: if a name is taken, a number is added to it. What was done is written to
    OUT/kcrc-sort.jsonl, and kcrc sort --undo OUT takes it back, except for files that were changed since.
    """
    if undo is not None:
        if gallery is not None:
            raise click.UsageError("--undo takes the folder OUT and nothing else: kcrc sort --undo OUT.")
        return _take_back(undo, dry_run=dry_run)
    if gallery is None or images is None or out is None:
        raise click.UsageError("Give GALLERY, IN and OUT: kcrc sort birds.kcrc new/ sorted/. Or --undo OUT.")
    files = _outside(expand([images]), out)
    placing = Placing(as_json=as_json)
    with open_to_ask(gallery, model=model) as opened, progress(len(files), "images") as bar:
        answer = answer_function(opened, reject)
        with sorter_of(opened, out, how=how, below=below) as sorter:
            try:
                for chunk in opened.answering.classify(files, answer, on_error="skip"):
                    if chunk.answers is not None:
                        for i, name in enumerate(chunk.names):
                            placing.place(sorter, name, chunk.answers, i, dry_run=dry_run)
                    complain(chunk.problems)
                    placing.failed += len(chunk.problems)
                    bar.update(len(chunk.names) + len(chunk.problems))
            finally:
                placing.end(out, how, below, dry_run=dry_run)
    return 1 if placing.failed else 0


def answer_function(opened: Gallery, reject: float) -> Callable[[Array], Answers]:
    """What answers to images from the examples there are at that moment; where they are too few when it begins to tell
    what is unknown, nothing is."""
    if opened.answering.answerer().confidence.open_set is None:
        note("kcrc: There are too few examples to tell what is unknown.")
        return lambda vectors: opened.answering.answer_function()(vectors)
    return lambda vectors: opened.answering.answer_function(reject=reject)(vectors)


def sorter_of(opened: Gallery, out: Path, *, how: str, below: float) -> Sorter:
    """What sorts into ``out``; class names that cannot be folders are said."""
    from kcrc.gallery.sorting.sorter import Sorter

    sorter = Sorter(out, opened.classes, how=how, below=below, facts={"gallery": str(opened.path)})
    for label, name in sorter.folders.items():
        if name != label:
            note(f"kcrc: The class '{shown(label)}' has the folder '{shown(name)}': its name cannot be one everywhere.")
    return sorter


class Placing:
    """Each image put in its place and told, and the counts at the end."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.placed = self.doubtful = self.there = self.failed = 0

    def place(self, sorter: Sorter, name: str, answers: Answers, i: int, *, dry_run: bool = False) -> None:
        answer = sort_answer(answers, i)
        try:
            if dry_run:
                goal, done = sorter.out / sorter.folder_of(answer), True
            else:
                outcome = sorter.take(name, answer)
                goal, done = outcome.path, outcome.done
        except KCRCError as problem:
            complain([problem])
            self.failed += 1
            return
        self.placed += done
        self.there += not done
        self.doubtful += sorter.is_doubtful(answer)
        where = os.path.relpath(goal)
        if self.as_json:
            facts = {"label": answer.label, "probability": answer.probability, "unknown": answer.unknown}
            say_json({"image": name, **facts, "doubtful": sorter.is_doubtful(answer), "to": where, "done": done})
        else:
            label = "unknown" if answer.unknown else shown(answer.label)
            sure = "-" if answer.unknown or answer.probability is None else f"{answer.probability:.1%}"
            say(f"{shown(name)}\t{label}\t{sure}\t{shown(where)}")

    def end(self, out: Path, how: str, below: float, *, dry_run: bool = False) -> None:
        """Also where it was interrupted: what was done is done."""
        if dry_run:
            note(f"{self.placed} would be {DONE[how]}, {self.doubtful} of them into _doubtful. Nothing was changed.")
            return
        already = f" ({self.there} more were there already)" if self.there else ""
        rule = f"less probable than {in_percent(below)}, or unknown"
        aside = f"{self.doubtful} {'is' if self.doubtful == 1 else 'are'} in {shown(out / '_doubtful')}"
        note(f"{DONE[how]} {self.placed}{already}; {aside}: {rule}.")
        if self.placed:
            note(f"{quote_command('sort', '--undo', out)} takes it back.")


def sort_answer(answers: Answers, i: int) -> SortAnswer:
    """What a sorting needs to know of one answer."""
    from kcrc.gallery.sorting.sorter import SortAnswer

    best = str(answers.evidence.classes[answers.evidence.winner[i]])
    sure = float(answers.probability[i])
    return SortAnswer(best, None if isnan(sure) else sure, bool(answers.unknown[i]))


def _outside(files: list[str], out: Path) -> list[str]:
    """The files that are not in OUT already: it may lie inside IN."""
    whole = os.path.realpath(out)
    outside = [name for name in files if not Path(os.path.realpath(os.path.dirname(name))).is_relative_to(whole)]
    if not outside:
        raise FileError(f"There are no images to sort: all of them are in '{shown(out)}' already.")
    return outside


def _take_back(out: Path, *, dry_run: bool) -> int:
    from kcrc.gallery.sorting.sorter import take_back

    result = take_back(out, dry_run=dry_run)
    for entry, reason in result.refused:
        note(f"kcrc: {shown(out / entry.to)}: {shown(reason)} It was left as it is.")
    if dry_run:
        say(f"{len(result.done)} would be taken back, {len(result.refused)} left as they are")
    else:
        left = f"; {len(result.refused)} were left as they are, and so was the log" if result.refused else ""
        say(f"took back {len(result.done)}{left}")
    return 1 if result.refused else 0
