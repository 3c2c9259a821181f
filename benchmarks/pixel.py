"""Pixel and histogram distances beside SciPy and scikit-learn: 1000 × 500 pairs, d = 500, one thread.

``OPENBLAS_NUM_THREADS=1 python benchmarks/pixel.py``. The two are timed in turns; the ratio is of the best times.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import additive_chi2_kernel

from kcrc import distances

PEERS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "manhattan": lambda a, b: cdist(a, b, "cityblock"),
    "chessboard": lambda a, b: cdist(a, b, "chebyshev"),
    "chi2": lambda a, b: -additive_chi2_kernel(a, b),
    "sqeuclidean": lambda a, b: cdist(a, b, "sqeuclidean"),
}


def best_times(first: Callable[[], object], second: Callable[[], object], turns: int = 15) -> tuple[float, float]:
    spent: tuple[list[float], list[float]] = ([], [])
    for _ in range(turns):
        for function, times in zip((first, second), spent, strict=True):
            start = time.thread_time()
            function()
            times.append(time.thread_time() - start)
    return min(spent[0]), min(spent[1])


def main() -> None:
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        A, B = rng.random((1000, 500)).astype(dtype), rng.random((500, 500)).astype(dtype)
        for name, peer in PEERS.items():
            distance = distances.make(name)
            a, b = distance.prepare(A), distance.prepare(B)
            own, other = best_times(
                lambda distance=distance, a=a, b=b: distance.pairwise(a, b),
                lambda peer=peer, A=A, B=B: peer(A, B),
            )
            print(f"{dtype.__name__} {name}: {1e3 * own:.1f} ms, peer {1e3 * other:.1f} ms, {other / own:.1f} times")


if __name__ == "__main__":
    main()
