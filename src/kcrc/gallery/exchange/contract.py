"""What a format of labelled images does, and the limits on what is read."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kcrc._base.words import file_name, some_of
from kcrc.errors import FileError
from kcrc.files.plain_files import read_json, read_plain

BYTES = 256_000_000  # of a file of labels
ROWS = 1_000_000
IMAGE_NAMES = (
    *("image", "file", "filename", "path", "source", "file_name", "filepath", "filenames", "image_path", "img_path"),
    *("images", "img"),
)
"""What other programs call the column with the image; of several the first that holds names of image files."""
SPLIT_NAMES = ("split", "subset", "partition")
"""What they call the column with the split, whose values are names such as train and test."""


@dataclass(frozen=True)
class Labelled:
    """An image and its label: ``image`` is its name as the file has it, ``sha256`` that of the image that was labelled
    ("" where it is not known; the first 16 digits will do), ``content`` the file itself if it came with the label. A
    label of "" is none, and so is a split of ""; else that is train, val or test."""

    label: str
    image: str
    sha256: str = ""
    id: int | None = None
    added_at: str = ""
    content: bytes | None = None
    split: str = ""

    @property
    def picture_name(self) -> str:
        """A name for a picture of it, without a suffix, that any system can have, and by which it is known again."""
        stem = file_name(self.image).rpartition(".")[0] or file_name(self.image)
        safe = "".join(c if c.isalnum() or c in "._- " else "_" for c in stem)[:60].strip(". -")
        return f"{safe or 'example'}-{self.sha256[:16]}"


@dataclass(frozen=True)
class LabelledBox:
    """A part of a picture that has a class: ``area`` is left, top, right and bottom in pixels, or in shares of the
    picture if ``is_relative``; None is all of it. A label of "" says that the picture has no box."""

    path: Path
    label: str
    split: str = ""
    area: tuple[float, float, float, float] | None = None
    is_relative: bool = False

    def inside(self, width: int, height: int) -> tuple[int, int, int, int]:
        """The area in whole pixels of a picture of this size."""
        left, top, right, bottom = self.area or (0.0, 0.0, float(width), float(height))
        across, down = (width, height) if self.is_relative and self.area else (1, 1)
        columns = (round(min(max(x * across, 0), width)) for x in (left, right))
        rows = (round(min(max(y * down, 0), height)) for y in (top, bottom))
        (x0, x1), (y0, y1) = columns, rows
        return x0, y0, x1, y1


def one_class_each(boxes: Iterable[LabelledBox], root: Path) -> Iterator[Labelled]:
    """The pictures of boxes with the one class that theirs have; a ``FileError`` if some have several."""
    pictures: dict[Path, list[LabelledBox]] = {}
    for box in boxes:
        pictures.setdefault(box.path, []).append(box)
    labels = {path: {box.label for box in own if box.label} for path, own in pictures.items()}
    several = [path for path, classes in labels.items() if len(classes) > 1]
    if several:
        raise several_classes(root, len(several), len(labels), str(several[0]), labels[several[0]])
    for path, own in pictures.items():
        yield Labelled(next(iter(labels[path]), ""), path.relative_to(root).as_posix(), split=own[0].split)


def several_classes(path: Path, several: int, images: int, first: str, classes: Iterable[str]) -> FileError:
    """The error for pictures that show several classes."""
    return FileError(
        f"{several} of {images} images in '{path}' have several categories, the first '{first[:200]}' "
        f"({some_of(sorted(classes))}); an image has one class here. 'kcrc build --crops' makes a gallery of the "
        "boxes; or leave the annotations of one category."
    )


Picture = Callable[[Labelled], bytes | None]


class ExchangeFormat(Protocol):
    """A way to write labelled images to a file, or with their pictures into a folder, and to read them back: a module
    with these functions is one."""

    MAKES_FOLDER: bool
    HAS_COLUMNS: bool
    """Whether it is a table, in which ``read`` may be given the column of the class."""

    def write(self, path: Path, rows: Sequence[Labelled], picture: Picture) -> int:
        """Write to a file, or into a new folder with the pictures that there are; how many rows were written."""

    def read(self, path: Path, label_column: str | None = None) -> Iterable[Labelled]:
        """The rows of a file or folder of anyone; what cannot be read is a ``FileError``. Images are not opened."""


def limit_rows(rows: Iterable[Labelled], path: object) -> Iterator[Labelled]:
    """The same rows, no more than may be read."""
    for number, row in enumerate(rows):
        if number == ROWS:
            raise FileError(f"'{path}' has more than {ROWS} rows; give it in parts.")
        yield row


def to_mapping(row: Labelled) -> dict[str, Any]:
    """A row of a table, by column."""
    return {"image": row.image, "label": row.label, "id": row.id, "sha256": row.sha256, "added_at": row.added_at}


def read_json_file(file: Path) -> Any:
    """Return the JSON document in a file; raise a ``FileError`` if it is not JSON."""
    content = read_plain(file, limit=BYTES, what="file of labels")
    try:
        return read_json(content.removeprefix(BOM_UTF8))
    except ValueError as problem:
        raise FileError(f"'{file}' is not JSON: {str(problem)[:200]}.") from None
