"""Slow formulas of the texture distances, one pair and one pixel at a time: f(a, b, options, examples).

``a``, ``b`` and ``examples`` are grey images; ``options`` are the fields of the fitted distance.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy import ndimage


def chi2(g, h):
    total = 0.0
    for x, y in zip(np.ravel(g), np.ravel(h), strict=True):
        if x + y > 0:
            total += (x - y) ** 2 / (x + y)
    return total


def window_bounds(length, count):
    """First pixel of each of ``count`` windows, and the end: pixel i is in window floor(i·count/length)."""
    return [math.ceil(k * length / count) for k in range(count)] + [length]


def lbp_histograms(image, options):
    height, width = image.shape
    rows, columns = options.grid or (
        max(1, height // options.window[0]),
        max(1, width // options.window[1]),
    )
    P, R = options.points, options.radius

    def pixel(y, x):
        return float(image[min(max(y, 0), height - 1), min(max(x, 0), width - 1)])

    def circle(y, x):
        bits = []
        for p in range(P):
            v, u = y - R * math.sin(2 * math.pi * p / P), x + R * math.cos(2 * math.pi * p / P)
            v, u = round(v, 5), round(u, 5)
            y0, x0 = math.floor(v), math.floor(u)
            b, a = v - y0, u - x0
            value = (1 - b) * ((1 - a) * pixel(y0, x0) + a * pixel(y0, x0 + 1))
            value += b * ((1 - a) * pixel(y0 + 1, x0) + a * pixel(y0 + 1, x0 + 1))
            bits.append(int(value >= pixel(y, x) - 1e-9 * (image.max() - image.min())))
        return tuple(bits)

    def name(bits):
        changes = sum(bits[p] != bits[p - 1] for p in range(P))
        return bits if changes <= 2 else "other"

    ys, xs = window_bounds(height, rows), window_bounds(width, columns)
    histograms = []
    for r in range(rows):
        for c in range(columns):
            counts: dict = {}
            for y in range(ys[r], ys[r + 1]):
                for x in range(xs[c], xs[c + 1]):
                    key = name(circle(y, x))
                    counts[key] = counts.get(key, 0) + 1
            size = sum(counts.values())
            histograms.append({key: count / size for key, count in counts.items()})
    return histograms


def lbp_chi2(a, b, options, examples):
    left, right = lbp_histograms(a, options), lbp_histograms(b, options)
    weights = options.weights or (1.0,) * len(left)
    total = 0.0
    for w, g, h in zip(weights, left, right, strict=True):
        keys = sorted({*g, *h}, key=str)
        total += w * chi2([g.get(k, 0.0) for k in keys], [h.get(k, 0.0) for k in keys])
    return total


@functools.cache
def filters(scales, orientations, elongation):
    """The bank, value by value, as its documentation says."""
    reach = math.ceil(3 * elongation * max(scales))
    positions = [(y, x) for y in range(-reach, reach + 1) for x in range(-reach, reach + 1)]

    def finish(values, zero_mean):
        inside = {at: value for at, value in values.items() if value is not None}
        mean = sum(inside.values()) / len(inside) if zero_mean else 0.0
        size = sum(abs(value - mean) for value in inside.values())
        kernel = np.zeros((2 * reach + 1, 2 * reach + 1))
        for (y, x), value in inside.items():
            kernel[y + reach, x + reach] = (value - mean) / size
        return kernel

    bank = []
    for sigma in scales:
        long = elongation * sigma
        for order in (1, 2):
            for k in range(orientations):
                cos, sin = math.cos(math.pi * k / orientations), math.sin(math.pi * k / orientations)
                values = {}
                for y, x in positions:
                    u, v = x * cos + y * sin, -x * sin + y * cos
                    density = math.exp(-(v**2) / (2 * sigma**2) - u**2 / (2 * long**2))
                    derivative = -v / sigma**2 if order == 1 else (v**2 / sigma**2 - 1) / sigma**2
                    values[y, x] = derivative * density if abs(u) <= 3 * long and abs(v) <= 3 * sigma else None
                bank.append(finish(values, True))
        spot, blob = {}, {}
        for y, x in positions:
            r2 = y**2 + x**2
            near = math.sqrt(r2) <= 3 * sigma
            spot[y, x] = (r2 / sigma**2 - 2) * math.exp(-r2 / (2 * sigma**2)) if near else None
            blob[y, x] = math.exp(-r2 / (2 * sigma**2)) if near else None
        bank += [finish(spot, True), finish(blob, False)]
    return bank


def responses(image, options):
    deviation = image.std()
    image = (image - image.mean()) / deviation if deviation > 1e-12 else image * 0
    bank = filters(options.scales, options.orientations, options.elongation)
    return [ndimage.convolve(image, kernel, mode="reflect") for kernel in bank]


def windows(shape, grid):
    ys, xs = window_bounds(shape[0], grid[0]), window_bounds(shape[1], grid[1])
    for r in range(grid[0]):
        for c in range(grid[1]):
            yield slice(ys[r], ys[r + 1]), slice(xs[c], xs[c + 1])


def texton_chi2(a, b, options, examples):
    """With the textons that were learned; of what they are, tests/method/distances/test_textons.py."""

    def histograms(image):
        maps = responses(image, options)
        for rows, columns in windows(image.shape, options.grid):
            points = np.stack([m[rows, columns].ravel() for m in maps], axis=1)
            counts = np.zeros(len(options.textons))
            for point in points:
                counts[int(np.argmin([np.sum((point - t) ** 2) for t in options.textons]))] += 1
            yield counts / len(points)

    return sum(chi2(g, h) for g, h in zip(histograms(a), histograms(b), strict=True))


def marginal_edges(options, examples):
    """Inner edges of each filter's bins: quantiles of its responses at all pixels of the examples, in steps of 1e-4."""
    each = zip(*(responses(image, options) for image in examples), strict=True)
    pooled = [np.sort(np.concatenate([m.ravel() for m in maps])) for maps in each]

    def quantile(values, share):
        place = share * (len(values) - 1)
        low = min(math.floor(place), len(values) - 2)
        return values[low] + (place - low) * (values[low + 1] - values[low])

    shares = [k / options.n_bins for k in range(1, options.n_bins)]
    return [[(round(quantile(values, share) / 1e-4) + 0.5) * 1e-4 for share in shares] for values in pooled]


def marginal(a, b, options, examples):
    every = marginal_edges(options, examples)

    def histograms(image):
        for values, edges in zip(responses(image, options), every, strict=True):
            for rows, columns in windows(image.shape, options.grid):
                inside = values[rows, columns].ravel()
                below = [np.sum(inside <= edge) for edge in edges]
                yield np.diff([0, *below, len(inside)]) / len(inside)

    return sum(chi2(g, h) for g, h in zip(histograms(a), histograms(b), strict=True))
