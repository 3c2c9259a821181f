"""A folder of class folders, as a person keeps labelled photographs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kcrc.datasets.base import Dataset, Provenance
from kcrc.errors import DataError
from kcrc.features.accepted import EXTENSION_FORMATS

EXTENSIONS = frozenset(EXTENSION_FORMATS)


@dataclass(frozen=True)
class ClassFolders:
    """A folder of class folders as it is.

    Attributes
    ----------
    paths : tuple of Path
        The pictures.
    labels : tuple of str
        The class of each.
    loose : tuple of Path
        Pictures that lie in no class folder.
    paired : tuple of Path
        RAW files beside a picture of the same name, as cameras write both: the picture is taken.
    empty : tuple of str
        Class folders without a picture.
    others : dict of str to int
        How many files are no pictures by their name, by its ending.
    """

    paths: tuple[Path, ...]
    labels: tuple[str, ...]
    loose: tuple[Path, ...] = ()
    paired: tuple[Path, ...] = ()
    empty: tuple[str, ...] = ()
    others: Mapping[str, int] = field(default_factory=dict)


def class_folders(folder: Path | str, *, deep: bool = True) -> ClassFolders:
    """What is in a folder of class folders; the name of the first folder below is the class. Hidden files and folders
    are left out. ``deep`` takes the pictures in folders inside a class folder too.

    Parameters
    ----------
    folder : str or path
        The folder.
    deep : bool, default=True
        Take pictures in folders inside a class folder too.

    Returns
    -------
    ClassFolders
        ``paths`` and ``labels`` of the pictures, and what else is there.

    Raises
    ------
    DataError
        Where there are no class folders with images.

    Examples
    --------
    >>> from kcrc import datasets
    >>> sorted(set(datasets.class_folders("photos").labels))
    ['heron', 'robin', 'wren']
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder. Give a folder with one folder of images for each class.")
    classes = sorted(p.name for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    every = {c: image_files(folder / c, deep=deep) for c in classes}
    paired = {path for found in every.values() for path in _paired(found)}
    files = {c: [path for path in found if path not in paired] for c, found in every.items()}
    loose = tuple(image_files(folder, deep=False))
    if not any(files.values()):
        there = f" ({len(loose)} lie in it directly)" if loose else ""
        raise DataError(
            f"{folder} has no class folders with images{there}. Put those of each class in a folder named after it."
        )
    return ClassFolders(
        tuple(path for found in files.values() for path in found),
        tuple(c for c, found in files.items() for _ in found),
        loose,
        tuple(sorted(paired)),
        tuple(c for c, found in files.items() if not found),
        _others(folder),
    )


def _paired(files: Iterable[Path]) -> list[Path]:
    """The RAW files that lie beside a picture of the same name in another format."""
    raw = {path for path in files if EXTENSION_FORMATS[path.suffix.lower()] == "RAW"}
    pictures = {(path.parent, path.stem.casefold()) for path in files if path not in raw}
    return [path for path in raw if (path.parent, path.stem.casefold()) in pictures]


def _others(folder: Path) -> dict[str, int]:
    """Files that are no pictures by their name, by its ending, the most frequent first."""
    endings: Counter[str] = Counter()
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and path.suffix.lower() not in EXTENSIONS and path.is_file():
            endings[path.suffix.lower() or path.name] += 1
    return dict(endings.most_common())


def image_files(folder: Path, *, deep: bool = True) -> list[Path]:
    """The image files below ``folder`` by extension, hidden ones left out, in the order of their names.

    Parameters
    ----------
    folder : path
        The folder.
    deep : bool, default=True
        Look in the folders inside it too.

    Returns
    -------
    list of path
        Sorted by name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from kcrc import datasets
    >>> len(datasets.image_files(Path("photos")))
    21
    """
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

    Parameters
    ----------
    folder : str or path
        The folder of class folders.
    name : str or None, default=None
        What to call the set; None takes the folder's name.
    deep : bool, default=True
        Take images in folders inside a class folder too.
    provenance : Provenance or None, default=None
        Where it came from.

    Returns
    -------
    Dataset
        ``images`` are paths; ``labels`` numbers into ``classes``.

    Raises
    ------
    DataError
        Where there are no class folders with images, or one is empty.

    Examples
    --------
    >>> from kcrc import datasets
    >>> len(datasets.from_folder("photos"))
    21
    """
    found = class_folders(folder, deep=deep)
    folder = Path(folder)
    if found.empty:
        raise DataError(f"The class folder {folder / found.empty[0]} has no image files. Fill it or remove it.")
    classes = tuple(dict.fromkeys(found.labels))
    number = {name: place for place, name in enumerate(classes)}
    return Dataset(
        name or folder.name,
        np.array([number[label] for label in found.labels]),
        classes,
        paths=found.paths,
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
