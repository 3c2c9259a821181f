"""Arrays in mapped files: examples that are larger than memory stay in the caller's file, and what is made of them, as
large as they are, goes into files of its own.

Such a file has no name. It is made in the folder for temporary files, only this process can reach it, and the system
takes it back with the last array over it, however the process ends: nobody can cut it short or write over it, a kill
leaves nothing behind, and there is nothing to trust at the next start. Its blocks are taken when it is made, so a disk
that is full is an error then and not a signal when a page is first written.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from kcrc._base.arrays import BLOCK, Array, blocks
from kcrc.errors import FileError


def is_mapped(array: Any) -> bool:
    """Whether the numbers of an array are in a mapped file, as those of ``np.load(path, mmap_mode="r")`` are."""
    while array is not None and not isinstance(array, mmap.mmap):
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
    return array is not None


def allocate(shape: tuple[int, ...], dtype: DTypeLike, *, mapped: bool) -> Array:
    """Zeros, in memory or in a mapped file; what is one number an example stays in memory."""
    size = prod(shape) * np.dtype(dtype).itemsize
    if not mapped or len(shape) == 1 or not size:
        return np.zeros(shape, dtype)
    try:
        with tempfile.TemporaryFile(buffering=0) as file:
            _take_blocks(file, size)
            mapping = mmap.mmap(file.fileno(), size)
    except OSError as problem:
        raise FileError(
            f"'{tempfile.gettempdir()}' cannot hold {size:,} bytes of examples: {problem.strerror or problem}. Set "
            "TMPDIR to a folder with more room."
        ) from None
    return np.frombuffer(mapping, dtype).reshape(shape)


def _take_blocks(file: Any, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for start in range(0, size, BLOCK):
        file.write(bytes(min(BLOCK, size - start)))


def apply_by_blocks(make: Callable[[Array], Array], X: Array) -> Array:
    """``make(X)`` for one that looks at each row by itself: of a mapped X block by block, into a mapped file."""
    return apply_parts_by_blocks(lambda some: {"only": make(some)}, X)["only"]


def apply_parts_by_blocks(make: Callable[[Array], Mapping[str, Array]], X: Array) -> Mapping[str, Array]:
    """The same where ``make`` gives several arrays; one that is X as it was given is X here too."""
    if not is_mapped(X):
        return make(X)
    whole: dict[str, Array] = {}
    for block in blocks(*X.shape):
        some = X[block]
        for name, part in make(some).items():
            if part is some:
                whole[name] = X
                continue
            if name not in whole:
                whole[name] = allocate((len(X), *part.shape[1:]), part.dtype, mapped=True)
            whole[name][block] = part
    return whole
