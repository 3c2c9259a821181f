"""Handwritten digits: MNIST (IDX files), USPS (zip.train, zip.test), and the set within scikit-learn."""

from __future__ import annotations

import gzip
import math
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.images.datasets import Dataset, Provenance
from lab.datasets.archives import check_content, check_sides, expect, read_npz

TEN = tuple("0123456789")

# SHA-256 of the raw pixel and label bytes: the same whatever file they are kept in.
MNIST_CONTENT = {
    "training images": "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757",
    "test images": "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161",
    "training labels": "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13",
    "test labels": "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5",
}
# Of USPS as int16 thousandths, little endian.
USPS_CONTENT = {
    "training images": "19278ce4e0242e481c6dd79ee608eac38d318df582628cd12bb841fdf0568f44",
    "test images": "9c748d6be2e9da7d29b975c23c281f30a623fe85d17554cdeb3081ad123882f6",
    "training labels": "ee5027fd47b76715ac18ca27e72fa1332bde98e0b8ce593b503bb2bdb6c03da0",
    "test labels": "0b8b792b8ca1c5c704fd9d5bbd1b261623a359e6c8c65b23db428257beea7800",
}
MNIST_SIDES, USPS_SIDES = (60_000, 10_000), (7_291, 2_007)

_IDX_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_IDX_LIMIT = 1 << 31  # bytes of values; MNIST's largest file has 47 million
_USPS_LINE, _USPS_LINES = 10_000, 100_000  # bytes of a line and lines that are read at most; USPS has 9,298


def _open(path: Path) -> BinaryIO:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def read_idx(path: Path | str) -> Array:
    """One IDX file (plain or ``.gz``): two zero bytes, type, number of axes, their lengths, values."""
    path = Path(path)
    try:
        with _open(path) as file:
            head = file.read(4)
            if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _IDX_TYPES:
                raise DataError(f"{path} is not an IDX file: it begins with {head!r}.")
            dtype = np.dtype(_IDX_TYPES[head[2]])
            lengths = file.read(4 * head[3])
            if len(lengths) < 4 * head[3]:
                raise DataError(f"{path} ends inside its header; copy it again.")
            shape = tuple(int(n) for n in np.frombuffer(lengths, ">u4"))
            needed = math.prod(shape) * dtype.itemsize
            if needed > _IDX_LIMIT:
                raise DataError(f"{path} claims {needed} bytes of values; more than {_IDX_LIMIT} are not read.")
            body = _at_most(file, needed + 1)
    except (OSError, EOFError, zlib.error) as problem:
        raise DataError(f"{path} cannot be read: {problem}. It is damaged or incomplete; copy it again.") from problem
    if len(body) != needed:
        more = "more" if len(body) > needed else f"{len(body)}"
        raise DataError(f"{path} should hold {needed} bytes of values for shape {shape}; it holds {more}.")
    try:
        return np.frombuffer(body, dtype).reshape(shape).astype(dtype.newbyteorder("="))
    except ValueError as problem:  # more axes than an array has, or lengths whose product is beyond counting
        raise DataError(f"{path} claims the shape {str(shape)[:60]}, which no array has.") from problem


def _at_most(file: BinaryIO, count: int) -> bytes:
    """Up to ``count`` bytes; room is taken as they come, not as they are claimed."""
    parts: list[bytes] = []
    while count > 0 and (part := file.read(min(count, 1 << 20))):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def mnist_from_idx(first: Path, provenance: Provenance) -> Dataset:
    """MNIST from its four IDX files, given the one with the training images."""
    parts = []
    for stem in (
        "train-images{}idx3-ubyte",
        "train-labels{}idx1-ubyte",
        "t10k-images{}idx3-ubyte",
        "t10k-labels{}idx1-ubyte",
    ):
        spellings = [stem.format(mark) + end for mark in "-." for end in ("", ".gz")]
        found = next((first.parent / s for s in spellings if (first.parent / s).is_file()), None)
        if found is None:
            raise DataError(f"MNIST in {first.parent} lacks the file {spellings[0]} (or .gz); put it there too.")
        parts.append((found, read_idx(found)))
    (file_a, train), (_, train_labels), (file_b, test), (_, test_labels) = parts
    expect(file_a, "training images", train.shape, (MNIST_SIDES[0], 28, 28))
    expect(file_b, "test images", test.shape, (MNIST_SIDES[1], 28, 28))
    images, labels = np.concatenate([train, test]), np.concatenate([train_labels, test_labels])
    return checked_digits("mnist", first.parent, images, labels, MNIST_SIDES, MNIST_CONTENT, provenance)


def mnist_from_npz(path: Path, provenance: Provenance) -> Dataset:
    """MNIST from ``mnist.npz`` (images, labels, split, and the 500 rows of the first author's demo)."""
    arrays = read_npz(path, ("images", "labels", "split"), ("author500_train",))
    check_sides(path, arrays["split"], MNIST_SIDES)
    expect(path, "images", arrays["images"].shape, (70_000, 28, 28))
    extras = {k: arrays[k].astype(np.int64) for k in ("author500_train",) if k in arrays}
    return checked_digits(
        "mnist", path, arrays["images"], arrays["labels"], MNIST_SIDES, MNIST_CONTENT, provenance, extras
    )


def read_usps_text(path: Path | str) -> tuple[Array, Array]:
    """One USPS text file (plain or ``.gz``): a digit and 256 grey values in −1…1 on each line."""
    path = Path(path)
    rows = []
    try:
        with _open(path) as file:
            for number, line in enumerate(iter(lambda: file.readline(_USPS_LINE), b""), start=1):
                if number > _USPS_LINES or len(line) == _USPS_LINE:
                    raise DataError(f"{path} has lines without end, or lines that do not end; it is another file.")
                if not line.strip():
                    continue
                values = np.array(line.split(), dtype=np.float64)
                if values.shape != (257,):
                    raise DataError(
                        f"{path}, line {number} has {len(values)} numbers; a digit and 256 values were due."
                    )
                rows.append(values)
    except DataError:
        raise
    except (OSError, EOFError, zlib.error, ValueError) as problem:
        raise DataError(f"{path} cannot be read after {len(rows)} lines: {problem}. Copy it again.") from problem
    if not rows:
        raise DataError(f"{path} is empty; copy it again.")
    table = np.stack(rows)
    digits, values = table[:, 0], table[:, 1:]
    if not (np.isin(digits, np.arange(10)).all() and (np.abs(values) <= 1.0).all()):
        raise DataError(f"{path} is not the USPS text: a label is no digit, or a value lies outside −1…1.")
    return values.reshape(-1, 16, 16), digits.astype(np.int64)


def usps_from_text(first: Path, provenance: Provenance) -> Dataset:
    """USPS from ``zip.train`` and ``zip.test`` (plain or ``.gz``), given the first of them."""
    beside = [first.parent / ("zip.test" + end) for end in ("", ".gz")]
    second = next((p for p in beside if p.is_file()), None)
    if second is None:
        raise DataError(f"USPS in {first.parent} lacks the file zip.test (or zip.test.gz); put it there too.")
    (train, train_labels), (test, test_labels) = read_usps_text(first), read_usps_text(second)
    expect(first, "images", train.shape, (USPS_SIDES[0], 16, 16))
    expect(second, "images", test.shape, (USPS_SIDES[1], 16, 16))
    thousandths = np.rint(1000.0 * np.concatenate([train, test])).astype("<i2")
    labels = np.concatenate([train_labels, test_labels])
    return _usps_set(first.parent, thousandths, labels, provenance)


def usps_from_npz(path: Path, provenance: Provenance) -> Dataset:
    """USPS from ``usps.npz`` (thousandths in int16, labels, split)."""
    arrays = read_npz(path, ("images_x1000", "labels", "split"))
    check_sides(path, arrays["split"], USPS_SIDES)
    expect(path, "images", arrays["images_x1000"].shape, (9_298, 16, 16))
    return _usps_set(path, arrays["images_x1000"].astype("<i2"), arrays["labels"], provenance)


def _usps_set(path: Path, thousandths: Array, labels: Array, provenance: Provenance) -> Dataset:
    checked = checked_digits("usps", path, thousandths, labels, USPS_SIDES, USPS_CONTENT, provenance)
    return replace(checked, images=(thousandths / np.float32(1000.0)).astype(np.float32))


def checked_digits(
    name: str,
    path: Path,
    images: Array,
    labels: Array,
    sides: tuple[int, int],
    content: dict[str, str],
    provenance: Provenance,
    extras: dict[str, Array] | None = None,
) -> Dataset:
    """The set, training rows first, once its bytes are those of the published one."""
    expect(path, "labels", labels.shape, (sum(sides),))
    cut, small = sides[0], labels.astype(np.uint8)
    for what, part in (
        ("training images", images[:cut]),
        ("test images", images[cut:]),
        ("training labels", small[:cut]),
        ("test labels", small[cut:]),
    ):
        check_content(path, what, part, content[what])
    split = np.repeat(np.array([0, 1], np.int8), sides)
    return Dataset(
        name,
        labels.astype(np.int64),
        TEN,
        images=images,
        split=split,
        extras=extras or {},
        provenance=provenance,
    )


def sklearn_digits() -> Dataset:
    """The 1,797 8×8 digits that ship with scikit-learn, scaled to 0…1. Always there."""
    from sklearn.datasets import load_digits

    bunch: Any = load_digits()
    return Dataset(
        "digits",
        bunch.target.astype(np.int64),
        TEN,
        images=(bunch.images / 16.0).astype(np.float32),
        provenance=Provenance(
            source="sklearn.datasets.load_digits",
            owner="E. Alpaydin, C. Kaynak; UCI Machine Learning Repository",
            terms="CC BY 4.0",
        ),
    )
