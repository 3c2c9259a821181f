"""Answers for many images in bounded memory: a chunk is answered while the files of the next are decoded.

This is the one way from image files to answers; commands, galleries and reports take it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.images.decoding.images import ImageError, OnError, read_chunks
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
