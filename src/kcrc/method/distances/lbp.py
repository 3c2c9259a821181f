"""LBP-χ²: regional histograms of local binary patterns (Ahonen, Hadid and Pietikäinen 2004).

A pixel is compared with ``points`` neighbours on a circle of ``radius`` pixels, interpolated bilinearly: bit p
is 1 where the neighbour at angle 2πp/points (counter-clockwise from the right) is as bright or brighter, to 1e-9
of the range of the image (1e-6 in float32). Patterns with at most two changes round the circle (uniform: spots,
edges, line ends) have a bin each, all others share one: 59 bins for 8 points. The image continues beyond its
border with its border pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from scipy.ndimage import gaussian_filter

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.method.distances.base import register
from kcrc.method.distances.grey_images import check_size, spread
from kcrc.method.distances.regions import HistogramImageDistance, checked_grid, region_of_pixels, regional_histograms
from kcrc.method.preparation import Prepared


def lbp_codes(images: Array, *, points: int = 8, radius: float = 2.0) -> Array:
    """Local binary patterns (n, h, w) of grey images (n, h, w); bit p for the neighbour at 2πp/points."""
    margin = int(np.ceil(radius))
    height, width = images.shape[1:]
    angles = 2.0 * np.pi * np.arange(points) / points
    shifts = np.round(np.stack([-radius * np.sin(angles), radius * np.cos(angles)], axis=1), 5)
    # A neighbour as bright as the pixel must not turn darker by rounding, whatever the scale of the values.
    tolerance = (1e-6 if images.dtype == np.float32 else 1e-9) * spread(images)[1]
    codes = np.zeros(images.shape, np.uint8 if points <= 8 else np.uint16)
    for image, slack, code in zip(images, tolerance, codes, strict=True):
        padded = np.pad(image, margin, mode="edge")
        least = image - slack
        for p, (down, right) in enumerate(shifts):
            row, column = int(np.floor(down)), int(np.floor(right))
            part_down, part_right = image.dtype.type(down - row), image.dtype.type(right - column)
            rows = padded[margin + row : margin + row + height + (part_down > 0)]
            left = rows[:, margin + column : margin + column + width]
            if part_right > 0:
                left = left + part_right * (rows[:, margin + column + 1 : margin + column + 1 + width] - left)
            if part_down > 0:
                left = left[:-1] + part_down * (left[1:] - left[:-1])
            code |= (left >= least).astype(code.dtype) << code.dtype.type(p)
    return codes


@cache
def uniform_labels(points: int) -> tuple[Array, int]:
    """The bin of every pattern, and the number of bins: uniform patterns ascending, then all others."""
    patterns = np.arange(1 << points)
    turned = (patterns >> 1) | ((patterns & 1) << (points - 1))
    uniform = np.bitwise_count(patterns ^ turned) <= 2
    n_labels = int(uniform.sum()) + 1
    labels = np.where(uniform, np.cumsum(uniform) - 1, n_labels - 1).astype(np.int32)
    labels.setflags(write=False)
    return labels, n_labels


@register("lbp-chi2")
@dataclass(frozen=True, kw_only=True)
class LBPChi2(HistogramImageDistance):
    """Σ over regions of weight · χ²(histograms of uniform local binary patterns): from 0 to 2 Σ weights.

    ``window``, (height, width) in pixels, is the least size of a region: an image has as many regions as whole
    windows fit, and they share the pixels left over. The default is the paper's 11 × 13, width × height as in
    Ahonen's 18 × 21 for faces 130 wide and 150 high. ``grid`` = (rows, columns) fixes their number instead.
    ``weights`` is one number a region, row by row; equal when None. ``smoothing`` is the width in pixels of a
    Gaussian laid over the image first: it keeps camera noise in dark faces out of the patterns.
    A constant image is "all as bright" everywhere: constant images are at distance 0 from each other.
    """

    formula: ClassVar[str] = "Σ_r w_r Σ_i (a_ri − b_ri)² / (a_ri + b_ri), a and b regional histograms of LBP codes"
    cost: ClassVar[float] = 3.0

    points: int = 8
    radius: float = 2.0
    smoothing: float = 0.0
    window: tuple[int, int] = (13, 11)
    grid: tuple[int, int] | None = None
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.points, (int, np.integer)) or not 2 <= self.points <= 16:
            raise ParameterError(f"points is a whole number from 2 to 16; got {self.points!r}.")
        if not 0 < self.radius < np.inf:
            raise ParameterError(f"radius is a number of pixels above 0; got {self.radius!r}.")
        if not 0 <= self.smoothing < np.inf:
            raise ParameterError(f"smoothing is a width in pixels, 0 or more; got {self.smoothing!r}.")
        object.__setattr__(self, "window", checked_grid(self.window, name="window"))
        if self.grid is not None:
            object.__setattr__(self, "grid", checked_grid(self.grid, name="grid"))
            check_size("The histograms", self.grid[0] * self.grid[1] * (self.points * (self.points - 1) + 3))
        if self.weights is not None:
            weights = tuple(float(w) for w in np.ravel(self.weights))
            if not all(0 <= w < np.inf for w in weights) or not any(weights):
                raise ParameterError(f"weights are numbers, 0 or more and not all 0; got {self.weights!r}.")
            object.__setattr__(self, "weights", weights)

    def regions(self, height: int, width: int) -> tuple[int, int]:
        """The rows and columns of regions of an image."""
        return self.grid or (max(1, height // self.window[0]), max(1, width // self.window[1]))

    def prepare(self, X: Array) -> Prepared:
        labels, n_labels = uniform_labels(self.points)
        parts = []
        for _, images in self.chunks(X):
            grid = self.regions(images.shape[1], images.shape[2])
            if self.weights is not None and len(self.weights) != grid[0] * grid[1]:
                raise ParameterError(
                    f"weights has {len(self.weights)} values for {grid[0]} × {grid[1]} regions; give one a region."
                )
            if self.smoothing:
                images = gaussian_filter(images, (0, self.smoothing, self.smoothing), mode="nearest")
            codes = lbp_codes(images, points=self.points, radius=self.radius)
            regions = region_of_pixels(images.shape[1], images.shape[2], grid)
            parts.append(regional_histograms(labels[codes], regions, n_labels, images.dtype.type))
        histograms = np.concatenate(parts)
        if self.weights is not None:  # χ² of histograms times w is w times their χ²
            histograms *= np.array(self.weights, histograms.dtype)[:, None]
        return self.as_rows(histograms)
