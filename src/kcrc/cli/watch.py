"""``kcrc watch``: answers as pictures arrive in a folder."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kcrc.cli.arguments import Decimal, gallery_argument, model_option, open_to_ask
from kcrc.cli.predict import Share, line_of
from kcrc.cli.sort import Placing, answer_function, sorter_of
from kcrc.confidence.answers import rows_of
from kcrc.report.terminal import complain, note, say, say_json, shown

if TYPE_CHECKING:
    from kcrc.images.stream import Arrivals


@click.command()
@gallery_argument
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--once", is_flag=True, help="Answer what is there, wait for what is still growing, and end.")
@click.option("--new", "only_new", is_flag=True, help="Ignore the pictures that are there at the start.")
@click.option(
    "--seconds",
    type=Decimal(0.05, 3600),
    default=2.0,
    show_default=True,
    help="Time between two looks into the folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on each line.")
@click.option("--reject", type=Share(), default=0.05, show_default=True, help="As in kcrc sort.")
@click.option(
    "--sort-into", type=click.Path(path_type=Path), metavar="OUT", help="Put each into a class folder: see kcrc sort."
)
@click.option("--move", is_flag=True, help="With --sort-into: move the pictures instead of copying them.")
@click.option("--below", type=Decimal(0, 1), default=0.9, show_default=True, help="With --sort-into: as there.")
@model_option
def watch(
    gallery: Path,
    folder: Path,
    once: bool,
    only_new: bool,
    seconds: float,
    as_json: bool,
    reject: float,
    sort_into: Path | None,
    move: bool,
    below: float,
    model: Path | None,
) -> int:
    """Classify the pictures in FOLDER, then each one that arrives there, once it has stopped growing. Ctrl-C ends it.
    Examples that another command adds to GALLERY meanwhile count.
    """
    from kcrc.images.stream import Arrivals

    if move and sort_into is None:
        raise click.UsageError("--move says how --sort-into puts pictures in their places; give it too.")
    arrivals = Arrivals(folder, apart=sort_into)
    if only_new:
        arrivals.pass_over()
    how = "move" if move else "copy"
    placing = None if sort_into is None else Placing(as_json=as_json)
    answered = failed = 0
    with open_to_ask(gallery, model=model) as opened, contextlib.ExitStack() as stack:
        answer = answer_function(opened, reject)
        sorter = None
        if sort_into is not None:
            sorter = stack.enter_context(sorter_of(opened, sort_into, how=how, below=below))
        if not once:
            note(f"Watching {shown(folder)}; Ctrl-C ends it.")
        try:
            for files in _batches(arrivals, seconds=seconds, once=once):
                for chunk in opened.answering.classify(files, answer, on_error="skip"):
                    complain(chunk.problems)
                    failed += len(chunk.problems)
                    answered += len(chunk.names)
                    if chunk.answers is None:
                        continue
                    answers = chunk.answers
                    rows = rows_of(chunk.names, answers)
                    for i, name in enumerate(chunk.names):
                        if placing is not None and sorter is not None:
                            placing.place(sorter, name, answers, i)
                        elif as_json:
                            say_json(rows[i])
                        else:
                            say(line_of(rows[i]))
        except KeyboardInterrupt:
            note(f"Ended; {answered} {'picture was' if answered == 1 else 'pictures were'} answered.")
        finally:
            if placing is not None and sort_into is not None:
                placing.end(sort_into, how, below)
    return 1 if failed or (placing is not None and placing.failed) else 0


def _batches(arrivals: Arrivals, *, seconds: float, once: bool) -> Iterator[list[str]]:
    """The pictures that have arrived, look after look."""
    while True:
        files = arrivals.look()
        if files:
            yield files
        if once and not arrivals.growing:
            return
        time.sleep(seconds)
