"""Slow formulas of the distances that look at images, one pair and one pixel at a time.

``REFERENCES`` is name -> f(a, b, distance). Each takes two grey images and the fitted distance, reads only its
options and what it learned, and shares no code with the library.
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


@functools.cache
def filters(distance):
    """The bank, value by value, as its documentation says."""
    reach = math.ceil(3 * distance.elongation * max(distance.scales))
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
    for sigma in distance.scales:
        long = distance.elongation * sigma
        for order in (1, 2):
            for k in range(distance.orientations):
                cos, sin = math.cos(math.pi * k / distance.orientations), math.sin(math.pi * k / distance.orientations)
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


def responses(image, distance):
    deviation = image.std()
    image = (image - image.mean()) / deviation if deviation > 1e-12 else image * 0
    return [ndimage.convolve(image, kernel, mode="reflect") for kernel in filters(distance)]


def windows(shape, grid):
    ys, xs = window_bounds(shape[0], grid[0]), window_bounds(shape[1], grid[1])
    for r in range(grid[0]):
        for c in range(grid[1]):
            yield slice(ys[r], ys[r + 1]), slice(xs[c], xs[c + 1])


def texton_chi2(a, b, distance):
    def histograms(image):
        maps = responses(image, distance)
        for rows, columns in windows(image.shape, distance.grid):
            points = np.stack([m[rows, columns].ravel() for m in maps], axis=1)
            counts = np.zeros(len(distance.textons))
            for point in points:
                counts[int(np.argmin([np.sum((point - t) ** 2) for t in distance.textons]))] += 1
            yield counts / len(points)

    return sum(chi2(g, h) for g, h in zip(histograms(a), histograms(b), strict=True))


def marginal(a, b, distance):
    def histograms(image):
        for values, edges in zip(responses(image, distance), distance.edges, strict=True):
            for rows, columns in windows(image.shape, distance.grid):
                inside = values[rows, columns].ravel()
                below = [np.sum(inside <= edge) for edge in edges]
                yield np.diff([0, *below, len(inside)]) / len(inside)

    return sum(chi2(g, h) for g, h in zip(histograms(a), histograms(b), strict=True))


def smooth(image, sigma):
    """A Gaussian over the image, cut at four widths, the border pixels repeated."""
    if sigma == 0:
        return image
    reach = int(4 * sigma + 0.5)
    weights = [math.exp(-0.5 * (t / sigma) ** 2) for t in range(-reach, reach + 1)]
    padded = np.pad(image, reach, mode="edge")
    rows = sum(w * padded[t : t + image.shape[0]] for t, w in enumerate(weights)) / sum(weights)
    return sum(w * rows[:, t : t + image.shape[1]] for t, w in enumerate(weights)) / sum(weights)


def to_unit_range(image):
    low, high = image.min(), image.max()
    return (image - low) / (high - low) if high > low else image * 0.0


def sift_descriptors(image, distance):
    """Every pixel votes for every cell it is near, one vote at a time."""
    image = smooth(to_unit_range(image), distance.smoothing)
    (height, width), (rows, columns), n = image.shape, distance.grid, distance.n_cells
    cell = distance.cell or max(height / rows, width / columns) / 2
    padded = np.pad(image, 1, mode="edge")
    descriptors = []
    for r in range(rows):
        for c in range(columns):
            v, u = (r + 0.5) * height / rows - 0.5, (c + 0.5) * width / columns - 0.5
            votes = np.zeros((n, n, distance.n_angles))
            for y in range(height):
                for x in range(width):
                    dy = (padded[y + 2, x + 1] - padded[y, x + 1]) / 2
                    dx = (padded[y + 1, x + 2] - padded[y + 1, x]) / 2
                    weight = math.exp(-0.5 * ((y - v) ** 2 + (x - u) ** 2) / (n * cell / 2) ** 2) * math.hypot(dy, dx)
                    turn = math.atan2(dy, dx) / (2 * math.pi) * distance.n_angles
                    first = math.floor(turn)
                    for i in range(n):
                        for j in range(n):
                            near = max(0, 1 - abs((y - v) / cell - i + (n - 1) / 2))
                            near *= max(0, 1 - abs((x - u) / cell - j + (n - 1) / 2))
                            votes[i, j, first % distance.n_angles] += weight * near * (first + 1 - turn)
                            votes[i, j, (first + 1) % distance.n_angles] += weight * near * (turn - first)
            if votes.sum() <= 1e-4:
                votes[:] = 0
            else:
                votes = np.minimum(votes / np.linalg.norm(votes), distance.clip)
                votes /= np.linalg.norm(votes)
            descriptors.append(votes.ravel())
    return np.array(descriptors)


def sift(a, b, distance):
    difference = sift_descriptors(a, distance) - sift_descriptors(b, distance)
    return math.sqrt(np.mean(np.sum(difference**2, axis=1)))


REFERENCES = {
    "lbp-chi2": lbp_chi2,
    "texton-chi2": texton_chi2,
    "marginal": marginal,
    "sift": sift,
}
