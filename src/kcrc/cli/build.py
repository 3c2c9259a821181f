"""``kcrc build``: a folder of class folders becomes a gallery."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from kcrc.cli.arguments import GalleryAddress, option_value
from kcrc.cli.output import complain, note, progress, say, shown


@click.command(short_help="Make a gallery from a folder of class folders.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=GalleryAddress(path_type=Path), help="The gallery file [default: FOLDER.kcrc].")
@click.option("-f", "--feature", help="How images become vectors [default: the embedding, or hog without it].")
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
    help="What to do with the same image a second time.",
)
def build(
    folder: Path,
    output: Path | None,
    feature: str | None,
    options: tuple[str, ...],
    force: bool,
    on_error: str,
    duplicates: Any,
) -> int:
    """Make a gallery from FOLDER, which has a folder of images for each class.

    The gallery is there, whole, when all images are in, and not before; Ctrl-C leaves nothing. Then the parameters
    are chosen, by leaving out one example after the other, and stored with it.
    """
    from kcrc import features
    from kcrc.gallery import Gallery
    from kcrc.gallery.pictures import build_from_folder, default_feature, labelled_files

    started = time.perf_counter()
    goal = output or folder.absolute().with_name(f"{folder.absolute().name}.kcrc")
    made = features.make(feature or default_feature(), **dict(option_value(text) for text in options))
    files, _ = labelled_files(folder)
    with progress(len(files), "images") as bar:
        told = build_from_folder(
            folder,
            goal,
            feature=made,
            overwrite=force,
            on_error="skip" if on_error == "skip" else "raise",
            duplicates=duplicates,
            progress=bar.update,
        )
    complain(told.problems)
    for line in told.notes:
        note(f"kcrc: {shown(line)}")
    for twin in told.duplicates:
        if twin.label != twin.existing_label:
            note(f"kcrc: {shown(twin.source)}: the same image is in as '{shown(twin.existing_label)}' too.")
    if told.problems or told.duplicates:
        note(told.summary)
    with Gallery.open(goal) as gallery:
        tuning = gallery.classifier().tuning_
        if len(gallery.classes) == 1:
            note("there is only one class, so nothing can be told apart yet: kcrc add another")
        elif tuning is not None:
            note(f"left out one by one, {tuning.accuracy:.1%} of {tuning.trials} examples are answered right")
        seconds = time.perf_counter() - started
        say(
            f"{shown(goal)}: {len(gallery)} examples of {len(gallery.classes)} classes, {gallery.settings.feature} "
            f"({gallery.dim} numbers each), {seconds:.1f} s"
        )
    return 0
