"""Commands that change a gallery: add, remove, relabel, rename, undo; and the list of changes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcrc.cli.arguments import expand, gallery_argument, ids_text, images_argument, model_option, open_gallery
from kcrc.cli.output import complain, note, progress, say, shown
from kcrc.errors import DataError

if TYPE_CHECKING:
    from kcrc.gallery import Erased, Gallery


@click.command(short_help="Add images of a class.")
@gallery_argument
@images_argument
@click.option("-l", "--label", required=True, help="The class, known or new.")
@click.option("--duplicates", type=click.Choice(["skip", "error", "keep"]), default="skip", show_default=True)
@model_option
def add(gallery: Path, images: tuple[str, ...], label: str, duplicates: Any, model: Path | None) -> int:
    """Add IMAGES to GALLERY as examples of a class."""
    from kcrc.gallery.pictures import add_images

    files = expand(images)
    with open_gallery(gallery, write=True, model=model) as opened, progress(len(files), "images") as bar:
        feature = opened.answering.feature()
        told = add_images(
            opened,
            feature,
            files,
            [label] * len(files),
            on_error="skip",
            duplicates=duplicates,
            progress=bar.update,
        )
        due = opened.retune_due
    complain(told.problems)
    for twin in told.duplicates:
        note(f"kcrc: {shown(twin.source)}: is in already as '{shown(twin.existing_label)}'; not added.")
    say(f"added {len(told.added)} of {len(files)} as {shown(label)}" + _with_ids(told.added))
    if due is not None:
        note(f"{due}; 'kcrc tune {shown(gallery)}' chooses them anew.")
    return 1 if told.problems else 0


@click.command(short_help="Take examples out.")
@gallery_argument
@click.argument("examples", nargs=-1)
@click.option("-l", "--label", help="All examples of this class.")
@click.option("--erase", is_flag=True, help="For good: out of the file, its history and caches. No undo.")
def remove(gallery: Path, examples: tuple[str, ...], label: str | None, erase: bool) -> int:
    """Take EXAMPLES out of GALLERY: their ids, or images that are in it.

    They stay in the file, out of use, for kcrc undo. With --erase they do not, and examples that were removed
    before can be named too.
    """
    with open_gallery(gallery, write=True) as opened:
        ids = _chosen(opened, examples, label, removed=erase)
        if erase:
            return _told_of(opened.erase(ids))
        gone = opened.remove(ids)
    say(f"removed {len(gone)}" + _with_ids(gone))
    if gone:
        some = " ".join(map(str, gone[:8])) + (" …" if len(gone) > 8 else "")
        note(f"Still in the file, for kcrc undo; 'kcrc remove --erase {shown(gallery)} {some}' takes it out for good.")
    return 0


def _told_of(erased: Erased) -> int:
    """What was erased, and what this cannot reach."""
    say(f"erased {len(erased.ids)}" + _with_ids(erased.ids))
    if not erased.ids:
        note("Nothing was left of those examples in the file.")
    if erased.retune:
        note("The parameters had been chosen with it; they are chosen anew at the next question.")
    if erased.feature is not None:
        note(
            f"The feature '{shown(erased.feature)}' may have learned from it when the gallery was built, and stays as "
            "it is. Where that must go too, build the gallery again."
        )
    for path in erased.beside:
        note(f"{shown(path)} may hold it still: it is not changed.")
    note("Photographs, exports, pages and copies of the gallery made before are not changed.")
    return 0


@click.command(short_help="Give examples another class.")
@gallery_argument
@click.argument("examples", nargs=-1, required=True)
@click.option("-l", "--label", required=True, help="Their new class.")
def relabel(gallery: Path, examples: tuple[str, ...], label: str) -> int:
    """Give EXAMPLES of GALLERY (ids, or images that are in it) another class."""
    with open_gallery(gallery, write=True) as opened:
        changed = opened.relabel(_chosen(opened, examples, None), label)
    say(f"relabelled {len(changed)} as {shown(label)}" + _with_ids(changed))
    return 0


@click.command(short_help="Give a class another name.")
@gallery_argument
@click.argument("old")
@click.argument("new")
def rename(gallery: Path, old: str, new: str) -> int:
    """Call the class OLD by the name NEW; where NEW exists, the two become one."""
    with open_gallery(gallery, write=True) as opened:
        changed = opened.rename_class(old, new)
    say(f"renamed {shown(old)} to {shown(new)} ({len(changed)} examples)")
    return 0


@click.command(short_help="Take back the latest change.")
@gallery_argument
@click.option("--past-erase", is_flag=True, help="Where the latest change erased examples, take back the one before.")
def undo(gallery: Path, past_erase: bool) -> int:
    """Take back the latest change that stands; again, to go further back. What was erased cannot be brought back."""
    with open_gallery(gallery, write=True) as opened:
        entry = opened.undo(past_erase=past_erase)
    say(f"undid: {shown(entry.summary)}")
    return 0


@click.command(short_help="List the changes.")
@gallery_argument
@click.option("-n", "--number", default=20, show_default=True, type=click.IntRange(1), help="How many, latest first.")
def history(gallery: Path, number: int) -> int:
    """List the changes of GALLERY, latest first."""
    from kcrc.gallery.moments import in_words

    with open_gallery(gallery) as opened:
        for entry in opened.history(number):
            taken_back = "" if entry.undone_by is None else "  (undone)"
            say(f"{in_words(entry.at):<19}  {shown(entry.summary)}{taken_back}")
    return 0


def _chosen(gallery: Gallery, examples: Sequence[str], label: str | None, *, removed: bool = False) -> list[int]:
    """The ids that arguments stand for: an id, the file of an image that is in, or the name it came under.

    ``removed`` looks also among those taken out before."""
    if label is not None:
        found = gallery.find(label=label, removed=removed)
        if not found or examples:
            raise DataError(
                "Give examples or a class, not both."
                if examples
                else f"There is no class '{shown(label)}' in the gallery."
            )
        return list(found)
    if not examples:
        raise DataError("Say which examples: ids, images that are in the gallery, or --label for a whole class.")
    ids: list[int] = []
    for given in examples:
        if given.isascii() and given.lstrip("#").isdigit():
            ids.append(int(given.lstrip("#")))
            continue
        found = gallery.find(content=_content(given), removed=removed) if os.path.isfile(given) else ()
        found = found or gallery.find(source=given, removed=removed)
        if not found:
            raise DataError(f"'{shown(given)}' is not in the gallery, neither its content nor its name.")
        ids += found
    return ids


def _content(path: str) -> bytes:
    from kcrc.features.images import fetch

    return hashlib.sha256(fetch(path)).digest()


def _with_ids(ids: Sequence[int]) -> str:
    return f" (examples {ids_text(ids)})" if len(ids) else ""
