"""Where the arrays of the examples are: in memory, or in files that are mapped into it.

A mapped file has no name. It is made in the folder that the caller gives, only this process can reach it, and the
system takes it back with the last array over it, however the process ends: nobody can cut it short or write over it,
a kill leaves nothing behind, and there is nothing to trust at the next start. Its blocks are taken when it is made, so
a disk that is full is an error then and not a signal when a page is first written.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from kcrc.arrays import Array
from kcrc.errors import FileError

BLOCK = 4 << 20  # bytes that whoever goes over all examples has in hand at a time, as doubles


class Storage:
    """Memory."""

    mapped: ClassVar[bool] = False

    def owned_by(self, process: int) -> bool:
        """Whether this process may write where ``process`` made room: memory is each one's own after a fork."""
        return True

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        return np.zeros(shape, dtype)

    def room(self, n: int) -> int:
        """How many rows to make room for where there are ``n``."""
        return n


MEMORY = Storage()


@dataclass(frozen=True)
class MappedStorage(Storage):
    """Files in ``folder``; what is one number an example stays in memory."""

    folder: str
    mapped: ClassVar[bool] = True

    def owned_by(self, process: int) -> bool:
        """A file is shared with whoever was forked: one that made it may go on in it, and no other."""
        return process == os.getpid()

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        size = prod(shape) * np.dtype(dtype).itemsize
        if len(shape) == 1 or not size:
            return np.zeros(shape, dtype)
        try:
            with tempfile.TemporaryFile(dir=self.folder, buffering=0) as file:
                _take_blocks(file, size)
                mapping = mmap.mmap(file.fileno(), size)
        except OSError as problem:
            why = problem.strerror or problem
            raise FileError(f"'{self.folder}' cannot hold {size:,} bytes of examples: {why}.") from None
        return np.frombuffer(mapping, dtype).reshape(shape)

    def room(self, n: int) -> int:
        """An eighth to spare: a file that has to grow is written anew."""
        return n + n // 8 + 64


def _take_blocks(file: Any, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for start in range(0, size, BLOCK):
        file.write(bytes(min(BLOCK, size - start)))


def storage_of(storage: Any) -> Storage:
    """Where a classifier with this ``storage`` keeps its examples."""
    return MEMORY if storage is None else MappedStorage(str(Path(storage).absolute()))


def blocks(n: int, width: int) -> Iterator[slice]:
    """Slices of n rows of ``width`` numbers, a BLOCK each."""
    step = max(1, BLOCK // (8 * max(1, width)))
    return (slice(start, min(n, start + step)) for start in range(0, n, step))
