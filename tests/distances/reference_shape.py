"""Slow formulas of the distances that look at images, one pair and one pixel at a time.

``REFERENCES`` is name -> f(a, b, distance). Each takes two grey images and the fitted distance, reads only its
options and what it learned, and shares no code with the library.
"""

from __future__ import annotations

import math

import numpy as np


def chi2(g, h):
    total = 0.0
    for x, y in zip(np.ravel(g), np.ravel(h), strict=True):
        if x + y > 0:
            total += (x - y) ** 2 / (x + y)
    return total


def window_bounds(length, count):
    """First pixel of each of ``count`` windows, and the end: pixel i is in window floor(i·count/length)."""
    return [math.ceil(k * length / count) for k in range(count)] + [length]


def lbp_histograms(image, distance):
    height, width = image.shape
    rows, columns = distance.grid or (
        max(1, height // distance.window[0]),
        max(1, width // distance.window[1]),
    )
    P, R = distance.points, distance.radius

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


def lbp_chi2(a, b, distance):
    left, right = lbp_histograms(a, distance), lbp_histograms(b, distance)
    weights = distance.weights or (1.0,) * len(left)
    total = 0.0
    for w, g, h in zip(weights, left, right, strict=True):
        keys = sorted({*g, *h}, key=str)
        total += w * chi2([g.get(k, 0.0) for k in keys], [h.get(k, 0.0) for k in keys])
    return total


REFERENCES = {"lbp-chi2": lbp_chi2}
