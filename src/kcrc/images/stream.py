"""Answers for many images in bounded memory: a chunk is answered while the files of the next are decoded.

This is the one way from image files to answers; commands, galleries and reports take it.
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
    """A chunk of images: the names of the files that could be read, what was answered (None where none could), why
    the others could not, and why there is nothing to make out on some that could (None where there is)."""

    names: list[str]
    answers: T | None
    problems: list[ImageError]
    empty: list[str | None]


def stream(
    images: Sequence[Any], feature: Feature, answer: Callable[[Array], T], *, on_error: OnError = "raise"
) -> Iterator[Answered[T]]:
    """``answer(vectors)`` of the images (files, bytes of files, arrays), a chunk at a time, in their order.

    A file that cannot be read ends it, or with ``on_error="skip"`` is one of the problems. Images that are no files
    have no names."""
    if isinstance(images, str | bytes | os.PathLike):
        raise DataError("Give a list of images, not one: [image].")
    if not all(isinstance(image, str | os.PathLike) for image in images):
        for start in range(0, len(images), CHUNK):
            for given in feature.batches(images[start : start + CHUNK]):
                found = answer(feature.transform_seen(given))
                empty = [emptiness(one) if one.ndim > 1 else None for one in given]  # a row is no picture
                yield Answered([], found, [], empty)
        return
    for batch in read_chunks(images, feature.view, on_error=on_error, chunk=CHUNK):
        names = [picture.source for picture in batch.pictures]
        seen = [picture.pixels for picture in batch.pictures]
        answers = answer(feature.transform_seen(seen)) if names else None
        yield Answered(names, answers, list(batch.problems), [emptiness(pixels) for pixels in seen])


# Pictures as they arrive in a folder: looked for again and again, each named once, and not before it stopped growing.
#
# Nothing but the folder's listing is needed, so it works on any disk, a network's too. A file has arrived when two
# looks found it the same, size and moment of its last change, or when that moment is long ago.

SETTLED = 60.0  # seconds without a change: nobody is still writing it


class Arrivals:
    """The pictures of ``folder`` and the folders in it, but for those below ``apart``."""

    def __init__(self, folder: str | os.PathLike[str], *, apart: str | os.PathLike[str] | None = None) -> None:
        self.folder = Path(folder)
        self._apart = None if apart is None else Path(os.path.realpath(apart))
        self._named: set[Path] = set()
        self._last: dict[Path, tuple[int, int]] = {}
        if not self.folder.is_dir():
            raise DataError(f"'{folder}' is not a folder. Give the folder that pictures arrive in.")

    @property
    def growing(self) -> bool:
        """Whether the latest look found a picture that may not be whole yet."""
        return bool(self._last)

    def look(self) -> list[str]:
        """The pictures that have arrived since the look before. One that went away and came again is named again."""
        found, ready = self._found(), []
        self._named &= found.keys()
        waiting: dict[Path, tuple[int, int]] = {}
        for path, state in found.items():
            if path in self._named:
                continue
            long_ago = time.time() - state[1] / 1e9 > SETTLED
            if long_ago or self._last.get(path) == state:
                self._named.add(path)
                ready.append(str(path))
            else:
                waiting[path] = state
        self._last = waiting
        return ready

    def pass_over(self) -> None:
        """Name none of the pictures that are there now."""
        self._named |= self._found().keys()

    def _found(self) -> dict[Path, tuple[int, int]]:
        """Size and last change of each picture."""
        found = {}
        try:
            paths = image_files(self.folder)
        except OSError as problem:
            raise DataError(f"'{self.folder}' cannot be looked at: {problem.strerror or problem}.") from None
        for path in paths:
            if self._apart is not None and Path(os.path.realpath(path.parent)).is_relative_to(self._apart):
                continue
            try:
                status = path.stat()
            except OSError:  # it went away meanwhile
                continue
            found[path] = (status.st_size, status.st_mtime_ns)
        return found
