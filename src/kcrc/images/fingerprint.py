"""What a picture looks like, in 64 bits that stay nearly the same when it is scaled or compressed again.

The picture in grey is shrunk to 32 × 32 by averaging areas and transformed to cosines (DCT-II). A bit for each of the
8 × 8 lowest frequencies says whether it is above their median. The mean brightness, which is no shape, says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import dctn

from kcrc._base.arrays import Array

SIDE, LOW = 32, 8
FLAT = 2.0  # grey levels: a picture that varies by less has no shape to go by
GREY = np.array([0.299, 0.587, 0.114])


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """``bits``, a whole number of 64, and the ``small`` picture they are of: (256,) of mean 0 and length 1."""

    bits: int
    small: Array


def fingerprint(pixels: Array) -> Fingerprint | None:
    """Of a picture (h, w) or (h, w, 3) uint8; None for one of a single colour."""
    grey = pixels @ GREY if pixels.ndim == 3 else pixels.astype(np.float64)
    shrunk = _areas(grey.shape[0], SIDE) @ grey @ _areas(grey.shape[1], SIDE).T
    if shrunk.std() < FLAT:
        return None
    low = dctn(shrunk, norm="ortho")[:LOW, :LOW].ravel()
    low[0] = np.median(low[1:])
    bits = int.from_bytes(np.packbits(low > low[0]).tobytes())
    half = SIDE // 2
    small = shrunk.reshape(half, 2, half, 2).mean(axis=(1, 3)).ravel()
    small -= small.mean()
    return Fingerprint(bits, (small / max(np.linalg.norm(small), np.finfo(np.float64).tiny)).astype(np.float32))


def _areas(length: int, parts: int) -> Array:
    """(parts, length) what share of each part a pixel covers."""
    edges = np.linspace(0.0, length, parts + 1)
    starts = np.arange(length)
    covered = np.minimum(edges[1:, None], starts + 1.0) - np.maximum(edges[:-1, None], starts)
    return np.asarray(np.maximum(covered, 0.0) * (parts / length))
