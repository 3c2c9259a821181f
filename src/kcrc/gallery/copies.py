"""Examples that look the same as another one, in another size or compressed again: by their small pictures.

New examples are compared with each other, and each with the stored one whose vector is nearest: a copy's vector is
near that of its original, so that a single photograph costs no look at every picture of a large gallery.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from kcrc._base.arrays import Array
from kcrc.images.look_alikes import alike, fingerprint_of

if TYPE_CHECKING:
    from kcrc.gallery.gallery import Gallery

_AT_ONCE = 4_000_000  # distances that are held at a time


def near_copies(gallery: Gallery, new: Iterable[int]) -> list[tuple[int, int]]:
    """Pairs (copy, other) of examples that look the same, the copy among the ``new`` ids, the other any example."""
    ids, vectors, _ = gallery.vectors()
    is_new = np.isin(ids, list(new))
    if not is_new.any():
        return []
    wanted = np.flatnonzero(is_new)
    if not is_new.all():
        stored = np.flatnonzero(~is_new)
        wanted = np.union1d(wanted, stored[_nearest(vectors[is_new], vectors[stored])])
    marks = {int(at): fingerprint_of(gallery.thumbnail, int(ids[at])) for at in wanted}
    seen = [(at, mark) for at, mark in marks.items() if mark is not None]
    if not seen:
        return []
    bits, small = np.array([mark.bits for _, mark in seen], np.uint64), np.stack([mark.small for _, mark in seen])
    pairs = alike(bits, small, np.arange(len(seen)))  # whatever their labels
    found = [(seen[b][0], seen[a][0]) for a, b in pairs]
    return sorted((int(ids[b]), int(ids[a])) for b, a in found if is_new[b])


def _nearest(queries: Array, stored: Array) -> Array:
    """(n,) the position of the stored vector that is nearest to each query."""
    lengths = np.einsum("ij,ij->i", stored, stored)
    step = max(1, _AT_ONCE // len(stored))
    parts = (queries[start : start + step] @ stored.T for start in range(0, len(queries), step))
    return np.concatenate([(lengths - 2.0 * products).argmin(axis=1) for products in parts])
