"""Histograms of colours, whole and by region, as a feature (Swain, Ballard 1991, in opponent colours)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.images.decoding.resizing import Fit, View
from kcrc.images.features.base import Feature, Pictures, register, stack_pictures

_MOST_BINS = 4096  # of all three axes together


@register("colour")
class ColourHistogram(Feature):
    """Square roots of colour histograms in 1 + 4 + … + ``levels``² regions: (regions · bins,).

    A colour is its lightness (R + G + B)/3 and two opponent colours, ½ + (R − G) and ½ + (R + G − 2B)/2, clipped to
    0…1. Most colours in photographs are nearly grey, so the middle is stretched to twice its width. ``bins`` are the
    numbers of bins of the three. Regions of level l have the weight 1/l, so that all levels count equally. With square
    roots, Euclidean distances are Hellinger distances of the histograms.
    """

    kind: ClassVar[str] = "colour"

    def __init__(
        self,
        *,
        size: tuple[int, int] = (64, 64),
        bins: tuple[int, int, int] = (4, 6, 6),
        levels: int = 3,
        fit_to: Fit = "stretch",
    ) -> None:
        self.size = size
        self.bins = bins
        self.levels = levels
        self.fit_to = fit_to

    @property
    def view(self) -> View:
        return View(self.size, colour=True, fit=self.fit_to)

    @property
    def dim(self) -> int:
        return self._count * sum(level**2 for level in range(1, self.levels + 1))

    @property
    def _count(self) -> int:
        return int(np.prod(self.bins))

    def _check(self) -> None:
        _ = self.view
        if self.fit_to == "inside":
            raise ParameterError(
                "The feature 'colour' needs one shape: fit_to must be 'stretch', 'crop' or 'cut'; got 'inside'."
            )
        if len(self.bins) != 3 or min(self.bins) < 1 or self._count > _MOST_BINS:
            raise ParameterError(
                f"bins must be three positive numbers with a product of at most {_MOST_BINS}; got {self.bins!r}."
            )
        if not 1 <= self.levels <= min(8, *self.size):
            raise ParameterError(f"levels must be 1 to 8, and at most the smaller side of size; got {self.levels!r}.")

    def _vectors(self, batch: Pictures) -> Array:
        pixels = np.clip(stack_pictures(batch, self.kind), 0.0, 1.0)
        red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
        planes = ((red + green + blue) / 3.0, 0.5 + (red - green), 0.5 + 0.5 * (red + green - 2.0 * blue))
        code = np.zeros(red.shape, np.intp)
        for plane, count in zip(planes, self.bins, strict=True):
            code = code * count + np.clip((plane * count).astype(np.intp), 0, count - 1)
        return np.concatenate([self._level(code, level) for level in range(1, self.levels + 1)], axis=1)

    def _level(self, code: Array, level: int) -> Array:
        n, height, width = code.shape
        down = np.arange(height) * level // height
        across = np.arange(width) * level // width
        cell = (np.arange(n)[:, None, None] * level + down[None, :, None]) * level + across[None, None, :]
        votes = np.bincount((cell * self._count + code).ravel(), minlength=n * level**2 * self._count)
        pixels = np.bincount(cell.ravel(), minlength=n * level**2)
        shares = votes.reshape(n * level**2, self._count) / np.maximum(pixels, 1)[:, None]
        return np.asarray(np.sqrt(shares).reshape(n, -1) / level, np.float32)
