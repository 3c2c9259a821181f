"""Which of two classifiers is right more often about the same examples, each asked as if it were not stored.

Accuracies measured on different examples mislead: one may have been asked the easy ones. So only the examples that both
were asked are counted, and the difference is taken example by example.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.calibration import Confidence
from kcrc.errors import StateError


@dataclass(frozen=True, eq=False)
class PairedComparison:
    """Which of two classifiers is right more often about the same examples; print it for a sentence.

    Attributes
    ----------
    rows : ndarray of shape (B,)
        The row numbers of the examples that both were asked about, as if they were not stored.
    first, second : ndarray of bool of shape (B,)
        Whether each classifier was right.
    gain : float
        By how much the first is right more often, from −1 to 1.
    error : float
        The standard error of the gain.
    """

    rows: Array
    first: Array
    second: Array

    @classmethod
    def of(cls, one: Confidence, other: Confidence) -> PairedComparison:
        """From what is known of how sure each is."""
        known = [confidence.left_out for confidence in (one, other)]
        if known[0] is None or known[1] is None:
            raise StateError("There is nothing to compare: one of the two has too few examples to be asked (8).")
        rows, at, there = np.intersect1d(known[0].rows, known[1].rows, return_indices=True)
        if not len(rows):
            raise StateError("The two classifiers were asked about no common example, by row number.")
        return cls(rows, known[0].right[at], known[1].right[there])

    @property
    def gain(self) -> float:
        """By how much the first is right more often, −1 to 1."""
        return float(np.mean(self.first.astype(float) - self.second))

    @property
    def error(self) -> float:
        """The standard error of the gain."""
        return float(np.std(self.first.astype(float) - self.second) / np.sqrt(len(self.rows)))

    def __repr__(self) -> str:
        rights = f"{self.first.mean():.2%} and {self.second.mean():.2%} right without themselves"
        gained = f"{100 * self.gain:+.2f} ± {100 * self.error:.2f} points"
        return f"PairedComparison on {len(self.rows)} common examples: {rights}, {gained}"
