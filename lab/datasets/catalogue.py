"""The sets that go by name: where each may lie, who reads it, who publishes it; and ``load``.

A set is looked for in the folder given, then in ``$KCRC_DATA``, then in the user's cache, under each of its
known file names. The first found is read whole and checked, or refused with its name.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kcrc.errors import DataError, ParameterError, UnknownName
from kcrc.files.safe_paths import cache_dir
from kcrc.images.datasets import Dataset, Provenance
from lab.datasets import digits, yaleb
from lab.datasets.archives import FEATURE_ARCHIVES
from lab.datasets.folder_sets import published_folder
from lab.datasets.published import CALTECH101, SCENE15

Reader = Callable[[Path, Provenance], Dataset]


@dataclass(frozen=True)
class Source:
    """One published set of images.

    Attributes
    ----------
    about : str
        What it is.
    owner : str
        Who publishes it.
    terms : str
        On what terms.
    files : tuple of (str, callable)
        The files it may be in, each with what reads it.
    openml : str or None
        Its name on OpenML, where it is there.
    """

    about: str
    owner: str
    terms: str
    files: tuple[tuple[str, Reader], ...] = ()
    openml: str | None = None


def _spread(stems: tuple[str, ...], folders: tuple[str, ...], reader: Reader) -> tuple[tuple[str, Reader], ...]:
    return tuple((folder + stem, reader) for folder in folders for stem in stems)


def _features(name: str) -> tuple[tuple[str, Reader], ...]:
    return ((f"{name}.npz", lambda path, origin: FEATURE_ARCHIVES[name].read(name, path, origin)),)


def _folders(name: str, total: int, counts: dict[str, int] | tuple[int, ...] | None) -> Reader:
    return lambda path, origin: published_folder(path, name, origin, counts=counts, total=total)


_IDX = tuple(f"train-images{mark}idx3-ubyte{end}" for mark in "-." for end in ("", ".gz"))
_CALTECH = "California Institute of Technology, CaltechDATA: "
SOURCES: dict[str, Source] = {
    "digits": Source("1,797 digits, 8×8, in scikit-learn", "UCI Machine Learning Repository", "CC BY 4.0"),
    "mnist": Source(
        "70,000 handwritten digits, 28×28",
        "Y. LeCun, C. Cortes, C. Burges: yann.lecun.com/exdb/mnist",
        "public research set",
        (
            ("mnist.npz", digits.mnist_from_npz),
            *_spread(_IDX, ("", "mnist/", "MNIST/raw/"), digits.mnist_from_idx),
        ),
        openml="mnist_784",
    ),
    "usps": Source(
        "9,298 handwritten digits, 16×16",
        "T. Hastie, R. Tibshirani, J. Friedman, data of The Elements of Statistical Learning: "
        "hastie.su.domains/ElemStatLearn (zip.train.gz, zip.test.gz)",
        "public research set",
        (
            ("usps.npz", digits.usps_from_npz),
            *_spread(("zip.train", "zip.train.gz"), ("", "usps/", "USPS/"), digits.usps_from_text),
        ),
        openml="usps",
    ),
    "yaleb": Source(
        "Extended Yale B, cropped: 2,414 faces of 38 people, 192×168",
        "K. C. Lee, J. Ho, D. Kriegman: vision.ucsd.edu/~leekc/ExtYaleDatabase/ExtYaleB.html (CroppedYale)",
        "research only; not to be redistributed",
        (
            ("yaleb.npz", yaleb.yaleb_from_npz),
            *_spread(("CroppedYale",), ("", "yaleb/", "ExtendedYaleB/"), yaleb.yaleb_from_folder),
        ),
    ),
    "caltech101": Source(
        "9,144 photographs of 101 objects and a background class",
        _CALTECH + "data.caltech.edu/records/mzrjq-6wc02 (101_ObjectCategories)",
        "research",
        _spread(
            ("101_ObjectCategories",),
            ("", "caltech101/", "caltech-101/"),
            _folders("caltech101", sum(CALTECH101.values()), CALTECH101),
        ),
    ),
    "caltech256": Source(
        "30,607 photographs of 256 objects and a clutter class",
        _CALTECH + "data.caltech.edu/records/nyy15-4j048 (256_ObjectCategories)",
        "CC BY 4.0",
        _spread(
            ("256_ObjectCategories",),
            ("", "caltech256/", "caltech-256/"),
            _folders("caltech256", 30_607, None),
        ),
    ),
    "scene15": Source(
        "4,485 photographs of 15 scenes",
        "S. Lazebnik, C. Schmid, J. Ponce: www-cvr.ai.uiuc.edu/ponce_grp/data (scene_categories)",
        "research",
        _spread(("scene_categories", "15-Scene", "scene15"), ("",), _folders("scene15", sum(SCENE15), SCENE15)),
    ),
    "caltech101-20": Source(
        "1,000 photographs of 20 of Caltech101's objects, 50 each",
        "cut from Caltech101: " + _CALTECH + "data.caltech.edu/records/mzrjq-6wc02",
        "research",
        (("caltech101-20", _folders("caltech101-20", 1000, (50,) * 20)),),
    ),
    "caltech101_spm": Source(
        "spatial-pyramid features (3,000) of Caltech101",
        "made from Caltech101 (dense SIFT, 1,024 words, LLC, 1+4+16 cells, PCA), as features.pyramid does",
        "research",
        _features("caltech101_spm"),
    ),
    "scene15_spm": Source(
        "spatial-pyramid features (3,000) of the 15 scenes",
        "made from the 15 scenes (dense SIFT, 1,024 words, LLC, 1+4+16 cells, PCA), as features.pyramid does",
        "research",
        _features("scene15_spm"),
    ),
    "caltech256_clip": Source(
        "CLIP ViT-B/32 embeddings (512) of a quarter of Caltech256",
        "made from Caltech256: " + _CALTECH + "data.caltech.edu/records/nyy15-4j048",
        "CC BY 4.0",
        _features("caltech256_clip"),
    ),
}


def names() -> tuple[str, ...]:
    """The names ``load`` knows, sorted.

    Returns
    -------
    tuple of str
        Sorted.

    Examples
    --------
    >>> from lab import datasets
    >>> "mnist" in datasets.names()
    True
    """
    return tuple(sorted(SOURCES))


def roots(data: Path | str | None = None) -> list[Path]:
    """The folders a set is looked for in, in their order."""
    if data is not None and not Path(data).is_dir():
        raise ParameterError(f"The data folder {data} does not exist. Give an existing folder, or none.")
    given = [data, os.environ.get("KCRC_DATA"), cache_dir() / "data"]
    return [Path(root).expanduser() for root in given if root]


def locate(name: str, data: Path | str | None = None) -> tuple[Path, Reader] | None:
    """The first file or folder that may hold the set, with its reader; None when there is none.

    Parameters
    ----------
    name : str
        A name of ``names()``.
    data : str, path or None, default=None
        A folder to look in first.

    Returns
    -------
    tuple of path and reader, or None
        Where it is, and what reads it.

    Examples
    --------
    >>> from lab import datasets
    >>> found = datasets.locate("mnist")
    >>> found is None or found[0].exists()
    True
    """
    for root in roots(data):
        for relative, reader in source(name).files:
            for path in (root / relative, *((root,) if root.name == relative else ())):
                if path.exists():
                    return path, reader
    return None


def source(name: str) -> Source:
    """What is known about the set called ``name``.

    Parameters
    ----------
    name : str
        A name of ``names()``.

    Returns
    -------
    Source
        Who published it, where, and under what terms.

    Raises
    ------
    UnknownName
        Where there is no such set.

    Examples
    --------
    >>> from lab import datasets
    >>> datasets.source("usps").about
    '9,298 handwritten digits, 16×16'
    """
    if name not in SOURCES:
        raise UnknownName("data set", name, SOURCES)
    return SOURCES[name]


def available(data: Path | str | None = None) -> tuple[str, ...]:
    """The names of the sets that are at hand; nothing is read.

    Parameters
    ----------
    data : str, path or None, default=None
        A folder to look in first.

    Returns
    -------
    tuple of str
        Names that ``load`` can read without fetching.

    Examples
    --------
    >>> from lab import datasets
    >>> set(datasets.available()) <= set(datasets.names())
    True
    """
    return tuple(name for name in names() if name == "digits" or locate(name, data) is not None)


def load(name: str, data: Path | str | None = None, *, download: bool = False) -> Dataset:
    """The set called ``name``, whole and checked.

    ``data`` is looked in first, then ``$KCRC_DATA``, then the user's cache. ``download`` allows to fetch it
    from OpenML through scikit-learn where that serves it (mnist, usps). Any other folder of class folders is
    read by ``from_folder``.

    Parameters
    ----------
    name : str
        A name of ``names()``.
    data : str, path or None, default=None
        A folder to look in first.
    download : bool, default=False
        Fetch it where it is missing and its owners allow that.

    Returns
    -------
    Dataset
        Images or vectors, labels, and where they came from.

    Raises
    ------
    UnknownName
        Where there is no such set.
    DataError
        Where it is not found, which says where it is published, or is not what it should be.

    Examples
    --------
    >>> from lab import datasets
    >>> datasets.load("digits").name
    'digits'
    """
    entry = source(name)
    if name == "digits":
        return digits.sklearn_digits()
    if found := locate(name, data):
        path, reader = found
        return reader(path, Provenance(str(path), entry.owner, entry.terms, entry.about))
    if download and entry.openml:
        from lab.datasets.openml import fetch

        return fetch(name, entry.openml, Provenance(f"OpenML {entry.openml}", entry.owner, entry.terms, entry.about))
    raise DataError(_missing(name, entry, data))


def _missing(name: str, entry: Source, data: Path | str | None) -> str:
    kinds = list(dict.fromkeys(relative for relative, _ in entry.files))
    looked = ", ".join(str(root) for root in roots(data))
    put = roots(data)[0]
    offer = " download=True fetches it from OpenML." if entry.openml else ""
    return (
        f"The data set '{name}' ({entry.about}) was not found in: {looked}. "
        f"Its owners publish it: {entry.owner}. Put it at {put / kinds[0]}"
        + (f" (or {', '.join(kinds[1:3])} there)" if len(kinds) > 1 else "")
        + f", or name its folder by data= or $KCRC_DATA.{offer}"
    )
