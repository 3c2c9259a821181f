"""Principal axes of many or wide rows, the same on every run."""

from __future__ import annotations

import numpy as np

from kcrc.prepared import Array


def principal_axes(X: Array, n: int) -> tuple[Array, Array]:
    """Mean (d,) and the first principal axes (m, d) of the rows of ``X``, m = min(n, rank).

    From the smaller of the two products, X Xᵀ or XᵀX of the centred rows; an axis of no variance is left out.
    The largest entry of an axis is positive, so that signs do not depend on the machine.
    """
    from scipy.linalg import eigh

    mean = X.mean(axis=0, dtype=np.float64).astype(np.float32)
    centred = X - mean
    wide = X.shape[1] > len(X)
    product = centred @ centred.T if wide else centred.T @ centred
    size = len(product)
    m = min(n, size)
    values, vectors = eigh(product.astype(np.float64), subset_by_index=(size - m, size - 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > max(values[0], 0.0) * size * np.finfo(np.float32).eps
    vectors = vectors[:, kept].astype(np.float32)
    axes = (vectors.T @ centred) if wide else np.ascontiguousarray(vectors.T)
    if wide and len(axes):
        axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1) if len(axes) else axes[:, :1]
    axes = axes * np.where(largest < 0, np.float32(-1.0), np.float32(1.0))
    return mean, np.ascontiguousarray(axes, np.float32)
