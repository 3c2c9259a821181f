"""The span of the examples: where vectors have more numbers than there are examples, those lie in few directions.

Coordinates in it are all that tells examples apart. A query lies outside it as well, by a length that is one coordinate
more, 0 for the examples:

    q = A v,   r = √(‖v‖² − ‖q‖²),   ‖(q, r) − (q_i, 0)‖ = ‖v − v_i‖

So does an example that is asked as if it were not stored lie outside the span of the others. Without r queries would
come nearer to the examples than left-out answers know of, and probabilities learned from those would be too sure.
"""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array

FAINT = 1e-7  # of the largest eigenvalue: directions in which there is nothing but rounding
INSIDE = 1e-3  # of the squared length: less outside is rounding, and what the faint directions held


def span(vectors: Array) -> Array | None:
    """(m, d) orthonormal rows whose span holds the vectors (n, d); None where there are as many of those as numbers."""
    n, d = vectors.shape
    if d <= n:
        return None
    exact = vectors.astype(np.float64)
    values, directions = np.linalg.eigh(exact @ exact.T)
    kept = values > max(float(values[-1]), 0.0) * FAINT
    if not kept.any():  # pictures that show nothing
        return None
    axes = (directions[:, kept] / np.sqrt(values[kept])).T @ exact
    return np.ascontiguousarray(axes[::-1], np.float32)


def with_outside(inside: Array, squares: Array) -> Array:
    """(n, m + 1) coordinates in the span (n, m), and how far outside it vectors of these squared lengths (n,) lie."""
    left = squares - squared_lengths(inside)
    outside = np.sqrt(np.where(left > INSIDE * squares, left, 0.0))
    return np.concatenate([inside, outside[:, None].astype(inside.dtype)], axis=1)


def as_stored(seen: Array) -> Array:
    """The same with nothing outside the span. Of two examples that came later it would be the same coordinate, though
    they lie outside in different directions."""
    stored = seen.copy()
    stored[:, -1] = 0.0
    return stored


def squared_lengths(vectors: Array) -> Array:
    """(n,)"""
    return np.asarray(np.einsum("ij,ij->i", vectors, vectors))
