"""The labels of a gallery for another program."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kcrc._base.words import file_name
from kcrc.errors import FileError, KCRCError
from kcrc.files.atomic import atomic_write
from kcrc.gallery.exchange import format_of
from kcrc.gallery.exchange.contract import Labelled
from kcrc.gallery.listing import facts_of, list_examples
from kcrc.images.decoding.reading import fetch
from kcrc.images.features.metadata import strip_metadata

if TYPE_CHECKING:
    from kcrc.gallery.gallery import Gallery


@dataclass
class ExportCounts:
    """How many examples were written, and with which pictures: whole originals, or the small ones that a gallery keeps.
    ``without`` had no picture where one is needed, and were left out; ``lost`` are the sources of originals that were
    not found."""

    examples: int = 0
    originals: int = 0
    small: int = 0
    without: int = 0
    lost: list[str] = field(default_factory=list)


def export_labels(
    gallery: Gallery,
    path: str | os.PathLike[str],
    *,
    form: str,
    originals: bool = False,
    file_names: bool = False,
    images: str | os.PathLike[str] | None = None,
) -> ExportCounts:
    """Write the examples in a format of ``exchange.names()``.

    Formats with pictures get those the gallery keeps: small, and of pixels alone. ``originals`` copies the photographs
    they came from, as far as they are still where they were, byte for byte; ``file_names`` leaves their folders out."""
    counts, sources, rows = ExportCounts(), dict[str, str](), list[Labelled]()
    for example in list_examples(gallery):
        facts = facts_of(example)
        sources[facts["sha256"]] = example.source
        name = file_name(example.source) if file_names else example.source
        rows.append(Labelled(example.label, name, facts["sha256"], example.id, facts["added_at"] or ""))

    beside = [gallery.path.parent] if isinstance(gallery.path, Path) else []
    folders = [".", *beside, *([] if images is None else [images, Path(images).parent])]

    def picture(row: Labelled) -> bytes | None:
        whole = read_original(sources[row.sha256], row.sha256, folders) if originals else None
        if originals and whole is None:
            counts.lost.append(sources[row.sha256] or f"#{row.id}")
        content = whole or strip_metadata(gallery.thumbnail(row.id or 0) or b"")
        counts.originals += whole is not None
        counts.small += whole is None and content is not None
        counts.without += content is None
        return content

    counts.examples = format_of(form).write(Path(path), rows, picture)
    return counts


def read_original(source: str, sha256: str, folders: Iterable[str | os.PathLike[str]] = (".",)) -> bytes | None:
    """Return the photograph an example came from, below one of the folders; None if it is gone or changed."""
    for folder in folders if source else ():
        try:
            content = fetch(os.path.join(folder, source))
        except KCRCError:
            continue
        if hashlib.sha256(content).hexdigest() == sha256:
            return content
    return None


# Pictures written into a new folder, each under a name of its own.

_KINDS = ((b"\xff\xd8\xff", ".jpg"), (b"\x89PNG", ".png"), (b"RIFF", ".webp"), (b"GIF8", ".gif"), (b"BM", ".bmp"))


def new_folder(path: Path) -> None:
    """Make a folder; one that holds something is not written into."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        empty = next(path.iterdir(), None) is None
    except OSError as problem:
        raise FileError(f"'{path}' cannot be made: {problem.strerror or problem}.") from None
    if not empty:
        raise FileError(f"'{path}' is a folder with something in it; give a new one.")


def put_picture(folder: Path, row: Labelled, content: bytes) -> str:
    """Write a picture and return the name of its file; twins get a number."""
    suffix = next((kind for head, kind in _KINDS if content.startswith(head)), ".tif")
    name, number = row.picture_name, 1
    while any((folder / f"{name}{kind}").exists() for kind in {*dict(_KINDS).values(), ".tif"}):
        number += 1
        name = f"{row.picture_name}.{number}"
    with atomic_write(folder / f"{name}{suffix}", parents=True, overwrite=False) as file:
        file.write(content)
    return f"{name}{suffix}"
