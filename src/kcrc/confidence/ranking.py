"""In which order classes are named: the likeliest first, of equally likely ones that which fits better."""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array

ALIKE = 9  # decimals of a probability: a smaller difference is rounding


def ranked(probabilities: Array, residuals: Array, winner: Array) -> Array:
    """(B, C) class numbers in that order, for probabilities and residuals (B, C) and the classes answered (B,)."""
    chances = -np.round(probabilities, ALIKE)
    loses = np.arange(probabilities.shape[1]) != winner[:, None]
    return np.lexsort((residuals, loses, chances), axis=1)
