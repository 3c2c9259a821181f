"""The type of an array, the one precision that is stored but not computed with, and walking over rows in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
BLOCK = 4 << 20  # bytes at a time, as doubles, where all examples are gone over


def widened(values: Array) -> Array:
    """Half precision stores, it does not compute: as single precision. Anything else as it is."""
    return values.astype(np.float32) if values.dtype == np.float16 else values


def in_double(values: Array) -> Array:
    """The same numbers in double precision."""
    return values.astype(np.float64, copy=False)


def blocks(n: int, width: int) -> Iterator[slice]:
    """Slices of n rows of ``width`` numbers, a BLOCK each."""
    step = max(1, BLOCK // (8 * max(1, width)))
    return (slice(start, min(n, start + step)) for start in range(0, n, step))
