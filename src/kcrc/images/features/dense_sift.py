"""SIFT descriptors on a grid of points (Lowe 2004; on a grid: Lazebnik, Schmid, Ponce 2006)."""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array, unit_rows
from kcrc.method.distances.gradients import gather, gradients, orientation_maps, tent_weights

SIDE, DIRECTIONS = 4, 8
LENGTH = SIDE * SIDE * DIRECTIONS
_CLIP = 0.2  # largest entry of a descriptor (Lowe)
_FLAT = 0.005  # mean gradient below which a patch counts as flat: about one grey level in 255


def grid(length: int, patch: int, step: int) -> Array:
    """Return the first pixels of the patches along a side, with equal margins at both ends."""
    count = (length - patch) // step + 1
    spare = length - patch - (count - 1) * step
    return spare // 2 + step * np.arange(count)


def dense_sift(image: Array, *, patch: int = 16, step: int = 6) -> tuple[Array, Array]:
    """Return descriptors (n, 128) of unit length, and the centres (n, 2) of their patches as fractions of the image.

    ``image`` (h, w) is grey, 0…1, at least ``patch`` on each side. A patch is 4×4 bins of 8 signed directions, summed
    with bilinear weights, scaled to unit length, clipped at 0.2, and scaled again. A flat patch is all zero.
    """
    height, width = image.shape
    maps = orientation_maps(*gradients(image), DIRECTIONS, signed=True)
    bin_width = patch / SIDE
    tops, lefts = grid(height, patch, step), grid(width, patch, step)
    inside = (np.arange(SIDE) + 0.5) * bin_width
    rows = tent_weights((tops[:, None] + inside).ravel(), height, bin_width)
    columns = tent_weights((lefts[:, None] + inside).ravel(), width, bin_width)
    bins = gather(maps, rows, columns).reshape(DIRECTIONS, len(tops), SIDE, len(lefts), SIDE)
    descriptors = bins.transpose(1, 3, 2, 4, 0).reshape(-1, LENGTH) * _gaussian(inside, patch)
    flat = descriptors.sum(axis=1) < _FLAT * patch * patch
    descriptors = unit_rows(np.minimum(unit_rows(descriptors), _CLIP))
    descriptors[flat] = 0.0
    centres = np.stack(np.meshgrid(tops + patch / 2, lefts + patch / 2, indexing="ij"), axis=-1).reshape(-1, 2)
    return descriptors, (centres / (height, width)).astype(np.float32)


def _gaussian(inside: Array, patch: int) -> Array:
    """Return the Gaussian weight of each bin of a patch, with σ of half the patch (Lowe)."""
    distance = (inside - patch / 2) / (patch / 2)
    weight = np.exp(-0.5 * distance**2)
    return np.repeat(np.outer(weight, weight).ravel(), DIRECTIONS).astype(np.float32)
