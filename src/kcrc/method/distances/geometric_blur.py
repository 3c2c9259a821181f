"""Geometric blur distance (Berg and Malik 2001): parts that match when details far from them may move more.

The image becomes ``n_angles`` sparse channels: the lengths of its strong gradients by direction. A descriptor of a
point samples the channels at the point and on rings round it. The channels are blurred by a Gaussian that grows with
the radius, ``blur_base`` + ``blur_growth`` · r, as a deformation moves far parts more than near ones; the descriptor is
scaled to length 1. Points are spread evenly over the edges, and each looks for its best match in the other image.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.ndimage import correlate1d, gaussian_filter, map_coordinates, zoom

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.method.distances.base import register
from kcrc.method.distances.grey_images import GreyImageDistance, check_size, unit_range
from kcrc.method.distances.sift import gradient, orientation_maps
from kcrc.method.preparation import Prepared

# Points on the edges of an image, spread evenly: shape context (``shape_context.py``) compares them too.
#
# An edge point is where the gradient of the smoothed image is at least as long as one pixel further across the edge, to
# either side; a parabola places it between pixels. Small images are enlarged first, so that strokes a pixel or two wide
# have two clear sides. Of all edge points the first kept is the one farthest from their middle, each next one the
# farthest from those kept: a few points cover the whole drawing evenly, and neither chance nor the order matters.

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
    is_peak = (here >= ahead - slack) & (here >= behind - slack)
    bend = 2 * here - ahead - behind
    offset = np.divide(ahead - behind, 2 * bend, out=np.zeros_like(bend), where=bend > slack)
    offset = np.clip(offset, -0.5, 0.5)
    points = np.stack([y + offset * v, x + offset * u], axis=1)[is_peak]
    return sort_points((points + 0.5) / factor - 0.5)


def sort_points(points: Array) -> Array:
    """Sort points by y, then x, so that their order does not depend on the one they come in."""
    keys = np.round(points / _TIE)
    return np.asarray(points[np.lexsort((keys[:, 1], keys[:, 0]))])


def spread_evenly(points: Array, count: int) -> Array:
    """At most ``count`` of ``points`` (m, 2), spread as evenly as they allow, in order; equal points count once."""
    points = sort_points(points)
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


def pad_points(sets: list[Array], count: int) -> tuple[Array, Array]:
    """Stack sets of points into one array (n, count, 2), padded with zeros, and count each set (n,)."""
    out = np.zeros((len(sets), count, 2))
    for row, points in zip(out, sets, strict=True):
        row[: len(points)] = points
    return out, np.array([len(points) for points in sets], np.int64)


_BLOCK_VALUES = 1 << 20  # costs of matches that are computed at a time


@register("geometric-blur")
@dataclass(frozen=True, kw_only=True)
class GeometricBlur(GreyImageDistance):
    """½ (mean over a's points of the best match in b + mean over b's points of the best match in a).

    The match of two points costs ½‖f − g‖² between their descriptors (0 to 1, one less their cosine) +
    ``position_weight`` · (their distance / diagonal of the image)². The sum over both directions makes it symmetric;
    it is not a metric. ``n_points`` edge points at most (``smoothing``, ``threshold`` as in ``edge_points``;
    gradients under the threshold are left out of the channels too). ``n_rings`` rings of ``n_spokes`` samples, the
    outermost at ``reach`` · the shorter side, each further one at half the radius. Two images without edges are at
    distance 0, one without edges is at distance 1 from one with edges.
    """

    formula: ClassVar[str] = "½ (mean_i min_j c_ij + mean_j min_i c_ij), c = ½‖f_i − g_j‖² + λ |p_i − q_j|²"
    metric: ClassVar[bool] = False
    power: ClassVar[int] = 1
    cost: ClassVar[float] = 20.0

    n_points: int = 30
    smoothing: float = 0.7
    threshold: float = 0.2
    n_angles: int = 8
    n_rings: int = 3
    n_spokes: int = 8
    reach: float = 0.5
    blur_base: float = 0.5
    blur_growth: float = 0.5
    position_weight: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("n_points", 1), ("n_angles", 1), ("n_rings", 0), ("n_spokes", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise ParameterError(f"{name} is a whole number, {least} or more; got {value!r}.")
        for name in ("smoothing", "reach", "blur_base", "blur_growth", "position_weight"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ParameterError(f"{name} is a number, 0 or more; got {getattr(self, name)!r}.")
        if not 0 <= self.threshold <= 1:
            raise ParameterError(f"threshold lies between 0 and 1; got {self.threshold!r}.")
        check_size("The descriptors", self.n_points * (1 + self.n_rings * self.n_spokes) * self.n_angles)

    def prepare(self, X: Array) -> Prepared:
        features, counts = [], []
        for _, images in self.chunks(X, maps=self.n_angles * (self.n_rings + 2)):
            found = [
                spread_evenly(edge_points(image, smoothing=self.smoothing, threshold=self.threshold), self.n_points)
                for image in images
            ]
            points, count = pad_points(found, self.n_points)
            here = points / np.hypot(*images.shape[1:]) * np.sqrt(2 * self.position_weight)
            rows = np.concatenate([self._descriptors(images, found), here], axis=2)
            features.append(rows.astype(images.dtype))
            counts.append(count)
        return Prepared({"features": np.concatenate(features), "count": np.concatenate(counts)})

    def _descriptors(self, images: Array, found: list[Array]) -> Array:
        """Unit descriptors (n, n_points, (1 + n_rings · n_spokes) · n_angles), zeros behind the points there are."""
        height, width = images.shape[1:]
        down, right = gradient(unit_range(images.astype(np.float64)), self.smoothing)
        channels = orientation_maps(down, right, self.n_angles)
        length = np.hypot(down, right)
        strong = length >= self.threshold * length.max(axis=(1, 2), keepdims=True)
        channels = np.where(strong[:, None], channels, 0.0)
        angles = 2 * np.pi * np.arange(self.n_spokes) / self.n_spokes
        spokes = np.stack([np.sin(angles), np.cos(angles)], axis=1)
        rings = [(0.0, np.zeros((1, 2)))]
        for k in reversed(range(self.n_rings)):
            radius = self.reach * min(height, width) / 2**k
            rings.append((radius, radius * spokes))
        samples = 1 + self.n_rings * self.n_spokes
        out = np.zeros((len(images), self.n_points, samples, self.n_angles))
        start = 0
        for radius, offsets in rings:
            blur = self.blur_base + self.blur_growth * radius
            blurred = gaussian_filter(channels, (0, 0, blur, blur), mode="constant")
            for i, points in enumerate(found):
                where = (points[:, None] + offsets[None]).reshape(-1, 2).T
                for angle in range(self.n_angles):
                    values = map_coordinates(blurred[i, angle], where, order=1, mode="grid-constant")
                    out[i, : len(points), start : start + len(offsets), angle] = values.reshape(
                        len(points), len(offsets)
                    )
            start += len(offsets)
        flat = out.reshape(*out.shape[:2], -1)
        size = np.sqrt(np.sum(flat**2, axis=2, keepdims=True))
        return np.asarray(np.divide(flat, size, out=np.zeros_like(flat), where=size > 0))

    def pairwise(self, a: Prepared, b: Prepared) -> Array:
        out = np.empty((len(a), len(b)), a["features"].dtype)
        step = max(1, _BLOCK_VALUES // (self.n_points**2))
        for i in range(len(a)):
            for start in range(0, len(b), step):
                out[i, start : start + step] = self._one_to_many(a.take(i), b.take(slice(start, start + step)))
        return out

    def _one_to_many(self, one: Prepared, many: Prepared) -> Array:
        """Distances (len(many),) of one sample to each of many, by one matrix product."""
        n, counts = int(one["count"]), many["count"]
        left, right = one["features"][:n], many["features"]
        if n == 0:
            return np.where(counts == 0, 0.0, 1.0).astype(left.dtype)
        costs = left @ right.reshape(-1, right.shape[2]).T
        np.negative(costs, out=costs)
        costs += 0.5 * np.einsum("pd,pd->p", left, left)[:, None]
        costs += 0.5 * np.einsum("kpd,kpd->kp", right, right).ravel()
        costs[costs < 64 * np.finfo(costs.dtype).eps] = 0.0  # below the rounding of the product: the same point
        costs = costs.reshape(n, *right.shape[:2])
        there = np.arange(right.shape[1]) < counts[:, None]
        forth = np.where(there, costs, np.inf).min(axis=2).mean(axis=0)
        back = np.where(there, costs.min(axis=0), 0.0).sum(axis=1) / np.maximum(counts, 1)
        return np.asarray(np.where(counts == 0, 1.0, 0.5 * (forth + back)))

    def rowwise(self, a: Prepared, b: Prepared, rows: Array) -> Array:
        out = np.empty(rows.shape)
        for i, wanted in enumerate(rows):
            out[i] = self._one_to_many(a.take(i), b.take(wanted))
        return out
