"""A folder of class folders, as ``kcrc build`` takes it; or train, val and test with class folders in each.

Classes whose names are no folders' are named in a file beside them, ``kcrc-classes.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from kcrc.errors import FileError
from kcrc.files.atomic import atomic_write
from kcrc.files.plain_files import read_json, read_plain
from kcrc.gallery.exchange.contract import BYTES, Labelled, Picture
from kcrc.gallery.exchange.picture_files import new_folder, put_picture
from kcrc.gallery.sorting.sorter import folder_names
from kcrc.images.datasets import image_files, split_folders

CLASSES = "kcrc-classes.json"

MAKES_FOLDER = True
HAS_COLUMNS = False


def write(path: Path, rows: Sequence[Labelled], picture: Picture) -> int:
    new_folder(path)
    names = folder_names((row.label for row in rows), taken=[CLASSES])
    written = 0
    for row in rows:
        content = picture(row)
        if content is not None:
            put_picture(path / names[row.label], row, content)
            written += 1
    changed = {name: label for label, name in names.items() if name != label}
    if changed:
        with atomic_write(path / CLASSES) as file:
            file.write(json.dumps(changed, indent=1).encode())
    return written


def read(path: Path, label_column: str | None = None) -> Iterator[Labelled]:
    if not path.is_dir():
        raise FileError(f"'{path}' is not a folder with a folder of images for each class.")
    for split, part in (split_folders(path) or {"": path}).items():
        labels = _labels(part / CLASSES)
        for folder in sorted(child for child in part.iterdir() if child.is_dir() and not child.name.startswith(".")):
            for image in image_files(folder):
                label = labels.get(folder.name, folder.name)
                yield Labelled(label, image.relative_to(path).as_posix(), split=split)


def _labels(path: Path) -> dict[str, str]:
    """Classes by the names of their folders, where those are others."""
    if not path.is_file():
        return {}
    try:
        names = read_json(read_plain(path, limit=BYTES, what="file of classes"))
    except ValueError:
        names = None
    if not isinstance(names, dict) or not all(isinstance(label, str) for label in names.values()):
        raise FileError(f"'{path}' is not what kcrc export writes: class names by folder.")
    return names
