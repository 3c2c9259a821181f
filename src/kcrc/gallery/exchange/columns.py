"""Which columns of a table hold the image and its class: by their names, else by looking at the first rows."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kcrc._base.words import some_of
from kcrc.errors import FileError
from kcrc.gallery.exchange.contract import IMAGE_NAMES, SPLIT_NAMES, Labelled
from kcrc.images.datasets import EXTENSIONS, SPLITS

LABEL_NAMES = ("label", "labels", "class", "class_name", "category", "target", "choice")
"""What other programs call the column with the class; the first is taken if there are several."""
ROWS_LOOKED_AT = 100
_BESIDE = ("sha256", "id", "added_at", *SPLIT_NAMES)  # never a class unless named
_LOCAL = "/data/local-files/"
_UPLOAD = re.compile(r"/data/upload/(?:\d+/)?(?:[0-9a-f]{8}-)?([^/]+)")


def read_rows(
    rows: Iterable[tuple[str, Mapping[str, Any]]], path: object, label_column: str | None
) -> Iterator[Labelled]:
    """The rows of a table, each given with the words that name its place."""
    rest = iter(rows)
    first = list(islice(rest, ROWS_LOOKED_AT))
    if first:
        columns = Columns.of([row for _, row in first], path, label_column)
        for place, row in chain(first, rest):
            yield columns.labelled_row(row, place)


@dataclass(frozen=True)
class Columns:
    """The columns of a table: of ``images`` the first that a row fills is taken; ``digest`` is that of SHA-256, and
    ``split`` says train, val or test."""

    images: tuple[str, ...]
    label: str
    digest: str | None = None
    split: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.images, self.label, *(name for name in (self.digest, self.split) if name is not None))

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], path: object, label_column: str | None = None) -> Columns:
        """Chosen by the first rows; a ``FileError`` that names the columns if they cannot be told apart."""
        names = list(dict.fromkeys(name for row in rows for name in row))
        if label_column is not None and label_column not in names:
            raise FileError(f"'{path}' has no column '{label_column}'. {_list_columns(names)}")
        folded = {name.casefold(): name for name in reversed(names) if name != label_column}
        filled = {name: [row[name] for row in rows if row.get(name) not in (None, "")] for name in names}
        look = {name: bool(cells) and all(map(is_image, cells)) for name, cells in filled.items()}
        images = [folded[name] for name in IMAGE_NAMES if name in folded]
        images.sort(key=lambda name: not look[name])  # 'source' may be a program, with the file in 'filename'
        images = images or [name for name in names if look[name] and name != label_column]
        digest = folded.get("sha256")
        if not images and digest is None:
            raise FileError(
                f"'{path}' has no column of images: call it {', '.join(IMAGE_NAMES[:4])} or the like, or hold "
                f"names of image files. {_list_columns(names)}"
            )
        others = [name for name in names if name not in images and name.casefold() not in _BESIDE and not look[name]]
        label = label_column or _label_column(others, names, path)
        split = next((folded[name] for name in SPLIT_NAMES if name in folded and folded[name] != label), None)
        return cls(tuple(images), label, digest, split)

    def labelled_row(self, row: Mapping[str, Any], place: str) -> Labelled:
        """A row as what it says of an image."""
        if self.label not in row:
            raise FileError(f"{place} has no '{self.label}'. {_list_columns(list(row))}")
        image, content = "", None
        for column in self.images:
            cell = row.get(column)
            if isinstance(cell, Mapping):  # Hugging Face's image: its bytes, its path, or both
                name, data = cell.get("path"), cell.get("bytes")
                image, content = name if isinstance(name, str) else "", data if isinstance(data, bytes) else None
            elif cell is not None:
                image = file_of(str(cell))
            if image or content:
                break
        digest = str(row.get(self.digest) or "").strip().lower() if self.digest is not None else ""
        if not (image or content or digest):
            raise FileError(f"{place} has no image in {_quote(self.images) or 'it'}. {_list_columns(list(row))}")
        split = SPLITS.get(str(row.get(self.split)).strip().casefold(), "") if self.split is not None else ""
        return Labelled(label_text(row[self.label], place), image, digest, content=content, split=split)


def _label_column(others: Sequence[str], names: Sequence[str], path: object) -> str:
    folded = {name.casefold(): name for name in reversed(others)}
    known = [folded[name] for name in LABEL_NAMES if name in folded]
    if known and (len(known) == 1 or known[0].casefold() == LABEL_NAMES[0]):
        return known[0]
    if not known and len(others) == 1:
        return others[0]
    what = f"several columns that may be the class: {_quote(known)}" if known else "no column that must be the class"
    raise FileError(f"'{path}' has {what}. Name it with --label-column. {_list_columns(names)}")


def is_image(cell: Any) -> bool:
    """Whether a cell is an image, or the name of an image file."""
    if isinstance(cell, Mapping):
        return "path" in cell and "bytes" in cell
    return isinstance(cell, str) and os.path.splitext(cell)[1].lower() in EXTENSIONS


def label_text(value: Any, place: str) -> str:
    """A class as text, "" if there is none; a whole number is written without a fraction, whatever its type."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer():  # pandas has them where a number is missing
        return str(int(value))
    if not isinstance(value, str | int | float):
        raise FileError(f"The class of {place[:1].lower() + place[1:]} must be text; got {type(value).__name__}.")
    return str(value)


def file_of(image: str) -> str:
    """The name of the image's file, also if it is an address of Label Studio's that has one."""
    try:
        if image.startswith(_LOCAL):
            return parse_qs(urlsplit(image).query).get("d", [image])[0]
    except ValueError:
        return image
    upload = _UPLOAD.fullmatch(image)
    return image if upload is None else upload[1]


def _list_columns(names: Sequence[str]) -> str:
    return f"Its columns are: {some_of([str(name)[:60] for name in names], 20)}."


def _quote(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
