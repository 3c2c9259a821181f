"""The bytes of a regular file: never of a device, a pipe or a folder, never more than a limit, never by waiting."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from kcrc.errors import FileError


def read_start(path: str | os.PathLike[str], length: int) -> bytes | None:
    """The first bytes of a regular file; None of anything else, or where it cannot be read."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(length) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def open_plain(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A regular file to read from; anything else is a ``FileError``, and what the system refuses an ``OSError``."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileError(f"{Path(path)} cannot be read: it is not a regular file.")
        file = os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
    with file:
        yield file


def read_plain(path: str | os.PathLike[str], *, limit: int, what: str = "file", follow: bool = True) -> bytes:
    """The whole content of a regular file of at most ``limit`` bytes; anything else is a ``FileError``.

    The file is judged by what was opened, not by its name, so it cannot be exchanged in between; opened plainly, a
    pipe would wait for somebody to write. Without ``follow`` a link is refused.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise FileError(f"The {what} {Path(path)} cannot be read: it is not a regular file.")
            if status.st_size > limit:
                raise FileError(
                    f"The {what} {Path(path)} cannot be read: it has {status.st_size} bytes, more than the limit of "
                    f"{limit}."
                )
            content = file.read(status.st_size + 1)
    except (OSError, ValueError) as problem:
        if isinstance(problem, FileError):
            raise
        reason = getattr(problem, "strerror", None) or problem
        raise FileError(f"The {what} {Path(path)} cannot be read: {reason}.") from problem
    if len(content) != status.st_size:
        raise FileError(f"The {what} {Path(path)} cannot be read: it changed meanwhile.")
    return content
