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

from kcrc._base.arrays import Array

TEMPERATURES = 2.0 ** np.arange(-12, 4)


def doubts(margins: Array) -> Array:
    """(B,) of each answer with ``margins`` (B,), 0 to 1; NaN where none was asked."""
    from scipy.special import expit  # not needed to answer

    margins = np.asarray(margins, np.float32)
    asked = ~np.isnan(margins)
    known = margins[asked]
    right = known > 0
    wrong = np.isfinite(known) & ~right
    doubt = expit(known / -TEMPERATURES[:, None].astype(np.float32)) ** 2
    of_wrong = (doubt[:, wrong].sum(axis=1) + 1.0) / (int(wrong.sum()) + 1)
    doubt = np.where(right, doubt, of_wrong[:, None])
    out = np.full(len(margins), np.nan, np.float32)
    out[asked] = doubt[int(doubt.sum(axis=1).argmin())]
    return out


def loss(margins: Array) -> float:
    """The mean of what was asked, 0 to 1."""
    return float(np.nanmean(doubts(margins)))


def paired_error(one: Array, other: Array) -> float:
    """The standard error of the mean difference of two settings' doubts about the same examples."""
    return float((one - other).std() / np.sqrt(len(one)))
