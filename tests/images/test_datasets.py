from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kcrc.errors import DataError
from kcrc.images.datasets import Dataset


def small(**changes: object) -> Dataset:
    parts = {
        "name": "small",
        "labels": np.array([0, 1, 1]),
        "classes": ("ant", "bee"),
        "images": np.arange(12, dtype=np.uint8).reshape(3, 2, 2),
        "split": np.array([0, 0, 1]),
        "extras": {"angle": np.array([5, 6, 7]), "chosen": np.array([0, 2])},
    }
    return Dataset(**{**parts, **changes})  # type: ignore[arg-type]


def test_rows_of_the_split_and_names_of_the_labels():
    ds = small()
    assert ds.train.tolist() == [0, 1]
    assert ds.test.tolist() == [2]
    assert ds.named.tolist() == ["ant", "bee", "bee"]


def test_eight_bits_become_fractions_and_features_stay():
    np.testing.assert_allclose(small().vectors([2]), [[8 / 255, 9 / 255, 10 / 255, 11 / 255]], rtol=1e-6)
    features = np.array([[300.0, -2.0]] * 3, np.float16)
    assert small(images=None, X=features).vectors().tolist() == features.tolist()


def test_take_cuts_everything_that_is_per_sample():
    ds = small().take([2, 0])
    assert ds.labels.tolist() == [1, 0]
    assert ds.images is not None
    assert ds.images[0, 0, 0] == 8
    assert ds.extras["angle"].tolist() == [7, 5]
    assert "chosen" not in ds.extras  # row numbers of the whole set mean nothing in a part of it


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"images": None}, "got 0 of them"),
        ({"X": np.zeros((3, 2))}, "got 2 of them"),
        ({"labels": np.array([0, 1])}, "3 samples"),
        ({"labels": np.array([0, 1, 2])}, "must be 0 to 1"),
        ({"labels": np.array([0, -1, 1])}, "got -1 to 1"),
        ({"split": np.array([0, 1])}, "split"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, said):
    with pytest.raises(DataError, match=said):
        small(**changes)


def test_what_is_not_there_says_what_to_do():
    with pytest.raises(DataError, match="split_per_class"):
        _ = small(split=None).train
    with pytest.raises(DataError, match=r"kcrc\.features"):
        small(images=None, paths=(Path("a"), Path("b"), Path("c"))).vectors()
