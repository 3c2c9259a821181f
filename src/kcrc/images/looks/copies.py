"""Copies of pictures that were changed as the world changes them: what must not change an answer.

A copy is shifted, turned, scaled, sheared and bent a little, its strokes are thinner or thicker, light and contrast are
other, and there is noise on it: a little of all of that, drawn from a seed. The border goes on beyond the edge.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kcrc._base.arrays import Array

SHIFT = 0.1  # of the side, at most; all of these to either side
TURN = 0.35  # radians
SCALE = 0.25  # of the size
SHEAR = 0.3
BEND = 0.08  # of the side, standard deviation at the knots
KNOTS = 4  # a side, between which the picture bends smoothly
LIGHT = 0.15  # of the range from black to white
CONTRAST = 0.3
NOISE = 0.06  # of the range, standard deviation


def deformed(picture: Array, rng: np.random.Generator) -> Array:
    """One changed copy of a picture (h, w[, 3]), of the same size and type."""
    scale = 255.0 if picture.dtype == np.uint8 else 1.0
    values = picture.astype(np.float32) / np.float32(scale)
    moved = _moved(values, rng)
    widened = _stroked(moved, rng)
    lit = (widened - 0.5) * (1.0 + CONTRAST * rng.uniform(-1, 1)) + 0.5 + LIGHT * rng.uniform(-1, 1)
    noisy = np.clip(lit + NOISE * rng.uniform() * rng.standard_normal(lit.shape), 0.0, 1.0)
    return np.rint(255.0 * noisy).astype(np.uint8) if picture.dtype == np.uint8 else noisy.astype(np.float32)


def copies_of(pictures: Sequence[Array], each: int) -> list[Array]:
    """``each`` copies of every picture, those of the first picture first; the same on every run."""
    return [
        deformed(picture, np.random.default_rng([number, copy]))
        for number, picture in enumerate(pictures)
        for copy in range(each)
    ]


def _moved(values: Array, rng: np.random.Generator) -> Array:
    """Shifted, turned, scaled and sheared about the centre, and bent: bilinear between pixels."""
    height, width = values.shape[:2]
    turn, shear = TURN * rng.uniform(-1, 1), SHEAR * rng.uniform(-1, 1)
    size = np.exp(SCALE * rng.uniform(-1, 1, 2))
    linear = np.array([[np.cos(turn), -np.sin(turn) + shear], [np.sin(turn), np.cos(turn)]]) / size[:, None]
    centre = np.array([(height - 1) / 2.0, (width - 1) / 2.0])
    shift = SHIFT * rng.uniform(-1, 1, 2) * (height, width)
    grid = np.moveaxis(np.indices((height, width)), 0, -1) - centre - shift
    at = grid @ linear.T + centre + _bends(height, width, rng)
    y = np.clip(at[..., 0], 0, height - 1)
    x = np.clip(at[..., 1], 0, width - 1)
    top, left = np.floor(y).astype(np.intp), np.floor(x).astype(np.intp)
    below, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    down, across = y - top, x - left
    if values.ndim == 3:
        down, across = down[..., None], across[..., None]
    upper = values[top, left] * (1 - across) + values[top, right] * across
    lower = values[below, left] * (1 - across) + values[below, right] * across
    return np.asarray(upper * (1 - down) + lower * down, np.float32)


def _bends(height: int, width: int, rng: np.random.Generator) -> Array:
    """(h, w, 2) how far each pixel is moved: drawn at the knots of a grid, cosine weights between."""
    drawn = rng.standard_normal((KNOTS, KNOTS, 2)) * BEND * (height, width)
    down, across = (_tents(length) for length in (height, width))
    return np.asarray(np.einsum("hk,klc,wl->hwc", down, drawn, across))


def _tents(length: int) -> Array:
    """(length, KNOTS) how much each knot counts at each pixel; they sum to 1."""
    place = np.linspace(0, KNOTS - 1, length)[:, None] - np.arange(KNOTS)
    return np.where(np.abs(place) < 1, 0.5 + 0.5 * np.cos(np.pi * place), 0.0)


def _stroked(values: Array, rng: np.random.Generator) -> Array:
    """Part of the way to the darkest, the brightest or the mean of each pixel's neighbours."""
    padded = np.pad(values, [(1, 1), (1, 1)] + [(0, 0)] * (values.ndim - 2), mode="edge")
    height, width = values.shape[:2]
    around = np.stack([padded[i : i + height, j : j + width] for i, j in ((0, 1), (1, 0), (1, 1), (1, 2), (2, 1))])
    towards = (around.min, around.max, around.mean)[rng.integers(3)](axis=0)
    return np.asarray(values + 0.7 * rng.uniform() * (towards - values), np.float32)
