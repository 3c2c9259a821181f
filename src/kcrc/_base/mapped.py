"""Memory-mapped arrays, for examples that are larger than memory.

The examples stay in the caller's file; whatever is computed from them and as large goes into mapped files of its own.
Such a file has no name. It is created in the folder for temporary files, only this process can reach it, and the system
frees it with the last array over it, however the process ends. So no other program can truncate or overwrite it, a kill
leaves nothing behind, and there is nothing to trust at the next start. Its disk blocks are allocated when it is
created, so a full disk is an error at that point, and not a signal when a page is first written.
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
    """Return whether an array is in a mapped file, as that of ``np.load(path, mmap_mode="r")`` is."""
    while array is not None and not isinstance(array, mmap.mmap):
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
    return array is not None


def allocate(shape: tuple[int, ...], dtype: DTypeLike, *, mapped: bool) -> Array:
    """Return zeros in memory or in a mapped file; arrays of one number per example stay in memory."""
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
    """Return ``make(X)``, where ``make`` treats each row by itself; a mapped X goes through in blocks, into a mapped
    file."""
    return apply_parts_by_blocks(lambda block: {"only": make(block)}, X)["only"]


def apply_parts_by_blocks(make: Callable[[Array], Mapping[str, Array]], X: Array) -> Mapping[str, Array]:
    """The same for a ``make`` that returns several arrays; one that is its argument itself becomes X itself."""
    if not is_mapped(X):
        return make(X)
    whole: dict[str, Array] = {}
    for rows in blocks(*X.shape):
        block = X[rows]
        for name, part in make(block).items():
            if part is block:
                whole[name] = X
                continue
            if name not in whole:
                whole[name] = allocate((len(X), *part.shape[1:]), part.dtype, mapped=True)
            whole[name][rows] = part
    return whole
