"""YOLO's folders: classes as folders below train, val and test; or boxes, in a text file beside each picture.

Written as Ultralytics reads a data set for classification: ``train/CLASS/`` with the pictures. Read: that, and data
sets of boxes (``images/train/1.jpg`` with ``labels/train/1.txt``, or ``train/images`` with ``train/labels``), whose
pictures have a class if all their boxes have the same one. ``data.yaml`` or ``classes.txt`` names the classes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from kcrc.errors import FileError
from kcrc.files.plain_files import read_plain
from kcrc.gallery.exchange import class_folders
from kcrc.gallery.exchange.contract import BYTES, Labelled, LabelledBox, Picture, one_class_each
from kcrc.gallery.exchange.picture_files import new_folder
from kcrc.images.datasets import SPLITS, image_files

MAKES_FOLDER = True
HAS_COLUMNS = False
_TEXT = 1_000_000  # bytes of the text beside a picture, and of the names


def write(path: Path, rows: Sequence[Labelled], picture: Picture) -> int:
    new_folder(path)
    return class_folders.write(path / "train", rows, picture)


def read(path: Path, label_column: str | None = None) -> Iterator[Labelled]:
    root = yolo_root(path)
    if root is None:
        yield from class_folders.read(path)
    else:
        yield from one_class_each(read_yolo(root), root)


def yolo_root(path: Path) -> Path | None:
    """The folder itself if it is a data set of boxes; None for anything else."""
    if not path.is_dir():
        return None
    pairs = [path, *(child for child in path.iterdir() if child.is_dir() and child.name.casefold() in SPLITS)]
    is_yolo = any((folder / "images").is_dir() and (folder / "labels").is_dir() for folder in pairs)
    return path if is_yolo and any(path.rglob("labels/**/*.txt")) else None


def read_yolo(root: Path) -> Iterator[LabelledBox]:
    """The boxes of all pictures below ``root/**/images``; a picture without boxes has one without a class."""
    names = _class_names(root)
    for image in image_files(root):
        parts = image.relative_to(root).parts
        if "images" not in parts[:-1]:
            continue
        at = len(parts) - 2 - parts[:-1][::-1].index("images")
        text = root.joinpath(*parts[:at], "labels", *parts[at + 1 : -1], f"{image.stem}.txt")
        split = next((SPLITS[part.casefold()] for part in parts[:-1] if part.casefold() in SPLITS), "")
        lines = read_plain(text, limit=_TEXT, what="file of boxes").splitlines() if text.is_file() else []
        boxes = [_box(line, names, image, split, text) for line in lines if line.strip()]
        yield from boxes or [LabelledBox(image, "", split)]


def _box(line: bytes, names: dict[int, str], image: Path, split: str, text: Path) -> LabelledBox:
    try:
        number, *corners = (float(word) for word in line.split())
        if not (number.is_integer() and len(corners) >= 4 and all(abs(value) <= 2 for value in corners)):
            raise ValueError
    except (ValueError, OverflowError):
        raise FileError(
            f"'{text}' is damaged: a line must be a class number and x y width height; got {line[:80]!r}."
        ) from None
    if len(corners) in (4, 5):  # the fifth is a confidence
        x, y, width, height = corners[:4]
        area = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
    else:  # an outline: x y x y …
        area = (min(corners[::2]), min(corners[1::2]), max(corners[::2]), max(corners[1::2]))
    return LabelledBox(image, names.get(int(number), str(int(number))), split, area, is_relative=True)


def _class_names(root: Path) -> dict[int, str]:
    """The names in data.yaml (a list or a mapping, as YOLO's tools write it), or the lines of classes.txt."""
    for file in sorted([*root.glob("*.yaml"), *root.glob("*.yml")]):
        names = _names_in_yaml(read_plain(file, limit=_TEXT, what="file of classes").decode("utf-8", "replace"))
        if names:
            return names
    for name in ("classes.txt", "obj.names", "labels/classes.txt", "labels.txt"):
        if (root / name).is_file():
            text = read_plain(root / name, limit=min(BYTES, _TEXT), what="file of classes").decode("utf-8", "replace")
            return dict(enumerate(line.strip() for line in text.splitlines() if line.strip()))
    return {}


def _names_in_yaml(text: str) -> dict[int, str]:
    """The value of ``names:``, of the few forms of YAML that are in use for it."""
    match = re.search(r"^names:[ \t]*(.*(?:\n(?:[ \t-].*)?)*)", text, re.MULTILINE)
    if match is None:
        return {}
    value = re.sub(r"[ \t]#.*", "", match[1])
    if flow := re.match(r"\s*\[(.*?)\]", value, re.DOTALL):
        return dict(enumerate(filter(None, map(_scalar, re.findall(r"'[^']*'|\"[^\"]*\"|[^,\s][^,]*", flow[1])))))
    if flow := re.match(r"\s*\{(.*?)\}", value, re.DOTALL):
        value = "\n".join(re.findall(r"\d+\s*:\s*(?:'[^']*'|\"[^\"]*\"|[^,]*)", flow[1]))
    pairs = re.findall(r"^\s*(\d+)\s*:\s*(.+?)\s*$", value, re.MULTILINE)
    if pairs:
        return {int(number): _scalar(name) for number, name in pairs}
    return dict(enumerate(_scalar(name) for name in re.findall(r"^\s*-\s+(.+?)\s*$", value, re.MULTILINE)))


def _scalar(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
