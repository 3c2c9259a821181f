"""How wrong a setting's answers were: the squared doubt about the true class, not only how many missed it.

Where most answers are right, settings differ by a few borderline examples, and counting them would leave the choice to
luck. A margin m becomes the probability p = 1 / (1 + exp(−m / t)) of the true class against the best other, and the
loss is the mean of (1 − p)² (Brier). Margins of different settings are not on one scale, so each has the temperature t
that serves it best.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from kcrc.prepared import Array

TEMPERATURES = 2.0 ** np.arange(-12, 4)


def doubts(margins: Array) -> Array:
    """Sums (temperatures, …) over the last axis of (1 − p)² of ``margins`` (…, B)."""
    scaled = np.asarray(margins, np.float32)
    return np.stack([(expit(scaled / np.float32(-t)) ** 2).sum(axis=-1, dtype=np.float64) for t in TEMPERATURES])
