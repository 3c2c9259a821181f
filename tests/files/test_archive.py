from __future__ import annotations

import io
import pickle
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kcrc.errors import DataError, FileError
from kcrc.files.archive import from_npy, read_archive, to_npy, write_archive


@given(hnp.arrays(st.sampled_from(["f4", "f8", "i8", "u1", "?", "<U3", ">i4"]), hnp.array_shapes(min_dims=0)))
@settings(max_examples=60, deadline=None)
def test_npy_bytes_come_back_and_are_what_numpy_writes(array: np.ndarray) -> None:
    data = to_npy(array)
    np.testing.assert_array_equal(np.load(io.BytesIO(data), allow_pickle=False), array)
    back = from_npy(data)
    np.testing.assert_array_equal(back, array)
    assert back.dtype == array.dtype.newbyteorder("=")
    assert not back.flags.writeable


def test_npy_in_fortran_order_is_read_too() -> None:
    out = io.BytesIO()
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.save(out, array)
    np.testing.assert_array_equal(from_npy(out.getvalue()), array)


def header(text: str) -> bytes:
    padded = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded.encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x93NUMPY",
        to_npy(np.arange(4.0))[:-1],
        to_npy(np.arange(4.0)) + b"x",
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }"),
        header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }") + b"x" * 8,
        header("{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,), }") + b"x" * 8,
        header("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }") + b"x" * 8,
        header("__import__('os').system('true')"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': 5, }"),
        header("(" * 60),
        header("{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }") + b"\x00\x00\x11\x00",
        header("{'descr': '>U1', 'fortran_order': False, 'shape': (1,), }") + b"\xff\xff\xff\xff",
    ],
)
def test_malformed_npy_is_refused(data: bytes) -> None:
    with pytest.raises(FileError):
        from_npy(data)


def test_objects_are_not_stored() -> None:
    with pytest.raises(DataError, match="cannot be stored"):
        to_npy(np.array([object()]))


def test_an_archive_comes_back_and_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    arrays = {"a": np.arange(5), "b-c.d": np.array(["x", "yz"])}
    write_archive(tmp_path / "one", "thing", {"k": 1}, arrays)
    write_archive(tmp_path / "two", "thing", {"k": 1}, arrays)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    head, back = read_archive(tmp_path / "one", "thing")
    assert head == {"k": 1}
    assert {name: array.tolist() for name, array in back.items()} == {"a": [0, 1, 2, 3, 4], "b-c.d": ["x", "yz"]}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one", "two"]


def test_what_cannot_be_stored_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        write_archive(tmp_path / "x", "thing", {"k": object()}, {})
    with pytest.raises(DataError):
        write_archive(tmp_path / "x", "thing", {"k": float("nan")}, {})
    with pytest.raises(DataError, match="name"):
        write_archive(tmp_path / "x", "thing", {}, {"../a": np.zeros(1)})
    with pytest.raises(FileError, match="cannot be written"):
        write_archive(tmp_path / "none" / "x", "thing", {}, {})
    assert not list(tmp_path.iterdir())


def forged(path: Path, members: dict[str, bytes], *, deflate: bool = False) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if deflate else zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize(
    ("members", "deflate"),
    [
        ({"header.json": b'{"kind": "thing"}', "../../a.npy": to_npy(np.zeros(1))}, False),
        ({"header.json": b'{"kind": "thing"}', "/a.npy": to_npy(np.zeros(1))}, False),
        ({"header.json": b'{"kind": "thing"}', "a.pkl": pickle.dumps(1)}, False),
        ({"header.json": b'{"kind": "thing"}', "a.npy": pickle.dumps(1)}, False),
        ({"header.json": b'{"kind": "thing"}', "a.npy": to_npy(np.zeros(10_000))}, True),
        ({"header.json": b'{"kind": "other"}'}, False),
        ({"header.json": b"[1]"}, False),
        ({"header.json": b"[" * 100_000}, False),
        ({"a.npy": to_npy(np.zeros(1))}, False),
        ({}, False),
    ],
)
def test_forged_archives_are_refused(tmp_path: Path, members: dict[str, bytes], deflate: bool) -> None:
    with pytest.raises(FileError):
        read_archive(forged(tmp_path / "x", members, deflate=deflate), "thing")
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_any_damage_is_an_error_or_harmless(tmp_path: Path) -> None:
    arrays = {"a": np.arange(200.0), "b": np.array(["wren", "owl"])}
    whole = tmp_path / "whole"
    write_archive(whole, "thing", {"k": [1, 2]}, arrays)
    data = whole.read_bytes()
    rng = random.Random(0)
    refused = 0
    for _ in range(300):
        damaged = bytearray(data)
        if rng.random() < 0.3:
            del damaged[rng.randrange(len(damaged)) :]
        else:
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        (tmp_path / "damaged").write_bytes(bytes(damaged))
        try:
            head, back = read_archive(tmp_path / "damaged", "thing")
        except FileError:
            refused += 1
            continue
        assert head == {"k": [1, 2]}
        assert {name: array.tolist() for name, array in back.items()} == {
            name: array.tolist() for name, array in arrays.items()
        }
    assert refused > 250
