from __future__ import annotations

import numpy as np
import pytest

from kcrc.errors import DataError
from kcrc.images.datasets import Provenance
from lab.datasets import load
from lab.datasets.archives import FeatureArchive, read_npz

SMALL = FeatureArchive(4, 3, 2, (2, 2))


def arrays(**changes):
    parts = {
        "features": np.ones((4, 3), np.float16),
        "labels": np.array([0, 0, 1, 1], np.uint8),
        "classes": np.array(["a", "b"]),
        "split": np.array([0, 1, 0, 1], np.int8),
    }
    return {k: v for k, v in {**parts, **changes}.items() if v is not None}


def test_ready_features_with_their_split(tmp_path):
    np.savez(tmp_path / "f.npz", **arrays())
    ds = SMALL.read("f", tmp_path / "f.npz", Provenance("f"))
    assert ds.classes == ("a", "b")
    assert ds.train.tolist() == [0, 2]
    assert ds.vectors().dtype == np.float32


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"features": np.ones((3, 3))}, r"shape \(3, 3\), not \(4, 3\)"),
        ({"features": np.full((4, 3), np.nan)}, "not finite"),
        ({"features": np.ones((4, 3), int)}, "features of int"),
        ({"labels": np.zeros(3, int)}, "labels of shape"),
        ({"labels": np.array([0, 1, 2, 0])}, "must be 0 to 1, one number per class; got 0 to 2"),
        ({"split": np.array([0, 0, 0, 1])}, "3 / 1 rows"),
        ({"split": None}, "no array 'split'"),
    ],
)
def test_arrays_that_are_not_the_set_are_refused(tmp_path, changes, said):
    np.savez(tmp_path / "f.npz", **arrays(**changes))
    with pytest.raises(DataError, match=said):
        SMALL.read("f", tmp_path / "f.npz", Provenance("f"))


def test_every_cut_of_the_file_is_refused_by_name(tmp_path):
    path = tmp_path / "f.npz"
    np.savez_compressed(path, **arrays())
    whole = path.read_bytes()
    assert len(whole) > 370
    for length in range(0, len(whole), 37):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"f\.npz"):
            SMALL.read("f", path, Provenance("f"))


def test_a_flipped_byte_of_the_values_is_noticed(tmp_path):
    path = tmp_path / "f.npz"
    np.savez(path, **arrays())
    content = bytearray(path.read_bytes())
    at = content.find(np.ones(12, np.float16).tobytes())
    content[at] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="damaged"):
        read_npz(path, ("features",))


def test_objects_are_never_unpickled(tmp_path):
    class Evil:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    np.savez(tmp_path / "f.npz", features=np.array([Evil()], dtype=object))
    with pytest.raises(DataError, match="cannot be read"):
        read_npz(tmp_path / "f.npz", ("features",))


@pytest.mark.parametrize("name", ["caltech101_spm", "scene15_spm", "caltech256_clip"])
def test_the_ready_features(shared_data, name):
    ds = load(name, shared_data)
    assert ds.X is not None
    assert len(ds.X) == len(ds)
    assert set(np.unique(ds.labels)) == set(range(len(ds.classes)))
