"""Arrays: their type, precision, NumPy's scalars as Python's own, unit rows, blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
BLOCK = 4 << 20  # bytes, as doubles, of the examples that are processed at a time: they fit into the cache of most CPUs


def widen(values: Array) -> Array:
    """Return float16 arrays as float32; return other dtypes unchanged."""
    return values.astype(np.float32) if values.dtype == np.float16 else values


def in_double(values: Array) -> Array:
    """Return the same numbers in double precision."""
    return values.astype(np.float64, copy=False)


def as_python(value: Any) -> Any:
    """Return a NumPy scalar as Python's own number or text; return anything else unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def unit_rows(X: Array) -> Array:
    """Scale rows (n, d) to length 1; a row of zeros stays zero."""
    length = np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
    return np.asarray(X / np.where(length > 0, length, 1))


def blocks(n: int, width: int) -> Iterator[slice]:
    """Yield slices that cut n rows of ``width`` numbers into blocks of BLOCK bytes."""
    step = max(1, BLOCK // (8 * max(1, width)))
    return (slice(start, min(n, start + step)) for start in range(0, n, step))


def in_precision_of(queries: object, values: Array) -> Array:
    """Return float64 values as float32 if the queries are an array of float32."""
    single = isinstance(queries, np.ndarray) and queries.dtype == np.float32
    return values.astype(np.float32) if single else values
