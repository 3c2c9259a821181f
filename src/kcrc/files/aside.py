"""A file written aside: under a passing name beside its goal, flushed to the disk, then in the goal's place at once.

A reader sees the old file or the whole new one, never a part. Whatever goes wrong, a full disk or Ctrl-C too, leaves
the old file as it was and nothing beside it. The new file has the rights that the umask gives to any new file, from
the moment it is made.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from kcrc.errors import FileError

_LONGEST = 200  # bytes of the goal's name in the passing one; file systems allow 255 for all of it


class NameTaken(FileError):
    """Something has the name already, and was not to be overwritten."""


@contextlib.contextmanager
def aside(
    path: str | os.PathLike[str],
    *,
    mode: int = 0o666,
    durable: bool = True,
    parents: bool = False,
    overwrite: bool = True,
) -> Iterator[BinaryIO]:
    """A file to be filled in the block; at its end, and not before, it is there under ``path``.

    ``mode`` is what the umask takes from; ``durable`` waits for the disk; ``parents`` makes the folders it is in.
    Without ``overwrite`` it never takes the place of anything: where the name is taken by then, that is ``NameTaken``.
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
            if overwrite:
                os.replace(passing, goal)
            else:
                _put_beside(passing, goal)
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


def move_aside(source: Path, goal: Path) -> None:
    """Give a file (no link) another place, on the same disk, where none may be yet (``NameTaken``).

    At every moment it is in one place at least. Where the disk cannot do that, it is an ``OSError``."""
    try:
        os.link(source, goal)
    except FileExistsError:
        raise NameTaken(f"'{goal}' is there already.") from None
    _sync_folder(goal.parent)
    unlink_or_else(source, goal)


def unlink_or_else(source: Path, goal: Path) -> None:
    """Take the old place away from what is in the new one by now; where that is refused, the new one again."""
    try:
        os.unlink(source)
    except OSError:
        os.unlink(goal)
        raise


def leftovers(path: Path) -> list[Path]:
    """What a killed ``aside`` of this file left beside it."""
    name = re.compile(rf"{re.escape(_shortened(path.name))}\.[0-9a-f]{{16}}\.new")
    return [found for found in path.parent.iterdir() if name.fullmatch(found.name)] if path.parent.is_dir() else []


def _put_beside(passing: Path, goal: Path) -> None:
    """Give a file its name if nothing has it."""
    try:
        try:
            os.link(passing, goal)
        except FileExistsError:
            raise
        except OSError:  # a disk without links: the name is claimed first, and then filled at once
            os.close(os.open(goal, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            os.replace(passing, goal)
        else:
            os.unlink(passing)
    except FileExistsError:
        raise NameTaken(f"'{goal}' is there already.") from None


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


# A log: a new file that grows by lines, each on the disk before ``add`` returns. A kill may leave half of the last.


class GrowingLog:
    """JSON lines in plain ASCII."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        try:
            self._file = os.open(path, flags, 0o666)
        except FileExistsError:
            raise NameTaken(f"'{path}' is there already.") from None
        except OSError as problem:
            raise FileError(f"'{path}' cannot be written: {problem.strerror or problem}.") from None

    def add(self, facts: Mapping[str, Any]) -> None:
        rest = json.dumps(facts, allow_nan=False).encode() + b"\n"
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError as problem:
            raise FileError(f"'{self.path}' cannot be written: {problem.strerror or problem}.") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)
