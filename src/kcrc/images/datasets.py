"""Labelled images as people keep them: a folder of class folders, what a loader returns, and splits by seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, ParameterError
from kcrc.images.decoding.limits import EXTENSION_FORMATS

__all__ = [
    "ClassFolders", "Dataset", "Provenance", "class_folders", "from_folder", "image_files", "split_per_class",
    "subset_per_class",
]  # fmt: skip

EXTENSIONS = frozenset(EXTENSION_FORMATS)
TRAIN, TEST = 0, 1
SPLITS = {
    **dict.fromkeys(("train", "training", "train_set", "training_set"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev", "val_set", "validation_set"), "val"),
    **dict.fromkeys(("test", "testing", "test_set", "eval", "evaluation", "holdout"), "test"),
}  # what people call the parts of a data set


@dataclass(frozen=True)
class Provenance:
    """The origin of samples.

    Attributes
    ----------
    source : str
        The file that was read.
    owner : str
        Who publishes the set.
    terms : str
        The licence or terms of use.
    note : str
        Other remarks.
    """

    source: str
    owner: str = ""
    terms: str = ""
    note: str = ""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with labels. Exactly one of ``X``, ``images`` and ``paths`` is given.

    Attributes
    ----------
    name : str
        The name of the set.
    labels : ndarray of int of shape (n,)
        Class numbers: positions in ``classes``.
    classes : tuple of str
        The class names.
    X : ndarray of shape (n, d), or None
        Vectors.
    images : ndarray of shape (n, h, w) or (n, h, w, 3), or None
        Images.
    paths : tuple of Path, or None
        Image files.
    split : ndarray of shape (n,), or None
        0 for training and 1 for test, if the set has a split of its own.
    extras : dict of str to ndarray
        Other arrays of the set.
    provenance : Provenance
        Its origin.
    named : ndarray of shape (n,)
        The labels as class names.
    train, test : ndarray of int
        The training and test rows of the set's own split.
    """

    name: str
    labels: Array
    classes: tuple[str, ...]
    X: Array | None = None
    images: Array | None = None
    paths: tuple[Path, ...] | None = None
    split: Array | None = None
    extras: Mapping[str, Array] = field(default_factory=dict)
    provenance: Provenance = field(default_factory=lambda: Provenance(source=""))

    def __post_init__(self) -> None:
        samples = [part for part in (self.X, self.images, self.paths) if part is not None]
        if len(samples) != 1:
            raise DataError(
                f"The data set '{self.name}' must hold one of vectors, images and paths; got {len(samples)} of them."
            )
        if self.labels.ndim != 1 or len(samples[0]) != len(self.labels):
            raise DataError(
                f"The data set '{self.name}' must have one label per sample; got labels of shape {self.labels.shape} "
                f"for {len(samples[0])} samples."
            )
        if len(self.labels) and not (self.labels.min() >= 0 and self.labels.max() < len(self.classes)):
            raise DataError(
                f"The labels of '{self.name}' must be 0 to {len(self.classes) - 1}, one number per class; got "
                f"{self.labels.min()} to {self.labels.max()}."
            )
        if self.split is not None and self.split.shape != self.labels.shape:
            raise DataError(f"The split of '{self.name}' must have shape {self.labels.shape}; got {self.split.shape}.")

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        what = "vectors" if self.X is not None else "images" if self.images is not None else "files"
        return f"Dataset({self.name!r}, {len(self)} {what}, {len(self.classes)} classes)"

    @property
    def named(self) -> Array:
        """The labels as class names (n,)."""
        return np.asarray(self.classes)[self.labels]

    @property
    def train(self) -> Array:
        """The training rows of the set's own split."""
        return self._rows(TRAIN)

    @property
    def test(self) -> Array:
        """The test rows of the set's own split."""
        return self._rows(TEST)

    def _rows(self, side: int) -> Array:
        if self.split is None:
            raise DataError(
                f"The data set '{self.name}' has no split of its own. "
                "Use kcrc.datasets.split_per_class(labels, n_train, seed=...)."
            )
        return np.flatnonzero(self.split == side)

    def vectors(self, rows: Any = slice(None)) -> Array:
        """Return float32 vectors (n, d) of the samples at ``rows``: images are flattened, uint8 scaled to 0…1."""
        if self.X is not None:
            return np.asarray(self.X[rows], np.float32)
        if self.images is None:
            raise DataError(f"The data set '{self.name}' is a list of image files. Make vectors with kcrc.features.")
        images = self.images[rows]
        flat: Array = images.reshape(len(images), -1).astype(np.float32)
        if images.dtype == np.uint8:
            flat /= 255.0
        return flat

    def take(self, rows: Any) -> Dataset:
        """Return the samples at ``rows`` (an index array, a slice or a mask), with their extras."""
        index = np.arange(len(self))[rows]
        per_sample = {k: v[index] for k, v in self.extras.items() if len(v) == len(self)}
        return replace(
            self,
            labels=self.labels[index],
            X=None if self.X is None else self.X[index],
            images=None if self.images is None else self.images[index],
            paths=None if self.paths is None else tuple(self.paths[i] for i in index),
            split=None if self.split is None else self.split[index],
            extras=per_sample,
        )


@dataclass(frozen=True)
class ClassFolders:
    """The contents of a folder of class folders.

    Attributes
    ----------
    paths : tuple of Path
        The pictures.
    labels : tuple of str
        The class of each.
    loose : tuple of Path
        Pictures outside the class folders.
    paired : tuple of Path
        RAW files beside a picture of the same name. Cameras write both; the picture is used.
    empty : tuple of str
        Class folders without a picture.
    others : dict of str to int
        The number of files whose name is not that of a picture, by ending.
    links : tuple of Path
        Links to files that are not there, links that lead in a circle, and linked folders inside a class folder, which
        are not followed.
    """

    paths: tuple[Path, ...]
    labels: tuple[str, ...]
    loose: tuple[Path, ...] = ()
    paired: tuple[Path, ...] = ()
    empty: tuple[str, ...] = ()
    others: Mapping[str, int] = field(default_factory=dict)
    links: tuple[Path, ...] = ()


def class_folders(folder: Path | str, *, deep: bool = True) -> ClassFolders:
    """List a folder of class folders; the name of the first folder below is the class.

    Hidden files and folders are left out.

    Parameters
    ----------
    folder : str or path
        The folder.
    deep : bool, default=True
        Whether to include pictures in folders inside a class folder.

    Returns
    -------
    ClassFolders
        ``paths`` and ``labels`` of the pictures, and what else the folder contains.

    Raises
    ------
    DataError
        If there are no class folders with images.

    Examples
    --------
    >>> from kcrc import datasets
    >>> sorted(set(datasets.class_folders("photos").labels))
    ['heron', 'robin', 'wren']
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder. Give a folder with one folder of images per class.")
    classes = [path.name for path in _folders_in(folder)]
    all_files = {c: image_files(folder / c, deep=deep) for c in classes}
    paired = {path for paths in all_files.values() for path in _raw_pairs(paths)}
    files = {c: [path for path in paths if path not in paired] for c, paths in all_files.items()}
    loose = tuple(image_files(folder, deep=False))
    if not any(files.values()):
        count = f" ({len(loose)} are in it directly)" if loose else ""
        raise DataError(
            f"{folder} has no class folders with images{count}. Put those of each class in a folder named after it."
        )
    return ClassFolders(
        tuple(path for paths in files.values() for path in paths),
        tuple(c for c, paths in files.items() for _ in paths),
        loose,
        tuple(sorted(paired)),
        tuple(c for c, paths in files.items() if not paths),
        _other_endings(folder),
        _unused_links(folder),
    )


def split_folders(folder: Path | str) -> dict[str, Path]:
    """Return the folders of a data set's splits ("train", "val", "test") below ``folder``, if it is divided so.

    It is if a folder is called train, each folder with pictures is called by the name of a split, and train has
    class folders or a table of labels inside.

    Parameters
    ----------
    folder : str or path
        The folder.

    Returns
    -------
    dict of str to Path
        Empty if the folder is not divided into splits.

    Examples
    --------
    >>> from kcrc import datasets
    >>> datasets.split_folders("photos")
    {}
    """
    inside = [path for path in _folders_in(Path(folder)) if any(_walk_images(path))]
    splits = {SPLITS[path.name.casefold()]: path for path in inside if path.name.casefold() in SPLITS}
    is_divided = "train" in splits and len(splits) == len(inside) and _has_labels(splits["train"])
    return splits if is_divided else {}


def _has_labels(folder: Path) -> bool:
    """Whether there are folders with pictures below, or a table beside them."""
    tables = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
    return any(path.suffix.lower() in tables for path in folder.iterdir()) or any(
        any(_walk_images(path)) for path in _folders_in(folder)
    )


def _folders_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _unused_links(folder: Path) -> tuple[Path, ...]:
    """Return the links that lead to nothing or in a circle, and linked folders below the class folders."""
    links = []
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        is_hidden = any(part.startswith(".") for part in parts)
        if path.is_symlink() and not is_hidden and not path.is_file() and (len(parts) > 1 or not path.is_dir()):
            links.append(path)
    return tuple(sorted(links))


def _raw_pairs(files: Iterable[Path]) -> list[Path]:
    """Return the RAW files beside a picture of the same name in another format."""
    raw = {path for path in files if EXTENSION_FORMATS[path.suffix.lower()] == "RAW"}
    pictures = {(path.parent, path.stem.casefold()) for path in files if path not in raw}
    return [path for path in raw if (path.parent, path.stem.casefold()) in pictures]


def _other_endings(folder: Path) -> dict[str, int]:
    """Count files whose name is not that of a picture, by ending, the most frequent first."""
    endings: Counter[str] = Counter()
    for path in folder.rglob("*"):
        is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not is_hidden and path.suffix.lower() not in EXTENSIONS and path.is_file():
            endings[path.suffix.lower() or path.name] += 1
    return dict(endings.most_common())


def image_files(folder: Path, *, deep: bool = True) -> list[Path]:
    """List the image files below ``folder`` by extension, sorted by name, without hidden ones.

    Parameters
    ----------
    folder : path
        The folder.
    deep : bool, default=True
        Whether to include the folders inside it.

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
    return sorted(_walk_images(folder, deep=deep), key=lambda p: p.relative_to(folder).parts)


def _walk_images(folder: Path, *, deep: bool = True) -> Iterator[Path]:
    for path in folder.rglob("*") if deep else folder.iterdir():
        parts = path.relative_to(folder).parts
        if path.suffix.lower() in EXTENSIONS and not any(p.startswith(".") for p in parts) and path.is_file():
            yield path


def from_folder(
    folder: Path | str, *, name: str | None = None, deep: bool = True, provenance: Provenance | None = None
) -> Dataset:
    """Make a data set of the image files in class folders; the name of the first folder below is the class.

    An empty class folder is an error, because a class without examples is usually a mistake.

    Parameters
    ----------
    folder : str or path
        The folder of class folders.
    name : str or None, default=None
        The name of the set; None takes the folder's name.
    deep : bool, default=True
        Whether to include images in folders inside a class folder.
    provenance : Provenance or None, default=None
        Its origin.

    Returns
    -------
    Dataset
        ``images`` are paths; ``labels`` numbers into ``classes``.

    Raises
    ------
    DataError
        If there are no class folders with images, or one is empty.

    Examples
    --------
    >>> from kcrc import datasets
    >>> len(datasets.from_folder("photos"))
    21
    """
    contents = class_folders(folder, deep=deep)
    folder = Path(folder)
    if contents.empty:
        raise DataError(f"The class folder {folder / contents.empty[0]} has no image files. Fill it or remove it.")
    classes = tuple(dict.fromkeys(contents.labels))
    number = {name: place for place, name in enumerate(classes)}
    return Dataset(
        name or folder.name,
        np.array([number[label] for label in contents.labels]),
        classes,
        paths=contents.paths,
        provenance=provenance or Provenance(source=str(folder)),
    )


def split_per_class(labels: Array, n_train: int, seed: int = 0, *, n_test: int | None = None) -> tuple[Array, Array]:
    """Draw ``n_train`` rows of each class by ``seed`` for training, and the rest (or ``n_test`` per class) for test.

    A class with at most ``n_train`` rows is an error, because none would be left to test. The rows drawn of one class
    do not depend on which other classes there are.

    Parameters
    ----------
    labels : array of shape (n,)
        The labels.
    n_train : int
        Rows of each class for training.
    seed : int, default=0
        The seed of the draw.
    n_test : int or None, default=None
        Rows of each class for test; None takes the rest.

    Returns
    -------
    tuple of ndarray and ndarray
        Train rows and test rows, both ascending.

    Raises
    ------
    ParameterError
        If a number is below 1.
    DataError
        If a class has too few rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kcrc import datasets
    >>> train, test = datasets.split_per_class(np.repeat([0, 1], 10), 3)
    >>> len(train), len(test)
    (6, 14)
    """
    labels = np.asarray(labels)
    if n_train < 1:
        raise ParameterError(f"n_train must be at least 1; got {n_train!r}.")
    if n_test is not None and n_test < 1:
        raise ParameterError(f"n_test must be at least 1, or None for all the rest; got {n_test!r}.")
    needed = n_train + (1 if n_test is None else n_test)
    train, test = [], []
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        if len(rows) < needed:
            raise DataError(
                f"Each class must have {needed} samples, {n_train} for training and at least {needed - n_train} for "
                f"test; got {len(rows)} of the class {label!s}. Lower n_train."
            )
        # Seeded by (seed, class), so that removing a class does not change the draws of others.
        rng = np.random.default_rng([seed, *str(label).encode()])
        order = rng.permutation(rows)
        train.append(order[:n_train])
        test.append(order[n_train : None if n_test is None else n_train + n_test])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))


def subset_per_class(labels: Array, n: int, seed: int = 0) -> Array:
    """Draw up to ``n`` rows of each class by ``seed``; smaller classes keep all rows.

    Parameters
    ----------
    labels : array of shape (n,)
        The labels.
    n : int
        The most rows of a class.
    seed : int, default=0
        The seed of the draw.

    Returns
    -------
    ndarray
        The rows, ascending.

    Raises
    ------
    ParameterError
        If n is below 1.

    Examples
    --------
    >>> import numpy as np
    >>> from kcrc import datasets
    >>> len(datasets.subset_per_class(np.repeat([0, 1], 10), 3))
    6
    """
    labels = np.asarray(labels)
    if n < 1:
        raise ParameterError(f"n must be at least 1; got {n!r}.")
    drawn = []
    for label in np.unique(labels):
        rng = np.random.default_rng([seed, *str(label).encode()])
        drawn.append(rng.permutation(np.flatnonzero(labels == label))[:n])
    return np.sort(np.concatenate(drawn)) if drawn else np.empty(0, np.intp)
