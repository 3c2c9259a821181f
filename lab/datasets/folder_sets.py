"""Published sets that are folders of class folders: refused where their counts are not the published ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from kcrc.errors import DataError
from kcrc.images.datasets import Dataset, Provenance, from_folder


def published_folder(
    folder: Path,
    name: str,
    provenance: Provenance,
    *,
    counts: dict[str, int] | Iterable[int] | None,
    total: int,
) -> Dataset:
    """A published set of class folders, refused when its counts are not the published ones.

    ``counts`` is the number of images by class name, or only the numbers where the names vary between copies.
    """
    # Caltech256 has a stray folder inside one class, so only the files of the class folder itself count.
    found = from_folder(folder, name=name, deep=False, provenance=provenance)
    by_class = dict(zip(found.classes, np.bincount(found.labels).tolist(), strict=True))
    if isinstance(counts, dict):
        for c, due in counts.items():
            if by_class.get(c, 0) != due:
                raise DataError(_incomplete(folder / c, by_class.get(c, 0), due))
    elif counts is not None and Counter(by_class.values()) != Counter(counts):
        odd = sorted(set(by_class.values()) - set(counts))
        named = [c for c, n in by_class.items() if n in odd]
        raise DataError(
            f"{folder} has {len(by_class)} classes with {len(found)} images, not as published ({total}); "
            f"look at: {', '.join(named) or 'the number of class folders'}."
        )
    if len(found) != total:
        raise DataError(_incomplete(folder, len(found), total))
    return found


def _incomplete(folder: Path, found: int, due: int) -> str:
    return (
        f"{folder} holds {found} images; {due} were published. It is incomplete, or has files of its own "
        "(kcrc.datasets.from_folder reads any folder of class folders)."
    )
