"""Make a gallery: fill it under a temporary name, then put it in its place at once."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, ParameterError
from kcrc.gallery import stores
from kcrc.gallery.acts import Build, now
from kcrc.gallery.adding import Added, Duplicate, Duplicates
from kcrc.gallery.choose_looks import choose_feature, default_feature
from kcrc.gallery.gallery import Gallery
from kcrc.gallery.settings import Settings
from kcrc.images.decoding.reading import ImageError, OnError, fetch, read_chunks, summarise
from kcrc.images.features.extract import extract_chunks

if TYPE_CHECKING:
    from kcrc.gallery.exchange.layouts import LabelledImages
    from kcrc.images.features.base import Feature


class FittedFeature(Protocol):
    """What a gallery needs of the feature that makes its vectors (``kcrc.images.features.base.Feature`` has it)."""

    @property
    def kind(self) -> str: ...
    @property
    def dim(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...
    def state(self) -> Mapping[str, Any]: ...
    def keep(self) -> None: ...


@contextlib.contextmanager
def building(
    path: str | os.PathLike[str],
    *,
    feature: FittedFeature | None = None,
    dim: int | None = None,
    fingerprint: str | None = None,
    dtype: str = "float32",
    parameters: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> Iterator[Gallery]:
    """Yield a gallery to be filled in the block; only at its end does it appear under ``path``. ``parameters`` of its
    classifier are fixed from the start."""
    settings = replace(new_settings(feature, dim, fingerprint, dtype), parameters=dict(parameters or {}))
    with stores.kind_of(path).making(path, settings, split_state(feature)[1], overwrite=overwrite) as store:
        if feature is not None:
            feature.keep()
        yield Gallery(store)
        store.write(Build())


def new_settings(feature: FittedFeature | None, dim: int | None, fingerprint: str | None, dtype: str) -> Settings:
    """Return the settings of a new gallery."""
    if feature is None and dim is None:
        raise ParameterError("Give the feature that makes the vectors, or `dim` for ready vectors.")
    if feature is not None and (dim is not None or fingerprint is not None):
        raise ParameterError("`dim` and `fingerprint` come with the feature; give either them or it.")
    common: dict[str, Any] = {
        "identity": secrets.token_hex(16),
        "created_at": now(),
        "dtype": dtype,
        "parameters": {},
    }
    if feature is None:
        mark = fingerprint or f"vectors-{dim}"
        return Settings(feature="vectors", values={}, fingerprint=mark, dim=dim, **common)  # type: ignore[arg-type]
    return Settings(
        feature=feature.kind,
        values=split_state(feature)[0],
        fingerprint=feature.fingerprint,
        dim=int(feature.dim),
        **common,
    )


def split_state(feature: FittedFeature | None) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the state of a feature as (plain values, arrays)."""
    state = {} if feature is None else feature.state()
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    return {name: value for name, value in state.items() if name not in arrays}, arrays


# Image files: each is read and decoded once, for its vector, its hash and its thumbnail.

THUMBNAIL = 128  # pixels, the longer side
KEPT_BYTES = 500_000_000  # of decoded pictures, while a feature learns from them
Progress = Callable[[int], None]  # called with the number of files just finished


@dataclass
class Intake:
    """What became of the files given to ``add_images``.

    Attributes
    ----------
    added : list of int
        The ids of the new examples.
    duplicates : list of Duplicate
        What was there already.
    problems : list of ImageError
        Files that could not be used, and why.
    notes : list of str
        What else a person should know.
    last : Added or None
        What the last batch added.
    summary : str
        One line with all counts.
    """

    added: list[int] = field(default_factory=list)
    duplicates: list[Duplicate] = field(default_factory=list)
    problems: list[ImageError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    last: Added | None = None

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
    blank: bool = True,
    progress: Progress | None = None,
    intake: Intake | None = None,
) -> Intake:
    """Add image files with a label each, a chunk at a time; every chunk that was added stays added.

    All of them are one entry of the history, and undone as one. Files whose bytes are in already are not decoded
    again. Without ``blank``, pictures of one colour are problems. ``intake`` is filled chunk by
    chunk, so that the caller knows what was added if it is interrupted."""
    if len(labels) != len(paths):
        raise DataError(f"There are {len(paths)} images but {len(labels)} labels; give one each.")
    intake = Intake() if intake is None else intake
    _add(gallery, feature, paths, labels, intake, on_error, duplicates, blank, progress or (lambda number: None))
    return intake


def _add(
    gallery: Gallery,
    feature: Feature,
    paths: Sequence[str | os.PathLike[str]],
    labels: Sequence[str],
    intake: Intake,
    on_error: OnError,
    duplicates: Duplicates,
    blank: bool,
    progress: Progress,
) -> None:
    if duplicates == "skip" and len(gallery):
        new, known = _split_known(gallery, paths, labels)
        intake.duplicates += known
        progress(len(known))
        paths, labels = [paths[i] for i in new], [labels[i] for i in new]
    added: Added | None = None
    for chunk in extract_chunks(feature, paths, on_error=on_error, thumbnail=THUMBNAIL, blank=blank):
        intake.problems += chunk.problems
        intake.notes += chunk.notes
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
            intake.added += added.ids
            intake.duplicates += added.duplicates
            intake.last = added
        progress(len(chunk.rows) + len(chunk.problems))


def _split_known(
    gallery: Gallery, paths: Sequence[str | os.PathLike[str]], labels: Sequence[str]
) -> tuple[list[int], list[Duplicate]]:
    """Split files into the positions of those whose bytes are new and the duplicates of stored ones."""
    known = {row.content: row for row in reversed(gallery.contents.rows)}
    new: list[int] = []
    duplicates: list[Duplicate] = []
    for i, (path, label) in enumerate(zip(paths, labels, strict=True)):
        try:
            row = known.get(hashlib.sha256(fetch(path)).digest())
        except ImageError:
            row = None  # the error is reported when the file is decoded
        if row is None:
            new.append(i)
        else:
            duplicates.append(Duplicate(i, os.fspath(path), label, row.id, row.label))
    return new, duplicates


def build_from_folder(
    folder: str | os.PathLike[str] | LabelledImages,
    path: str | os.PathLike[str],
    *,
    feature: Any = "auto",
    overwrite: bool = False,
    on_error: OnError = "skip",
    duplicates: Duplicates = "skip",
    blank: bool = True,
    parameters: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Intake:
    """A gallery of a folder of class folders, or of what else ``read_layout`` can read; ``feature`` is a name, a
    Feature, "auto" for what tells some of them apart best (``kcrc.gallery.seeing``), or None for the best installed;
    ``parameters`` of its classifier are fixed.

    Class folders without pictures are passed over (``kcrc.datasets.class_folders`` names them), and so are pictures
    that stand in several classes."""
    from kcrc.gallery.exchange.layouts import LabelledImages, read_layout
    from kcrc.images.features import resolve

    found = folder if isinstance(folder, LabelledImages) else read_layout(folder)
    files, labels = found.paths, found.labels
    if isinstance(feature, str) and feature == "auto":
        feature = choose_feature(files, labels).feature
    made = resolve(default_feature() if feature is None else feature)
    if made.learns and not made.is_fitted:
        _learn(made, files, labels, on_error)
    with building(path, feature=made, parameters=parameters, overwrite=overwrite) as gallery:
        intake = add_images(
            gallery, made, files, labels, on_error=on_error, duplicates=duplicates, blank=blank, progress=progress
        )
        if not intake.added:
            why = f" {intake.problems[0]}" if intake.problems else ""
            raise DataError(f"None of the {len(files)} images can be used.{why}")
    return intake


def _learn(feature: Feature, files: Sequence[str | os.PathLike[str]], labels: Sequence[str], on_error: OnError) -> None:
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
