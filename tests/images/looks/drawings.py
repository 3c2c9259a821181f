"""Small made-up pictures for the tests of looks: a class is a shape, drawn anew for every seed."""

from __future__ import annotations

import numpy as np

SHAPES = ("bar", "ring", "cross")


def drawing(shape: str, seed: int, side: int = 20, colour: bool = False):
    """(side, side) uint8, or in colour."""
    rng = np.random.default_rng([seed, *shape.encode()])
    down, across = np.mgrid[0:side, 0:side].astype(float)
    y, x = (side - 1) / 2 + rng.uniform(-0.15, 0.15, 2) * side
    radius = side * rng.uniform(0.2, 0.34)
    if shape == "bar":
        far = np.abs(across - x + 0.2 * rng.normal() * (down - y))
    elif shape == "ring":
        far = np.abs(np.hypot(down - y, across - x) - radius)
    else:
        far = np.minimum(np.abs(down - y), np.abs(across - x))
    ink = np.clip(2.0 - far, 0, 1) * (np.maximum(np.abs(down - y), np.abs(across - x)) < 1.3 * radius)
    grey = np.clip(255 * ink + rng.normal(0, 25, ink.shape), 0, 255)
    if not colour:
        return grey.astype(np.uint8)
    tint = {"bar": (1.0, 0.3, 0.2), "ring": (0.2, 1.0, 0.3), "cross": (0.2, 0.3, 1.0)}[shape]
    return np.clip(grey[..., None] * tint + 20, 0, 255).astype(np.uint8)


def drawings(each: int, *, first: int = 0, side: int = 20, colour: bool = False):
    """Images (n, side, side[, 3]) and labels (n,), ``each`` of every shape in turn."""
    named = [(shape, first + number) for number in range(each) for shape in SHAPES]
    images = np.stack([drawing(shape, seed, side, colour) for shape, seed in named])
    return images, np.array([shape for shape, _ in named])
