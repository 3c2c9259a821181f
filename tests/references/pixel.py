"""Slow formulas of the histogram and tangent distances: ``f(a, b, known) -> float``, by plain loops.

The tangent row is for flat square images and all transformations, of both images.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import orth


def chi_square(a, b, known=None):
    return math.fsum((p - q) ** 2 / (p + q) for p, q in zip(map(float, a), map(float, b), strict=True) if p + q > 0)


def intersection(a, b, known=None):
    heavier = max(math.fsum(map(float, a)), math.fsum(map(float, b)))
    if heavier == 0:
        return 0.0
    return 1.0 - math.fsum(min(float(p), float(q)) for p, q in zip(a, b, strict=True)) / heavier


def filtered(image, sigma, along=None):
    """A (h, w) image smoothed by a Gaussian, pixel by pixel; differentiated as well along 'x' or 'y'."""
    radius = max(1, math.ceil(4 * sigma))
    bell = {o: math.exp(-o * o / (2 * sigma * sigma)) for o in range(-radius, radius + 1)}
    total, ramp = math.fsum(bell.values()), math.fsum(o * o * w for o, w in bell.items())
    smooth = {o: w / total for o, w in bell.items()}
    slope = {o: o * w / ramp for o, w in bell.items()}
    down, right = (slope if along == "y" else smooth), (slope if along == "x" else smooth)
    height, width = image.shape
    out = np.zeros(image.shape)
    for i in range(height):
        for j in range(width):
            for di, wi in down.items():
                for dj, wj in right.items():
                    out[i, j] += wi * wj * image[min(max(i + di, 0), height - 1), min(max(j + dj, 0), width - 1)]
    return out


def tangents(image, sigma=0.7):
    """(7, h·w) tangents of a (h, w) image."""
    fx, fy = filtered(image, sigma, "x"), filtered(image, sigma, "y")
    height, width = image.shape
    y, x = np.mgrid[:height, :width].astype(float)
    x -= (width - 1) / 2
    y -= (height - 1) / 2
    each = (fx, fy, x * fx + y * fy, y * fx - x * fy, x * fx - y * fy, y * fx + x * fy, fx**2 + fy**2)
    return np.stack([t.ravel() for t in each])


def between_planes(a, b, U, V, ridge):
    """√ min ‖a + Uα − b − Vβ‖² + ridge‖(α, β)‖² for tangents in the rows of U and V, by least squares."""
    basis = np.hstack([orth(T.T, rcond=1e-7) if np.abs(T).max(initial=0) > 1e-9 else T.T[:, :0] for T in (U, V)])
    size = basis.shape[1]
    stacked = np.vstack([basis, math.sqrt(ridge) * np.eye(size)])
    target = np.concatenate([a - b, np.zeros(size)])
    solution = np.linalg.lstsq(stacked, target, rcond=None)[0]
    return float(np.linalg.norm(target - stacked @ solution))


def tangent(a, b, known):
    """With the sigma that was chosen; of the choice, tests/method/distances/test_settled.py."""
    sigma, ridge, side = known.options.sigma, known.options.ridge, math.isqrt(len(a))
    first, second = (np.asarray(v, float).reshape(side, side) for v in (a, b))
    smooth = [filtered(image, sigma).ravel() for image in (first, second)]
    return between_planes(*smooth, tangents(first, sigma), tangents(second, sigma), ridge)
