"""gamma = "scale": how wide a kernel is that is as wide as the data."""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.distances.base import Distance
from kcrc.method.preparation import Samples

_SAMPLE = 64  # examples whose distances are looked at


def of_vectors(X: Array) -> float:
    """1 over the mean squared distance of two of the vectors X (n, d)."""
    return _inverse(2.0 * total_variance(X))


def of_distance(distance: Distance, samples: Samples) -> float:
    """1 over the mean of Dist^power of two of the examples ``samples``."""
    sample = np.random.default_rng(0).permutation(len(samples))[:_SAMPLE]
    some = samples.of(distance).take(sample) if distance.given_as_matrix else distance.prepare(samples.X[sample])
    return _inverse(float(np.mean(distance.pairwise(some, some) ** distance.power)))


def total_variance(X: Array) -> float:
    """The sum of all features' variances, in double precision and without a copy of X."""
    centre = X.mean(axis=0, dtype=np.float64)
    blocks = (X[start : start + 4096] - centre for start in range(0, len(X), 4096))
    return float(sum(np.einsum("ij,ij->", block, block) for block in blocks)) / len(X)


def _inverse(mean: float) -> float:
    return 1.0 / mean if mean > 0 else 1.0
