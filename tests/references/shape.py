"""Slow formulas of the shape distances, one pair and one pixel at a time: f(a, b, options, examples).

``a``, ``b`` and ``examples`` are grey images; ``options`` are the fields of the fitted distance.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linear_sum_assignment

from references.texture import chi2


def smooth(image, sigma, beyond="edge"):
    """A Gaussian over the image, cut at four widths; ``beyond`` the border its pixels are repeated, or 0."""
    if sigma == 0:
        return image
    reach = int(4 * sigma + 0.5)
    weights = [math.exp(-0.5 * (t / sigma) ** 2) for t in range(-reach, reach + 1)]
    padded = np.pad(image, reach, mode=beyond)
    rows = sum(w * padded[t : t + image.shape[0]] for t, w in enumerate(weights)) / sum(weights)
    return sum(w * rows[:, t : t + image.shape[1]] for t, w in enumerate(weights)) / sum(weights)


def to_unit_range(image):
    low, high = image.min(), image.max()
    return (image - low) / (high - low) if high > low else image * 0.0


def sift_descriptors(image, options):
    """Every pixel votes for every cell it is near, one vote at a time."""
    image = smooth(to_unit_range(image), options.smoothing)
    (height, width), n = image.shape, options.n_cells
    rows, columns = options.grid or (min(8, max(1, round(side / 8))) for side in image.shape)  # every 8 pixels
    cell = options.cell or max(height / rows, width / columns) / 2
    padded = np.pad(image, 1, mode="edge")
    descriptors = []
    for r in range(rows):
        for c in range(columns):
            v, u = (r + 0.5) * height / rows - 0.5, (c + 0.5) * width / columns - 0.5
            votes = np.zeros((n, n, options.n_angles))
            for y in range(height):
                for x in range(width):
                    dy = (padded[y + 2, x + 1] - padded[y, x + 1]) / 2
                    dx = (padded[y + 1, x + 2] - padded[y + 1, x]) / 2
                    weight = math.exp(-0.5 * ((y - v) ** 2 + (x - u) ** 2) / (n * cell / 2) ** 2) * math.hypot(dy, dx)
                    turn = math.atan2(dy, dx) / (2 * math.pi) * options.n_angles
                    first = math.floor(turn)
                    for i in range(n):
                        for j in range(n):
                            near = max(0, 1 - abs((y - v) / cell - i + (n - 1) / 2))
                            near *= max(0, 1 - abs((x - u) / cell - j + (n - 1) / 2))
                            votes[i, j, first % options.n_angles] += weight * near * (first + 1 - turn)
                            votes[i, j, (first + 1) % options.n_angles] += weight * near * (turn - first)
            if votes.sum() <= 1e-4:
                votes[:] = 0
            else:
                votes = np.minimum(votes / np.linalg.norm(votes), options.clip)
                votes /= np.linalg.norm(votes)
            descriptors.append(votes.ravel())
    return np.array(descriptors)


def sift(a, b, options, examples):
    difference = sift_descriptors(a, options) - sift_descriptors(b, options)
    return math.sqrt(np.mean(np.sum(difference**2, axis=1)))


def at(image, y, x, beyond=None):
    """Bilinear value between pixels; ``beyond`` the border a constant, or the border pixels when None."""
    height, width = image.shape

    def pixel(r, c):
        if beyond is not None and not (0 <= r < height and 0 <= c < width):
            return beyond
        return float(image[min(max(r, 0), height - 1), min(max(c, 0), width - 1)])

    r, c = math.floor(y), math.floor(x)
    v, u = y - r, x - c
    upper = (1 - u) * pixel(r, c) + u * pixel(r, c + 1)
    return (1 - v) * upper + v * ((1 - u) * pixel(r + 1, c) + u * pixel(r + 1, c + 1))


def central_differences(image):
    padded = np.pad(image, 1, mode="edge")
    return (padded[2:, 1:-1] - padded[:-2, 1:-1]) / 2, (padded[1:-1, 2:] - padded[1:-1, :-2]) / 2


def edge_points(image, options):
    image = to_unit_range(image)
    if not image.any():
        return []
    factor = max(1, math.ceil(48 / min(image.shape)))
    fine = np.array(
        [
            [at(image, (r + 0.5) / factor - 0.5, (c + 0.5) / factor - 0.5) for c in range(image.shape[1] * factor)]
            for r in range(image.shape[0] * factor)
        ]
    )
    down, right = central_differences(smooth(fine, options.smoothing * factor))
    length = np.sqrt(down**2 + right**2)
    top = length.max()
    points = []
    for r in range(fine.shape[0]):
        for c in range(fine.shape[1]):
            here = length[r, c]
            if here < options.threshold * top or here < 1e-6 * top:
                continue
            v, u = down[r, c] / here, right[r, c] / here
            ahead, behind = at(length, r + v, c + u), at(length, r - v, c - u)
            if here < ahead - 1e-9 * top or here < behind - 1e-9 * top:
                continue
            bend = 2 * here - ahead - behind
            offset = min(0.5, max(-0.5, (ahead - behind) / (2 * bend))) if bend > 1e-9 * top else 0.0
            points.append(((r + offset * v + 0.5) / factor - 0.5, (c + offset * u + 0.5) / factor - 0.5))
    return points


def spread_points(points, count):
    """Farthest first from the middle, then from those chosen; ties within 1e-6 go to the upper, then the left."""
    left = sorted(points, key=lambda p: (round(p[0] / 1e-6), round(p[1] / 1e-6)))
    if not left:
        return np.empty((0, 2))
    middle = (sum(p[0] for p in left) / len(left), sum(p[1] for p in left) / len(left))
    chosen = [max(left, key=lambda p: round(math.dist(p, middle) / 1e-6))]
    while len(chosen) < count:
        following = max(left, key=lambda p: round(min(math.dist(p, q) for q in chosen) / 1e-6))
        if min(math.dist(following, q) for q in chosen) <= 1e-6:
            break
        chosen.append(following)
    return np.array(sorted(chosen, key=lambda p: (round(p[0] / 1e-6), round(p[1] / 1e-6))))


def shape_contexts(points, options):
    m = len(points)
    histograms = np.zeros((m, options.n_radii, options.n_angles))
    apart = [math.dist(points[i], points[j]) for i in range(m) for j in range(m) if i != j]
    mean = sum(apart) / len(apart) if apart and sum(apart) > 0 else 1.0
    nodes = np.linspace(math.log(options.inner), math.log(options.outer), options.n_radii)
    for i in range(m):
        for j in range(m):
            if i == j:
                continue
            dy, dx = points[j][0] - points[i][0], points[j][1] - points[i][1]
            r = min(max(math.hypot(dy, dx) / mean, options.inner), options.outer)
            turn = math.atan2(dy, dx) / (2 * math.pi) * options.n_angles
            for ring in range(options.n_radii):
                gap = nodes[1] - nodes[0] if options.n_radii > 1 else 1.0
                in_ring = max(0.0, 1 - abs(math.log(r) - nodes[ring]) / gap) if options.n_radii > 1 else 1.0
                for first in (math.floor(turn), math.floor(turn) + 1):
                    share = in_ring * (1 - abs(turn - first)) / (m - 1)
                    histograms[i, ring, first % options.n_angles] += share
    return histograms


def bumps(a, b):
    return np.array([[0.0 if (d := math.dist(p, q)) == 0 else d**2 * math.log(d**2) for q in b] for p in a])


def bend(a, b, windows_a, windows_b, options):
    """One direction of the shape context distance, with the spline found in the null space of its constraints."""
    warped, energy = a, 0.0
    contexts_b = shape_contexts(b, options)
    for step in range(options.iterations + 1):
        contexts_a = shape_contexts(warped, options)
        costs = np.array([[0.5 * chi2(g, h) for h in contexts_b] for g in contexts_a])
        nearer = costs + 1e-6 * np.array([[math.dist(p, q) ** 2 for q in b] for p in warped])
        if step == options.iterations:
            break
        larger = max(len(a), len(b))
        size = larger + round(options.dummies * larger)
        square = np.full((size, size), float(options.dummy_cost))
        square[: len(a), : len(b)] = nearer
        pairs = [(i, j) for i, j in zip(*linear_sum_assignment(square), strict=True) if i < len(a) and j < len(b)]
        if len(pairs) < 3:
            break
        source, target = a[[i for i, _ in pairs]], b[[j for _, j in pairs]]
        K, P = bumps(source, source), np.column_stack([np.ones(len(source)), source])
        Z = np.linalg.qr(P, mode="complete")[0][:, 3:]
        stiff = K + options.stiffness * np.eye(len(K))
        w = Z @ np.linalg.solve(Z.T @ stiff @ Z, Z.T @ target)
        affine = np.linalg.lstsq(P, target - stiff @ w, rcond=None)[0]
        warped = bumps(a, source) @ w + np.column_stack([np.ones(len(a)), a]) @ affine
        energy = max(0.0, np.trace(w.T @ K @ w) / 2)
    context = (np.mean([min(row) for row in costs]) + np.mean([min(column) for column in costs.T])) / 2
    looks = [np.sum((windows_a[i] - windows_b[int(np.argmin(nearer[i]))]) ** 2) for i in range(len(a))]
    return context + options.bending_weight * energy + options.appearance_weight * np.mean(looks)


def shape_context(a, b, options, examples):
    points, windows = [], []
    for image in (a, b):
        found = spread_points(edge_points(image, options), options.n_points)
        weights = {(v, u): math.exp(-0.5 * (v * v + u * u)) for v in range(-2, 3) for u in range(-2, 3)}
        total = sum(weights.values())
        grey = to_unit_range(image)
        windows.append(
            [
                np.array([math.sqrt(w / total) * at(grey, y + v, x + u) for (v, u), w in weights.items()])
                for y, x in found
            ]
        )
        if len(found) > 1:
            mean = np.mean([math.dist(p, q) for i, p in enumerate(found) for q in found[:i]])
            found = (found - found.mean(axis=0)) / mean
        points.append(found)
    if not len(points[0]) or not len(points[1]):
        return 0.0 if len(points[0]) == len(points[1]) else 1.0 + options.appearance_weight
    return (bend(*points, *windows, options) + bend(*points[::-1], *windows[::-1], options)) / 2


def geometric_blur(a, b, options, examples):
    def described(image):
        points = spread_points(edge_points(image, options), options.n_points)
        down, right = central_differences(smooth(to_unit_range(image), options.smoothing))
        length = np.sqrt(down**2 + right**2)
        channels = np.zeros((options.n_angles, *image.shape))
        for r in range(image.shape[0]):
            for c in range(image.shape[1]):
                if length[r, c] >= options.threshold * length.max():
                    turn = math.atan2(down[r, c], right[r, c]) / (2 * math.pi) * options.n_angles
                    first = math.floor(turn)
                    channels[first % options.n_angles, r, c] += length[r, c] * (first + 1 - turn)
                    channels[(first + 1) % options.n_angles, r, c] += length[r, c] * (turn - first)
        radii = [0.0] + [options.reach * min(image.shape) / 2**k for k in reversed(range(options.n_rings))]
        described = []
        blurred = {
            radius: [smooth(m, options.blur_base + options.blur_growth * radius, "constant") for m in channels]
            for radius in radii
        }
        for y, x in points:
            values = []
            for radius in radii:
                for k in range(options.n_spokes if radius else 1):
                    angle = 2 * math.pi * k / options.n_spokes
                    v, u = y + radius * math.sin(angle), x + radius * math.cos(angle)
                    values += [at(m, v, u, beyond=0.0) for m in blurred[radius]]
            size = math.sqrt(sum(value * value for value in values))
            described.append((np.array(values) / size if size else np.array(values), (y, x)))
        return described

    left, right = described(a), described(b)
    if not left or not right:
        return 0.0 if len(left) == len(right) else 1.0
    diagonal = math.hypot(*a.shape)
    costs = np.array(
        [
            [np.sum((f - g) ** 2) / 2 + options.position_weight * (math.dist(p, q) / diagonal) ** 2 for g, q in right]
            for f, p in left
        ]
    )
    return (np.mean(costs.min(axis=1)) + np.mean(costs.min(axis=0))) / 2
