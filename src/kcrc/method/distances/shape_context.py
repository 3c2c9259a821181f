"""Shape context distance (Belongie, Malik and Puzicha 2002): how much one drawing must be bent into another.

Points spread evenly on the edges stand for the shape. The context of a point is a log-polar histogram of where the
other points lie. Points of two shapes are matched one to one by the χ² between contexts, with dummies for points that
have no good partner; a thin-plate spline bends the first shape onto the matched points of the second; contexts are
taken again, and so on a few times. Where a shape lies and how large it is does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import ClassVar

import numpy as np
from scipy.ndimage import map_coordinates
from scipy.optimize import linear_sum_assignment

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.method.distances.base import register
from kcrc.method.distances.geometric_blur import edge_points, pad_points, spread_evenly
from kcrc.method.distances.grey_images import GreyImageDistance, check_size, unit_range
from kcrc.method.preparation import Prepared
from kcrc.native import native

# One shape bent onto another, in NumPy: log-polar contexts, assignment with dummies, thin-plate splines.
#
# This is the plain form of what ``native/shape_context.cpp`` does for many pairs; they agree to rounding.

TIE_WEIGHT = 1e-6
"""Of equally good partners the nearer one is taken: this much of the squared distance is added to a cost."""

AFFINE_SLACK = 1e-11
"""Keeps the spline solvable when all matched points lie on one line."""


@dataclass(frozen=True)
class Matching:
    """How two shapes are matched; the fields are explained in ShapeContext."""

    n_radii: int
    n_angles: int
    inner: float
    outer: float
    iterations: int
    dummies: float
    dummy_cost: float
    stiffness: float


def contexts(points: Array, matching: Matching) -> Array:
    """Log-polar histograms (m, n_radii · n_angles) of where the others lie from each of ``points`` (m, 2).

    Distances are in units of their mean. A neighbour is shared by the two nearest of ``n_radii`` radii, spaced evenly
    in log r from ``inner`` to ``outer`` (nearer and farther ones count at the ends), and the two nearest angles.
    """
    m = len(points)
    bins = np.zeros((m, matching.n_radii, matching.n_angles))
    if m > 1:
        to, of = (~np.eye(m, dtype=bool)).nonzero()
        down, right = (points[of] - points[to]).T
        r = np.hypot(down, right)
        r = r / (r.mean() or 1.0)
        span = np.log(matching.outer / matching.inner)
        step = np.log(np.maximum(r, matching.inner) / matching.inner) / span * (matching.n_radii - 1)
        step = np.clip(step, 0, matching.n_radii - 1)
        ring = np.minimum(step.astype(int), max(0, matching.n_radii - 2))
        turn = np.arctan2(down, right) * (matching.n_angles / (2 * np.pi))
        sector = np.floor(turn).astype(int)
        out, on = step - ring, turn - sector
        for dr, wr in ((0, 1 - out), (1, out)):
            if ring.max() + dr < matching.n_radii:
                for da, wa in ((0, 1 - on), (1, on)):
                    np.add.at(bins, (to, ring + dr, (sector + da) % matching.n_angles), wr * wa)
        bins /= m - 1
    return bins.reshape(m, matching.n_radii * matching.n_angles)


def context_costs(left: Array, right: Array) -> Array:
    """½ Σ (g − h)² / (g + h) for all pairs of contexts: (n, m), from 0 to 1."""
    total = left[:, None] + right[None]
    squared = (left[:, None] - right[None]) ** 2
    return np.asarray(0.5 * np.divide(squared, total, out=np.zeros_like(total), where=total > 0).sum(axis=-1))


def assign(costs: Array, matching: Matching) -> tuple[Array, Array]:
    """The rows and columns matched one to one at the least total cost; a point may go to a dummy instead."""
    n, m = costs.shape
    size = max(n, m) + round(matching.dummies * max(n, m))
    square = np.full((size, size), matching.dummy_cost)
    square[:n, :m] = costs
    rows, columns = linear_sum_assignment(square)
    real = (rows < n) & (columns < m)
    return rows[real], columns[real]


def thin_plate(source: Array, target: Array, moved: Array, stiffness: float) -> tuple[Array, float]:
    """``moved`` (n, 2) under the thin-plate spline that takes ``source`` (k, 2) near ``target``, and its energy.

    f(p) = A (1, p) + Σ wᵢ U(|p − sourceᵢ|), U(r) = r² log r², with (K + stiffness I) w + P A = target, Pᵀ w = 0;
    the bending energy is ½ tr(wᵀ K w).
    """
    k = len(source)
    K = _kernel(source, source)
    P = np.column_stack([np.ones(k), source])
    system = np.block([[K + stiffness * np.eye(k), P], [P.T, -AFFINE_SLACK * np.eye(3)]])
    solution = np.linalg.solve(system, np.vstack([target, np.zeros((3, 2))]))
    w, affine = solution[:k], solution[k:]
    warped = _kernel(moved, source) @ w + np.column_stack([np.ones(len(moved)), moved]) @ affine
    return warped, max(0.0, 0.5 * float(np.sum(w * (K @ w))))


def _kernel(a: Array, b: Array) -> Array:
    squared = np.sum((a[:, None] - b[None]) ** 2, axis=-1)
    return np.asarray(squared * np.log(np.where(squared > 0, squared, 1.0)))


def bent_onto(one: Mapping[str, Array], other: Mapping[str, Array], matching: Matching) -> tuple[float, float, float]:
    """Context cost, bending energy and appearance cost of one shape (points, contexts, patches) bent onto another."""
    a, b, contexts_b = one["points"], other["points"], other["contexts"]
    warped, bending = a, 0.0
    costs = context_costs(one["contexts"], contexts_b)
    for _ in range(matching.iterations):
        rows, columns = assign(costs + TIE_WEIGHT * _squares_between(warped, b), matching)
        if len(rows) < 3:
            break
        warped, bending = thin_plate(a[rows], b[columns], a, matching.stiffness)
        costs = context_costs(contexts(warped, matching), contexts_b)
    partner = np.argmin(costs + TIE_WEIGHT * _squares_between(warped, b), axis=1)
    appearance = float(np.mean(np.sum((one["patches"] - other["patches"][partner]) ** 2, axis=1)))
    return 0.5 * float(costs.min(axis=1).mean() + costs.min(axis=0).mean()), bending, appearance


def _squares_between(a: Array, b: Array) -> Array:
    return np.asarray(np.sum((a[:, None] - b[None]) ** 2, axis=-1))


_WINDOW = 2  # pixels to each side compared by the appearance term


@register("shape-context")
@dataclass(frozen=True, kw_only=True)
class ShapeContext(GreyImageDistance):
    """Context cost + ``bending_weight`` · bending energy + ``appearance_weight`` · appearance cost, made symmetric.

    With a bent onto b in ``iterations`` rounds and C the χ², ½ Σ (g−h)²/(g+h), between contexts of warped a and of b:

        context cost     ½ (mean over a of min_b C + mean over b of min_a C)         from 0 to 1
        bending energy   ½ tr(wᵀ K w) of the last thin-plate spline
        appearance cost  mean over a of the squared difference of 5 × 5 windows (Gaussian weights, images of range 1)
                         round the point and its nearest partner by C

    The distance is half the sum of a bent onto b and b bent onto a, so it is symmetric; it is not a metric.
    ``n_points`` edge points at most (``smoothing`` and ``threshold`` as in ``edges``); ``n_radii`` × ``n_angles`` bins
    from ``inner`` to ``outer`` mean distances; ``dummies`` as a part of the points, each at ``dummy_cost``;
    ``stiffness`` of the spline. The weights are the authors' 0.3 and 1.6 for a context cost twice as large;
    appearance_weight=0 looks at the points alone. One round instead of three takes half the time. Two images without
    edges are at distance 0, one without from one with edges at 1 + ``appearance_weight``.
    """

    formula: ClassVar[str] = "½ Σ over both directions of: context cost + β bending energy + α appearance cost"
    metric: ClassVar[bool] = False
    power: ClassVar[int] = 1
    cost: ClassVar[float] = 900.0

    n_points: int = 40
    smoothing: float = 0.7
    threshold: float = 0.2
    n_radii: int = 5
    n_angles: int = 12
    inner: float = 0.125
    outer: float = 2.0
    iterations: int = 3
    dummies: float = 0.25
    dummy_cost: float = 0.25
    stiffness: float = 1.0
    bending_weight: float = 0.15
    appearance_weight: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("n_points", 1), ("n_radii", 1), ("n_angles", 1), ("iterations", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise ParameterError(f"{name} is a whole number, {least} or more; got {value!r}.")
        for name in ("smoothing", "dummies", "dummy_cost", "bending_weight", "appearance_weight"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ParameterError(f"{name} is a number, 0 or more; got {getattr(self, name)!r}.")
        if not 0 < self.stiffness < np.inf:
            raise ParameterError(f"stiffness is a number above 0; got {self.stiffness!r}.")
        if not 0 <= self.threshold <= 1:
            raise ParameterError(f"threshold lies between 0 and 1; got {self.threshold!r}.")
        if not 0 < self.inner < self.outer < np.inf:
            raise ParameterError(f"inner lies above 0 and below outer; got {self.inner!r} and {self.outer!r}.")
        check_size("The contexts of two shapes", self.n_points**2 * self.n_radii * self.n_angles)

    @property
    def matching(self) -> Matching:
        return Matching(
            self.n_radii,
            self.n_angles,
            float(self.inner),
            float(self.outer),
            self.iterations,
            float(self.dummies),
            float(self.dummy_cost),
            float(self.stiffness),
        )

    def prepare(self, X: Array) -> Prepared:
        images = self.images(X)
        found = [
            spread_evenly(edge_points(image, smoothing=self.smoothing, threshold=self.threshold), self.n_points)
            for image in images
        ]
        return self._pack(found, self._patches(images, found))

    def prepare_points(self, shapes: list[Array]) -> Prepared:
        """Shapes given as points (m, 2) in any order instead of images; they have no appearance."""
        found = [spread_evenly(np.asarray(points, np.float64), self.n_points) for points in shapes]
        return self._pack(found, np.zeros((len(found), self.n_points, 0)))

    def _pack(self, found: list[Array], patches: Array) -> Prepared:
        placed = [_normalise_points(points) for points in found]
        points, count = pad_points(placed, self.n_points)
        histograms = np.zeros((len(placed), self.n_points, self.n_radii * self.n_angles))
        for row, shape in zip(histograms, placed, strict=True):
            row[: len(shape)] = contexts(shape, self.matching)
        return Prepared({"points": points, "contexts": histograms, "patches": patches, "count": count})

    def _patches(self, images: Array, found: list[Array]) -> Array:
        """Windows round the points (n, n_points, 25) times the root of their weights; none when they do not count."""
        if not self.appearance_weight:
            return np.zeros((len(images), self.n_points, 0))
        reach = np.arange(-_WINDOW, _WINDOW + 1)
        down, right = (part.ravel() for part in np.meshgrid(reach, reach, indexing="ij"))
        weights = np.exp(-0.5 * (down**2 + right**2) / (_WINDOW / 2) ** 2)
        out = np.zeros((len(images), self.n_points, down.size))
        for row, image, points in zip(out, unit_range(images.astype(np.float64)), found, strict=True):
            where = [points[:, :1] + down, points[:, 1:] + right]
            row[: len(points)] = map_coordinates(image, where, order=1, mode="nearest")
        return np.asarray(out * np.sqrt(weights / weights.sum()))

    def pairwise(self, a: Prepared, b: Prepared) -> Array:
        if a is b:
            return np.asarray(self.within(a, np.arange(len(a))[None])[0])
        i, j = np.divmod(np.arange(len(a) * len(b)), max(1, len(b)))
        return np.asarray(self._pairs(a, b, i, j).reshape(len(a), len(b)))

    def rowwise(self, a: Prepared, b: Prepared, rows: Array) -> Array:
        i = np.repeat(np.arange(len(rows)), rows.shape[1])
        return np.asarray(self._pairs(a, b, i, rows.ravel()).reshape(rows.shape))

    def within(self, b: Prepared, rows: Array) -> Array:
        first, second = np.triu_indices(rows.shape[1], 1)
        out = np.zeros((*rows.shape, rows.shape[1]))
        values = self._pairs(b, b, rows[:, first].ravel(), rows[:, second].ravel()).reshape(len(rows), len(first))
        out[:, first, second] = out[:, second, first] = values
        return out

    def _pairs(self, a: Prepared, b: Prepared, i: Array, j: Array) -> Array:
        """Distances (p,) of the samples ``i`` of a and ``j`` of b."""
        weights = float(self.bending_weight), float(self.appearance_weight)
        if native is not None and hasattr(native, "shape_context"):
            parts = ("points", "contexts", "patches", "count")
            left, right = ([np.ascontiguousarray(side[part]) for part in parts] for side in (a, b))
            pairs = np.ascontiguousarray(i, np.int64), np.ascontiguousarray(j, np.int64)
            return np.asarray(native.shape_context(*left, *right, *pairs, astuple(self.matching), *weights))
        out = np.empty(len(i))
        for k, (p, q) in enumerate(zip(i, j, strict=True)):
            out[k] = self._one(a.take(p), b.take(q), *weights)
        return out

    def _one(self, a: Prepared, b: Prepared, bending_weight: float, appearance_weight: float) -> float:
        n, m = int(a["count"]), int(b["count"])
        if n == 0 or m == 0:
            return 0.0 if n == m else 1.0 + appearance_weight
        left, right = (
            {part: side[part][:size] for part in side.parts if part != "count"} for side, size in ((a, n), (b, m))
        )
        total = 0.0
        for one, other in ((left, right), (right, left)):
            cost, bending, appearance = bent_onto(one, other, self.matching)
            total += 0.5 * (cost + bending_weight * bending + appearance_weight * appearance)
        return total


def _normalise_points(points: Array) -> Array:
    """The points about their middle, in units of their mean distance from each other."""
    if len(points) == 0:
        return points
    centred = points - points.mean(axis=0)
    apart = np.hypot(*(centred[:, None] - centred[None]).transpose(2, 0, 1))
    m = len(points)
    return np.asarray(centred / (apart.sum() / (m * (m - 1)))) if m > 1 else centred
