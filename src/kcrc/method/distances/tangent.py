"""Tangent distance (Simard, LeCun, Denker 1993): how far apart images are when small deformations are free.

An image and its small deformations lie near a plane: the image plus combinations of its *tangents*, one for
each transformation. The distance is that between the two planes (two-sided), or from a query to the plane of
a stored example (one-sided).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, ParameterError
from kcrc.method.distances.base import Distance, register
from kcrc.method.distances.pair_cache import AUTO, clearest
from kcrc.method.preparation import Prepared
from kcrc.native import native

_FRAME = 8  # numbers a pixel: the image and up to seven tangents, the layout of the compiled module
_CHUNK_VALUES = 1 << 17  # pixels prepared at once, so that their tangents stay in cache
_DEGENERATE = 1e-7  # a tangent that keeps less than this of its length beside the others adds no direction
_NOTHING = 1e-9  # a tangent shorter than this, for an image of unit contrast, is rounding

SIGMAS = (0.7, 0.5, 0.35, 1.0, 1.4)  # what "auto" chooses from, the paper's first
TRANSFORMATIONS = (
    "x_shift",
    "y_shift",
    "scaling",
    "rotation",
    "axis_hyperbolic",
    "diagonal_hyperbolic",
    "thickness",
)


@lru_cache(maxsize=64)
def _filter_matrix(size: int, sigma: float, *, derivative: bool) -> Array:
    """(size, size) matrix that smooths a row of pixels with a Gaussian, or smooths and differentiates it.

    Past the border the last pixel goes on, so a constant row stays constant and its derivative is 0. The
    derivative has the weights of the Gaussian's derivative, scaled to be exact for a ramp: for sigma → 0 they
    become (f₊₁ − f₋₁) / 2.
    """
    radius = max(1, math.ceil(4.0 * sigma))
    offsets = np.arange(-radius, radius + 1)
    spread = 2.0 * max(sigma, 1e-3) ** 2
    weights: Array
    if derivative:
        weights = offsets * np.exp(-np.maximum(offsets**2 - 1, 0) / spread)
        weights = weights / (weights @ offsets)
    else:
        weights = np.exp(-(offsets**2) / spread)
        weights = weights / weights.sum()
    matrix = np.zeros((size, size))
    rows = np.arange(size)
    for offset, weight in zip(offsets, weights, strict=True):
        np.add.at(matrix, (rows, np.clip(rows + offset, 0, size - 1)), weight)
    return matrix


def smooth(images: Array, *, sigma: float) -> Array:
    """Images (n, h, w, channels) smoothed with a Gaussian."""
    smooth_y, smooth_x = (_filter_matrix(size, sigma, derivative=False) for size in images.shape[1:3])
    return np.moveaxis(smooth_y @ np.moveaxis(images, 3, 1) @ smooth_x.T, 1, 3)


def tangent_vectors(images: Array, *, sigma: float, transformations: tuple[str, ...]) -> Array:
    """Derivatives of images (n, h, w, channels) along each transformation: (n, T, h·w·channels).

    With f the smoothed image, x to the right and y down from its centre: shifts f_x, f_y; scaling
    x f_x + y f_y; rotation y f_x − x f_y; axis hyperbolic x f_x − y f_y; diagonal hyperbolic y f_x + x f_y;
    thickness f_x² + f_y².
    """
    n, height, width, channels = images.shape
    planes = np.moveaxis(images, 3, 1)
    smooth_y, smooth_x = (_filter_matrix(size, sigma, derivative=False) for size in (height, width))
    slope_y, slope_x = (_filter_matrix(size, sigma, derivative=True) for size in (height, width))
    fx = np.moveaxis(smooth_y @ planes @ slope_x.T, 1, 3)
    fy = np.moveaxis(slope_y @ planes @ smooth_x.T, 1, 3)
    x = (np.arange(width) - (width - 1) / 2.0)[None, :, None]
    y = (np.arange(height) - (height - 1) / 2.0)[:, None, None]
    of: dict[str, Callable[[], Array]] = {
        "x_shift": lambda: fx,
        "y_shift": lambda: fy,
        "scaling": lambda: x * fx + y * fy,
        "rotation": lambda: y * fx - x * fy,
        "axis_hyperbolic": lambda: x * fx - y * fy,
        "diagonal_hyperbolic": lambda: y * fx + x * fy,
        "thickness": lambda: fx * fx + fy * fy,
    }
    out = np.empty((n, len(transformations), height * width * channels))
    for t, name in enumerate(transformations):
        out[:, t] = of[name]().reshape(n, -1)
    return out


def orthonormal(tangents: Array) -> Array:
    """Rows (n, T, d) made orthonormal within each sample; a row without a direction of its own becomes zero.

    Gram-Schmidt, each row projected twice, which is enough for full accuracy.
    """
    basis = np.zeros_like(tangents)
    for t in range(tangents.shape[1]):
        row = tangents[:, t, :, None]
        length = np.linalg.norm(row, axis=1)
        before = basis[:, :t]
        for _ in range(2 if t else 0):
            row = row - before.transpose(0, 2, 1) @ (before @ row)
        left = np.linalg.norm(row, axis=1)
        kept = left > np.maximum(_DEGENERATE * length, _NOTHING)
        basis[:, t] = row[..., 0] * np.divide(1.0, left, out=np.zeros_like(left), where=kept)
    return basis


def _contrast(images: Array) -> Array:
    """Images (n, d) less their mean, at unit length: they have the same tangent planes. Zero if constant."""
    centred = images - images.mean(axis=1, keepdims=True)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    visible = length > 1e-12 * np.linalg.norm(images, axis=1, keepdims=True)
    return np.asarray(centred * np.divide(1.0, length, out=np.zeros_like(length), where=visible))


@register("tangent")
@dataclass(frozen=True)
class Tangent(Distance):
    """The distance between the tangent planes of two images. It is a length: its square is what kernels see.

    ``transformations`` names the deformations that are free. ``two_sided=False`` keeps the query (the first
    of the two) as it is and moves only the stored example. ``sigma`` is the width in pixels of the Gaussian
    that images are smoothed with (the paper's is 0.7; "auto" lets the examples choose, as small images bear less
    smoothing); ``smooth_images=False`` smooths the tangents alone. ``ridge`` is a spring
    that holds the images where they are, and settles directions that both can move in. ``image_shape`` is
    (h, w) or (h, w, channels); None takes the shape of the samples, or a square grey image where they are
    flat. An image without contrast has no tangents: it is measured as it is.
    """

    formula: ClassVar[str] = "√ min(α, β) ‖a + Uα − b − Vβ‖² + ridge (‖α‖² + ‖β‖²)"
    metric: ClassVar[bool] = False
    power: ClassVar[int] = 2
    cost: ClassVar[float] = 3.0
    directed: ClassVar[bool] = True  # one-sided, it moves the example and not the query

    transformations: tuple[str, ...] = TRANSFORMATIONS
    two_sided: bool = True
    sigma: float | str = AUTO
    ridge: float = 1e-3
    smooth_images: bool = True
    image_shape: tuple[int, ...] | None = None
    shape: tuple[int, int, int] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "transformations", tuple(self.transformations))
        unknown = [name for name in self.transformations if name not in TRANSFORMATIONS]
        if unknown or not self.transformations or len(set(self.transformations)) < len(self.transformations):
            raise ParameterError(
                f"transformations are some of {', '.join(TRANSFORMATIONS)}, each once; got {self.transformations!r}."
            )
        named = isinstance(self.sigma, str)
        if (named and self.sigma != AUTO) or (not named and not 0.0 <= float(self.sigma) < math.inf):
            raise ParameterError(f'sigma is a width in pixels, 0 or more, or "auto"; got {self.sigma!r}.')
        if not 0.0 <= self.ridge < math.inf:
            raise ParameterError(f"ridge is a number, 0 or more; got {self.ridge!r}.")
        object.__setattr__(self, "symmetric", self.two_sided)  # the one-sided distance treats the two differently

    @property
    def learns(self) -> bool:
        return self.sigma == AUTO

    @property
    def preparation(self) -> Hashable:
        return (type(self), self.transformations, self.sigma, self.smooth_images, self.shape)

    def fit(self, X: Array, y: Array, *, sample_shape: tuple[int, ...]) -> Tangent:
        given = tuple(sample_shape) if self.image_shape is None else tuple(self.image_shape)
        if len(given) == 1 and self.image_shape is None:
            side = math.isqrt(given[0])
            if side * side != given[0]:
                raise DataError(
                    f"The tangent distance needs images; samples of {given[0]} numbers are no square image. "
                    "Give images (n, h, w), or the option image_shape=(h, w)."
                )
            given = (side, side)
        if len(given) not in (2, 3) or min(given) < 1 or math.prod(given) != X.shape[1]:
            raise DataError(
                f"The tangent distance needs images of shape (h, w) or (h, w, channels); got shape {given} "
                f"for samples of {X.shape[1]} numbers. Set image_shape."
            )
        height, width, channels = (*given, 1)[:3]
        shaped = replace(self, shape=(height, width, channels))
        if self.sigma != AUTO:
            return shaped
        return clearest([replace(shaped, sigma=sigma) for sigma in SIGMAS], X, y)

    def prepare(self, X: Array) -> Prepared:
        if self.shape is None or isinstance(self.sigma, str):
            raise ParameterError("The tangent distance needs fit(X, y) before it can prepare samples.")
        if X.shape[1] != math.prod(self.shape):
            raise DataError(
                f"The tangent distance was fitted to images of shape {self.shape}, {math.prod(self.shape)} "
                f"numbers; got samples of {X.shape[1]}. Resize them."
            )
        dtype = np.result_type(np.float32, X.dtype)
        frames = np.zeros((*X.shape, _FRAME), dtype)
        step = max(1, _CHUNK_VALUES // max(1, X.shape[1]))
        for start in range(0, len(X), step):
            part = slice(start, start + step)
            flat = np.asarray(X[part], np.float64)
            images, visible = (rows.reshape(-1, *self.shape) for rows in (flat, _contrast(flat)))
            raw = tangent_vectors(visible, sigma=self.sigma, transformations=self.transformations)
            basis = orthonormal(raw)
            compared = smooth(images, sigma=self.sigma) if self.smooth_images else images
            frames[part, :, 0] = compared.reshape(flat.shape)
            frames[part, :, 1 : 1 + len(self.transformations)] = basis.transpose(0, 2, 1)
        return Prepared({"frames": frames})

    def pairwise(self, a: Prepared, b: Prepared) -> Array:
        left, right = _alike(a["frames"], b["frames"])
        if native is not None:
            return np.asarray(native.tangent_pairwise(left, right, self.ridge, self.two_sided))
        return np.stack([self._to_each(one, right) for one in left]) if len(left) else np.empty((0, len(right)))

    def rowwise(self, a: Prepared, b: Prepared, rows: Array) -> Array:
        left, right = _alike(a["frames"], b["frames"])
        if native is not None:
            rows = np.ascontiguousarray(rows, np.int64)
            return np.asarray(native.tangent_selected(left, right, rows, self.ridge, self.two_sided))
        out = np.empty(rows.shape, left.dtype)
        for i, wanted in enumerate(rows):
            out[i] = self._to_each(left[i], right[wanted])
        return out

    def within(self, b: Prepared, rows: Array) -> Array:
        (frames,) = _alike(b["frames"])
        if native is not None:
            rows = np.ascontiguousarray(rows, np.int64)
            return np.asarray(native.tangent_within(frames, rows, self.ridge, self.two_sided))
        return super().within(b, rows)

    def to_origin(self, a: Prepared) -> Array:
        frames = a["frames"]
        return self.pairwise(a, Prepared({"frames": np.zeros((1, *frames.shape[1:]), frames.dtype)}))[:, 0]

    def _to_each(self, one: Array, many: Array) -> Array:
        """The NumPy way: distances of a frame (d, 8) to frames (n, d, 8)."""
        difference = one[:, 0] - many[:, :, 0]
        moved = many[:, :, 1:].transpose(0, 2, 1)
        if self.two_sided:
            moved = np.concatenate([moved, np.broadcast_to(one[:, 1:].T, moved.shape)], axis=1)
        along = (moved @ difference[:, :, None]).astype(np.float64)
        system = (moved @ moved.transpose(0, 2, 1)).astype(np.float64)
        system += self.ridge * np.eye(system.shape[1])
        if self.ridge > 0:
            solution = np.linalg.solve(system, along)
        else:  # singular where tangents vanish or both images have them
            solution = np.linalg.pinv(system, rcond=1e-13, hermitian=True) @ along
        explained = np.einsum("nto,nto->n", along, solution)
        squared = np.einsum("nd,nd->n", difference, difference) - explained
        return np.asarray(np.sqrt(np.maximum(squared, 0.0)), one.dtype)


def _alike(*frames: Array) -> list[Array]:
    """The frames in one floating type, contiguous, as the compiled module takes them."""
    dtype = np.result_type(*frames)
    return [np.ascontiguousarray(part, dtype) for part in frames]
