"""What a file may ask of a part at most.

The fields of a part say how long a query takes and how much memory, and a file can say anything. Whoever needs more
than this can make such a part in Python; no part that kcrc chooses comes near it.
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


def beyond(name: str, value: Any) -> bool:
    """Whether the field ``name`` asks for more than a file may: a number, or one in a tuple."""
    most = MOST.get(name)
    if most is None:
        return False
    numbers = value if isinstance(value, list | tuple) else (value,)
    return any(isinstance(number, int | float) and not -most <= number <= most for number in numbers)


def most_memory() -> int:
    """Bytes that a file may give its answers as their budget: half of what this machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):  # not every system tells
        return 1 << 32
