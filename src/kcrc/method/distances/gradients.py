"""Where brightness changes and in which direction: the common ground of HOG, SIFT and geometric blur."""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array


def gradients(images: Array) -> tuple[Array, Array]:
    """Central differences (dy, dx) of images (…, h, w), each of the same shape; the border repeats itself."""
    dy = np.empty_like(images)
    dx = np.empty_like(images)
    dy[..., 1:-1, :] = images[..., 2:, :] - images[..., :-2, :]
    dx[..., 1:-1] = images[..., 2:] - images[..., :-2]
    if images.shape[-2] > 1:
        dy[..., 0, :] = images[..., 1, :] - images[..., 0, :]
        dy[..., -1, :] = images[..., -1, :] - images[..., -2, :]
    else:
        dy[:] = 0.0
    if images.shape[-1] > 1:
        dx[..., 0] = images[..., 1] - images[..., 0]
        dx[..., -1] = images[..., -1] - images[..., -2]
    else:
        dx[:] = 0.0
    return dy, dx


def orientation_maps(dy: Array, dx: Array, bins: int, *, signed: bool) -> Array:
    """Gradient magnitude shared out between the two nearest of ``bins`` directions: (…, bins, h, w).

    ``signed`` tells bright-to-dark from dark-to-bright (bins over 360°); without it bins cover 180°.
    """
    magnitude = np.sqrt(dx * dx + dy * dy)
    place = np.arctan2(dy, dx)
    place *= bins / ((2 if signed else 1) * np.pi)
    place += bins * (place < 0)  # arctan2 is within one turn of 0…bins, so no slow modulo is needed
    first = place.astype(np.int32)
    upper_share = (place - first) * magnitude
    lower_share = magnitude - upper_share
    first %= bins
    height, width = magnitude.shape[-2:]
    out = np.zeros((magnitude.size // (height * width), bins, height * width), magnitude.dtype)
    # Flat positions, because no pixel meets the same bin twice and a plain assignment does it.
    start = np.arange(len(out))[:, None] * (bins * height * width) + np.arange(height * width)
    first = first.reshape(len(out), -1)
    flat = out.reshape(-1)
    flat[start + first * (height * width)] = lower_share.reshape(len(out), -1)
    flat[start + np.where(first == bins - 1, 0, first + 1) * (height * width)] = upper_share.reshape(len(out), -1)
    return out.reshape(*magnitude.shape[:-2], bins, height, width)


def tent_weights(centres: Array, length: int, width: float) -> Array:
    """max(0, 1 − |centre − pixel| / width) for each centre and pixel centre: (len(centres), length).

    Multiplied from both sides to a map, it gathers the map around a grid of points with bilinear weights.
    """
    distance = np.abs(centres[:, None] - (np.arange(length) + 0.5)[None, :])
    return np.asarray(np.maximum(0.0, 1.0 - distance / width), np.float32)


def gather(maps: Array, rows: Array, columns: Array) -> Array:
    """Maps (…, h, w) gathered around a grid by ``tent_weights``: rows (r, h), columns (c, w) -> (…, r, c)."""
    return np.asarray(rows @ maps @ columns.T)
