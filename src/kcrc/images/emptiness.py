"""Recognise pictures that show nothing: one colour, or noise. They have vectors and a nearest example like any other.

A picture has one colour if no channel has a range above 8 of 255. It is noise if, reduced to at most 32 squares per
side, the correlation between neighbouring squares is below 0.4. In photographs and scanned digits it is above 0.5; fine
textures come near 0.4, so callers compare with the examples.
"""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array

ONE_COLOUR = "it is all one colour"
NOISE = "it looks like noise"
LARGEST_RANGE = 8 / 255  # of a channel in a picture of one colour
SMALLEST_CORRELATION = 0.4  # of neighbouring squares; noise has less
SIDE, FEWEST = 32, 16  # squares along the longer side; with fewer than 16 along a side noise is not tested


def emptiness(pixels: Array) -> str | None:
    """Return why a picture (h, w) or (h, w, channels) shows nothing, or None if it shows something."""
    channels = pixels.reshape(*pixels.shape[:2], -1)
    low, high = channels.min(axis=(0, 1)).astype(np.float64), channels.max(axis=(0, 1)).astype(np.float64)
    full = 255.0 if pixels.dtype == np.uint8 else float(np.maximum(np.abs(low), np.abs(high)).max())
    if float((high - low).max()) <= LARGEST_RANGE * full:
        return ONE_COLOUR
    squares = _grey_squares(channels)
    return NOISE if min(squares.shape) >= FEWEST and _correlation(squares) < SMALLEST_CORRELATION else None


def _grey_squares(channels: Array) -> Array:
    """Reduce a picture (h, w, channels) to the means of grey squares, at most SIDE along the longer side."""
    height, width, depth = channels.shape
    step = -(-max(height, width) // SIDE)
    rows, columns = height // step, width // step
    cut = channels[: rows * step, : columns * step].reshape(rows, step, columns, step, depth)
    return np.asarray(cut.mean(axis=(1, 3, 4), dtype=np.float64))


def _correlation(squares: Array) -> float:
    """Return the correlation of squares with those beside or those below, the larger one; 1 if all are equal."""
    x = squares - squares.mean()
    variance = float((x**2).mean())
    if not variance > 0:
        return 1.0
    return max(float((x[1:] * x[:-1]).mean()), float((x[:, 1:] * x[:, :-1]).mean())) / variance
