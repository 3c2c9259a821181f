"""The type of an array, the precision that is stored but not computed with, NumPy's scalars, rows and their blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
BLOCK = 4 << 20  # bytes at a time, as doubles, where all examples are gone over


def widen(values: Array) -> Array:
    """Half precision stores, it does not compute: as single precision. Anything else as it is."""
    return values.astype(np.float32) if values.dtype == np.float16 else values


def in_double(values: Array) -> Array:
    """The same numbers in double precision."""
    return values.astype(np.float64, copy=False)


def as_python(value: Any) -> Any:
    """A number or text of NumPy's as Python's own; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def unit_rows(X: Array) -> Array:
    """Rows (n, d) scaled to length 1; a row of zeros stays one."""
    length = np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
    return np.asarray(X / np.where(length > 0, length, 1))


def blocks(n: int, width: int) -> Iterator[slice]:
    """Slices of n rows of ``width`` numbers, a BLOCK each."""
    step = max(1, BLOCK // (8 * max(1, width)))
    return (slice(start, min(n, start + step)) for start in range(0, n, step))
