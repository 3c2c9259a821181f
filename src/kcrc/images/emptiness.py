"""Pictures on which there is nothing to make out: one colour, or noise. Features make vectors of these too, and some
example is always the nearest.

A picture is one colour where no channel has a range above 8 of 255. It is noise where, in squares that bring its longer
side down to 32, squares side by side and below each other have little in common: their correlation is under 0.4. In
photographs and in scanned digits it is above 0.5; fine textures come near, so whoever asks compares with the examples.
"""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array

ONE_COLOUR = "it is all one colour"
NOISE = "it looks like noise"
RANGE = 8 / 255
ALIKE = 0.4
SIDE, FEWEST = 32, 16  # squares along the longer side; with fewer along a side nothing is said of noise


def emptiness(pixels: Array) -> str | None:
    """Why there is nothing to make out on a picture (h, w) or (h, w, channels); None where there is."""
    channels = pixels.reshape(*pixels.shape[:2], -1)
    low, high = channels.min(axis=(0, 1)).astype(np.float64), channels.max(axis=(0, 1)).astype(np.float64)
    full = 255.0 if pixels.dtype == np.uint8 else float(np.maximum(np.abs(low), np.abs(high)).max())
    if float((high - low).max()) <= RANGE * full:
        return ONE_COLOUR
    squares = _squares(channels)
    return NOISE if min(squares.shape) >= FEWEST and _correlation(squares) < ALIKE else None


def _squares(channels: Array) -> Array:
    """The picture (h, w, channels) in grey squares, at most SIDE along the longer side."""
    height, width, depth = channels.shape
    step = -(-max(height, width) // SIDE)
    rows, columns = height // step, width // step
    cut = channels[: rows * step, : columns * step].reshape(rows, step, columns, step, depth)
    return np.asarray(cut.mean(axis=(1, 3, 4), dtype=np.float64))


def _correlation(squares: Array) -> float:
    """Of squares with those beside or below them, whichever is larger; 1 where all are equal."""
    x = squares - squares.mean()
    variance = float((x**2).mean())
    if not variance > 0:
        return 1.0
    return max(float((x[1:] * x[:-1]).mean()), float((x[:, 1:] * x[:, :-1]).mean())) / variance
