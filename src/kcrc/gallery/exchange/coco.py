"""COCO's JSON: images, annotations and categories; the class of an image is the one category of its annotations.

Written without boxes: an annotation names an image and its category. Images whose annotations name several categories
are refused, since an image has one class here; images without an annotation have no label."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kcrc.errors import FileError
from kcrc.files.atomic import atomic_write
from kcrc.files.safe_paths import safe_path
from kcrc.gallery.exchange.columns import file_of
from kcrc.gallery.exchange.contract import Labelled, LabelledBox, Picture, read_json_file, several_classes

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
    yield from read_document(read_json_file(path), path)


def read_boxes(path: Path, folder: Path) -> Iterator[LabelledBox]:
    """The annotations of a file whose images lie beside it, below ``folder``, or in a folder named after the file;
    an image without one has a box without a class, and images that are not there are left out."""
    document = read_json_file(path)
    names, files = _parse(document, path)
    split = path.stem.removeprefix("instances_")
    roots = [path.parent, folder, folder / "images", folder / split, folder / "images" / split, folder / "data"]
    places: dict[Any, Path] = {}
    for image, (name, _) in files.items():
        candidates = (safe_path(root, name) for root in roots if root.is_dir() and ".." not in Path(name).parts)
        if (place := next(filter(Path.is_file, candidates), None)) is not None:
            places[image] = place
    if files and not places:
        raise FileError(f"None of the {len(files)} images that '{path}' names is below '{folder}'.")
    without = dict(places)
    for entry in document["annotations"]:
        image, corner = entry["image_id"], entry.get("bbox")
        without.pop(image, None)
        if image in places:
            is_box = isinstance(corner, list) and len(corner) == 4 and all(isinstance(v, int | float) for v in corner)
            x, y, width, height = corner if is_box and isinstance(corner, list) else (0, 0, 0, 0)
            area = (float(x), float(y), float(x + width), float(y + height)) if is_box else None
            yield LabelledBox(places[image], names[entry["category_id"]], area=area)
    yield from (LabelledBox(place, "") for place in without.values())


def read_document(document: Any, path: Path) -> Iterator[Labelled]:
    """The images of a JSON document and their classes."""
    names, files = _parse(document, path)
    labels: dict[Any, set[str]] = {image: set() for image in files}
    for entry in document["annotations"]:
        labels[entry["image_id"]].add(names[entry["category_id"]])
    several = [image for image, many in labels.items() if len(many) > 1]
    if several:
        raise several_classes(path, len(several), len(labels), files[several[0]][0], labels[several[0]])
    for image, (name, digest) in files.items():
        yield Labelled(next(iter(labels[image]), ""), file_of(name), digest.strip().lower())


def _parse(document: Any, path: Path) -> tuple[dict[Any, str], dict[Any, tuple[str, str]]]:
    """The names of the categories and, of each image, its name and SHA-256, by id; every annotation has known ids."""
    if not is_coco(document):
        raise FileError(f"'{path}' is not COCO: it must have lists of {', '.join(PARTS)}.")
    try:
        names = {entry["id"]: entry["name"] for entry in document["categories"]}
        files = {entry["id"]: (entry["file_name"], entry.get("sha256", "")) for entry in document["images"]}
        texts = (*names.values(), *(text for pair in files.values() for text in pair))
        known = all(entry["image_id"] in files and entry["category_id"] in names for entry in document["annotations"])
        is_sound = known and all(isinstance(text, str) for text in texts)
    except (KeyError, TypeError):
        is_sound = False
    if not is_sound:
        raise FileError(
            f"'{path}' is damaged: an image must have id and file_name, a category id and name, and an annotation the "
            "image_id and category_id of one of them."
        )
    return names, files


def is_coco_file(path: Path) -> bool:
    """Whether a file holds such a document; False for JSON of another kind."""
    try:
        return is_coco(read_json_file(path))
    except FileError:
        return False


def is_coco(document: Any) -> bool:
    """Whether a JSON document has COCO's three lists."""
    return isinstance(document, dict) and all(isinstance(document.get(part), list) for part in PARTS)
