"""Pixel and histogram distances beside SciPy and scikit-learn: 1000 × 500 pairs, 500 dimensions, one thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method import distances
from kcrc.report.tables import text_table
from lab.bench.parts import PartRun
from lab.bench.tables import short
from lab.bench.timing import race, threads


def peers() -> dict[str, Callable[[Array, Array], Any]]:
    """The same distance, up to sign, by another library."""
    from scipy.spatial.distance import cdist
    from sklearn.metrics.pairwise import additive_chi2_kernel

    return {
        "manhattan": partial(cdist, metric="cityblock"),
        "chessboard": partial(cdist, metric="chebyshev"),
        "chi2": additive_chi2_kernel,
        "sqeuclidean": partial(cdist, metric="sqeuclidean"),
    }


def measure(run: PartRun) -> None:
    rng = np.random.default_rng(0)
    rows, columns, width = (60, 30, 50) if run.quick else (1000, 500, 500)
    lines = []
    for dtype in (np.float64, np.float32):
        A, B = rng.random((rows, width)).astype(dtype), rng.random((columns, width)).astype(dtype)
        for name, peer in peers().items():
            distance = distances.make(name)
            a, b = distance.prepare(A), distance.prepare(B)
            with threads(1):
                best = race(
                    {"kcrc": partial(distance.pairwise, a, b), "peer": partial(peer, A, B)},
                    rounds=15, seconds=20.0, clock=time.thread_time,
                )  # fmt: skip
            ratio = best["kcrc"] / best["peer"]
            run.results.ratios[f"{name} / its peer, {np.dtype(dtype).name}, {rows} × {columns} pairs"] = ratio
            lines.append([f"{name}, {np.dtype(dtype).name}", *(short(1e6 * s) for s in best.values()), f"{ratio:.2f}"])
    title = f"\nDistances of {rows} × {columns} pairs, {width} dimensions, one thread"
    run.say(text_table(title, ["", "kcrc", "SciPy or scikit-learn", "ratio"], lines))
