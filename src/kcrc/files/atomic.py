"""Atomic writes: a temporary file in the same folder, flushed to the disk, then moved into place in one step.

A reader sees the old file or the whole new one, never a part. If anything goes wrong, including a full disk or Ctrl-C,
the old file stays as it was and the temporary one is removed. The new file has the permissions that the umask gives to
any new file, from the moment it is created.
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


class NameTaken(FileError):
    """A file of this name exists, and must not be overwritten."""


@contextlib.contextmanager
def atomic_write(
    path: str | os.PathLike[str],
    *,
    mode: int = 0o666,
    durable: bool = True,
    parents: bool = False,
    overwrite: bool = True,
) -> Iterator[BinaryIO]:
    """Give a file to write to; it appears under ``path`` when the block ends, and not before.

    ``mode`` are the permissions before the umask; ``durable`` waits for the disk; ``parents`` creates the folders it is
    in. Without ``overwrite``, an existing file is never replaced: that is ``NameTaken``. Whatever the system refuses is
    a ``FileError``.
    """
    goal = Path(path)
    try:
        temporary, descriptor = _new_file(goal, mode, parents)
        try:
            with os.fdopen(descriptor, "w+b") as file:
                yield file
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            if overwrite:
                os.replace(temporary, goal)
            else:
                _link_or_fail(temporary, goal)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        if durable:
            _sync_folder(goal.parent)
    except OSError as problem:
        raise FileError(f"'{goal}' cannot be written: {problem.strerror or problem}.") from None


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write ``content`` to ``path``; create its folders if needed."""
    with atomic_write(path, parents=True) as file:
        file.write(content)


def move_file(source: Path, goal: Path) -> None:
    """Move a file (not a link) on the same disk, to where no file is yet (``NameTaken``).

    At every moment it is in at least one place. If the disk cannot do that, it is an ``OSError``."""
    try:
        os.link(source, goal)
    except FileExistsError:
        raise NameTaken(f"'{goal}' is there already.") from None
    _sync_folder(goal.parent)
    unlink_or_undo(source, goal)


def unlink_or_undo(source: Path, goal: Path) -> None:
    """Remove ``source``, which ``goal`` is a link to by now; if that is refused, remove ``goal`` again."""
    try:
        os.unlink(source)
    except OSError:
        os.unlink(goal)
        raise


def leftovers(path: Path) -> list[Path]:
    """Return the temporary files that an ``atomic_write`` of this file left when it was killed."""
    name = re.compile(rf"{re.escape(_shorten(path.name))}\.[0-9a-f]{{16}}\.new")
    return [other for other in path.parent.iterdir() if name.fullmatch(other.name)] if path.parent.is_dir() else []


def _link_or_fail(temporary: Path, goal: Path) -> None:
    """Give a file its name, unless the name is taken."""
    try:
        try:
            os.link(temporary, goal)
        except FileExistsError:
            raise
        except OSError:  # a disk without links: create the name first, then replace it
            os.close(os.open(goal, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            os.replace(temporary, goal)
        else:
            os.unlink(temporary)
    except FileExistsError:
        raise NameTaken(f"'{goal}' is there already.") from None


def _new_file(goal: Path, mode: int, parents: bool) -> tuple[Path, int]:
    """Create an empty file under a temporary name that cannot be guessed; return its path and descriptor."""
    if "\0" in str(goal):
        raise FileError(f"{str(goal)!r} cannot be written: a file name must not contain NUL.")
    if parents:
        goal.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(goal).st_mode):  # a plain file would take the place of a device or a pipe
            raise FileError(f"'{goal}' cannot be written: it is there already and is not a file.")
    temporary = goal.with_name(f"{_shorten(goal.name)}.{secrets.token_hex(8)}.new")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return temporary, os.open(temporary, flags, mode)


def _shorten(name: str) -> str:
    """Cut a name of more than 200 bytes: file systems allow 255, and the temporary name is longer."""
    return name if len(os.fsencode(name)) <= 200 else name[:50]


def _sync_folder(folder: Path) -> None:
    """Flush a folder, so that a new name in it survives a power cut; ignore folders that cannot be opened for that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class AppendLog:
    """A new file of JSON lines in plain ASCII: each is on the disk when ``add`` returns. A kill may leave half of the
    last."""

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
