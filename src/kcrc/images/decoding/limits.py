"""What is accepted of an image file: a short list of formats, so many bytes and pixels; and the error otherwise."""

from __future__ import annotations

import ctypes
import os
import re
import stat
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Self

from kcrc.errors import DataError, ParameterError

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "GIF")
EXTENSION_FORMATS = {
    ".jpg": "JPEG", ".jpeg": "JPEG", ".jpe": "JPEG", ".png": "PNG", ".webp": "WEBP", ".bmp": "BMP",
    ".tif": "TIFF", ".tiff": "TIFF", ".gif": "GIF", ".heic": "HEIC", ".heif": "HEIC", ".hif": "HEIC",
    **dict.fromkeys((".cr2", ".cr3", ".nef", ".nrw", ".arw", ".dng", ".raf", ".orf", ".rw2", ".pef", ".srw"), "RAW"),
}  # fmt: skip
_PIECE = 1 << 20
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


class ImageError(DataError):
    """One image cannot be used; ``source`` names it, ``kind`` says why in a word or two."""

    def __init__(self, source: str, kind: str, why: str) -> None:
        super().__init__(f"{printable(source)}: {why}")
        self.source, self.kind, self.why = source, kind, why


def printable(name: str) -> str:
    """A file name in one harmless line: names may hold line breaks and terminal codes."""
    return name if name.isprintable() else ascii(name)[1:-1]


def from_environment(name: str, default: int) -> int:
    """A number that an environment variable may set: 250000000, 250M, 2G; ``default`` where it is not set."""
    given = os.environ.get(name, "").strip()
    if not given:
        return default
    found = re.fullmatch(r"([0-9]{1,15})([KMG]?)", given.upper())
    if found is None or int(found[1]) == 0:
        raise ParameterError(f"{name} is a whole number above 0, such as 800000000, 800M or 2G; got {given!r}.")
    return int(found[1]) * _UNITS[found[2]]


@dataclass(frozen=True)
class Limits:
    """What one file may have: bytes on disk, and pixels. What decoding may take is counted in ``features.memory``."""

    max_bytes: int = 128_000_000
    max_pixels: int = 400_000_000

    def __post_init__(self) -> None:
        if self.max_bytes < 1 or self.max_pixels < 1:
            raise ParameterError(f"Limits are 1 or more; got {self}.")

    @classmethod
    def usual(cls) -> Self:
        """The limits where none are given: ``KCRC_IMAGE_BYTES`` and ``KCRC_IMAGE_PIXELS`` may set others."""
        return cls(
            from_environment("KCRC_IMAGE_BYTES", cls.max_bytes), from_environment("KCRC_IMAGE_PIXELS", cls.max_pixels)
        )


def too_many_bytes(name: str, size: int, limits: Limits) -> ImageError:
    return ImageError(
        name,
        "too large",
        f"has {size} bytes, more than the limit of {limits.max_bytes}. "
        "KCRC_IMAGE_BYTES or Limits(max_bytes=…) sets another.",
    )


def too_many_pixels(name: str, width: int, height: int, limits: Limits) -> ImageError:
    return ImageError(
        name,
        "too large",
        f"has {width}×{height} pixels, more than the limit of {limits.max_pixels}. "
        "KCRC_IMAGE_PIXELS or Limits(max_pixels=…) sets another.",
    )


def no_memory(name: str) -> ImageError:
    why = (
        "could not be decoded because there was not enough memory; that says nothing about the file. "
        "With KCRC_IMAGE_MEMORY=300M fewer images are decoded at once."
    )
    return ImageError(name, "out of memory", why)


@dataclass(frozen=True)
class Content(os.PathLike[str]):
    """A file that is nowhere: the bytes of a picture that came by another way, under the name that is shown of it."""

    name: str
    data: bytes

    def __fspath__(self) -> str:
        return self.name


def fetch(path: str | os.PathLike[str], *, limits: Limits | None = None) -> bytes:
    """The bytes of a regular file that is not too large, or of a ``Content``."""
    limits = limits or Limits.usual()
    name = os.fspath(path)
    if isinstance(path, Content):
        return path.data
    try:
        with open(name, "rb", opener=_open_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ImageError(name, "unreadable", "is not a regular file.")
            if status.st_size > limits.max_bytes:
                raise too_many_bytes(name, status.st_size, limits)
            # No more room is asked for than the file needs. One that grows meanwhile is noticed by decode: no more
            # than a piece beyond what is allowed is read.
            parts = [file.read(status.st_size + 1)]
            while parts[-1] and sum(map(len, parts)) <= limits.max_bytes:
                parts.append(file.read(_PIECE))
            return b"".join(parts)
    except ImageError:
        raise
    except MemoryError:
        raise no_memory(name) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise ImageError(name, "unreadable", f"cannot be opened ({reason}).") from problem


def _open_without_waiting(path: str, flags: int) -> int:
    # A named pipe among the images must not stop the run: opened plainly, it waits for somebody to write.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


# The memory that reading images may take, all threads together: counted before it is taken.
#
# Who needs some holds it first, and waits while others hold it. Turns are taken in the order of asking, so that a
# large image is not passed over for ever, and whoever asks while nobody holds anything goes ahead: nobody waits for
# nothing.

VARIABLE = "KCRC_IMAGE_MEMORY"
_USUAL = 1_500_000_000
_FILES = 256_000_000


def allowed() -> int:
    """Bytes that decoding may take at once: ``$KCRC_IMAGE_MEMORY``, or 1.5 GB."""
    return from_environment(VARIABLE, _USUAL)


class Budget:
    """Bytes that are held and given back; ``total()`` says how many there are."""

    def __init__(self, total: Callable[[], int]) -> None:
        self._total = total
        self._forget()
        if hasattr(os, "register_at_fork"):
            # What the parent's threads hold is not held in the child, where nobody would give it back.
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._held = 0
        self._queue: deque[object] = deque()
        self._changed = threading.Condition()

    @contextmanager
    def hold(self, needed: int) -> Iterator[None]:
        """Inside, ``needed`` bytes are this thread's; before, it waits until they are free."""
        turn = object()
        with self._changed:
            self._queue.append(turn)
            try:
                self._changed.wait_for(lambda: self._queue[0] is turn and self._fits(needed))
                self._held += needed
            finally:
                self._queue.remove(turn)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._held -= needed
                self._changed.notify_all()

    def _fits(self, needed: int) -> bool:
        return not self._held or self._held + needed <= self._total()


@cache
def _trim() -> Callable[[int], int] | None:
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    return trim


def give_back() -> None:
    """Have the C library return what is free to the system; glibc keeps some hundred megabytes for each thread."""
    trim = _trim()
    if trim is not None:
        trim(0)


DECODING = Budget(allowed)
"""Of decoded images and what decoders need beside them."""

FILES = Budget(lambda: _FILES)
"""Of files that are read and wait to be decoded. Held first, DECODING second, never the other way round."""
