"""Pictures that look the same under different labels: copies in another size, or compressed again.

Fingerprints (``kcrc.images.look_alikes``) are put in order and each is compared with those that follow it; the same
again with their bits turned by a byte, eight times. Of two that differ in 7 bits or fewer a whole byte agrees, which
brings them together. What then looks alike is compared in the small. So the time grows with the number of pictures,
not with that of pairs; only among very many that begin alike may a pair be missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.fft import dctn

from kcrc._base.arrays import Array
from kcrc.confidence.audit import Audit, Clash
from kcrc.errors import KCRCError

# What a picture looks like, in 64 bits that stay nearly the same when it is scaled or compressed again.
#
# The picture in grey is shrunk to 32 × 32 by averaging areas and transformed to cosines (DCT-II). A bit for each of
# the 8 × 8 lowest frequencies says whether it is above their median. The mean brightness, which is no shape, says
# nothing.

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


BITS = 7  # of 64 that may differ
ALIKE = 0.98  # the least correlation of the small pictures
AFTER = 64  # fingerprints compared with each, in each of the eight orders


def with_look_alikes(
    found: Audit, ids: Array, labels: Array, picture_of: Callable[[int], bytes | None], rows: Iterable[int] | None
) -> Audit:
    """The audit of a gallery with the look-alikes among its examples: ids and labels (n,), and the pictures kept of
    them; ``rows``: only pairs with one of these."""
    seen, bits, small = [], [], []
    for at, example in enumerate(ids):
        mark = fingerprint_of(picture_of, int(example))
        if mark is not None:
            seen.append(at)
            bits.append(mark.bits)
            small.append(mark.small)
    known = {frozenset((c.row, c.other)) for c in found.clashes}
    asked = None if rows is None else set(rows)
    more = []
    if seen:
        for a, b in alike(np.array(bits, np.uint64), np.stack(small), labels[seen]):
            first, second = sorted((seen[a], seen[b]))
            pair = frozenset((int(ids[first]), int(ids[second])))
            if pair not in known and (asked is None or pair & asked):
                more.append(
                    Clash(int(ids[first]), labels[first].item(), int(ids[second]), labels[second].item(), None, None)
                )
    return replace(found, clashes=found.clashes + more, unseen=len(ids) - len(seen))


def alike(bits: Array, small: Array, labels: Array) -> list[tuple[int, int]]:
    """Pairs (i, j), i < j, with different labels that look the same, the most alike first: bits (n,) uint64, small
    pictures (n, 256) of length 1. Of many that look the same every one is named, but not every pair."""
    pairs: dict[tuple[int, int], float] = {}
    named = np.zeros(len(bits), bool)
    for turn in range(0, 64, 8):
        turned = bits if turn == 0 else (bits << np.uint64(turn)) | (bits >> np.uint64(64 - turn))
        order = np.argsort(turned, kind="stable")
        for step in range(1, min(AFTER, len(bits) - 1) + 1):
            a, b = order[:-step], order[step:]
            near = (np.bitwise_count(bits[a] ^ bits[b]) <= BITS) & (labels[a] != labels[b]) & ~(named[a] & named[b])
            a, b = a[near], b[near]
            like = np.einsum("ij,ij->i", small[a], small[b])
            for i, j, likeness in zip(a[like >= ALIKE], b[like >= ALIKE], like[like >= ALIKE], strict=True):
                named[[i, j]] = True
                pairs[int(min(i, j)), int(max(i, j))] = float(likeness)
    return sorted(pairs, key=lambda pair: -pairs[pair])


def fingerprint_of(picture_of: Callable[[int], bytes | None], example: int) -> Fingerprint | None:
    """None where no picture is kept, or it cannot be read, or shows nothing."""
    from kcrc.images.decoding.reading import decode  # the audit of vectors needs no decoder

    try:
        kept = picture_of(example)
        return None if kept is None else fingerprint(decode(kept).pixels)
    except KCRCError:
        return None
