"""Image files in, many at a time: decoded ahead on threads, in their order, bad ones counted or fatal."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal

from kcrc._base.progress import count_bar
from kcrc.errors import ParameterError
from kcrc.images.decoding.decoder import AS_IT_IS, Picture, decode, warm
from kcrc.images.decoding.limits import FORMATS, ImageError, Limits, fetch, printable
from kcrc.images.decoding.resizing import View

__all__ = [
    "AS_IT_IS",
    "FORMATS",
    "ImageError",
    "Limits",
    "OnError",
    "Picture",
    "Reading",
    "decode",
    "fetch",
    "printable",
    "read",
    "read_chunks",
    "read_many",
    "summarise",
    "warm",
]

OnError = Literal["raise", "skip"]
_AHEAD = 256_000_000  # bytes of decoded pictures that wait to be looked at


@dataclass(eq=False)
class Reading:
    """What was read: the pictures, the positions they were asked at, and the files that could not be used."""

    pictures: list[Picture] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    problems: list[ImageError] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        return [picture.note for picture in self.pictures if picture.note]

    @property
    def summary(self) -> str:
        """One line: how many were read, how many skipped for which reason, how many were odd."""
        return summarise(len(self.pictures), self.problems, self.notes)

    @property
    def files(self) -> int:
        """How many files were looked at."""
        return len(self.rows) + len(self.problems)


def summarise(read: int, problems: Sequence[ImageError], notes: Sequence[str] = ()) -> str:
    """One line with the counts of a whole run."""
    kinds = [problem.kind for problem in problems]
    by_kind = ", ".join(f"{kinds.count(k)} {k}" for k in sorted(set(kinds)))
    line = f"{read} images read"
    if problems:
        line += f", {len(problems)} skipped ({by_kind})"
    if notes:
        line += f", {len(notes)} mislabelled but read"
    return line + "."


def read(
    path: str | os.PathLike[str], view: View = AS_IT_IS, *, thumbnail: int = 0, limits: Limits | None = None
) -> Picture:
    """One image from a file."""
    return decode(fetch(path, limits=limits), view, source=os.fspath(path), thumbnail=thumbnail, limits=limits)


def read_chunks(
    paths: Sequence[str | os.PathLike[str]],
    view: View = AS_IT_IS,
    *,
    on_error: OnError = "raise",
    thumbnail: int = 0,
    limits: Limits | None = None,
    chunk: int = 64,
    threads: int | None = None,
) -> Iterator[Reading]:
    """The images of many files, in their order, ``chunk`` files at a time; the next chunk decodes meanwhile.

    Memory holds two chunks whatever the number of files, and fewer pictures where they are large: then a batch has
    fewer than ``chunk``. ``rows`` of each batch are positions in ``paths``.
    """
    if on_error not in ("raise", "skip"):
        raise ParameterError(f"on_error is 'raise' or 'skip'; got {on_error!r}.")
    if thumbnail < 0 or chunk < 1:
        raise ParameterError(f"thumbnail is 0 or more, chunk 1 or more; got {thumbnail}, {chunk}.")
    workers = threads or min(8, os.cpu_count() or 1)

    def attempt(path: str | os.PathLike[str]) -> Picture | ImageError:
        try:
            return read(path, view, thumbnail=thumbnail, limits=limits)
        except ImageError as problem:
            return problem.with_traceback(None)  # which would hold on to the file

    with ThreadPoolExecutor(workers, thread_name_prefix="kcrc-decode") as pool:
        ahead: deque[Future[Picture | ImageError]] = deque()
        # How large pictures are that come as they are is not known before the first: as many are begun as have threads.
        largest = 0 if view.size is None else 3 * max(view.size) ** 2
        batch, held, row, begun = Reading(), 0, 0, 0
        try:
            while row < len(paths):
                most = max(workers, min(chunk, _AHEAD // largest)) if largest else workers
                while begun < len(paths) and len(ahead) < most:
                    ahead.append(pool.submit(attempt, paths[begun]))
                    begun += 1
                result = ahead.popleft().result()
                if isinstance(result, Picture):
                    batch.pictures.append(result)
                    batch.rows.append(row)
                    held += result.pixels.nbytes
                    largest = max(largest, result.pixels.nbytes)
                elif on_error == "raise":
                    raise result
                else:
                    batch.problems.append(result)
                row += 1
                if batch.files == chunk or held >= _AHEAD or row == len(paths):
                    yield batch
                    batch, held = Reading(), 0
        finally:
            for future in ahead:
                future.cancel()


def read_many(
    paths: Sequence[str | os.PathLike[str]],
    view: View = AS_IT_IS,
    *,
    on_error: OnError = "raise",
    limits: Limits | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Reading:
    """The images of many files at once; ``progress`` shows a bar on a terminal for more than two seconds of work."""
    whole = Reading()
    with count_bar("images", len(paths), unit=" images", show=None if progress else False) as bar:
        for part in read_chunks(paths, view, on_error=on_error, limits=limits, threads=threads):
            whole.pictures += part.pictures
            whole.rows += part.rows
            whole.problems += part.problems
            bar.update(part.files)
    return whole
