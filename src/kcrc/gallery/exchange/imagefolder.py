"""Hugging Face's imagefolder: pictures below ``train/``, and ``metadata.csv`` beside them with the class of each.

Read: also ``metadata.jsonl`` and ``metadata.parquet``, in the folder itself or in train, validation and test."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kcrc.errors import FileError
from kcrc.files.atomic import atomic_write
from kcrc.files.plain_files import escape_formula
from kcrc.gallery.exchange import json_lines, parquet, plain_csv
from kcrc.gallery.exchange.contract import Labelled, Picture
from kcrc.gallery.exchange.picture_files import new_folder, put_picture
from kcrc.images.datasets import SPLITS

METADATA = {"metadata.csv": plain_csv, "metadata.jsonl": json_lines, "metadata.parquet": parquet}
MAKES_FOLDER = True
HAS_COLUMNS = False


def write(path: Path, rows: Sequence[Labelled], picture: Picture) -> int:
    new_folder(path)
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\r\n")
    table.writerow(["file_name", "label", "sha256"])
    written = 0
    for row in rows:
        content = picture(row)
        if content is not None:
            file = put_picture(path / "train", row, content)
            table.writerow([escape_formula(file), escape_formula(row.label), row.sha256])
            written += 1
    with atomic_write(path / "train" / "metadata.csv") as out:
        out.write(text.getvalue().encode())
    return written


def read(path: Path, label_column: str | None = None) -> Iterator[Labelled]:
    tables = metadata_files(path)
    if not tables:
        raise FileError(f"'{path}' has no metadata.csv, as Hugging Face's imagefolder has it.")
    for table in tables:
        folder = table.parent.relative_to(path)
        split = SPLITS.get(folder.name.casefold(), "")
        for row in METADATA[table.name].read(table, label_column):
            yield replace(row, image=(folder / row.image).as_posix() if row.image else "", split=row.split or split)


def metadata_files(path: Path) -> list[Path]:
    """The tables of a folder, and of the folders of its splits."""
    folders = [path, *(child for child in sorted(path.iterdir()) if child.name.casefold() in SPLITS)]
    return [folder / name for folder in folders for name in METADATA if (folder / name).is_file()]
