"""Limits on the options of a part that is read from a file.

The options of a part decide how much time and memory a query takes, and a file of untrusted origin can contain any
value. Larger values can still be set in Python; no part that kcrc chooses comes near these limits.
"""

from __future__ import annotations

import os
from typing import Any

MOST: dict[str, float] = {
    # rounds of a solver or of a matching
    "max_iter": 100_000,
    "iterations": 1_000,
    # dimensions and powers
    "n_components": 100_000,
    "degree": 1_000,
    # points and bins of image distances
    "n_points": 10_000,
    "n_radii": 1_000,
    "n_angles": 1_000,
    "n_rings": 64,
    "n_spokes": 1_000,
    "n_cells": 64,
    "n_bins": 10_000,
    "grid": 1_000,
    "orientations": 360,
    # widths in pixels, or in parts of an image
    "radius": 1_000,
    "smoothing": 1_000,
    "cell": 1_000,
    "elongation": 100,
    "dummies": 10,
    "reach": 10,
    "blur_base": 1_000,
    "blur_growth": 1_000,
    # threads
    "n_jobs": 4_096,
}


def exceeds_limit(name: str, value: Any) -> bool:
    """Return whether the option ``name`` is above its limit; in a tuple, whether any number is."""
    most = MOST.get(name)
    if most is None:
        return False
    numbers = value if isinstance(value, list | tuple) else (value,)
    return any(isinstance(number, int | float) and not -most <= number <= most for number in numbers)


def most_memory() -> int:
    """Return the largest memory budget that a file may set, in bytes: half of this machine's memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):  # not every system reports it
        return 1 << 32
