"""Classify many images in bounded memory: one chunk is classified while the files of the next are decoded.

Commands, galleries and reports all use this path from image files to answers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.images.datasets import image_files
from kcrc.images.decoding.reading import ImageError, OnError, read_chunks
from kcrc.images.emptiness import emptiness
from kcrc.images.features.base import CHUNK, Feature

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Answered(Generic[T]):
    """The answers for a chunk of images.

    Attributes
    ----------
    names : list of str
        The files that could be read; empty if the images are no files.
    answers : object or None
        The answers, or None if no file could be read.
    problems : list of ImageError
        Why the other files could not be read.
    empty : list of str or None
        For each readable image, why it shows nothing; None if it does.
    """

    names: list[str]
    answers: T | None
    problems: list[ImageError]
    empty: list[str | None]


def stream(
    images: Sequence[Any], feature: Feature, answer: Callable[[Array], T], *, on_error: OnError = "raise"
) -> Iterator[Answered[T]]:
    """Yield ``answer(vectors)`` of the images (files, bytes of files, arrays), a chunk at a time, in order.

    A file that cannot be read raises its error, or is listed as a problem with ``on_error="skip"``.
    """
    if isinstance(images, str | bytes | os.PathLike):
        raise DataError("Give a list of images, not one: [image].")
    if not all(isinstance(image, str | os.PathLike) for image in images):
        for start in range(0, len(images), CHUNK):
            for pixels in feature.batches(images[start : start + CHUNK]):
                answers = answer(feature.transform_pixels(pixels))
                empty = [emptiness(p) if p.ndim > 1 else None for p in pixels]  # a flat row may be no picture
                yield Answered([], answers, [], empty)
        return
    for batch in read_chunks(images, feature.view, on_error=on_error, chunk=CHUNK):
        names = [picture.source for picture in batch.pictures]
        decoded = [picture.pixels for picture in batch.pictures]
        results = answer(feature.transform_pixels(decoded)) if names else None
        yield Answered(names, results, list(batch.problems), [emptiness(p) for p in decoded])


# Watch a folder for new pictures: it is listed again and again, and each picture is reported once it is complete. Only
# the listing is used, so any disk works, a network's too. A file is complete if its size and time of change are the
# same in two listings, or the change is COMPLETE_AFTER seconds ago.

COMPLETE_AFTER = 60.0


class Arrivals:
    """New pictures in ``folder`` and the folders below it, except those below ``apart``."""

    def __init__(self, folder: str | os.PathLike[str], *, apart: str | os.PathLike[str] | None = None) -> None:
        self.folder = Path(folder)
        self._apart = None if apart is None else Path(os.path.realpath(apart))
        self._named: set[Path] = set()
        self._last: dict[Path, tuple[int, int]] = {}
        if not self.folder.is_dir():
            raise DataError(f"'{folder}' is not a folder. Give the folder in which pictures arrive.")

    @property
    def growing(self) -> bool:
        """Whether the latest listing had a picture that may be incomplete."""
        return bool(self._last)

    def look(self) -> list[str]:
        """Return the pictures completed since the previous call; one that was removed and came back counts as new."""
        listing, ready = self._list(), []
        self._named &= listing.keys()
        waiting: dict[Path, tuple[int, int]] = {}
        for path, state in listing.items():
            if path in self._named:
                continue
            is_old = time.time() - state[1] / 1e9 > COMPLETE_AFTER
            if is_old or self._last.get(path) == state:
                self._named.add(path)
                ready.append(str(path))
            else:
                waiting[path] = state
        self._last = waiting
        return ready

    def pass_over(self) -> None:
        """Never return the pictures that are in the folder now."""
        self._named |= self._list().keys()

    def _list(self) -> dict[Path, tuple[int, int]]:
        """Return the size and time of change of each picture."""
        listing = {}
        try:
            paths = image_files(self.folder)
        except OSError as problem:
            raise DataError(f"'{self.folder}' cannot be listed: {problem.strerror or problem}.") from None
        for path in paths:
            if self._apart is not None and Path(os.path.realpath(path.parent)).is_relative_to(self._apart):
                continue
            try:
                status = path.stat()
            except OSError:  # it was removed meanwhile
                continue
            listing[path] = (status.st_size, status.st_mtime_ns)
        return listing
