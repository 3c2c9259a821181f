"""Histograms of labels over the regions of an image, and the χ² distance between them.

An image is divided into rows × columns of windows whose sides differ by at most a pixel; nothing is left over.
Each window has one histogram that sums to 1 (times the weight of its region); they are concatenated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.method.distances.base import prepare_vectors
from kcrc.method.distances.coordinatewise import Coordinatewise
from kcrc.method.distances.grey_images import GreyImageDistance
from kcrc.method.preparation import Prepared


def region_of_pixels(height: int, width: int, grid: tuple[int, int]) -> Array:
    """The number of the region, row by row, of each pixel of an (h, w) image: (h, w)."""
    rows, columns = grid
    if rows > height or columns > width:
        raise ParameterError(
            f"A grid of {rows} × {columns} regions does not fit an image of {height} × {width} pixels. "
            "Give fewer regions, or larger images."
        )
    row = (np.arange(height) * rows) // height
    column = (np.arange(width) * columns) // width
    return np.asarray(row[:, None] * columns + column[None, :])


def regional_histograms(labels: Array, regions: Array, n_labels: int, dtype: type[np.floating]) -> Array:
    """Histograms (n, regions, n_labels), each summing to 1, of ``labels`` (n, h, w) over ``regions`` (h, w)."""
    n_regions = int(regions.max()) + 1
    offset = (regions * n_labels).astype(np.int32).ravel()
    out = np.empty((len(labels), n_regions * n_labels), dtype)
    for i, image in enumerate(labels):
        out[i] = np.bincount(offset + image.ravel(), minlength=n_regions * n_labels)
    sizes = np.bincount(regions.ravel()).astype(dtype)
    return np.asarray(out.reshape(len(labels), n_regions, n_labels) / sizes[:, None])


def checked_grid(grid: tuple[int, int], *, name: str) -> tuple[int, int]:
    """Two whole numbers, 1 or more."""
    values = tuple(grid)
    if len(values) != 2 or not all(isinstance(v, (int, np.integer)) and v >= 1 for v in values):
        raise ParameterError(f"{name} is two whole numbers (rows, columns), 1 or more; got {grid!r}.")
    return int(values[0]), int(values[1])


@dataclass(frozen=True, kw_only=True)
class HistogramImageDistance(Coordinatewise, GreyImageDistance):
    """χ² between histograms prepared as ``vectors``: Σ (a − b)² / (a + b), from 0 to twice the total weight.

    Its polarisation is the additive χ² kernel Σ 2ab/(a + b): the origin is the empty histogram, Σ a away.
    """

    metric: ClassVar[bool] = False
    power: ClassVar[int] = 1
    measure: ClassVar[str] = "chi2"
    rules: ClassVar[tuple[str, ...]] = ("exp", "polarisation")

    @staticmethod
    def as_rows(histograms: Array) -> Prepared:
        """Histograms (n, …, bins) as rows."""
        return prepare_vectors(histograms.reshape(len(histograms), -1))

    def to_origin(self, a: Prepared) -> Array:
        return np.asarray(a["vectors"].sum(axis=1))
