"""Dot products inside the dictionaries of left-out examples, as they are after each example has left the metric too."""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array
from kcrc.native import native


def products_among(
    rows: Array,
    *,
    vectors: Array | None = None,
    products: Array | None = None,
    along: Array | None = None,
    strength: Array | None = None,
    scale: Array | None = None,
) -> Array:
    """(B, W, W) among the examples ``rows`` (B, W), from ``vectors`` (n, d) or the ``products`` (n, n) of all pairs.

    ``strength`` (B,) times the outer product of ``along`` (B, W) is added where an example left the metric (see
    ``leverage``); then rows and columns are multiplied by ``scale`` (B, W).
    """
    values = vectors if products is None else products
    assert values is not None
    if native is not None:
        made = native.left_out_products(values, products is not None, rows, along, strength, scale)
        return np.asarray(made)
    if products is None:
        atoms = values[rows]
        among = atoms @ atoms.transpose(0, 2, 1)
    else:
        among = values[rows[:, :, None], rows[:, None, :]]
    if along is not None and strength is not None:
        among += strength[:, None, None] * along[:, :, None] * along[:, None, :]
    if scale is not None:
        among *= scale[:, :, None] * scale[:, None, :]
    return np.asarray(among)
