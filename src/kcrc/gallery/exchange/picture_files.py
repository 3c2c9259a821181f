"""Pictures below a folder: found by the names that files of labels have, written under names of their own."""

from __future__ import annotations

import os
from pathlib import Path, PureWindowsPath

from kcrc.errors import FileError
from kcrc.files.atomic import atomic_write
from kcrc.files.safe_paths import safe_path
from kcrc.gallery.exchange.contract import Labelled

_KINDS = ((b"\xff\xd8\xff", ".jpg"), (b"\x89PNG", ".png"), (b"RIFF", ".webp"), (b"GIF8", ".gif"), (b"BM", ".bmp"))


def find_file(root: Path, image: str) -> Path:
    """Return the file of an image below a folder."""
    if "://" in image or image.startswith("data:"):
        raise FileError(f"'{image[:200]}' is an address, and nothing is fetched.")
    path = _from_windows(root, image) if "\\" in image else None
    path = safe_path(root, image) if path is None else path
    if not os.path.isfile(path):  # False too where no file can have such a name
        raise FileError(f"'{image[:200]}' is not a file below '{root}'; --images names another folder.")
    return path


def _from_windows(root: Path, image: str) -> Path | None:
    r"""The file of a name that Windows wrote, if there is one: a\1.jpg, or C:\photos\a\1.jpg below a folder photos."""
    parts, folder = PureWindowsPath(image).parts, Path(os.path.abspath(root)).name.casefold()
    starts = [place + 1 for place, part in enumerate(parts) if part.casefold() == folder]
    if not PureWindowsPath(image).anchor:
        starts.insert(0, 0)
    candidates = (safe_path(root, "/".join(parts[start:])) for start in starts if start < len(parts))
    return next((path for path in candidates if os.path.isfile(path)), None)


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
    """Write a picture and return the name of its file; twins get a number."""
    suffix = next((kind for head, kind in _KINDS if content.startswith(head)), ".tif")
    name, number = row.picture_name, 1
    while any((folder / f"{name}{kind}").exists() for kind in {*dict(_KINDS).values(), ".tif"}):
        number += 1
        name = f"{row.picture_name}.{number}"
    with atomic_write(folder / f"{name}{suffix}", parents=True, overwrite=False) as file:
        file.write(content)
    return f"{name}{suffix}"
