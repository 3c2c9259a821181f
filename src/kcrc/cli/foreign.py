"""What was given in the place of a gallery and is none: told apart from a gallery that is damaged."""

from __future__ import annotations

import os
from pathlib import Path

import click

from kcrc.errors import FileError
from kcrc.files.plain_file import read_start
from kcrc.report.terminal import shown, typed

_SQLITE = b"SQLite format 3\0"
_HEAD = 64  # bytes that tell one kind of file from another


def check_is_gallery(path: Path | str) -> None:
    """An error where a folder, a picture, an export or an empty file was given; all else is for the store to judge."""
    if isinstance(path, str):  # an address, which no file has
        return
    what = _what_it_is(path)
    if what is not None:
        raise FileError(f"'{shown(path)}' is {what}, not a kcrc gallery.{_swapped(path)}")


def _what_it_is(path: Path) -> str | None:
    from kcrc.images.decoding import photos
    from kcrc.images.decoding.containers import begins_like

    if path.is_dir():
        return "a folder"
    head = read_start(path, _HEAD)
    if head is None or head.startswith(_SQLITE):
        return None
    if not head:
        return "an empty file"
    picture = photos.kind_of(head, path.name) or begins_like(head)
    if picture is not None:
        return f"a picture ({picture})"
    if head.startswith(b"PK") and path.suffix.lower() == ".npz":
        return "an export ('kcrc import NEW.kcrc FILE' makes a gallery of one)"
    return None if path.suffix.lower() == ".kcrc" else "some other file"


def _swapped(path: Path) -> str:
    """How the command was meant, where a gallery stands in another place of it."""
    context = click.get_current_context(silent=True)
    if context is None:
        return ""
    for value in context.params.values():
        for given in value if isinstance(value, tuple) else (value,):
            name = os.fspath(given) if isinstance(given, str | os.PathLike) else None
            if name and name != os.fspath(path) and (read_start(name, len(_SQLITE)) or b"") == _SQLITE:
                return f" The gallery comes first: {typed(*context.command_path.split()[1:], name, path)}."
    return ""
