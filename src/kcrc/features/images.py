"""Image files in: decoded safely, turned upright, brought to the size asked for, many at a time.

Nothing of a file is trusted. Its bytes are counted before they are read, its format is one of a short list, its
size in pixels is looked at before it is decoded, and whatever a decoder raises becomes one ``ImageError`` that
names the file. ``read_many`` counts those or stops at the first, as asked.
"""

from __future__ import annotations

import io
import os
import stat
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kcrc.cache import sha256
from kcrc.errors import DataError, ParameterError
from kcrc.features.views import View, fit_image
from kcrc.prepared import Array

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "GIF")
_EXTENSION_FORMATS = {
    ".jpg": "JPEG", ".jpeg": "JPEG", ".jpe": "JPEG", ".png": "PNG", ".webp": "WEBP", ".bmp": "BMP",
    ".tif": "TIFF", ".tiff": "TIFF", ".gif": "GIF",
}  # fmt: skip
_ORIENTATION = 0x0112
_DRAFT_FLOOR = 256
OnError = Literal["raise", "skip"]


class ImageError(DataError):
    """One image cannot be used; ``source`` names it, ``kind`` says why in a word or two."""

    def __init__(self, source: str, kind: str, why: str) -> None:
        super().__init__(f"{printable(source)}: {why}")
        self.source, self.kind, self.why = source, kind, why


def printable(name: str) -> str:
    """A file name in one harmless line: names may hold line breaks and terminal codes."""
    return name if name.isprintable() else ascii(name)[1:-1]


@dataclass(frozen=True)
class Limits:
    """What one file may cost: bytes on disk, and pixels once decoded (Pillow itself stops at 89 million)."""

    max_bytes: int = 64 << 20
    max_pixels: int = 64_000_000

    def __post_init__(self) -> None:
        if self.max_bytes < 1 or self.max_pixels < 1:
            raise ParameterError(f"Limits are 1 or more; got {self}.")


DEFAULT_LIMITS = Limits()
AS_IT_IS = View()


@dataclass(frozen=True, eq=False)
class Picture:
    """One decoded image: ``pixels`` (h, w) or (h, w, 3) uint8, upright, and what its file was.

    ``original_size`` is (height, width) in the file, upright. ``note`` tells of something odd that did no harm:
    a PNG called ``.jpg``. ``thumbnail`` is a small JPEG of the whole picture where one was asked for.
    """

    pixels: Array
    source: str
    sha256: str
    format: str
    original_size: tuple[int, int]
    note: str = ""
    thumbnail: bytes = b""


@dataclass(eq=False)
class Batch:
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


def fetch(path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """The bytes of a regular file that is not too large."""
    name = os.fspath(path)
    try:
        with open(name, "rb", opener=_open_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ImageError(name, "unreadable", "is not a regular file.")
            # One byte more than allowed is read, so that a file that grows meanwhile is noticed by decode.
            if status.st_size > limits.max_bytes:
                raise _too_many_bytes(name, status.st_size, limits)
            return file.read(limits.max_bytes + 1)
    except ImageError:
        raise
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise ImageError(name, "unreadable", f"cannot be opened ({reason}).") from problem


def _open_without_waiting(path: str, flags: int) -> int:
    # A named pipe among the images must not stop the run: opened plainly, it waits for somebody to write.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _too_many_bytes(name: str, size: int, limits: Limits) -> ImageError:
    return ImageError(name, "too large", f"has {size} bytes, more than the limit of {limits.max_bytes}.")


@cache
def _pillow() -> Any:
    """Pillow, told to raise where it would only warn of a decompression bomb."""
    from PIL import Image

    warnings.filterwarnings("error", category=Image.DecompressionBombWarning)
    return Image


def decode(
    content: bytes,
    view: View = AS_IT_IS,
    *,
    source: str = "image",
    thumbnail: int = 0,
    limits: Limits = DEFAULT_LIMITS,
) -> Picture:
    """One image from the bytes of its file.

    ``thumbnail`` is the longer side of a JPEG to be made along with it, 0 for none; whether one is made does not
    change ``pixels``.
    """
    pillow = _pillow()
    if len(content) > limits.max_bytes:
        raise _too_many_bytes(source, len(content), limits)
    try:
        image = pillow.open(io.BytesIO(content), formats=FORMATS)
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning) as problem:
        raise ImageError(source, "too large", "has far more pixels than are safe to decode.") from problem
    except Exception as problem:  # decoders raise anything, struct.error to RecursionError, on damaged files
        raise _unusable(source, content) from problem
    with image:
        width, height = image.size
        if width * height > limits.max_pixels:
            pixels_said = f"has {width}×{height} pixels, more than the limit of {limits.max_pixels}."
            raise ImageError(source, "too large", pixels_said)
        kind = "JPEG" if image.format == "MPO" else str(image.format)  # MPO: a JPEG with more pictures behind it
        try:
            upright, size = _upright(image, view)
            pixels = np.asarray(fit_image(upright.convert("RGB" if view.colour else "L"), view), np.uint8)
            small = _thumbnail(upright, thumbnail) if thumbnail else b""
        except Exception as problem:
            first_line = (str(problem) or type(problem).__name__).splitlines()[0]
            raise ImageError(source, "broken", f"cannot be decoded ({first_line}).") from problem
    expected = _EXTENSION_FORMATS.get(Path(source).suffix.lower(), kind)
    note = "" if expected == kind else f"{printable(source)}: is named {expected} but is {kind}, and read as that."
    return Picture(np.ascontiguousarray(pixels), source, sha256(content), kind, size, note, small)


def _unusable(source: str, content: bytes) -> ImageError:
    if not content:
        return ImageError(source, "broken", "is empty.")
    looks = {b"\xff\xd8\xff": "JPEG", b"\x89PNG": "PNG", b"GIF8": "GIF", b"BM": "BMP", b"II*\0": "TIFF"}
    like = next((name for head, name in looks.items() if content.startswith(head)), None)
    if like:
        return ImageError(source, "broken", f"begins like a {like} but cannot be opened; it is damaged or incomplete.")
    known = ", ".join(FORMATS)
    return ImageError(source, "not an image", f"is not an image that can be read (read are: {known}).")


def _orientation(image: Image) -> int:
    # Pillow turns TIFFs upright by itself while it loads them; their tag then no longer holds.
    return 1 if image.format == "TIFF" else int(image.getexif().get(_ORIENTATION, 1) or 1)


def _upright(image: Image, view: View) -> tuple[Image, tuple[int, int]]:
    """An opened image of acceptable size, decoded, upright, 8 bits; and its original (height, width), upright."""
    from PIL import ImageOps

    width, height = image.size
    orientation = _orientation(image)
    turned = orientation in (5, 6, 7, 8)
    size = (width, height) if turned else (height, width)
    if view.size is not None:
        # The JPEG decoder can shrink while it decodes. Twice the target leaves the resampling enough to work on,
        # and a floor leaves enough for a thumbnail: pixels must not depend on whether one is made.
        tall, wide = (max(2 * n, _DRAFT_FLOOR) for n in view.resized(*size))
        image.draft("", (tall, wide) if turned else (wide, tall))
    image.load()
    if image.format == "TIFF":
        size = (image.size[1], image.size[0])
    elif orientation != 1:
        image = ImageOps.exif_transpose(image)
    return _in_eight_bits(image), size


def _thumbnail(image: Image, side: int) -> bytes:
    from kcrc.features.bare import as_jpeg

    return as_jpeg(np.asarray(fit_image(image.convert("RGB"), View((side, side), fit="inside"))))


def _in_eight_bits(image: Image) -> Image:
    """RGB or grey with 8 bits a channel; deeper grey is scaled, what is transparent lies on white."""
    pillow = _pillow()
    if image.mode.startswith("I") or image.mode == "F":
        values = np.asarray(image).astype(np.float64)
        if not np.isfinite(values).all():
            raise ValueError("pixels that are not finite numbers")
        high = float(values.max(initial=0.0))
        scale = 255.0 if image.mode == "F" and high <= 1.0 else 1.0 if high <= 255.0 else 255.0 / max(high, 65535.0)
        image = pillow.fromarray(np.clip(np.rint(values * scale), 0, 255).astype(np.uint8))
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        solid = image.convert("RGBA")
        image = pillow.alpha_composite(pillow.new("RGBA", solid.size, (255, 255, 255, 255)), solid)
    return image if image.mode in ("RGB", "L") else image.convert("RGB")


def read(
    path: str | os.PathLike[str], view: View = AS_IT_IS, *, thumbnail: int = 0, limits: Limits = DEFAULT_LIMITS
) -> Picture:
    """One image from a file."""
    return decode(fetch(path, limits=limits), view, source=os.fspath(path), thumbnail=thumbnail, limits=limits)


def read_chunks(
    paths: Sequence[str | os.PathLike[str]],
    view: View = AS_IT_IS,
    *,
    on_error: OnError = "raise",
    thumbnail: int = 0,
    limits: Limits = DEFAULT_LIMITS,
    chunk: int = 64,
    threads: int | None = None,
) -> Iterator[Batch]:
    """The images of many files, in their order, ``chunk`` files at a time; the next chunk decodes meanwhile.

    Memory holds two chunks whatever the number of files. ``rows`` of each batch are positions in ``paths``.
    """
    if on_error not in ("raise", "skip"):
        raise ParameterError(f"on_error is 'raise' or 'skip'; got {on_error!r}.")
    if thumbnail < 0 or chunk < 1:
        raise ParameterError(f"thumbnail is 0 or more, chunk 1 or more; got {thumbnail}, {chunk}.")

    def attempt(path: str | os.PathLike[str]) -> Picture | ImageError:
        try:
            return read(path, view, thumbnail=thumbnail, limits=limits)
        except ImageError as problem:
            return problem

    with ThreadPoolExecutor(threads or min(8, os.cpu_count() or 1), thread_name_prefix="kcrc-decode") as pool:
        starts = range(0, len(paths), chunk)
        ahead = [pool.submit(attempt, path) for path in paths[:chunk]]
        try:
            for start in starts:
                running = ahead
                ahead = [pool.submit(attempt, path) for path in paths[start + chunk : start + 2 * chunk]]
                batch = Batch()
                for row, future in enumerate(running, start):
                    result = future.result()
                    if isinstance(result, Picture):
                        batch.pictures.append(result)
                        batch.rows.append(row)
                    elif on_error == "raise":
                        raise result
                    else:
                        batch.problems.append(result)
                yield batch
        finally:
            for future in ahead:
                future.cancel()


def read_many(
    paths: Sequence[str | os.PathLike[str]],
    view: View = AS_IT_IS,
    *,
    on_error: OnError = "raise",
    limits: Limits = DEFAULT_LIMITS,
    threads: int | None = None,
    progress: bool = False,
) -> Batch:
    """The images of many files at once; ``progress`` shows a bar when it takes longer than two seconds."""
    whole = Batch()
    with progress_bar(len(paths), "images", show=progress) as bar:
        for part in read_chunks(paths, view, on_error=on_error, limits=limits, threads=threads):
            whole.pictures += part.pictures
            whole.rows += part.rows
            whole.problems += part.problems
            bar.update(len(part.rows) + len(part.problems))
    return whole


def progress_bar(total: int, what: str, *, show: bool) -> Any:
    """A bar on a terminal, shown only for work of more than two seconds."""
    from tqdm import tqdm

    return tqdm(total=total, desc=what, unit=" images", delay=2, disable=None if show else True, leave=False)
