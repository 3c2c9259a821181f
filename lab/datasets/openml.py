"""MNIST and USPS from OpenML through scikit-learn, when the caller allows a download."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kcrc.errors import DataError
from kcrc.files.safe_paths import cache_dir
from kcrc.images.datasets import Dataset, Provenance
from lab.datasets.digits import MNIST_CONTENT, MNIST_SIDES, TEN, USPS_SIDES, checked_digits

USPS_CLASS_COUNTS = (
    (1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644),
    (359, 264, 198, 166, 200, 160, 170, 147, 166, 177),
)


def fetch(name: str, openml_name: str, provenance: Provenance) -> Dataset:
    """The set from OpenML, kept by scikit-learn in the user's cache; checked like the files."""
    from sklearn.datasets import fetch_openml

    try:
        bunch: Any = fetch_openml(
            openml_name, version=1 if name == "mnist" else 2, as_frame=False, parser="liac-arff",
            data_home=str(cache_dir() / "openml"),
        )  # fmt: skip
    except Exception as problem:  # whatever the network, OpenML or the parser raise, the next step is the same
        raise DataError(
            f"OpenML did not deliver '{openml_name}': {problem}. "
            f"Try again later, or get the files from {provenance.owner}."
        ) from problem
    values, target = np.asarray(bunch.data), np.asarray(bunch.target).astype(np.int64)
    if name == "mnist":
        if values.shape != (sum(MNIST_SIDES), 784):
            raise DataError(f"OpenML's '{openml_name}' has shape {values.shape}, not {(sum(MNIST_SIDES), 784)}.")
        images = values.reshape(-1, 28, 28).astype(np.uint8)
        return checked_digits(name, Path("OpenML"), images, target, MNIST_SIDES, MNIST_CONTENT, provenance)
    if values.shape != (sum(USPS_SIDES), 256):
        raise DataError(f"OpenML's '{openml_name}' has shape {values.shape}, not {(sum(USPS_SIDES), 256)}.")
    labels = target - target.min()  # OpenML counts the digits from 1
    grey = values.reshape(-1, 16, 16).astype(np.float32)
    if grey.min() >= 0.0:
        grey = 2.0 * grey - 1.0
    cut = USPS_SIDES[0]
    counts = tuple(tuple(np.bincount(part, minlength=10).tolist()) for part in (labels[:cut], labels[cut:]))
    # OpenML does not promise the order: the split is claimed only where the class counts bear it out.
    split = np.repeat(np.array([0, 1], np.int8), USPS_SIDES) if counts == USPS_CLASS_COUNTS else None
    return Dataset(name, labels, TEN, images=grey, split=split, provenance=provenance)
