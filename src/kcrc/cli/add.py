"""``kcrc add``: images of one class, or a folder of class folders; only what is new is taken."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcrc._base.words import plural
from kcrc.cli.arguments import expand, gallery_argument, ids_text, images_argument, model_option, open_gallery
from kcrc.cli.endings import Stopped
from kcrc.cli.intake import announce_new_classes, report_intake
from kcrc.gallery.examples import Example, as_example
from kcrc.report.terminal import note, progress, quote_command, say, say_json, shown

if TYPE_CHECKING:
    from kcrc.gallery import Gallery
    from kcrc.gallery.building import Intake
    from kcrc.gallery.exchange.layouts import LabelledImages


@click.command()
@gallery_argument
@images_argument
@click.option("-l", "--label", help="The class, known or new; without it, IMAGES are folders of class folders.")
@click.option(
    "--duplicates",
    type=click.Choice(["skip", "error", "keep"]),
    default="skip",
    show_default=True,
    help="A photograph that is in GALLERY already: leave it out, stop, or store it again.",
)
@click.option("--blank", is_flag=True, help="Also take pictures of a single colour.")
@click.option("--sync", is_flag=True, help="Name also the examples that came from a folder and are no longer in it.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@model_option
def add(
    gallery: Path,
    images: tuple[str, ...],
    label: str | None,
    duplicates: Any,
    blank: bool,
    sync: bool,
    as_json: bool,
    model: Path | None,
) -> int:
    """Add IMAGES to GALLERY as examples of the class --label; or, without --label, add folders that have a folder of
    images for each class.

    Images that are already in the gallery are left as they are, so adding a folder again takes only what is new. With
    --sync, examples that came from the folder but are no longer in it are named; they stay until kcrc remove takes them
    out.
    """
    from kcrc.gallery.building import Intake, add_images

    if sync and not all(map(os.path.isdir, images)):
        raise click.UsageError("--sync is about folders; give folders only.")
    folders = _read_folders(images) if label is None else []
    files: list[str | os.PathLike[str]]
    if label is None:
        files = [path for folder in folders for path in folder.paths]
        labels = [name for folder in folders for name in folder.labels]
    else:
        files = list(expand(images))
        labels = [label] * len(files)
    intake = Intake()
    with open_gallery(gallery, write=True, model=model) as opened:
        feature, known = opened.answering.feature(), opened.classes
        with progress(len(files), "images") as bar, _explain_interruption(opened, intake, len(files)):
            add_images(
                opened,
                feature,
                files,
                labels,
                on_error="skip",
                duplicates=duplicates,
                blank=blank,
                progress=bar.update,
                intake=intake,
            )
        due = opened.retune_due
        report_intake(opened, intake, [each for folder in folders for each in folder.folders])
        vanished = _vanished_examples(opened, intake, images) if sync else None
        added = [opened.example(number).label for number in intake.added]
    new = sorted(set(added) - set(known))
    if as_json:
        say_json({
            "added": intake.added, "files": len(files), "duplicates": len(intake.duplicates),
            "unread": len(intake.problems), "new_classes": new,
            "vanished": None if vanished is None else [example.id for example in vanished],
        })  # fmt: skip
        return 1 if intake.problems else 0
    of_class = f" as {shown(label)}" if label is not None else ""
    ids = f" ({'example' if len(intake.added) == 1 else 'examples'} {ids_text(intake.added)})" if intake.added else ""
    say(f"added {len(intake.added)} of {len(files)}{of_class}{ids}")
    announce_new_classes(new, known, gallery)
    if vanished is not None:
        _report_vanished(vanished, gallery)
    if due is not None:
        note(f"{due}; {quote_command('tune', gallery)} chooses them again.")
    return 1 if intake.problems else 0


def _read_folders(images: Sequence[str]) -> list[LabelledImages]:
    from kcrc.gallery.exchange.layouts import read_layout

    if not all(map(os.path.isdir, images)):
        raise click.UsageError(
            "Say of which class these images are: --label NAME. Without it, give folders that have a folder for each "
            "class."
        )
    folders = [read_layout(folder) for folder in images]
    for folder in folders:
        if folder.shape:
            note(f"{shown(folder.shape)}.")
    return folders


@contextlib.contextmanager
def _explain_interruption(gallery: Gallery, intake: Intake, files: int) -> Iterator[None]:
    """Where Ctrl-C ends the block, it is said what stayed."""
    try:
        yield
    except KeyboardInterrupt:
        if not intake.added:
            raise Stopped("nothing was added; the gallery is as it was.") from None
        raise Stopped(
            f"{len(intake.added)} of {files} added; {quote_command('undo', gallery.path)} takes them back, and the "
            "same command again adds the others."
        ) from None


def _vanished_examples(gallery: Gallery, intake: Intake, folders: Sequence[str]) -> list[Example]:
    """The examples whose file lay in one of the folders, and whose bytes no file there has any more."""
    roots = [Path(os.path.abspath(folder)) for folder in folders]
    rows = {row.id: row for row in gallery.contents.rows}
    ids = (*intake.added, *(twin.id for twin in intake.duplicates))
    present = {rows[number].content for number in ids if number in rows}

    def inside(source: str) -> bool:
        return bool(source) and any(Path(os.path.abspath(source)).is_relative_to(root) for root in roots)

    return [as_example(row) for row in rows.values() if inside(row.source) and row.content not in present]


def _report_vanished(vanished: Sequence[Example], gallery: Path) -> None:
    if not vanished:
        note("Nothing vanished: every example from there is still there.")
        return
    for example in vanished:
        what = "changed" if os.path.exists(example.source) else "vanished"
        say(f"{what}\t{example.id}\t{shown(example.label)}\t{shown(example.source)}")
    ids = [*(example.id for example in vanished[:8]), *(["…"] if len(vanished) > 8 else [])]
    stay = "It stays" if len(vanished) == 1 else "They stay"
    note(
        f"{plural(len(vanished), 'example')} of files that are no longer there, or no longer the same. {stay} in; "
        f"{quote_command('remove', gallery, *ids)} takes what you name out."
    )
