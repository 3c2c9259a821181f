"""1-NN with the tangent distance on USPS and MNIST, and what a pair costs: ``python benchmarks/tangent.py``.

Candidates by Euclidean distance, then the tangent distance among them. Data are read from KCRC_DATA.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from kcrc import distances

DATA = Path(os.environ.get("KCRC_DATA", Path(__file__).parents[2] / "shared" / "data"))


def candidates(queries: np.ndarray, stored: np.ndarray, count: int) -> np.ndarray:
    """The ``count`` nearest stored rows of each query by Euclidean distance."""
    squared = (stored**2).sum(axis=1) - 2.0 * queries @ stored.T
    return np.argpartition(squared, count, axis=1)[:, :count]


def usps() -> None:
    with np.load(DATA / "usps.npz", allow_pickle=False) as file:
        X, y, split = file["images_x1000"].reshape(-1, 256) / 1000.0, file["labels"], file["split"]
    X = X + 1.0  # ink on a background of 0, then unit length: better than −1..1 by leave-one-out on the examples
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    stored, queries = X[split == 0], X[split == 1]
    near = candidates(queries, stored, 200)
    for two_sided in (True, False):
        distance = distances.make("tangent", two_sided=two_sided).fit(stored, y, sample_shape=(16, 16))
        a, b = distance.prepare(queries), distance.prepare(stored)
        start = time.thread_time()
        nearest = distance.selected(a, b, near).argmin(axis=1)
        spent = time.thread_time() - start
        right = y[split == 0][near[np.arange(len(near)), nearest]] == y[split == 1]
        print(
            f"USPS 7291/2007, two_sided={two_sided}: {100 * right.mean():.2f} % of {len(queries)} right, "
            f"{1e6 * spent / near.size:.2f} µs a pair"
        )


def mnist(n_queries: int = 5000, count: int = 100, workers: int = 2) -> None:
    with np.load(DATA / "mnist.npz", allow_pickle=False) as file:
        X, y, split = file["images"].reshape(-1, 784), file["labels"], file["split"]
        stored, labels = X[split == 0][:10000], y[split == 0][:10000]
        queries, truth = X[split == 1][:n_queries], y[split == 1][:n_queries]
    stored, queries = (rows.astype(np.float32) / 255.0 for rows in (stored, queries))
    near = candidates(queries, stored, count)
    start = time.perf_counter()
    distance = distances.make("tangent").fit(stored, labels, sample_shape=(28, 28))
    with ThreadPoolExecutor(workers) as pool:
        parts = np.array_split(np.arange(len(queries)), 4 * workers)
        a, b = distance.prepare(queries), distance.prepare(stored)
        prepared = time.perf_counter()
        measured = np.vstack(list(pool.map(lambda part: distance.selected(a.take(part), b, near[part]), parts)))
    done = time.perf_counter()
    right = labels[near[np.arange(len(near)), measured.argmin(axis=1)]] == truth
    print(
        f"MNIST, {len(queries)} queries × {count} of {len(stored)} examples, {workers} threads, float32: "
        f"{100 * right.mean():.2f} % right, prepared in {prepared - start:.1f} s, "
        f"measured in {done - prepared:.1f} s"
    )


def cost_of_a_pair() -> None:
    rng = np.random.default_rng(0)
    for side in (16, 28):
        for dtype in (np.float64, np.float32):
            X = rng.random((400, side * side)).astype(dtype)
            distance = distances.make("tangent").fit(X, np.zeros(len(X)), sample_shape=(side, side))
            prepared = distance.prepare(X)
            rows = rng.integers(0, len(X), (20, 200))
            queries, best = prepared.take(slice(0, 20)), np.inf
            for _ in range(7):
                start = time.thread_time()
                distance.selected(queries, prepared, rows)
                best = min(best, time.thread_time() - start)
            print(f"{side}×{side} {dtype.__name__}: {1e6 * best / rows.size:.2f} µs a pair, one thread")


if __name__ == "__main__":
    cost_of_a_pair()
    usps()
    mnist()
