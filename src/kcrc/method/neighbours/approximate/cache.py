"""Indexes that took long to build, kept in a folder of the user's own: ``$KCRC_INDEX_CACHE``. Without it none is kept.

A file is a cache and never the truth. It is named by what it was made of, and laid out as

    magic 8, version 4, identity 32, length of the content 8, SHA-256 of the content 32; the content, by the library

The identity is the SHA-256 of the vectors, the search, its settings and the library's version. Only where all of it is
as it should be does the library get to see the content, for libraries crash on what is damaged; anything else is as if
there were no file, and the index is built and written again. A digest does not prove who wrote a
file: one that belongs to another user counts as none, and only this user may write to the folder. The files used least
recently are deleted to make room for others.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import struct
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from kcrc.errors import FileError
from kcrc.files.atomic import atomic_write
from kcrc.method.neighbours.approximate.base import Finder
from kcrc.method.neighbours.scan import Scan

FOLDER = "KCRC_INDEX_CACHE"
ENDING = ".kcrcindex"
MOST = 8  # files
MAGIC, VERSION = b"kcrcindx", 1
HEADER = struct.Struct("<8sI32sQ32s")
ROWS_AT_ONCE = 4096
BYTES_AT_ONCE = 1 << 20


def place(kind: type[Finder], scan: Scan, vectors: Any) -> Path | None:
    """Where the index of these vectors is kept; None where none is."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return None
    facts = {
        "search": kind.name,
        "settings": kind.settings(),
        "vectors": [str(vectors.dtype), *vectors.shape],
        "scale": scan.scale.hex(),
    }
    identity = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    identity.update(np.ascontiguousarray(scan.centre).data)
    for start in range(0, len(vectors), ROWS_AT_ONCE):
        identity.update(np.ascontiguousarray(vectors[start : start + ROWS_AT_ONCE]).data)
    return Path(folder).expanduser() / f"{identity.hexdigest()}{ENDING}"


def load_index(kind: type[Finder], path: Path, count: int, width: int) -> Finder | None:
    """The index of ``count`` vectors of a ``width`` that is kept at its ``place``, where it is there and whole."""
    with contextlib.suppress(OSError, ValueError, RuntimeError), _regular(path) as file:
        length, digest = _check_header(file, bytes.fromhex(path.stem))
        content = _Content(file, length)
        finder = kind.read(content)  # type: ignore[arg-type]  # all that is read of a file
        if content.rest() == digest and finder.slot_count == count and finder.is_for(width):  # digests can be forged
            with contextlib.suppress(OSError):  # a disk that is only read keeps no times
                os.utime(path)
            return finder
    return None


def keep(finder: Finder, path: Path) -> None:
    """Write an index to its ``place``; where that cannot be done, a warning says so."""
    try:
        with atomic_write(path, mode=0o600, parents=True) as file:
            file.write(bytes(HEADER.size))
            content = _Content(file, 0)
            finder.write(content)  # type: ignore[arg-type]  # all that is written to a file
            file.seek(0)
            file.write(HEADER.pack(MAGIC, VERSION, bytes.fromhex(path.stem), content.length, content.digest))
        _make_room(path.parent)
    except (FileError, OSError) as problem:
        warnings.warn(f"The index is not kept: {problem}", stacklevel=2)


@contextlib.contextmanager
def _regular(path: Path) -> Iterator[BinaryIO]:
    """A regular file of this user's, or the system's, without waiting for a pipe."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a regular file")
        if hasattr(os, "getuid") and found.st_uid not in (0, os.getuid()):
            raise ValueError("it is somebody else's")
        yield file


def _check_header(file: BinaryIO, wanted: bytes) -> tuple[int, bytes]:
    """The length and the digest of the content, which the file has; at the start of the content."""
    head = file.read(HEADER.size)
    if len(head) != HEADER.size:
        raise ValueError("it has no header")
    magic, version, identity, length, digest = HEADER.unpack(head)
    size = os.fstat(file.fileno()).st_size
    if (magic, version, identity, HEADER.size + length) != (MAGIC, VERSION, wanted, size):
        raise ValueError("it is another file")
    if _Content(file, length).rest() != digest:
        raise ValueError("it is damaged")
    file.seek(HEADER.size)
    return length, digest


class _Content:
    """What a library reads or writes of a file, counted and digested on the way."""

    def __init__(self, file: BinaryIO, length: int) -> None:
        self._file, self._left = file, length
        self._sum = hashlib.sha256()
        self.length = 0

    @property
    def digest(self) -> bytes:
        return self._sum.digest()

    def read(self, size: int = -1) -> bytes:
        part = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(part)
        self._sum.update(part)
        return part

    def write(self, part: Any) -> int:
        self._sum.update(part)
        self.length += len(part)
        return self._file.write(part)

    def rest(self) -> bytes:
        """The digest of all, what was not asked for too."""
        while self.read(BYTES_AT_ONCE):
            pass
        return self.digest


def _make_room(folder: Path) -> None:
    """Let go those used least lately, and what killed programs left of theirs; other programs may be at it too."""
    ages = []
    for path in folder.iterdir():
        if ENDING in path.suffixes:
            with contextlib.suppress(FileNotFoundError):
                ages.append((path.stat().st_mtime, path))
    for _, path in sorted(ages, reverse=True)[MOST:]:
        path.unlink(missing_ok=True)
