"""Points on the edges of an image, spread evenly: what shape context and geometric blur look at.

An edge point is where the gradient of the smoothed image is longest across the edge (no longer a pixel to either
side), placed between pixels by a parabola. Small images are enlarged first, so that strokes a pixel or two wide have
two clear sides. Of all edge points the first kept is the one farthest from their middle, each next one the farthest
from those kept: a few points cover the whole drawing evenly, and no draw and no order has a say.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import correlate1d, gaussian_filter, map_coordinates, zoom

from kcrc._base.arrays import Array
from kcrc.method.distances.grey_images import unit_range

FINE_SIDE = 48
"""Images are enlarged by a whole factor until the shorter side has this many pixels."""

_TIE = 1e-6  # positions and distances nearer than this (pixels) are equal, so rounding decides nothing


def edge_points(image: Array, *, smoothing: float = 0.7, threshold: float = 0.2) -> Array:
    """All edge points (m, 2), as (y, x) in pixels, sorted; those with a gradient under ``threshold`` of the
    image's longest are left out. None in a constant image."""
    values = unit_range(np.asarray(image, np.float64)[None])[0]
    if not values.any():
        return np.empty((0, 2))
    factor = max(1, -(-FINE_SIDE // min(values.shape)))
    fine = zoom(values, factor, order=1, grid_mode=True, mode="nearest") if factor > 1 else values
    if smoothing:
        fine = gaussian_filter(fine, smoothing * factor, mode="nearest")
    down = correlate1d(fine, [-0.5, 0.0, 0.5], axis=0, mode="nearest")
    right = correlate1d(fine, [-0.5, 0.0, 0.5], axis=1, mode="nearest")
    length = np.hypot(down, right)
    y, x = np.nonzero(length >= max(threshold, 1e-6) * length.max())
    here = length[y, x]
    v, u = down[y, x] / here, right[y, x] / here
    ahead, behind = (map_coordinates(length, [y + s * v, x + s * u], order=1, mode="nearest") for s in (1, -1))
    slack = 1e-9 * length.max()
    top = (here >= ahead - slack) & (here >= behind - slack)
    bend = 2 * here - ahead - behind
    offset = np.divide(ahead - behind, 2 * bend, out=np.zeros_like(bend), where=bend > slack)
    offset = np.clip(offset, -0.5, 0.5)
    points = np.stack([y + offset * v, x + offset * u], axis=1)[top]
    return in_order((points + 0.5) / factor - 0.5)


def in_order(points: Array) -> Array:
    """The points by y, then x: every set of points has one order, whatever order it came in."""
    keys = np.round(points / _TIE)
    return np.asarray(points[np.lexsort((keys[:, 1], keys[:, 0]))])


def evenly(points: Array, count: int) -> Array:
    """At most ``count`` of ``points`` (m, 2), spread as evenly as they allow, in order; equal points count once."""
    points = in_order(points)
    if len(points) == 0:
        return points
    away = np.hypot(*(points - points.mean(axis=0)).T)
    chosen = [int(np.argmax(np.round(away / _TIE)))]
    nearest = np.hypot(*(points - points[chosen[0]]).T)
    while len(chosen) < count:
        following = int(np.argmax(np.round(nearest / _TIE)))
        if nearest[following] <= _TIE:
            break
        chosen.append(following)
        np.minimum(nearest, np.hypot(*(points - points[following]).T), out=nearest)
    return np.asarray(points[np.sort(chosen)])


def padded_points(sets: list[Array], count: int) -> tuple[Array, Array]:
    """Sets of points as one array (n, count, 2), zeros behind each, and how many each has (n,)."""
    out = np.zeros((len(sets), count, 2))
    for row, points in zip(out, sets, strict=True):
        row[: len(points)] = points
    return out, np.array([len(points) for points in sets], np.int64)
