"""SIFT descriptors on a grid (Lowe 2004) and the Euclidean distance between them, place by place.

The gradient of the smoothed image, at every pixel, votes with its length for the two nearest of ``n_angles``
directions. Round each of the grid's keypoints lie ``n_cells`` × ``n_cells`` cells of ``cell`` pixels: a vote goes to
the nearest cells in proportion (a triangle two cells wide) and counts less far from the keypoint (a Gaussian as wide
as half the descriptor). A descriptor is scaled to length 1, cut at ``clip`` and scaled again. All weights are a
product of one in y and one in x, so the descriptors of an image are two matrix products a direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.ndimage import gaussian_filter

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.method.distances.base import prepare_vectors, register
from kcrc.method.distances.gradients import gradients
from kcrc.method.distances.grey_images import GreyImageDistance, check_size, unit_range
from kcrc.method.distances.pixel import EuclideanAfter
from kcrc.method.distances.regions import checked_grid
from kcrc.method.preparation import Prepared

_FAINT = 1e-4  # a descriptor whose votes sum to less (gradients of an image with range 1) is flat: rounding, no shape


def gradient(images: Array, smoothing: float) -> tuple[Array, Array]:
    """Half the difference of the two neighbours down and right (n, h, w), of images smoothed by a Gaussian."""
    if smoothing:
        images = gaussian_filter(images, (0, smoothing, smoothing), mode="nearest")
    down, right = gradients(images)
    return 0.5 * down, 0.5 * right


def orientation_maps(down: Array, right: Array, n_angles: int) -> Array:
    """Gradient lengths (n, n_angles, h, w), each shared by the two nearest of the directions 2πk/n_angles."""
    length = np.hypot(down, right)
    turn = np.arctan2(down, right) * (n_angles / (2 * np.pi))
    directions = np.arange(n_angles, dtype=length.dtype)[:, None, None]
    apart = np.abs((turn[:, None] - directions + n_angles / 2) % n_angles - n_angles / 2)
    return np.asarray(np.maximum(1 - apart, 0) * length[:, None])


def _cell_weights(length: int, keypoints: int, cell: float, n_cells: int) -> Array:
    """The weight (keypoints · n_cells, length) of every pixel of a side in every cell."""
    centres = (np.arange(keypoints) + 0.5) * length / keypoints - 0.5
    offset = np.arange(length)[None, :] - centres[:, None]
    window = np.exp(-0.5 * (offset / (0.5 * n_cells * cell)) ** 2)
    cells = np.arange(n_cells) - (n_cells - 1) / 2
    triangle = np.maximum(1 - np.abs(offset[:, None, :] / cell - cells[None, :, None]), 0)
    return np.asarray(triangle * window[:, None, :]).reshape(-1, length)


@register("sift")
@dataclass(frozen=True, kw_only=True)
class SIFT(EuclideanAfter, GreyImageDistance):
    """√ of the mean, over the keypoints of a grid, of the squared distance between SIFT descriptors there.

    ``grid`` = (rows, columns) keypoints are spread evenly over the image: every 8 pixels, at most 8 a side, when None.
    ``cell`` is the side of a cell in pixels; None takes half the greater spacing of the keypoints: with 4 × 4 cells
    neighbouring descriptors overlap by half. A descriptor of a flat place is 0: constant images are at distance 0 from
    each other, at most 1 from any other.
    """

    formula: ClassVar[str] = "√ (1/n) Σ_p ‖a_p − b_p‖², a_p and b_p SIFT descriptors at grid point p"
    metric: ClassVar[bool] = True
    power: ClassVar[int] = 2
    rules: ClassVar[tuple[str, ...]] = ("exp", "polarisation")

    grid: tuple[int, int] | None = None
    cell: float | None = None
    n_cells: int = 4
    n_angles: int = 8
    smoothing: float = 0.7
    clip: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grid is not None:
            object.__setattr__(self, "grid", checked_grid(self.grid, name="grid"))
        for name in ("n_cells", "n_angles"):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or value < 1:
                raise ParameterError(f"{name} is a whole number, 1 or more; got {value!r}.")
        if self.cell is not None and not 0 < self.cell < np.inf:
            raise ParameterError(f"cell is a number of pixels above 0, or None; got {self.cell!r}.")
        if not 0 <= self.smoothing < np.inf:
            raise ParameterError(f"smoothing is a width in pixels, 0 or more; got {self.smoothing!r}.")
        if not 0 < self.clip <= 1:
            raise ParameterError(f"clip lies above 0 and at most at 1; got {self.clip!r}.")
        rows, columns = self.grid or (8, 8)
        check_size("The descriptors", rows * columns * self.n_cells**2 * self.n_angles)

    def keypoints(self, height: int, width: int) -> tuple[int, int]:
        """The rows and columns of keypoints of an image."""
        return self.grid or (min(8, max(1, round(height / 8))), min(8, max(1, round(width / 8))))

    def descriptors(self, images: Array) -> Array:
        """Descriptors (n, rows, columns, n_cells, n_cells, n_angles) of grey images (n, h, w)."""
        height, width = images.shape[1:]
        (rows, columns), cells = self.keypoints(height, width), self.n_cells
        cell = self.cell or max(height / rows, width / columns) / 2
        down = _cell_weights(height, rows, cell, cells).astype(images.dtype)
        across = _cell_weights(width, columns, cell, cells).astype(images.dtype)
        maps = orientation_maps(*gradient(unit_range(images), self.smoothing), self.n_angles)
        votes = (down @ maps @ across.T).reshape(len(images), self.n_angles, rows, cells, columns, cells)
        votes = votes.transpose(0, 2, 4, 3, 5, 1)
        kept = np.where(votes.sum(axis=(3, 4, 5), keepdims=True) > _FAINT, votes, 0)
        return _unit(np.minimum(_unit(kept), self.clip))

    def prepare(self, X: Array) -> Prepared:
        rows = np.concatenate([self.descriptors(images) for _, images in self.chunks(X, maps=2 * self.n_angles)])
        scale = rows.dtype.type(1 / np.sqrt(rows.shape[1] * rows.shape[2]))
        return prepare_vectors(rows.reshape(len(rows), -1) * scale)


def _unit(descriptors: Array) -> Array:
    length = np.sqrt(np.sum(descriptors**2, axis=(3, 4, 5), keepdims=True))
    return np.asarray(np.divide(descriptors, length, out=np.zeros_like(descriptors), where=length > 0))
