"""Extract vectors from many image files, a chunk at a time, while the next files are decoded.

Each chunk has what a gallery stores of a file: the vector, the content hash, a thumbnail. Memory holds two chunks,
however many files there are, and a caller can commit chunk by chunk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.progress import count_bar
from kcrc.images.decoding.reading import ImageError, Limits, OnError, Reading, read_chunks, summarise
from kcrc.images.emptiness import ONE_COLOUR, emptiness
from kcrc.images.features.base import CHUNK, Feature

Paths = Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, eq=False)
class Chunk:
    """The readable files of a chunk: positions in the list of paths, vectors (n, d), hashes, thumbnails (JPEG)."""

    rows: list[int]
    vectors: Array
    sha256: list[str]
    thumbnails: list[bytes]
    problems: list[ImageError]
    notes: list[str]


@dataclass(eq=False)
class Extracted:
    """All chunks together: ``vectors[i]`` belongs to ``paths[rows[i]]``."""

    rows: list[int] = field(default_factory=list)
    vectors: Array = field(default_factory=lambda: np.empty((0, 0), np.float32))
    sha256: list[str] = field(default_factory=list)
    thumbnails: list[bytes] = field(default_factory=list)
    problems: list[ImageError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def summary(self) -> str:
        """One line: how many files were read, how many skipped and why, how many had notes."""
        return summarise(len(self.rows), self.problems, self.notes)


def extract_chunks(
    feature: Feature,
    paths: Paths,
    *,
    on_error: OnError = "raise",
    thumbnail: int = 0,
    limits: Limits | None = None,
    threads: int | None = None,
    chunk: int = CHUNK,
    blank: bool = True,
    progress: bool = False,
) -> Iterator[Chunk]:
    """Yield the vectors of image files by a fitted feature, ``chunk`` files at a time.

    ``thumbnail`` is the longer side of the JPEG thumbnails, 0 for none. With ``on_error`` 'skip', unreadable files are
    listed in ``problems``; with 'raise' the first one is an error. Without ``blank``, pictures of one colour count as
    unreadable.
    """
    with count_bar("vectors", len(paths), unit=" images", show=None if progress else False) as bar:
        for batch in read_chunks(
            paths, feature.view, on_error=on_error, thumbnail=thumbnail, limits=limits, chunk=chunk, threads=threads
        ):
            if not blank:
                batch = _without_blanks(batch, on_error)
            pictures = batch.pictures
            pixels = [p.pixels for p in pictures]
            vectors = feature.transform(pixels) if pixels else np.empty((0, feature.dim), np.float32)
            thumbnails = [p.thumbnail for p in pictures] if thumbnail else []
            yield Chunk(batch.rows, vectors, [p.sha256 for p in pictures], thumbnails, batch.problems, batch.notes)
            bar.update(len(batch.rows) + len(batch.problems))


def _without_blanks(batch: Reading, on_error: OnError) -> Reading:
    """Move pictures of one colour to the problems."""
    kept = Reading(problems=batch.problems)
    for row, picture in zip(batch.rows, batch.pictures, strict=True):
        if emptiness(picture.pixels) != ONE_COLOUR:
            kept.rows.append(row)
            kept.pictures.append(picture)
            continue
        what = "has a single pixel" if picture.original_size == (1, 1) else "is of one colour"
        problem = ImageError(picture.source, "one colour", f"{what}, and shows nothing.")
        if on_error == "raise":
            raise problem
        kept.problems.append(problem)
    return kept


def extract(
    feature: Feature,
    paths: Paths,
    *,
    on_error: OnError = "raise",
    thumbnail: int = 0,
    limits: Limits | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Extracted:
    """Extract all chunks and return them together; the options are those of ``extract_chunks``."""
    whole = Extracted()
    parts = []
    for part in extract_chunks(
        feature, paths, on_error=on_error, thumbnail=thumbnail, limits=limits, threads=threads, progress=progress
    ):
        whole.rows += part.rows
        whole.sha256 += part.sha256
        whole.thumbnails += part.thumbnails
        whole.problems += part.problems
        whole.notes += part.notes
        parts.append(part.vectors)
    whole.vectors = np.concatenate(parts) if parts else np.empty((0, feature.dim), np.float32)
    return whole
