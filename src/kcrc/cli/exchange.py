"""``kcrc export`` and ``kcrc import``: whole galleries as plain arrays, and labels to and from other programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcrc._base.words import plural, some_of
from kcrc.cli.arguments import GalleryAddress, gallery_argument, model_option, open_gallery
from kcrc.errors import DataError, FileError
from kcrc.files.plain_files import read_start
from kcrc.report.terminal import complain, is_confirmed, note, quote_command, say, say_json, shown

if TYPE_CHECKING:
    from kcrc.gallery import Gallery
    from kcrc.gallery.labels import Plan

ARRAYS = "npz"
FORMATS = (
    *(ARRAYS, "csv", "jsonl", "parquet", "label-studio", "coco"),
    *("fiftyone", "folders", "imagefolder", "yolo", "datumaro"),
)
NAMED = 5  # labels that contradict the file
format_option = click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    metavar="FORMAT",
    help=f"{', '.join(FORMATS)} [default: by the name, .npz .csv .csv.gz .jsonl .parquet .json].",
)


@click.command()
@gallery_argument
@click.argument("output", type=click.Path(path_type=Path))
@format_option
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--file-names", is_flag=True, help="Leave out the folders that the images lay in.")
@click.option(
    "--originals",
    is_flag=True,
    help="Formats with pictures: copy the photographs themselves, where they still are, and not the small pictures.",
)
@click.option("--images", type=click.Path(path_type=Path), help="With --originals: the folder they are below.")
def export(
    gallery: Path,
    output: Path,
    form: str | None,
    force: bool,
    file_names: bool,
    originals: bool,
    images: Path | None,
) -> int:
    """Write GALLERY to OUTPUT.

    \b
    npz           everything: vectors, labels, sources, thumbnails, tuning;
                  numpy.load reads it, kcrc import restores it
    csv           image, label, id, sha256, added_at; what a spreadsheet
                  would run as a formula gets a ' before it
    jsonl         the same, a JSON object a line, every name exactly
    parquet       the same (needs pyarrow)
    label-studio  tasks with one choice each; images as local files
    coco          images, annotations and categories, without boxes
    fiftyone      a new folder with data/ and labels.json
                  (FiftyOneImageClassificationDataset)
    folders       a new folder with a folder of pictures for each class
    imagefolder   a new folder for Hugging Face's load_dataset:
                  train/ with the pictures and metadata.csv
    yolo          a new folder for Ultralytics: train/CLASS/
    datumaro      a new folder with annotations/ and images/
    """
    from kcrc.gallery import exchange

    name = form or (None if output.is_dir() else exchange.name_by_suffix(output)) or ARRAYS
    makes_folder = name != ARRAYS and exchange.format_of(name).MAKES_FOLDER
    if originals and not makes_folder:
        raise click.UsageError("--originals is for formats with pictures: fiftyone, folders and the like.")
    if output.exists() and not force and not makes_folder:
        raise FileError(f"'{shown(output)}' exists already; say --force to overwrite it.")
    with open_gallery(gallery) as opened:
        if name == ARRAYS:
            say(f"{shown(output)}: {opened.export(output, file_names=file_names)} examples")
            return 0
        from kcrc.gallery.labels import export_labels

        counts = export_labels(opened, output, form=name, originals=originals, file_names=file_names, images=images)
    say(f"{shown(output)}: {counts.examples} examples as {name}")
    if originals:
        note(f"{counts.originals} photographs were copied; of {counts.small} only the small picture was there.")
        if counts.lost:
            note(
                f"kcrc: {plural(len(counts.lost), 'photograph')} not found, or changed since: "
                f"{some_of([*map(shown, counts.lost)])}. They are looked for by the names that kcrc list shows, from "
                "here and from the gallery's folder; --images names another folder."
            )
    if counts.without:
        note(f"{counts.without} have no picture in the gallery and were left out.")
    return 1 if counts.lost else 0


@click.command("import")
@gallery_argument
@click.argument("source", type=GalleryAddress(path_type=Path))
@format_option
@click.option(
    "--images", type=click.Path(path_type=Path), help="The folder that SOURCE's images are in [its own folder]."
)
@click.option("--label-column", metavar="NAME", help="csv, jsonl, parquet: the column of the class [by its name].")
@click.option("--relabel", is_flag=True, help="Give images that are in GALLERY already the label of SOURCE.")
@click.option(
    "--yes", is_flag=True, help="Also where more than half would get another label, or a number for a name; do not ask."
)
@click.option(
    "--duplicates",
    type=click.Choice(["skip", "error", "keep"]),
    default="skip",
    show_default=True,
    help="An example that is in GALLERY already: leave it out, stop, or store it again (exports and galleries only).",
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@model_option
def import_(
    gallery: Path,
    source: Path,
    form: str | None,
    images: Path | None,
    label_column: str | None,
    relabel: bool,
    yes: bool,
    duplicates: Any,
    as_json: bool,
    model: Path | None,
) -> int:
    """Add to GALLERY the examples of SOURCE: an export or another gallery, or labels in one of the formats of kcrc
    export. A gallery that does not exist yet is made from an export.

    Images that are in GALLERY already keep their label, unless you say --relabel: so corrections made elsewhere come
    back. What will be done is shown first. If more than half of them would get another label, or if SOURCE has numbers
    where the classes of GALLERY are names, you are asked; without a terminal, nothing is changed unless you say --yes.
    All of it is one change. No address is fetched, and no file outside of --images is opened.
    """
    from kcrc.gallery import exchange, restore, stores

    name = form or exchange.name_for(source) or ARRAYS
    exists = stores.kind_of(gallery).exists(gallery)
    if name == ARRAYS:
        if relabel or yes or images is not None or label_column is not None:
            raise click.UsageError(
                "--relabel, --yes, --images and --label-column are for labels made elsewhere; see --format."
            )
        if not exists:
            with restore(source, gallery) as restored:
                if as_json:
                    say_json({"made": str(gallery), "added": len(restored)})
                else:
                    say(f"made {shown(gallery)} with {len(restored)} examples")
            return 0
        with open_gallery(gallery, write=True) as opened:
            added = opened.import_(source, duplicates=duplicates)
        if as_json:
            say_json({"added": list(added.ids), "same": len(added.duplicates)})
            return 0
        before = f", {len(added.duplicates)} were there already" if added.duplicates else ""
        say(f"added {len(added.ids)} examples{before}")
        return 0
    if duplicates != "skip":
        raise click.UsageError("--duplicates is for exports and galleries; labels made elsewhere have --relabel.")
    if not exists:
        raise click.UsageError(f"There is no gallery '{shown(gallery)}' yet; make it with kcrc build first.")
    if label_column is not None and not exchange.format_of(name).HAS_COLUMNS:
        raise click.UsageError(f"--label-column is for csv, jsonl and parquet; '{shown(source)}' is read as {name}.")
    with open_gallery(gallery, write=True, model=model) as opened:
        reading = {"form": name, "images": images, "relabel": relabel, "label_column": label_column}
        return _receive(opened, source, yes=yes, as_json=as_json, **reading)


def _receive(gallery: Gallery, source: Path, *, yes: bool, as_json: bool, **reading: Any) -> int:
    from kcrc.cli.intake import announce_new_classes
    from kcrc.gallery.labels import carry_out, plan

    known, planned = gallery.classes, plan(gallery, source, **reading)
    if planned.files or (planned.relabel and planned.contradictions):
        note(_preview(planned, source))
    for doubt in [] if yes else _doubts(planned, source, gallery):
        if not (answer := is_confirmed(f"{doubt} Do it?")):
            raise DataError(f"{doubt} Nothing was changed{'' if answer is False else '; --yes does it'}.")
    counts = carry_out(gallery, planned)
    complain(counts.problems)
    if as_json:
        say_json({
            "added": counts.added, "relabelled": list(counts.relabelled), "same": counts.same,
            "other": [{"example": example, "label": label, "given": given} for example, label, given in counts.other],
            "unlabelled": counts.unlabelled, "problems": counts.problems,
        })  # fmt: skip
        return 1 if counts.problems else 0
    parts = [f"added {len(counts.added)}", f"relabelled {len(counts.relabelled)}", f"{counts.same} were there already"]
    parts += [f"{counts.unlabelled} had no label"] if counts.unlabelled else []
    say(", ".join(parts))
    announce_new_classes(sorted(set(gallery.classes) - set(known)), known, Path(gallery.path))
    for example, label, new_label in counts.other[:NAMED]:
        note(f"kcrc: Example {example} is '{shown(label)}', and '{shown(new_label)}' in the file; it stays as it is.")
    if counts.other:
        more = f" ({len(counts.other) - NAMED} more)" if len(counts.other) > NAMED else ""
        note(f"'kcrc import --relabel' gives them the label of the file{more}.")
    return 1 if counts.problems else 0


def _preview(plan: Plan, source: Path) -> str:
    """What will be done, in one line."""
    other = len(plan.contradictions)
    parts = [f"{len(plan.files)} to add", f"{other} to relabel" if plan.relabel else f"{other} with another label"]
    parts += [f"{len(plan.labels) - other} in already with their label"]
    parts += [f"{len(plan.problems)} not to be found or read"] if plan.problems else []
    parts += [f"{plan.unlabelled} without a label"] if plan.unlabelled else []
    new = f"; new classes: {some_of([*map(shown, plan.new_classes)], NAMED)}" if plan.new_classes else ""
    return f"{shown(source)}: {', '.join(parts)}{new}."


def _doubts(plan: Plan, source: Path, gallery: Gallery) -> Iterator[str]:
    """Why it is likely that the file was not meant so, a sentence each."""
    if plan.is_by_number:
        yield (
            f"The labels in '{shown(source)}' are numbers, and the classes of the gallery are names "
            f"({some_of([*map(shown, gallery.classes)])}); --label-column names the column that has the names."
        )
    if plan.relabels_most:
        example, label = min(plan.contradictions.items())
        yield (
            f"{len(plan.contradictions)} of the {len(plan.labels)} images that are in already would get another label, "
            f"the first '{shown(label)}' for '{shown(plan.has[example])}'."
        )


# What was given in the place of a gallery and is none: told apart from a gallery that is damaged.

_SQLITE = b"SQLite format 3\0"
_HEAD = 64  # bytes that tell one kind of file from another


def check_is_gallery(path: Path | str) -> None:
    """An error where a folder, a picture, an export or an empty file was given; all else is for the store to judge."""
    if isinstance(path, str):  # an address, which no file has
        return
    what = _what_it_is(path)
    if what is not None:
        raise FileError(f"'{shown(path)}' is {what}, not a kcrc gallery.{_swap_hint(path)}")


def _what_it_is(path: Path) -> str | None:
    from kcrc.images.decoding.limits import format_of

    if path.is_dir():
        return "a folder"
    head = read_start(path, _HEAD)
    if head is None or head.startswith(_SQLITE):
        return None
    if not head:
        return "an empty file"
    picture = format_of(head, path.name)
    if picture is not None:
        return f"a picture ({picture})"
    if head.startswith(b"PK") and path.suffix.lower() == ".npz":
        return "an export ('kcrc import NEW.kcrc FILE' makes a gallery of one)"
    return None if path.suffix.lower() == ".kcrc" else "some other file"


def _swap_hint(path: Path) -> str:
    """How the command was meant, where a gallery stands in another place of it."""
    context = click.get_current_context(silent=True)
    if context is None:
        return ""
    for value in context.params.values():
        for word in value if isinstance(value, tuple) else (value,):
            name = os.fspath(word) if isinstance(word, str | os.PathLike) else None
            if name and name != os.fspath(path) and (read_start(name, len(_SQLITE)) or b"") == _SQLITE:
                return f" The gallery comes first: {quote_command(*context.command_path.split()[1:], name, path)}."
    return ""
