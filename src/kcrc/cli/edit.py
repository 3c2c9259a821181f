"""Commands that change a gallery: add, remove, relabel, rename."""

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
        feature, known = opened.answering.feature(), opened.classes
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
    if len(told.added) and label not in known:
        note(f"'{shown(label)}' is a new class.{_instead_of(label, known, gallery)}")
    if due is not None:
        note(f"{due}; 'kcrc tune {shown(gallery)}' chooses them anew.")
    return 1 if told.problems else 0


@click.command(short_help="Take examples out.")
@gallery_argument
@click.argument("examples", nargs=-1)
@click.option("-l", "--label", help="All examples of this class.")
@click.option("--erase", is_flag=True, help="For good: out of the file, its history and caches. No undo.")
@click.option("--dry-run", is_flag=True, help="Say what would be taken out, and change nothing.")
def remove(gallery: Path, examples: tuple[str, ...], label: str | None, erase: bool, dry_run: bool) -> int:
    """Take EXAMPLES out of GALLERY: their ids, or images that are in it.

    They stay in the file, out of use, for kcrc undo. With --erase they do not, and examples that were removed
    before can be named too.
    """
    with open_gallery(gallery, write=not dry_run) as opened:
        ids = _chosen(opened, examples, label, removed=erase)
        if dry_run:
            return _would_go(opened, ids, erase=erase)
        if erase:
            return _told_of(opened.erase(ids))
        gone = opened.remove(ids)
    say(f"removed {len(gone)}" + _with_ids(gone))
    if gone:
        some = " ".join(map(str, gone[:8])) + (" …" if len(gone) > 8 else "")
        note(f"Still in the file, for kcrc undo; 'kcrc remove --erase {shown(gallery)} {some}' takes it out for good.")
    return 0


def _would_go(gallery: Gallery, ids: Sequence[int], *, erase: bool) -> int:
    """The examples that would be taken out, a line each."""
    stored = set(gallery.contents.ids.tolist())
    for number in sorted(set(ids)):
        if number in stored:
            example = gallery.example(number)
            say(f"{number}\t{shown(example.label)}\t{shown(example.source)}")
        elif erase:
            say(f"{number}\t(removed before)\t")
        else:
            raise DataError(f"There is no example {number} in the gallery.")
    note(f"{'Erasing' if erase else 'Removing'} {len(set(ids))} was only tried: nothing was changed.")
    return 0


def _instead_of(label: str, known: Sequence[str], gallery: Path) -> str:
    """Which class may have been meant by a new name that is much like a known one, and how to go on."""
    import difflib

    close = difflib.get_close_matches(label.casefold(), [name.casefold() for name in known], n=1, cutoff=0.75)
    if not close:
        return ""
    meant = next(name for name in known if name.casefold() == close[0])
    return f" Did you mean '{shown(meant)}'? 'kcrc undo {shown(gallery)}' takes it back."


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
