"""What a pair costs by the tangent distance, one thread, beside the Euclidean distance of the same pairs."""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from kcrc.method import distances
from kcrc.report.tables import text_table
from lab.bench.parts import PartRun
from lab.bench.tables import short
from lab.bench.timing import race, threads


def measure(run: PartRun) -> None:
    rng = np.random.default_rng(0)
    stored, queries, count = (40, 2, 20) if run.quick else (400, 20, 200)
    lines = []
    for side in (16, 28):
        for dtype in (np.float64, np.float32):
            X = rng.random((stored, side * side)).astype(dtype)
            rows = rng.integers(0, stored, (queries, count))
            runners = {}
            for name in ("tangent", "euclidean"):
                distance = distances.make(name).fit(X, np.zeros(len(X)), sample_shape=(side, side))
                prepared = distance.prepare(X)
                runners[name] = partial(distance.rowwise, prepared.take(slice(0, queries)), prepared, rows)
            with threads(1):
                best = race(runners, rounds=7, seconds=20.0, clock=time.thread_time)
            what, ratio = f"{side} × {side} {np.dtype(dtype).name}", best["tangent"] / best["euclidean"]
            run.results.ratios[f"tangent / euclidean distance of a pair, {what}"] = ratio
            lines.append([what, *(short(1e6 * seconds / rows.size) for seconds in best.values()), f"{ratio:.3g}"])
    run.say(text_table("\nThe tangent distance, one thread", ["", "a pair", "Euclidean", "ratio"], lines))
