"""What lies around a left-out example among vectors, and the nearest of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc._base.arrays import Array

Measured = tuple[Array, Array, Array | None, Array | None]
"""Of some examples to all, each (B, n): dot products, squared lengths, projections on the removed direction, scale."""


@dataclass(frozen=True, eq=False)
class Around:
    """What lies around one left-out example, each (W,): rows and how near their class is (whole-class dictionaries),
    their dot products with it, squared lengths, projections on the removed direction, and scale to unit length."""

    rows: Array
    rank: Array | None
    dot: Array
    squares: Array
    along: Array | None
    scale: Array | None


def smallest(far: Array, width: int) -> Array:
    """Places (B, width) of the smallest of each line, ascending, equal ones in their order."""
    if width >= far.shape[1]:
        return np.argsort(far, axis=1, kind="stable")
    rows = np.argpartition(far, width - 1, axis=1)[:, :width]
    values = np.take_along_axis(far, rows, 1)
    rows = np.take_along_axis(rows, np.lexsort((rows, values), axis=-1), 1)
    # Of several that are equally far and not all among the nearest, the partition took any.
    for at in np.flatnonzero((far <= values.max(axis=1)[:, None]).sum(axis=1) > width):
        rows[at] = np.argsort(far[at], kind="stable")[:width]
    return rows


def picked(measured: Measured, at: int, rows: Array, rank: Array | None) -> Around:
    """What was measured of example number ``at`` and ``rows``."""
    products, norms, along, scale = (None if part is None else part[at][rows] for part in measured)
    assert products is not None and norms is not None
    return Around(rows, rank, products, norms, along, scale)


def cut(around: Around, which: slice | Array) -> Around:
    """Some of what lies around an example."""
    parts: dict[str, Any] = {name: None if part is None else part[which] for name, part in vars(around).items()}
    return Around(**parts)
