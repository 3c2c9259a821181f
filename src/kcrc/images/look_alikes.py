"""Find near-duplicates: pictures that look the same under different labels, such as resized or recompressed copies.

Each picture has a perceptual hash of 64 bits. Hashes are sorted and each is compared with those that follow it; the
same is repeated with the bits rotated by each of the eight bytes. Two hashes that differ in at most 7 bits agree in a
whole byte, so one of the orders brings them together. Pairs with similar hashes are then compared by small versions of
the pictures. The time grows with the number of pictures, not of pairs; a pair can only be missed among very many hashes
that begin with the same byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.fft import dctn

from kcrc._base.arrays import Array
from kcrc.confidence.audit import Audit, Clash
from kcrc.errors import KCRCError

# The perceptual hash: the grey picture is reduced to 32 × 32 by averaging areas and transformed by the DCT-II. One bit
# for each of the 8 × 8 lowest frequencies says whether it is above their median; the mean brightness is not used.

SIDE, LOW = 32, 8
FLAT = 2.0  # grey levels, standard deviation: a picture that varies less has no hash
GREY = np.array([0.299, 0.587, 0.114])

BITS = 7  # of 64 that may differ
LEAST_CORRELATION = 0.98  # of the small pictures
FOLLOWING = 64  # hashes compared with each, in each of the eight orders


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """The hash ``bits`` as an integer of 64 bits, and the ``small`` picture (256,) with mean 0 and length 1."""

    bits: int
    small: Array


def fingerprint(pixels: Array) -> Fingerprint | None:
    """Return the fingerprint of a uint8 picture (h, w) or (h, w, 3), or None if it has a single colour."""
    grey = pixels @ GREY if pixels.ndim == 3 else pixels.astype(np.float64)
    reduced = _area_weights(grey.shape[0], SIDE) @ grey @ _area_weights(grey.shape[1], SIDE).T
    if reduced.std() < FLAT:
        return None
    low = dctn(reduced, norm="ortho")[:LOW, :LOW].ravel()
    low[0] = np.median(low[1:])
    bits = int.from_bytes(np.packbits(low > low[0]).tobytes())
    half = SIDE // 2
    small = reduced.reshape(half, 2, half, 2).mean(axis=(1, 3)).ravel()
    small -= small.mean()
    return Fingerprint(bits, (small / max(np.linalg.norm(small), np.finfo(np.float64).tiny)).astype(np.float32))


def _area_weights(length: int, parts: int) -> Array:
    """Return the share of each part that each pixel covers (parts, length)."""
    edges = np.linspace(0.0, length, parts + 1)
    starts = np.arange(length)
    covered = np.minimum(edges[1:, None], starts + 1.0) - np.maximum(edges[:-1, None], starts)
    return np.asarray(np.maximum(covered, 0.0) * (parts / length))


def with_look_alikes(
    audit: Audit, ids: Array, labels: Array, picture_of: Callable[[int], bytes | None], rows: Iterable[int] | None
) -> Audit:
    """Add the near-duplicates among the examples of a gallery to its audit.

    ``ids`` and ``labels`` (n,) are those of the examples, ``picture_of`` gives the stored picture of each, and ``rows``
    restricts the search to pairs with one of these.
    """
    places, bits, small = [], [], []
    for place, example in enumerate(ids):
        mark = fingerprint_of(picture_of, int(example))
        if mark is not None:
            places.append(place)
            bits.append(mark.bits)
            small.append(mark.small)
    known = {frozenset((c.row, c.other)) for c in audit.clashes}
    wanted = None if rows is None else set(rows)
    more = []
    if places:
        for a, b in similar_pairs(np.array(bits, np.uint64), np.stack(small), labels[places]):
            first, second = sorted((places[a], places[b]))
            pair = frozenset((int(ids[first]), int(ids[second])))
            if pair not in known and (wanted is None or pair & wanted):
                more.append(
                    Clash(int(ids[first]), labels[first].item(), int(ids[second]), labels[second].item(), None, None)
                )
    return replace(audit, clashes=audit.clashes + more, unseen=len(ids) - len(places))


def similar_pairs(bits: Array, small: Array, labels: Array) -> list[tuple[int, int]]:
    """Return pairs (i, j), i < j, of different labels that look the same, the most similar first.

    ``bits`` are uint64 hashes (n,), ``small`` pictures (n, 256) of length 1. Of many pictures that look the same every
    one is in some pair, but not every pair is listed.
    """
    pairs: dict[tuple[int, int], float] = {}
    named = np.zeros(len(bits), bool)
    for turn in range(0, 64, 8):
        turned = bits if turn == 0 else (bits << np.uint64(turn)) | (bits >> np.uint64(64 - turn))
        order = np.argsort(turned, kind="stable")
        for step in range(1, min(FOLLOWING, len(bits) - 1) + 1):
            a, b = order[:-step], order[step:]
            near = (np.bitwise_count(bits[a] ^ bits[b]) <= BITS) & (labels[a] != labels[b]) & ~(named[a] & named[b])
            a, b = a[near], b[near]
            like = np.einsum("ij,ij->i", small[a], small[b])
            is_same = like >= LEAST_CORRELATION
            for i, j, likeness in zip(a[is_same], b[is_same], like[is_same], strict=True):
                named[[i, j]] = True
                pairs[int(min(i, j)), int(max(i, j))] = float(likeness)
    return sorted(pairs, key=lambda pair: -pairs[pair])


def fingerprint_of(picture_of: Callable[[int], bytes | None], example: int) -> Fingerprint | None:
    """Return the fingerprint of an example's picture, or None if there is none, it is unreadable or shows nothing."""
    from kcrc.images.decoding.reading import decode  # the audit of vectors needs no decoder

    try:
        picture = picture_of(example)
        return None if picture is None else fingerprint(decode(picture).pixels)
    except KCRCError:
        return None
