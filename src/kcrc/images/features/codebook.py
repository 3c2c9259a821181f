"""Code descriptors in visual words: the nearest word, or a few near ones that reconstruct it (LLC)."""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError

_RIDGE = 1e-4  # λ, relative to the trace (Wang et al. 2010)


def learn_words(descriptors: Array, n_words: int, *, seed: int) -> Array:
    """Learn ``n_words`` cluster centres (n_words, d) of descriptors (n, d) by mini-batch k-means."""
    from sklearn.cluster import MiniBatchKMeans

    if len(descriptors) < n_words:
        raise DataError(
            f"{n_words} visual words need as many descriptors; the training images gave {len(descriptors)}. "
            "Give more or larger images, or a smaller n_words."
        )
    clusters = MiniBatchKMeans(
        n_words, init="random", batch_size=4096, n_init=1, max_iter=10, max_no_improvement=None, random_state=seed
    ).fit(descriptors)
    return np.ascontiguousarray(clusters.cluster_centers_, np.float32)


def nearest_words(descriptors: Array, words: Array, k: int) -> Array:
    """Return the rows (n, k) of the nearest words, nearest first."""
    squared = descriptors @ (-2.0 * words.T)
    squared += np.einsum("ij,ij->i", words, words)
    nearest = np.empty((len(descriptors), k), np.intp)
    rows = np.arange(len(descriptors))
    for j in range(k):  # for the five words of LLC, k passes of argmin are faster than a partition
        nearest[:, j] = squared.argmin(axis=1)
        squared[rows, nearest[:, j]] = np.inf
    return nearest


def llc(descriptors: Array, words: Array, *, k: int = 5) -> tuple[Array, Array]:
    """Code by locality-constrained linear coding (Wang et al. 2010, approximated); return words and weights (n, k).

    c = argmin ‖x − Bᵀc‖² + λ tr(C)‖c‖², Σc = 1 over the k nearest words B, C = (B − 1xᵀ)(B − 1xᵀ)ᵀ:
    c ∝ (C + λ tr(C) I)⁻¹ 1.
    """
    near = nearest_words(descriptors, words, k)
    shifted = words[near] - descriptors[:, None, :]
    C = shifted @ shifted.transpose(0, 2, 1)
    trace = np.einsum("nii->n", C)
    diagonal = np.arange(k)
    C[:, diagonal, diagonal] += (_RIDGE * trace + 1e-12)[:, None]
    weights = np.linalg.solve(C, np.ones((len(C), k, 1), C.dtype))[..., 0]
    return near, (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def hard(descriptors: Array, words: Array) -> tuple[Array, Array]:
    """Code by the nearest word alone; return words (n, 1) and weights (n, 1), all 1."""
    near = nearest_words(descriptors, words, 1)
    return near, np.ones(near.shape, np.float32)
