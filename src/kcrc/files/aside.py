"""A file written aside: under a passing name beside its goal, flushed to the disk, then in the goal's place at once.

A reader sees the old file or the whole new one, never a part. Whatever goes wrong, a full disk or Ctrl-C too, leaves
the old file as it was and nothing beside it. The new file has the rights that the umask gives to any new file, from
the moment it is made.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from kcrc.errors import FileError

_LONGEST = 200  # bytes of the goal's name in the passing one; file systems allow 255 for all of it


@contextlib.contextmanager
def aside(
    path: str | os.PathLike[str], *, mode: int = 0o666, durable: bool = True, parents: bool = False
) -> Iterator[BinaryIO]:
    """A file to be filled in the block; at its end, and not before, it is there under ``path``.

    ``mode`` is what the umask takes from; ``durable`` waits for the disk; ``parents`` makes the folders it is in.
    What the system refuses is a ``FileError``.
    """
    goal = Path(path)
    try:
        passing, descriptor = _new_file(goal, mode, parents)
        try:
            with os.fdopen(descriptor, "w+b") as file:
                yield file
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            os.replace(passing, goal)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(passing)
            raise
        if durable:
            _sync_folder(goal.parent)
    except OSError as problem:
        raise FileError(f"'{goal}' cannot be written: {problem.strerror or problem}.") from None


def write_aside(path: str | os.PathLike[str], content: bytes) -> None:
    """Write ``content`` to ``path``, whose folders are made at need."""
    with aside(path, parents=True) as file:
        file.write(content)


def _new_file(goal: Path, mode: int, parents: bool) -> tuple[Path, int]:
    """A new empty file under a passing name that nobody can guess, and its descriptor."""
    if "\0" in str(goal):
        raise FileError(f"{str(goal)!r} cannot be written: a file name has no NUL in it.")
    if parents:
        goal.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(goal).st_mode):  # a plain file would take the place of a device or a pipe
            raise FileError(f"'{goal}' cannot be written: it is there already and is not a file.")
    passing = goal.with_name(f"{_shortened(goal.name)}.{secrets.token_hex(8)}.new")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return passing, os.open(passing, flags, mode)


def _shortened(name: str) -> str:
    return name if len(os.fsencode(name)) <= _LONGEST else name[: _LONGEST // 4]


def _sync_folder(folder: Path) -> None:
    """So that the new name survives a power cut; where a folder cannot be opened for that, the file is there all the
    same."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
