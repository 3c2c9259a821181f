"""How much a setting's answers doubted the true class: what tells settings apart that are right equally often.

Where most answers are right, settings differ by a few borderline examples, and counting them leaves the choice to luck.
A margin m becomes the probability p = 1 / (1 + exp(−m / t)) of the true class against the best other, and the loss is
the mean of (1 − p)² (Brier). Margins of different settings are not on one scale, so each has the temperature t that
serves it best. Where the true class is not in the dictionary there is no margin: the answer is as wrong as the others
that were (and one more that is certain), or whole classes, which leave the true one out more often, would seem worse
than they are.
"""

from __future__ import annotations

import numpy as np

from kcrc.arrays import Array

TEMPERATURES = 2.0 ** np.arange(-12, 4)


def loss(margins: Array) -> float:
    """Of the answers with ``margins`` (B,), 0 to 1."""
    from scipy.special import expit  # not needed to answer

    margins = np.asarray(margins, np.float32)
    right = margins > 0
    wrong = np.isfinite(margins) & ~right
    least = 1.0
    for t in TEMPERATURES:
        doubt = expit(margins / np.float32(-t)) ** 2
        of_wrong = (float(doubt[wrong].sum()) + 1.0) / (int(wrong.sum()) + 1)
        least = min(least, float(doubt[right].sum()) / len(margins) + of_wrong * float(np.mean(~right)))
    return least
