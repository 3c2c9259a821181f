"""Commands that change what is in a gallery: remove, relabel, rename."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kcrc._base.words import plural
from kcrc.cli.arguments import gallery_argument, ids_text, method_option, open_gallery
from kcrc.errors import DataError
from kcrc.report.terminal import note, quote_command, say, say_json, shown

if TYPE_CHECKING:
    from kcrc.gallery import Erased, Gallery


@click.command()
@gallery_argument
@click.argument("examples", nargs=-1)
@click.option("-l", "--label", help="All examples of this class.")
@click.option("--erase", is_flag=True, help="For good: out of the file, its history and caches. No undo.")
@click.option("--dry-run", is_flag=True, help="Say what would be taken out, and change nothing.")
def remove(gallery: Path, examples: tuple[str, ...], label: str | None, erase: bool, dry_run: bool) -> int:
    """Remove EXAMPLES from GALLERY: their numbers (kcrc list has them), or images that are in it.

    They stay in the file, out of use, so that kcrc undo can bring them back. With --erase they do not; then examples
    that were removed before can be named too.
    """
    with open_gallery(gallery, write=not dry_run) as opened:
        ids = _example_ids(opened, examples, label, removed=erase)
        if dry_run:
            return _preview_removal(opened, ids, erase=erase)
        if erase:
            return _report_erasure(opened.erase(ids))
        removed = opened.remove(ids)
    say(f"removed {len(removed)}" + _with_ids(removed))
    if removed:
        some = [*removed[:8], *(["…"] if len(removed) > 8 else [])]
        them = "it" if len(removed) == 1 else "them"
        command = quote_command("remove", "--erase", gallery, *some)
        note(f"Still in the file, for kcrc undo; {command} takes {them} out for good.")
    return 0


def _preview_removal(gallery: Gallery, ids: Sequence[int], *, erase: bool) -> int:
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


def _report_erasure(erased: Erased) -> int:
    """What was erased, and what this cannot reach."""
    say(f"erased {len(erased.ids)}" + _with_ids(erased.ids))
    if not erased.ids:
        note("Nothing was left of those examples in the file.")
    if erased.retune:
        note("The settings had been chosen with it; they are chosen again at the next question.")
    if erased.feature is not None:
        note(
            f"How pictures are compared ('{shown(erased.feature)}') may have been learned from it when the gallery was "
            "built, and stays as it is. If that must go too, build the gallery again."
        )
    for path in erased.beside:
        note(f"{shown(path)} may hold it still: it is not changed.")
    note("Photographs, exports, pages and copies of the gallery made before are not changed.")
    return 0


@click.command()
@gallery_argument
@click.argument("examples", nargs=-1, required=True)
@click.option("-l", "--label", required=True, help="Their new class.")
def relabel(gallery: Path, examples: tuple[str, ...], label: str) -> int:
    """Move EXAMPLES of GALLERY (their numbers, or images that are in it) to another class."""
    with open_gallery(gallery, write=True) as opened:
        changed = opened.relabel(_example_ids(opened, examples, None), label)
    say(f"relabelled {len(changed)} as {shown(label)}" + _with_ids(changed))
    return 0


@click.command()
@gallery_argument
@click.argument("old")
@click.argument("new")
def rename(gallery: Path, old: str, new: str) -> int:
    """Give the class OLD the name NEW; if there is a class NEW already, the two become one."""
    with open_gallery(gallery, write=True) as opened:
        changed = opened.rename_class(old, new)
    say(f"renamed {shown(old)} to {shown(new)} ({plural(len(changed), 'example')})")
    return 0


def _example_ids(gallery: Gallery, examples: Sequence[str], label: str | None, *, removed: bool = False) -> list[int]:
    """The ids that arguments stand for: an id, the file of an image that is in, or the name it came under.

    ``removed`` looks also among those taken out before."""
    if label is not None:
        matching = gallery.find(label=label, removed=removed)
        if not matching or examples:
            raise DataError(
                "Give examples or a class, not both."
                if examples
                else f"There is no class '{shown(label)}' in the gallery."
            )
        return list(matching)
    if not examples:
        raise DataError("Say which examples: ids, images that are in the gallery, or --label for a whole class.")
    ids: list[int] = []
    for word in examples:
        if word.isascii() and word.lstrip("#").isdigit():
            ids.append(int(word.lstrip("#")))
            continue
        matching = gallery.find(content=_content(word), removed=removed) if os.path.isfile(word) else ()
        matching = matching or gallery.find(source=word, removed=removed)
        if not matching:
            raise DataError(f"'{shown(word)}' is not in the gallery, neither its content nor its name.")
        ids += matching
    return ids


def _content(path: str) -> bytes:
    from kcrc.images.decoding.reading import fetch

    return hashlib.sha256(fetch(path)).digest()


def _with_ids(ids: Sequence[int]) -> str:
    return f" ({'example' if len(ids) == 1 else 'examples'} {ids_text(ids)})" if len(ids) else ""


# Commands about what was changed: undo, redo, history. One command, one step back.


@click.command()
@gallery_argument
@click.option("--to", metavar="ID", type=click.IntRange(0), help="Undo everything after this line of kcrc history.")
@click.option("--past-erase", is_flag=True, help="If the latest change erased examples, undo the one before it.")
def undo(gallery: Path, to: int | None, past_erase: bool) -> int:
    """Undo the latest change; everything that one command did is one change.

    Undo again to go further back, as far as to how the gallery was built; kcrc redo does it again. What was erased
    cannot be brought back.
    """
    with open_gallery(gallery, write=True) as opened:
        entry = opened.undo(to=to, past_erase=past_erase)
    several = "" if to is None else " and all that came after it"
    say(f"undid: {shown(_in_plain_words(entry.summary))}{several}")
    note(f"{quote_command('redo', gallery)} does it again.")
    return 0


@click.command()
@gallery_argument
def redo(gallery: Path) -> int:
    """Do again what the latest kcrc undo took back, if nothing was changed since."""
    with open_gallery(gallery, write=True) as opened:
        entry = opened.redo()
    say(f"did again: {shown(_in_plain_words(entry.summary))}")
    return 0


@click.command()
@gallery_argument
@click.option("-n", "--number", default=20, show_default=True, type=click.IntRange(1), help="How many, latest first.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on each line.")
@method_option
def history(gallery: Path, number: int, as_json: bool, method: bool) -> int:
    """List the changes of GALLERY, latest first: the number that kcrc undo --to takes, when, and what."""
    from kcrc.gallery.history import format_moment

    with open_gallery(gallery) as opened:
        for entry in opened.history(number):
            if as_json:
                moment = None if entry.at is None else entry.at.isoformat()
                say_json({
                    "id": entry.id, "at": moment, "action": entry.action, "summary": entry.summary,
                    "undone_by": entry.undone_by,
                })  # fmt: skip
                continue
            again = "  (done again)" if entry.action == "undo" else "  (undone)"
            summary = entry.summary if method else _in_plain_words(entry.summary)
            taken_back = "" if entry.undone_by is None else again
            say(f"{entry.id:>5}  {format_moment(entry.at):<19}  {shown(summary)}{taken_back}")
    return 0


def _in_plain_words(summary: str) -> str:
    """A summary of the history without the parameters that were chosen."""
    return re.sub(r"\btuned: .*|\bchanged the parameters\b", "chose the settings", summary)
