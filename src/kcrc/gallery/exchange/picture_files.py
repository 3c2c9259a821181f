"""Pictures written into a new folder, each under a name of its own."""

from __future__ import annotations

from pathlib import Path

from kcrc.errors import FileError
from kcrc.files.aside import aside
from kcrc.gallery.exchange.contract import Labelled

_KINDS = ((b"\xff\xd8\xff", ".jpg"), (b"\x89PNG", ".png"), (b"RIFF", ".webp"), (b"GIF8", ".gif"), (b"BM", ".bmp"))


def new_folder(path: Path) -> None:
    """Make a folder; one that holds something is not written into."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        empty = next(path.iterdir(), None) is None
    except OSError as problem:
        raise FileError(f"'{path}' cannot be made: {problem.strerror or problem}.") from None
    if not empty:
        raise FileError(f"'{path}' is a folder with something in it; give a new one.")


def put_picture(folder: Path, row: Labelled, content: bytes) -> str:
    """Write a picture; its name without the suffix. Twins get a number."""
    suffix = next((kind for head, kind in _KINDS if content.startswith(head)), ".tif")
    name, number = row.picture_name, 1
    while any((folder / f"{name}{kind}").exists() for kind in {*dict(_KINDS).values(), ".tif"}):
        number += 1
        name = f"{row.picture_name}.{number}"
    with aside(folder / f"{name}{suffix}", parents=True, overwrite=False) as file:
        file.write(content)
    return name
