"""The subspace of the examples: vectors with more numbers than there are examples lie in few directions.

Coordinates in that subspace are all that tells examples apart. A query also has a part outside it, whose length r is
stored as one more coordinate, 0 for the examples:

    q = A v,   r = √(‖v‖² − ‖q‖²),   ‖(q, r) − (q_i, 0)‖ = ‖v − v_i‖

An example that is left out lies outside the subspace of the others in the same way. Without r, queries would come
nearer to the examples than left-out examples do, and probabilities learned from those would be too sure.
"""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array

SMALLEST_EIGENVALUE = 1e-7  # relative to the largest: directions below it hold only rounding
SMALLEST_OUTSIDE = 1e-3  # relative to the squared length: less outside is rounding, and what those directions held


def subspace_axes(vectors: Array) -> Array | None:
    """Return orthonormal rows (m, d) that span the vectors (n, d), or None if there are as many vectors as numbers."""
    n, d = vectors.shape
    if d <= n:
        return None
    exact = vectors.astype(np.float64)
    eigenvalues, directions = np.linalg.eigh(exact @ exact.T)
    kept = eigenvalues > max(float(eigenvalues[-1]), 0.0) * SMALLEST_EIGENVALUE
    if not kept.any():  # every picture is blank
        return None
    axes = (directions[:, kept] / np.sqrt(eigenvalues[kept])).T @ exact
    return np.ascontiguousarray(axes[::-1], np.float32)


def with_outside_length(inside: Array, squares: Array) -> Array:
    """Append to coordinates (n, m) how far outside the subspace vectors of these squared lengths (n,) lie."""
    left = squares - squared_lengths(inside)
    outside = np.sqrt(np.where(left > SMALLEST_OUTSIDE * squares, left, 0.0))
    return np.concatenate([inside, outside[:, None].astype(inside.dtype)], axis=1)


def without_outside_length(coordinates: Array) -> Array:
    """Return a copy with 0 as the outside length, as examples are stored.

    Two examples that are added later lie outside in different directions, but the coordinate would be the same for
    both and make them look alike.
    """
    stored = coordinates.copy()
    stored[:, -1] = 0.0
    return stored


def squared_lengths(vectors: Array) -> Array:
    """Return the squared length of each row."""
    return np.asarray(np.einsum("ij,ij->i", vectors, vectors))
