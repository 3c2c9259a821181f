"""COCO's JSON: images, annotations and categories; the class of an image is the one category of its annotations.

Written without boxes: an annotation names an image and its category. Images whose annotations name several categories
are refused, since an image has one class here; images without an annotation have no label."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kcrc._base.words import some_of
from kcrc.errors import FileError
from kcrc.files.atomic import atomic_write
from kcrc.gallery.exchange.columns import file_of
from kcrc.gallery.exchange.contract import Labelled, Picture
from kcrc.gallery.exchange.json_file import json_of

PARTS = ("images", "annotations", "categories")

MAKES_FOLDER = False
HAS_COLUMNS = False


def write(path: Path, rows: Sequence[Labelled], picture: Picture) -> int:
    names = sorted({row.label for row in rows})
    numbers = {label: number for number, label in enumerate(names, 1)}
    document = {
        "images": [{"id": number, "file_name": row.image, "sha256": row.sha256} for number, row in enumerate(rows, 1)],
        "annotations": [
            {"id": number, "image_id": number, "category_id": numbers[row.label]} for number, row in enumerate(rows, 1)
        ],
        "categories": [{"id": number, "name": label} for label, number in numbers.items()],
    }
    with atomic_write(path) as file:
        file.write(json.dumps(document, indent=1).encode())
    return len(rows)


def read(path: Path, label_column: str | None = None) -> Iterator[Labelled]:
    yield from read_document(json_of(path), path)


def read_document(document: Any, path: Path) -> Iterator[Labelled]:
    """The images of a JSON document and their classes."""
    if not is_coco(document):
        raise FileError(f"'{path}' is not COCO: it must have lists of {', '.join(PARTS)}.")
    try:
        names = {entry["id"]: entry["name"] for entry in document["categories"]}
        labels: dict[Any, set[str]] = {entry["id"]: set() for entry in document["images"]}
        for entry in document["annotations"]:
            labels[entry["image_id"]].add(names[entry["category_id"]])
        files = {entry["id"]: (entry["file_name"], entry.get("sha256", "")) for entry in document["images"]}
        is_text = all(
            isinstance(text, str) for text in (*names.values(), *(text for pair in files.values() for text in pair))
        )
    except (KeyError, TypeError):
        is_text = False
    if not is_text:
        raise FileError(
            f"'{path}' is damaged: an image must have id and file_name, a category id and name, and an annotation the "
            "image_id and category_id of one of them."
        )
    several = [image for image, many in labels.items() if len(many) > 1]
    if several:
        raise FileError(
            f"{len(several)} of {len(labels)} images in '{path}' have several categories, the first "
            f"'{files[several[0]][0][:200]}' ({some_of(sorted(labels[several[0]]))}); an image has one class here. Cut "
            "the boxes out and import the pieces, or leave the annotations of one category."
        )
    for image, (name, digest) in files.items():
        yield Labelled(next(iter(labels[image]), ""), file_of(name), digest.strip().lower())


def is_coco(document: Any) -> bool:
    """Whether a JSON document has COCO's three lists."""
    return isinstance(document, dict) and all(isinstance(document.get(part), list) for part in PARTS)
