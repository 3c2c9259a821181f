"""``kcrc build`` and ``kcrc tune``: labelled pictures become a gallery, whose settings its examples choose."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcrc._base.few_examples import caution, too_few_to_say
from kcrc._base.progress import leader_bar
from kcrc._base.words import plural
from kcrc.cli.arguments import Decimal, GalleryAddress, gallery_argument, method_option, open_gallery, option_value
from kcrc.cli.endings import Stopped
from kcrc.cli.intake import report_intake
from kcrc.errors import DataError, FileError
from kcrc.report.terminal import is_confirmed, note, progress, quote_command, say, say_json, shown

if TYPE_CHECKING:
    from kcrc.gallery import Gallery
    from kcrc.gallery.choose_looks import FeatureChoice
    from kcrc.gallery.exchange.layouts import LabelledImages
    from kcrc.tuning.result import Tuning


@click.command()
@click.argument("folder", metavar="PICTURES", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=GalleryAddress(path_type=Path), help="The gallery file [default: PICTURES.kcrc].")
@click.option("--label-column", metavar="NAME", help="Of a table: the column of the class [by its name].")
@click.option("--crops", is_flag=True, help="Of COCO and YOLO: take each box as a picture.")
@click.option("--yes", is_flag=True, help="Build also what looks like a mistake; do not ask.")
@click.option(
    "-f",
    "--feature",
    help="How images become vectors: auto, a name such as embedding or hog, or hub:OWNER/NAME [default: auto].",
)
@click.option(
    "--like",
    type=GalleryAddress(path_type=Path),
    metavar="GALLERY",
    help="Compare pictures in the same way as GALLERY does, so that kcrc import can merge the two.",
)
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="An option of the feature; repeatable.")
@click.option("--force", is_flag=True, help="Overwrite an existing gallery.")
@click.option(
    "--on-error",
    type=click.Choice(["skip", "fail"]),
    default="skip",
    show_default=True,
    help="What to do with an image that cannot be read.",
)
@click.option(
    "--duplicates",
    type=click.Choice(["skip", "error", "keep"]),
    default="skip",
    show_default=True,
    help="What to do with an image that occurs a second time.",
)
@click.option("--blank", is_flag=True, help="Also take pictures of a single colour.")
@click.option(
    "--search",
    metavar="NAME",
    help="How neighbours are found: exact, cells, hnsw, ivf or usearch [default: auto, which is exact].",
)
@click.option("--no-tune", is_flag=True, help="Take the usual settings; kcrc tune can choose them later.")
@click.option(
    "--seconds",
    default=60.0,
    show_default=True,
    type=Decimal(0, min_open=True),
    help="How long choosing may take, about.",
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@method_option
def build(
    folder: Path,
    output: Path | None,
    label_column: str | None,
    crops: bool,
    yes: bool,
    feature: str | None,
    like: Path | None,
    options: tuple[str, ...],
    force: bool,
    on_error: str,
    duplicates: Any,
    blank: bool,
    search: str | None,
    no_tune: bool,
    seconds: float,
    as_json: bool,
    method: bool,
) -> int:
    """Make a gallery from PICTURES: a folder that has a folder of images for each class.

    \b
    Also, and then it is said what was seen:
      train, val and test above the class folders: train is built from
      a table of names and classes: labels.csv, .jsonl, .parquet
      COCO and YOLO: images that show one class; or each box, by --crops
      a zip of such a folder, or a zip for each class
      names that begin with their class, such as ant_001.jpg

    A picture that stands in two classes is kept in neither. You are asked before a build that looks like a mistake,
    such as classes called train and test; without a terminal it is refused, unless you say --yes.

    Unless you name a feature, kcrc first finds out on some of the images what tells the classes apart: outlines,
    texture, colours, a network, or several together. Then it looks at all images in that way.

    When all images are in, the settings are chosen, by leaving out one example after another, and stored in the
    gallery. How many left-out examples are answered right is said, with the range for new pictures. Ctrl-C is safe:
    before all images are in it leaves nothing behind; after that it leaves the gallery with the usual settings. Files
    that were not used are counted on stderr, with the reason.
    """
    from kcrc.gallery import Gallery, stores
    from kcrc.gallery.building import build_from_folder
    from kcrc.gallery.choose_looks import choose_feature, choosing_seconds
    from kcrc.gallery.exchange.layouts import read_layout
    from kcrc.images import features, looks
    from kcrc.method.neighbours.searches import check_search

    started = time.perf_counter()
    whole = folder.absolute()
    goal = output or whole.with_name(f"{whole.name if whole.is_dir() else whole.name.partition('.')[0]}.kcrc")
    feature_options = dict(option_value(text) for text in options)
    known = features.names()
    if feature not in known and feature in looks.names():
        raise click.UsageError(
            f"'{feature}' is a look, and build tries looks by itself without -f. Features are {', '.join(known)}."
        )
    named = None if feature is None or feature == "auto" else features.make(feature, **feature_options)
    if named is None and feature_options:
        raise click.UsageError("--option is of a feature; name that too: -f hog --option cell=8.")
    if like is not None:
        if feature is not None:
            raise click.UsageError("--like takes the feature of another gallery; give it or --feature.")
        with open_gallery(like) as other:
            named = other.answering.feature()
    if search is not None:
        check_search(search)
    contents = read_layout(folder, label_column=label_column, crops=crops)
    if not force and stores.kind_of(goal).exists(goal):
        raise FileError(f"'{shown(goal)}' exists already. Choose another name with -o, or say --force to overwrite it.")
    if contents.shape:
        note(f"{shown(contents.shape)}.")
    for doubt in [] if yes else contents.doubts():
        if not (answer := is_confirmed(f"{shown(doubt)} Build it all the same?")):
            raise DataError(f"{doubt} Nothing was made{'' if answer is False else '; --yes builds it all the same'}.")
    try:
        choice: FeatureChoice | None = None
        if named is None:
            with leader_bar("choosing looks") as leading:
                choice = choose_feature(contents.paths, contents.labels, seconds=seconds, report=leading)
        with progress(len(contents.paths), "images") as bar:
            intake = build_from_folder(
                contents,
                goal,
                feature=named if choice is None else choice.feature,
                overwrite=force,
                on_error="skip" if on_error == "skip" else "raise",
                duplicates=duplicates,
                blank=blank,
                parameters=None if search is None else {"search": search},
                progress=bar.update,
            )
    except KeyboardInterrupt:
        raise Stopped(f"nothing was made; '{shown(goal)}' is as it was before.") from None
    remaining = seconds if choice is None else seconds - choosing_seconds(len(contents.paths), seconds)
    with Gallery.open(goal) as gallery:
        report_intake(gallery, intake, contents.folders, layout=contents)
        if choice is not None and method:
            note(choice.sentence)
        tuning = _tune(gallery, no_tune=no_tune, seconds=remaining)
        examples, classes = plural(len(gallery), "example"), plural(len(gallery.classes), "class", "classes")
        if as_json:
            say_json({
                "gallery": str(goal), "examples": len(gallery), "classes": gallery.counts, "shape": contents.shape,
                "unread": len(intake.problems), "in_several": contents.in_several,
                "splits": {name: len(part.paths) for name, part in contents.splits.items()},
                "accuracy": None if tuning is None else tuning.accuracy,
                "asked": 0 if tuning is None else tuning.trials,
            })  # fmt: skip
            return 0
        how = f", {gallery.settings.feature} ({gallery.dim} numbers each)" if method else ""
        say(f"{shown(goal)}: {examples} of {classes}{how}, {time.perf_counter() - started:.1f} s")
    _offer_evaluation(contents, goal, folder)
    return 0


def _offer_evaluation(contents: LabelledImages, gallery: Path | str, folder: Path) -> None:
    """Name the splits that were not built from, and how to measure with them."""
    others = {name: part for name, part in contents.splits.items() if name != "train" and part.paths}
    if others:
        parts = " and ".join(f"{plural(len(part.paths), 'picture')} of {name}" for name, part in others.items())
        note(
            f"Built from train alone; {parts} were not used. "
            f"{quote_command('evaluate', gallery, folder)} tries it on them."
        )


def _tune(gallery: Gallery, *, no_tune: bool, seconds: float) -> Tuning | None:
    """Choose the settings; take the usual ones if that is not wanted, or is interrupted."""
    path = shown(gallery.path)
    if len(gallery.classes) == 1:
        note("there is only one class, so nothing can be told apart yet: add another with 'kcrc add'")
    if no_tune:
        gallery.answering.use_default_parameters()
        note(f"The settings are the usual ones; {quote_command('tune', gallery.path)} chooses them from the examples.")
        return None
    try:
        tuning = gallery.answering.tune(asked=False, tuning_seconds=seconds).tuning_
    except KeyboardInterrupt:
        gallery.answering.use_default_parameters()
        raise Stopped(
            f"'{path}' is there with all {plural(len(gallery), 'example')} and the usual settings; "
            f"{quote_command('tune', gallery.path)} chooses them from the examples."
        ) from None
    if tuning is not None and len(gallery.classes) > 1:
        note(accuracy_sentence(tuning, len(gallery), len(gallery.classes)))
    return tuning


def accuracy_sentence(tuning: Tuning, examples: int, classes: int) -> str:
    """The one figure of how often answers are right, with its range; no number if it would mean nothing."""
    from kcrc.report.evaluation import wilson

    if (why := too_few_to_say(tuning.trials)) is not None:
        return why
    right = round(tuning.accuracy * tuning.trials)
    low, high = wilson(right, tuning.trials)
    few = caution(tuning.trials, examples, classes)
    sentence = (
        f"{right} of {plural(tuning.trials, 'example')} are answered right when left out: {tuning.accuracy:.1%}; of "
        f"new pictures like these, likely {low:.1%} to {high:.1%}"
    )
    return f"{sentence}." if few is None else f"{sentence}; {few}."


# ``kcrc tune``: the settings chosen again.


@click.command()
@gallery_argument
@click.option("--seconds", default=60.0, show_default=True, type=Decimal(0, min_open=True), help="At most.")
@click.option("--fix", multiple=True, metavar="NAME=VALUE", help="Fix a parameter; NAME=auto leaves it to be chosen.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw what each parameter does, as a PNG or PDF.")
@click.option("--table", is_flag=True, help="Print what was tried, best first.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@method_option
def tune(
    gallery: Path,
    seconds: float,
    fix: tuple[str, ...],
    plot: Path | None,
    table: bool,
    as_json: bool,
    method: bool,
) -> int:
    """Choose the settings of GALLERY again from its examples, and store them (kcrc undo takes that back).

    They are chosen when a gallery is built, or at the first question; after many changes they may no longer be the
    best.
    """
    with open_gallery(gallery, write=True) as opened:
        fixed = {**opened.parameters, **dict(option_value(text) for text in fix)}
        try:
            tuning = opened.tune(parameters={k: v for k, v in fixed.items() if v != "auto"}, seconds=seconds)
        except KeyboardInterrupt:
            raise Stopped("the settings are as they were.") from None
        if tuning is None:
            note("kcrc: there was nothing to choose: all is fixed, or no class has two examples.")
            return 0
        if as_json:
            say_json({
                "accuracy": tuning.accuracy, "examples": tuning.trials, "tried": len(tuning.scores),
                "seconds": tuning.seconds,
                "parameters": {k: v if isinstance(v, int | float) else str(v) for k, v in vars(tuning.best).items()},
            })  # fmt: skip
        else:
            say(accuracy_sentence(tuning, len(opened), len(opened.classes)))
        if method and not as_json:
            say(repr(tuning))
        if table:
            for row in tuning.table[:20]:
                values = "  ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items())
                say(values)
        if plot is not None:
            tuning.plot(plot)
            note(f"wrote {shown(plot)}")
    return 0
