"""Histograms of local binary patterns as a feature (Ahonen, Hadid, Pietikäinen 2004)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.images.decoding.resizing import Fit, View
from kcrc.images.features.base import Feature, Pictures, register, stack_pictures
from kcrc.method.distances.lbp import lbp_codes, uniform_labels
from kcrc.method.distances.regions import region_of_pixels, regional_histograms


@register("lbp")
class LBP(Feature):
    """One histogram of uniform patterns per region, regions in reading order: (rows · columns · 59,) for 8 points.

    ``root`` takes the square roots of the shares, so that inner products are Bhattacharyya coefficients and Euclidean
    distances Hellinger distances; without it the shares themselves, for the χ² distance. The patterns are those of the
    distance ``lbp-chi2``.
    """

    kind: ClassVar[str] = "lbp"

    def __init__(
        self,
        *,
        size: tuple[int, int] = (128, 128),
        grid: tuple[int, int] = (8, 8),
        points: int = 8,
        radius: float = 2.0,
        root: bool = True,
        fit_to: Fit = "stretch",
    ) -> None:
        self.size = size
        self.grid = grid
        self.points = points
        self.radius = radius
        self.root = root
        self.fit_to = fit_to

    @property
    def view(self) -> View:
        return View(self.size, colour=False, fit=self.fit_to)

    @property
    def dim(self) -> int:
        return int(self.grid[0] * self.grid[1] * uniform_labels(self.points)[1])

    def _check(self) -> None:
        _ = self.view
        if self.fit_to == "inside":
            raise ParameterError(
                "The feature 'lbp' needs one shape: fit_to must be 'stretch', 'crop' or 'cut'; got 'inside'."
            )
        if not 2 <= self.points <= 16 or not 0 < self.radius < min(self.size) / 2:
            raise ParameterError(
                f"points must be 2 to 16, and radius above 0 and below half the size; got {self.points}, {self.radius}."
            )
        if len(self.grid) != 2 or min(self.grid) < 1 or self.grid[0] > self.size[0] or self.grid[1] > self.size[1]:
            raise ParameterError(f"grid must be (rows, columns) of regions within size {self.size}; got {self.grid!r}.")

    def _vectors(self, batch: Pictures) -> Array:
        images = stack_pictures(batch, self.kind)
        labels, n_labels = uniform_labels(self.points)
        codes = lbp_codes(images, points=self.points, radius=self.radius)
        regions = region_of_pixels(images.shape[1], images.shape[2], self.grid)
        shares = regional_histograms(labels[codes], regions, n_labels, np.float32).reshape(len(images), -1)
        return np.sqrt(shares) if self.root else np.asarray(shares)
