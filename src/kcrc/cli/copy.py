"""``kcrc copy``: a gallery from a file to a server, back, or to another of its kind."""

from __future__ import annotations

from pathlib import Path

import click

from kcrc._base.words import counted
from kcrc.cli.arguments import GalleryAddress, gallery_argument, open_gallery
from kcrc.cli.endings import Stopped
from kcrc.errors import FileError
from kcrc.report.terminal import say, shown


@click.command(short_help="Copy a gallery from a file to a server, or back.")
@gallery_argument
@click.argument("goal", type=GalleryAddress(path_type=Path))
def copy(gallery: Path | str, goal: Path | str) -> int:
    """Copy GALLERY to GOAL: a file, or the address of a server (postgresql://USER@HOST/DATABASE?gallery=NAME).

    All of it goes along: examples with their ids, pictures, history, what was tuned. The copy is compared with the
    original before it is there under its name; where something goes wrong there is none. Nothing is overwritten.
    """
    from kcrc._base.progress import share_bar
    from kcrc.gallery import stores
    from kcrc.gallery.copying import copied

    if stores.kind_of(goal).exists(goal):
        raise FileError(f"'{shown(goal)}' exists already. Give another name; nothing is overwritten.")
    try:
        with open_gallery(gallery) as opened, share_bar("copying") as report:
            examples = copied(opened.store, goal, report=report)
    except KeyboardInterrupt:
        raise Stopped(f"nothing was made; '{shown(goal)}' is not there.") from None
    say(f"{shown(goal)}: {counted(examples, 'example')}, compared with ", end="")
    say(shown(gallery))  # by itself: of two addresses in a text, the second may be the rest of a password
    return 0
