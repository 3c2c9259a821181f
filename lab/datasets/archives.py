"""The ``.npz`` files: every array checked for presence, type and count before any is handed out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.files import archive
from kcrc.files.safe_paths import sha256
from kcrc.images.datasets import Dataset, Provenance


def read_npz(path: Path, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Array]:
    """The named arrays of an archive, whole and without pickle; else an error that names the file."""
    arrays, names = archive.read_npz(path, wanted={*required, *optional})
    missing = [key for key in required if key not in arrays]
    if missing:
        raise DataError(
            f"{path} has no array '{missing[0]}' (it has: {', '.join(names) or 'nothing'}). "
            "It is another file of the same name, or an incomplete one."
        )
    return arrays


def check_content(path: Path, what: str, content: Array, expected: str) -> None:
    """Compare the SHA-256 of an array's bytes with the published set's."""
    found = sha256(np.ascontiguousarray(content).data.cast("B"))
    if found != expected:
        raise DataError(
            f"The {what} of {path} are not those of the published set (SHA-256 {found[:12]}…, "
            f"expected {expected[:12]}…). The file is damaged or holds another set; copy it again."
        )


@dataclass(frozen=True)
class FeatureArchive:
    """What a file of ready features must hold: (n, d), the number of classes and both sides of a split."""

    rows: int
    width: int
    classes: int
    sides: tuple[int, int] | None = None

    def read(self, name: str, path: Path, provenance: Provenance) -> Dataset:
        required = ("features", "labels", "classes") + (("split",) if self.sides else ())
        arrays = read_npz(path, required)
        features, labels = arrays["features"], arrays["labels"]
        expect(path, "features", features.shape, (self.rows, self.width))
        expect(path, "labels", labels.shape, (self.rows,))
        expect(path, "classes", arrays["classes"].shape, (self.classes,))
        if not (np.issubdtype(features.dtype, np.floating) and np.issubdtype(labels.dtype, np.integer)):
            raise DataError(f"{path} holds features of {features.dtype} and labels of {labels.dtype}.")
        if not np.isfinite(features).all():
            raise DataError(f"{path} holds features that are not finite numbers; copy it again.")
        if self.sides:
            check_sides(path, arrays["split"], self.sides)
        return Dataset(
            name,
            labels.astype(np.int64),
            tuple(str(c) for c in arrays["classes"]),
            X=features,
            split=arrays.get("split"),
            provenance=provenance,
        )


def expect(path: Path, what: str, found: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Compare a shape with the one the published set has."""
    if found != expected:
        raise DataError(f"{path} holds {what} of shape {found}, not {expected}: it is incomplete or another file.")


def check_sides(path: Path, split: Array, sides: tuple[int, int]) -> None:
    """Compare the numbers of training and test rows with those of the published split."""
    found = (int((split == 0).sum()), int((split == 1).sum()))
    if found != sides or len(split) != sum(sides):
        raise DataError(f"{path} splits into {found[0]} / {found[1]} rows, not {sides[0]} / {sides[1]}.")


FEATURE_ARCHIVES: Mapping[str, FeatureArchive] = {
    "caltech101_spm": FeatureArchive(9144, 3000, 102),
    "scene15_spm": FeatureArchive(4485, 3000, 15, (1500, 2985)),
    "caltech256_clip": FeatureArchive(7556, 512, 257, (3933, 3623)),
}
