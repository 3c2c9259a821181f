"""Commands about what was changed: undo, redo, history. One command, one step back."""

from __future__ import annotations

from pathlib import Path

import click

from kcrc.cli.arguments import gallery_argument, open_gallery
from kcrc.report.terminal import note, say, shown, typed


@click.command(short_help="Undo the latest change.")
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
    say(f"undid: {shown(entry.summary)}{several}")
    note(f"{typed('redo', gallery)} does it again.")
    return 0


@click.command(short_help="Do again what was undone.")
@gallery_argument
def redo(gallery: Path) -> int:
    """Do again what the latest kcrc undo took back, if nothing was changed since."""
    with open_gallery(gallery, write=True) as opened:
        entry = opened.redo()
    say(f"did again: {shown(entry.summary)}")
    return 0


@click.command(short_help="List the changes.")
@gallery_argument
@click.option("-n", "--number", default=20, show_default=True, type=click.IntRange(1), help="How many, latest first.")
def history(gallery: Path, number: int) -> int:
    """List the changes of GALLERY, latest first: the number that kcrc undo --to takes, when, and what."""
    from kcrc.gallery.moments import in_words

    with open_gallery(gallery) as opened:
        for entry in opened.history(number):
            taken_back = "" if entry.undone_by is None else "  (undone)"
            say(f"{entry.id:>5}  {in_words(entry.at):<19}  {shown(entry.summary)}{taken_back}")
    return 0
