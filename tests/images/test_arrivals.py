"""Pictures as they arrive: each once, and not before it stopped growing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kcrc.errors import DataError
from kcrc.images.stream import Arrivals


def test_a_picture_is_named_once_when_two_looks_found_it_the_same(tmp_path: Path) -> None:
    arrivals = Arrivals(tmp_path)
    assert arrivals.look() == []
    image = tmp_path / "a.jpg"
    image.write_bytes(b"1")
    assert arrivals.look() == []
    assert arrivals.growing
    image.write_bytes(b"12")
    assert arrivals.look() == []  # it grew
    assert arrivals.look() == [str(image)]
    assert not arrivals.growing
    assert arrivals.look() == []


def test_what_has_long_been_there_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    image = tmp_path / "deep" / "a.jpg"
    image.write_bytes(b"1")
    os.utime(image, (1e9, 1e9))
    assert Arrivals(tmp_path).look() == [str(image)]


def test_one_that_comes_again_is_named_again(tmp_path: Path) -> None:
    arrivals, image = Arrivals(tmp_path), tmp_path / "a.jpg"
    image.write_bytes(b"1")
    arrivals.look()
    assert arrivals.look() == [str(image)]
    image.unlink()
    assert arrivals.look() == []
    image.write_bytes(b"2")
    arrivals.look()
    assert arrivals.look() == [str(image)]


def test_what_is_passed_over_below_the_folder_apart_or_no_picture_is_not_named(tmp_path: Path) -> None:
    for name in ("old.jpg", "notes.txt", ".hidden.jpg"):
        (tmp_path / name).write_bytes(b"1")
    arrivals = Arrivals(tmp_path, apart=tmp_path / "sorted")
    arrivals.pass_over()
    (tmp_path / "sorted").mkdir()
    (tmp_path / "sorted" / "b.jpg").write_bytes(b"1")
    (tmp_path / "new.jpg").write_bytes(b"1")
    arrivals.look()
    assert arrivals.look() == [str(tmp_path / "new.jpg")]


def test_a_folder_that_is_not_there_or_goes_away_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a folder"):
        Arrivals(tmp_path / "none")
    (tmp_path / "here").mkdir()
    arrivals = Arrivals(tmp_path / "here")
    (tmp_path / "here").rmdir()
    assert arrivals.look() == []
