"""FiftyOne's layout for classification (FiftyOneImageClassificationDataset): ``data/`` with the pictures, and
``labels.json`` with ``classes`` and, by the name of each picture without its suffix, the number of its class."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kcrc.errors import FileError
from kcrc.files.atomic import atomic_write
from kcrc.gallery.exchange.coco import is_coco, read_document
from kcrc.gallery.exchange.contract import Labelled, Picture, read_json_file
from kcrc.gallery.exchange.picture_files import new_folder, put_picture

MAKES_FOLDER = True
HAS_COLUMNS = False


def write(path: Path, rows: Sequence[Labelled], picture: Picture) -> int:
    new_folder(path)
    classes = sorted({row.label for row in rows})
    numbers = {label: number for number, label in enumerate(classes)}
    labels = {}
    for row in rows:
        content = picture(row)
        if content is not None:
            labels[put_picture(path / "data", row, content).rpartition(".")[0]] = numbers[row.label]
    with atomic_write(path / "labels.json") as file:
        file.write(json.dumps({"classes": classes, "labels": labels}, indent=1).encode())
    return len(labels)


def read(path: Path, label_column: str | None = None) -> Iterator[Labelled]:
    file = path / "labels.json" if path.is_dir() else path
    document = read_json_file(file)
    if is_coco(document):  # its COCODetectionDataset lies in a folder in the same way
        yield from (replace(row, image=f"data/{row.image}") for row in read_document(document, file))
        return
    labels = document.get("labels") if isinstance(document, dict) else None
    if not isinstance(labels, dict):
        raise FileError(f"'{file}' is not FiftyOne's labels.json: it has no labels.")
    classes = document.get("classes")
    names = _by_stem(file.parent / "data")
    for stem, label in labels.items():
        yield Labelled(_label(label, classes, f"'{stem[:100]}' of '{file}'"), f"data/{names.get(stem, stem)}")


def _label(value: Any, classes: Any, what: str) -> str:
    if isinstance(value, dict):
        value = value.get("label")
    if value is None or isinstance(value, str):
        return value or ""
    known = classes if isinstance(classes, list) else []
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(known):
        return str(known[value])
    raise FileError(f"The label of {what} is neither text nor the number of one of its classes.")


def _by_stem(folder: Path) -> dict[str, str]:
    """The names of the pictures below a folder, by the name without its suffix."""
    if not folder.is_dir():
        return {}
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path.with_suffix("").as_posix(): path.as_posix() for path in files}
