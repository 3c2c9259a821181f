"""A folder of class folders, as a person keeps labelled photographs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from kcrc.datasets.base import Dataset, Provenance
from kcrc.errors import DataError

EXTENSIONS = frozenset({".jpg", ".jpeg", ".jpe", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif"})


def image_files(folder: Path, *, deep: bool = True) -> list[Path]:
    """The image files below ``folder`` by extension, hidden ones left out, in the order of their names."""
    found = []
    for path in folder.rglob("*") if deep else folder.iterdir():
        inside = path.relative_to(folder).parts
        if path.suffix.lower() in EXTENSIONS and not any(p.startswith(".") for p in inside) and path.is_file():
            found.append(path)
    return sorted(found, key=lambda p: p.relative_to(folder).parts)


def from_folder(
    folder: Path | str, *, name: str | None = None, deep: bool = True, provenance: Provenance | None = None
) -> Dataset:
    """The image files of a folder of class folders; the name of the first folder below is the class.

    ``deep`` takes the images in folders inside a class folder too.

    Empty class folders are an error, named: a class without examples is a mistake more often than not.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder. Give a folder with one folder of images for each class.")
    classes = sorted(p.name for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    files = [image_files(folder / c, deep=deep) for c in classes]
    empty = [c for c, found in zip(classes, files, strict=True) if not found]
    if not classes or len(empty) == len(classes):
        raise DataError(
            f"{folder} has no class folders with images. Put those of each class in a folder named after it."
        )
    if empty:
        raise DataError(f"The class folder {folder / empty[0]} has no image files. Fill it or remove it.")
    counts = [len(found) for found in files]
    return Dataset(
        name or folder.name,
        np.repeat(np.arange(len(classes)), counts),
        tuple(classes),
        paths=tuple(path for found in files for path in found),
        provenance=provenance or Provenance(source=str(folder)),
    )


def published_folder(
    folder: Path,
    name: str,
    provenance: Provenance,
    *,
    counts: dict[str, int] | Iterable[int] | None,
    total: int,
) -> Dataset:
    """A published set of class folders, refused when its counts are not the published ones.

    ``counts`` is the number of images by class name, or only the numbers where the names vary between copies.
    """
    # Caltech256 has a stray folder inside one class, so only the files of the class folder itself count.
    found = from_folder(folder, name=name, deep=False, provenance=provenance)
    by_class = dict(zip(found.classes, np.bincount(found.labels).tolist(), strict=True))
    if isinstance(counts, dict):
        for c, due in counts.items():
            if by_class.get(c, 0) != due:
                raise DataError(_incomplete(folder / c, by_class.get(c, 0), due))
    elif counts is not None and Counter(by_class.values()) != Counter(counts):
        odd = sorted(set(by_class.values()) - set(counts))
        named = [c for c, n in by_class.items() if n in odd]
        raise DataError(
            f"{folder} has {len(by_class)} classes with {len(found)} images, not as published ({total}); "
            f"look at: {', '.join(named) or 'the number of class folders'}."
        )
    if len(found) != total:
        raise DataError(_incomplete(folder, len(found), total))
    return found


def _incomplete(folder: Path, found: int, due: int) -> str:
    return (
        f"{folder} holds {found} images; {due} were published. It is incomplete, or has files of its own "
        "(kcrc.datasets.from_folder reads any folder of class folders)."
    )
