"""Datumaro's own format: ``annotations/SUBSET.json`` with the classes and the label of each item, and the pictures in
``images/SUBSET/``. Written as one subset, ``train``, since a gallery has no splits; read with all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kcrc._base.words import some_of
from kcrc.errors import FileError
from kcrc.files.atomic import atomic_write
from kcrc.gallery.exchange.contract import Labelled, Picture, read_json_file
from kcrc.gallery.exchange.picture_files import new_folder, put_picture
from kcrc.images.datasets import SPLITS

MAKES_FOLDER = True
HAS_COLUMNS = False
SUBSET = "train"


def write(path: Path, rows: Sequence[Labelled], picture: Picture) -> int:
    new_folder(path)
    classes = sorted({row.label for row in rows})
    numbers = {label: number for number, label in enumerate(classes)}
    items: list[dict[str, Any]] = []
    for row in rows:
        content = picture(row)
        if content is not None:
            file = put_picture(path / "images" / SUBSET, row, content)
            label = {"id": 0, "type": "label", "attributes": {}, "group": 0, "label_id": numbers[row.label]}
            name = file.rpartition(".")[0]
            items.append({"id": name, "annotations": [label], "attr": {"sha256": row.sha256}, "image": {"path": file}})
    labels = [{"name": label, "parent": "", "attributes": []} for label in classes]
    document = {
        "dm_format_version": "1.0",
        "media_type": 2,  # pictures
        "infos": {},
        "categories": {"label": {"labels": labels, "attributes": []}},
        "items": items,
    }
    with atomic_write(path / "annotations" / f"{SUBSET}.json", parents=True) as out:
        out.write(json.dumps(document, indent=1).encode())
    return len(items)


def read(path: Path, label_column: str | None = None) -> Iterator[Labelled]:
    files = sorted((path / "annotations").glob("*.json"))
    if not files:
        raise FileError(f"'{path}' is not Datumaro's: it has no annotations/SUBSET.json.")
    for file in files:
        document = read_json_file(file)
        try:
            names = [label["name"] for label in document["categories"]["label"]["labels"]]
            items = [(item, item["image"]["path"] if "image" in item else item["media"]["path"], {
                names[entry["label_id"]] for entry in item["annotations"] if "label_id" in entry
            }) for item in document["items"]]  # fmt: skip
            is_sound = all(isinstance(text, str) for text in (*names, *(image for _, image, _ in items)))
        except (KeyError, TypeError, IndexError):
            is_sound = False
        if not is_sound:
            raise FileError(f"'{file}' is damaged: it must have categories with labels, and items with images.")
        for item, image, labels in items:
            if len(labels) > 1:
                raise FileError(
                    f"'{image[:200]}' in '{file}' has several labels ({some_of(sorted(labels))}); an image has one "
                    "class here."
                )
            attributes = item.get("attr")
            digest = attributes.get("sha256") if isinstance(attributes, dict) else None
            yield Labelled(
                next(iter(labels), ""),
                f"images/{file.stem}/{image}",
                digest.strip().lower() if isinstance(digest, str) else "",
                split=SPLITS.get(file.stem.casefold(), ""),
            )
