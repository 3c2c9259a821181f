from __future__ import annotations

import gzip
import tracemalloc

import numpy as np
import pytest
from tiny_files import write_idx

from kcrc.errors import DataError
from lab.datasets import load
from lab.datasets.digits import read_idx, read_usps_text


@pytest.mark.parametrize("end", ["", ".gz"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
def test_idx_comes_back_as_written(tmp_path, end, dtype):
    values = np.arange(24).reshape(2, 3, 4).astype(dtype)
    read = read_idx(write_idx(tmp_path / f"a{end}", values))
    assert read.dtype == values.dtype
    np.testing.assert_array_equal(read, values)


def test_each_kind_of_damage_is_named_with_its_file(tmp_path):
    path = write_idx(tmp_path / "train", np.zeros((2, 3, 4), np.uint8))
    content = path.read_bytes()
    damaged = {
        "not an IDX file": b"PK\3\4" + content,
        "ends inside its header": content[:9],
        "should hold 24 bytes": content[:-1],
        "it holds more": content + b"x",
        "more than": content[:4] + b"\xff" * 12 + content[16:],
    }
    for said, broken in damaged.items():
        path.write_bytes(broken)
        with pytest.raises(DataError, match=said) as caught:
            read_idx(path)
        assert str(path) in str(caught.value)


def test_a_cut_gzip_is_named(tmp_path):
    path = write_idx(tmp_path / "train.gz", np.arange(200, dtype=np.uint8).reshape(2, 10, 10))
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(DataError, match=r"train\.gz cannot be read"):
        read_idx(path)


def idx_folder(folder, end="", train=(60_000, 28, 28), test=(10_000, 28, 28)):
    folder.mkdir(exist_ok=True)
    write_idx(folder / f"train-images-idx3-ubyte{end}", np.zeros(train, np.uint8))
    write_idx(folder / f"train-labels-idx1-ubyte{end}", np.zeros(train[:1], np.uint8))
    write_idx(folder / f"t10k-images-idx3-ubyte{end}", np.zeros(test, np.uint8))
    write_idx(folder / f"t10k-labels-idx1-ubyte{end}", np.zeros(test[:1], np.uint8))


def test_a_lacking_idx_file_is_named(no_data):
    idx_folder(no_data, train=(6, 28, 28))
    (no_data / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(DataError, match="lacks the file t10k-labels-idx1-ubyte"):
        load("mnist", no_data)


def test_a_part_of_mnist_is_not_mnist(no_data):
    idx_folder(no_data, train=(6, 28, 28))
    with pytest.raises(DataError, match=r"shape \(6, 28, 28\), not \(60000, 28, 28\)"):
        load("mnist", no_data)


def test_another_set_in_the_same_files_is_not_mnist(no_data):
    idx_folder(no_data)  # as Fashion-MNIST does: the right names and shapes, other pictures
    with pytest.raises(DataError, match="not those of the published set"):
        load("mnist", no_data)


def usps_line(digit: int, values: np.ndarray) -> str:
    return f"{digit}.0000 " + " ".join(f"{v:.4f}" for v in values) + " \n"


@pytest.mark.parametrize("end", ["", ".gz"])
def test_usps_text_comes_back_as_written(tmp_path, end):
    values = np.random.default_rng(0).uniform(-1, 1, (3, 256)).round(3)
    content = "".join(usps_line(d, v) for d, v in zip((6, 0, 9), values, strict=True)).encode()
    path = tmp_path / f"zip.train{end}"
    path.write_bytes(gzip.compress(content) if end else content)
    images, labels = read_usps_text(path)
    np.testing.assert_allclose(images.reshape(3, 256), values)
    assert labels.tolist() == [6, 0, 9]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"6.0 0.1 0.2\n", "line 1 has 3 numbers"),
        (usps_line(3, np.full(256, 1.5)).encode(), "outside"),
        (usps_line(12, np.zeros(256)).encode(), "no digit"),
        (usps_line(3, np.zeros(256)).encode() + b"\xff\xfe\n", "after 1 lines"),
    ],
)
def test_damaged_usps_text_is_named(tmp_path, content, said):
    path = tmp_path / "zip.train"
    path.write_bytes(content)
    with pytest.raises(DataError, match=said) as caught:
        read_usps_text(path)
    assert str(path) in str(caught.value)


def test_usps_without_its_test_file(no_data):
    (no_data / "zip.train").write_bytes(usps_line(3, np.zeros(256)).encode())
    with pytest.raises(DataError, match=r"lacks the file zip\.test"):
        load("usps", no_data)


def test_idx_and_archive_give_the_same_mnist(shared_data, no_data):
    from_npz = load("mnist", shared_data)
    assert from_npz.images is not None
    folder = no_data / "MNIST" / "raw"
    folder.mkdir(parents=True)
    for stem, rows in (("train", from_npz.train), ("t10k", from_npz.test)):
        write_idx(folder / f"{stem}-images-idx3-ubyte", from_npz.images[rows])
        write_idx(folder / f"{stem}-labels-idx1-ubyte", from_npz.labels[rows].astype(np.uint8))
    from_idx = load("mnist", no_data)
    np.testing.assert_array_equal(from_idx.images, from_npz.images)
    np.testing.assert_array_equal(from_idx.labels, from_npz.labels)
    np.testing.assert_array_equal(from_idx.split, from_npz.split)


def test_text_and_archive_give_the_same_usps(shared_data, no_data):
    from_npz = load("usps", shared_data)
    assert from_npz.images is not None
    for name, rows in (("zip.train", from_npz.train), ("zip.test", from_npz.test)):
        lines = zip(from_npz.labels[rows], from_npz.images[rows].reshape(len(rows), 256), strict=True)
        (no_data / name).write_text("".join(usps_line(d, v) for d, v in lines))
    from_text = load("usps", no_data)
    np.testing.assert_array_equal(from_text.images, from_npz.images)
    np.testing.assert_array_equal(from_text.labels, from_npz.labels)


def test_digits_are_always_there(no_data):
    ds = load("digits")
    assert len(ds) == 1797
    assert ds.images is not None
    assert ds.images.min() == 0.0
    assert ds.images.max() == 1.0


@pytest.mark.parametrize("content", [bytes(60_000_000), b"\n" * 60_000_000, b"0 " * 300 + bytes(30_000)])
def test_few_bytes_that_unpack_to_many_are_refused(tmp_path, content):
    (tmp_path / "zip.train.gz").write_bytes(gzip.compress(content, 1))
    tracemalloc.start()
    with pytest.raises(DataError, match="lines"):
        read_usps_text(tmp_path / "zip.train.gz")
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held < 10_000_000


@pytest.mark.parametrize("end", ["", ".gz"])
@pytest.mark.parametrize("lengths", [(1 << 30,), (0, 1 << 31, 1 << 31, 1 << 31), (0,) * 70])
def test_lengths_are_claims(tmp_path, lengths, end):
    content = bytes([0, 0, 8, len(lengths)]) + np.array(lengths, ">u4").tobytes()
    (tmp_path / f"a{end}").write_bytes(gzip.compress(content) if end else content)
    tracemalloc.start()
    with pytest.raises(DataError, match="shape"):
        read_idx(tmp_path / f"a{end}")
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held < 10_000_000
