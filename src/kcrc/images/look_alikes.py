"""Pictures that look the same under different labels: copies in another size, or compressed again.

Fingerprints (``kcrc.images.fingerprint``) are put in order and each is compared with those that follow it; the same
again with their bits turned by a byte, eight times. Of two that differ in 7 bits or fewer a whole byte agrees, which
brings them together. What then looks alike is compared in the small. So the time grows with the number of pictures,
not with that of pairs; only among very many that begin alike may a pair be missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.findings import Audit, Clash
from kcrc.errors import KCRCError
from kcrc.images.fingerprint import Fingerprint, fingerprint

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
    from kcrc.images.decoding.images import decode  # the audit of vectors needs no decoder

    try:
        kept = picture_of(example)
        return None if kept is None else fingerprint(decode(kept).pixels)
    except KCRCError:
        return None
