"""Histograms of oriented gradients (Dalal, Triggs 2005)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.images.decoding.resizing import Fit, View
from kcrc.images.features.base import Feature, Pictures, register, stack_pictures
from kcrc.method.distances.gradients import gather, gradients, orientation_maps, tent_weights

_CLIP = 0.2  # largest entry of a block (L2-Hys of Dalal and Triggs)
_LEAST = 1e-3  # added to a block's length, so that weak noise is not scaled up to unit length


def clipped_unit(blocks: Array) -> Array:
    """Normalise along the last axis by L2-Hys: unit length, clipped at 0.2, unit length again; blanks stay near 0."""
    for _ in range(2):
        length = np.sqrt(np.einsum("...i,...i->...", blocks, blocks) + _LEAST**2)[..., None]
        blocks = np.minimum(blocks / length, _CLIP) if _ == 0 else blocks / length
    return np.asarray(blocks)


@register("hog")
class HOG(Feature):
    """Gradient directions counted in cells, cells normalised in overlapping blocks.

    Each pixel votes with its gradient magnitude for the two nearest of ``orientations`` directions and, bilinearly, for
    the nearest cells. Blocks of ``block`` × ``block`` cells are scaled to unit length, clipped at 0.2, scaled again. Of
    a coloured pixel, the channel with the largest gradient counts.
    """

    kind: ClassVar[str] = "hog"

    def __init__(
        self,
        *,
        size: tuple[int, int] = (128, 128),
        cell: int = 16,
        block: int = 2,
        orientations: int = 9,
        signed: bool = False,
        colour: bool = True,
        fit_to: Fit = "stretch",
    ) -> None:
        self.size = size
        self.cell = cell
        self.block = block
        self.orientations = orientations
        self.signed = signed
        self.colour = colour
        self.fit_to = fit_to

    @property
    def view(self) -> View:
        return View(self.size, self.colour, self.fit_to)

    @property
    def _cells(self) -> tuple[int, int]:
        return self.size[0] // self.cell, self.size[1] // self.cell

    @property
    def dim(self) -> int:
        down, across = (n - self.block + 1 for n in self._cells)
        return down * across * self.block**2 * self.orientations

    def _check(self) -> None:
        if self.fit_to == "inside":
            raise ParameterError(
                "The feature 'hog' needs one shape: fit_to must be 'stretch', 'crop' or 'cut'; got 'inside'."
            )
        given = (self.cell, self.orientations, self.block)
        if self.cell < 2 or not 2 <= self.orientations <= 360 or self.block < 1 or any(n % 1 for n in given):
            raise ParameterError(
                "cell must be at least 2, orientations 2 to 360, and block at least 1, all whole numbers; got "
                f"{self.cell}, {self.orientations}, {self.block}."
            )
        if min(self._cells) < self.block:
            raise ParameterError(
                f"size must have at least block={self.block} cells per side; got {self._cells} cells of {self.cell} "
                f"pixels in {self.size}."
            )
        _ = self.view

    def _vectors(self, batch: Pictures) -> Array:
        pixels = np.sqrt(np.maximum(stack_pictures(batch, self.kind), 0.0))  # compresses bright areas, as the eye does
        planes = pixels.transpose(0, 3, 1, 2) if pixels.ndim == 4 else pixels[:, None]
        dy, dx = gradients(np.ascontiguousarray(planes))
        if planes.shape[1] > 1:
            strongest = (dx * dx + dy * dy).argmax(axis=1)[:, None]
            dy, dx = (np.take_along_axis(d, strongest, axis=1) for d in (dy, dx))
        maps = orientation_maps(dy[:, 0], dx[:, 0], self.orientations, signed=self.signed)
        down, across = self._cells
        cells = gather(maps, self._weights(down, self.size[0]), self._weights(across, self.size[1]))
        return self._blocks(cells / self.cell**2)

    def _weights(self, cells: int, length: int) -> Array:
        return tent_weights((np.arange(cells) + 0.5) * self.cell, length, self.cell)

    def _blocks(self, cells: Array) -> Array:
        n, _, down, across = cells.shape
        b = self.block
        shifted = [cells[:, :, i : down - b + 1 + i, j : across - b + 1 + j] for i in range(b) for j in range(b)]
        blocks = np.stack(shifted, axis=1).reshape(n, b * b * self.orientations, down - b + 1, across - b + 1)
        return clipped_unit(blocks.transpose(0, 2, 3, 1)).reshape(n, -1)
