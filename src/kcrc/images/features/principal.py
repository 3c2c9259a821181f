"""Principal axes of many or wide rows, the same on every run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kcrc._base.arrays import Array

_BLOCK = 1 << 22  # values made float64 at a time: the rows may be many gigabytes in float32


def principal_axes(X: Array, n: int) -> tuple[Array, Array]:
    """Mean (d,) and the first principal axes (m, d) of the rows of ``X``, m = min(n, rank).

    From the smaller of the two products, X Xᵀ or XᵀX of the centred rows, in float64: the last of a few hundred
    axes have a millionth of the variance of the first. An axis of no variance is left out. The largest entry of an
    axis is positive, so that signs do not depend on the machine.
    """
    from scipy.linalg import eigh

    mean = X.mean(axis=0, dtype=np.float64)
    wide = X.shape[1] > len(X)
    size = min(X.shape)
    product = np.zeros((size, size))
    for part in _centred_blocks(X, mean, wide):
        product += part @ part.T
    m = min(n, size)
    values, vectors = eigh(product, subset_by_index=(size - m, size - 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    vectors = vectors[:, values > max(values[0], 0.0) * size * np.finfo(np.float64).eps]
    axes = vectors.T
    if wide and vectors.size:
        axes = np.concatenate([vectors.T @ part for part in _centred_blocks(X, mean, wide)], axis=1)
        axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    if len(axes):
        largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
        axes = axes * np.sign(largest)
    return mean.astype(np.float32), np.ascontiguousarray(axes, np.float32)


def _centred_blocks(X: Array, mean: Array, wide: bool) -> Iterator[Array]:
    """The centred rows in float64, cut along their longer axis, that axis last."""
    step = max(1, _BLOCK // min(X.shape))
    for start in range(0, max(X.shape), step):
        cut = slice(start, start + step)
        yield X[:, cut] - mean[cut] if wide else (X[cut] - mean).T
