"""What a format of labelled images does, and the limits on what is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kcrc._base.words import file_name
from kcrc.errors import FileError

BYTES = 256_000_000  # of a file of labels
ROWS = 1_000_000
IMAGE_NAMES = (
    *("image", "file", "filename", "path", "source", "file_name", "filepath", "filenames", "image_path", "img_path"),
    *("images", "img"),
)
"""What other programs call the column with the image; of several the first that holds names of image files."""


@dataclass(frozen=True)
class Labelled:
    """An image and its label: ``image`` is its name as the file has it, ``sha256`` that of the image that was labelled
    ("" where it is not known; the first 16 digits will do), ``content`` the file itself if it came with the label. A
    label of "" is none."""

    label: str
    image: str
    sha256: str = ""
    id: int | None = None
    added_at: str = ""
    content: bytes | None = None

    @property
    def picture_name(self) -> str:
        """A name for a picture of it, without a suffix, that any system can have, and by which it is known again."""
        stem = file_name(self.image).rpartition(".")[0] or file_name(self.image)
        safe = "".join(c if c.isalnum() or c in "._- " else "_" for c in stem)[:60].strip(". -")
        return f"{safe or 'example'}-{self.sha256[:16]}"


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
