"""What is accepted of an image file: a short list of formats, so many bytes and pixels; and the error otherwise."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
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
    """What one file may have: bytes on disk, and pixels."""

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
        "could not be read because there was not enough memory; that says nothing about the file. "
        "Close other programs, or give fewer images at once."
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


# What decoding one picture may take. The box enforces it.

MEMORY, SECONDS = "KCRC_IMAGE_MEMORY", "KCRC_IMAGE_SECONDS"


def allowed_memory() -> int:
    """Bytes that decoding one picture may take: ``$KCRC_IMAGE_MEMORY``, or 500 MB."""
    return from_environment(MEMORY, 500_000_000)


def allowed_seconds() -> int:
    """Seconds of processor time that decoding one picture may take: ``$KCRC_IMAGE_SECONDS``, or 4."""
    return from_environment(SECONDS, 4)


# What a file is, by its first bytes.

_HEADS = {
    "JPEG": (b"\xff\xd8\xff",),
    "PNG": (b"\x89PNG\r\n\x1a\n",),
    "WEBP": (b"RIFF",),
    "BMP": (b"BM",),
    "TIFF": (b"II*\0", b"MM\0*", b"II\0*", b"MM*\0", b"II+\0"),
    "GIF": (b"GIF87a", b"GIF89a"),
}
_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
_RAW_HEADS = (b"FUJIFILMCCD-RAW", b"IIRO", b"IIRS", b"MMOR", b"IIU\0")


def format_of(content: bytes, name: str = "") -> str | None:
    """The format whose beginning the bytes have, None for none that is accepted.

    Most RAW files begin like a TIFF, and only their name says more.
    """
    if content[4:8] == b"ftyp":
        return "RAW" if content[8:12] == b"crx " else "HEIC" if content[8:12] in _BRANDS else None
    if content.startswith(_RAW_HEADS) or (content[:4] == b"II*\0" and content[8:10] == b"CR"):
        return "RAW"
    for form, heads in _HEADS.items():
        if content.startswith(heads) and (form != "WEBP" or content[8:12] == b"WEBP"):
            is_raw = form == "TIFF" and EXTENSION_FORMATS.get("." + name.lower().rpartition(".")[2]) == "RAW"
            return "RAW" if is_raw else form
    return None
