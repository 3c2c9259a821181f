"""Image files as a stream: in order, in chunks, what cannot be read kept or fatal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from photos import photo
from PIL import Image

from kcrc import features
from kcrc.errors import DataError
from kcrc.images.decoding.reading import ImageError
from kcrc.images.features.base import CHUNK
from kcrc.images.stream import stream


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("stream")
    made = [photo(folder / f"{i}.jpg", "wren", i) for i in range(4)]
    return made * 20


@pytest.fixture(scope="module")
def feature() -> features.base.Feature:
    return features.make("pixels", size=(8, 8))


def test_files_come_in_order_a_chunk_at_a_time(files: list[Path], feature) -> None:
    chunks = list(stream(files, feature, lambda vectors: vectors))
    assert [name for chunk in chunks for name in chunk.names] == [str(path) for path in files]
    assert max(len(chunk.names) for chunk in chunks) <= CHUNK < len(files)
    np.testing.assert_array_equal(np.concatenate([c.answers for c in chunks]), feature.transform(files))


def test_nothing_is_read_before_it_is_asked_for(feature) -> None:
    started = stream(["not there.jpg"], feature, lambda vectors: vectors)
    with pytest.raises(ImageError, match="not there"):
        next(started)


def test_what_cannot_be_read_is_kept_or_fatal(files: list[Path], feature, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jpg"
    bad.write_bytes(b"no picture")
    (chunk,) = stream([files[0], bad, files[1]], feature, len, on_error="skip")
    assert (chunk.names, chunk.answers) == ([str(files[0]), str(files[1])], 2)
    assert ["bad.jpg" in str(problem) for problem in chunk.problems] == [True]
    (nothing,) = stream([bad], feature, len, on_error="skip")
    assert (nothing.names, nothing.answers, len(nothing.problems)) == ([], None, 1)
    with pytest.raises(ImageError, match=r"bad\.jpg"):
        list(stream([files[0], bad], feature, len))


def test_what_cannot_be_made_out_is_told_with_each_image(files: list[Path], tmp_path: Path) -> None:
    feature = features.make("pixels", size=(32, 32))
    noise = np.random.default_rng(0).integers(0, 256, (60, 60, 3), np.uint8)
    odd = [np.full((60, 60, 3), 7, np.uint8), noise]
    said = [None, "it is all one colour", "it looks like noise"]
    given = [files[0], tmp_path / "7.png", tmp_path / "noise.png"]
    for path, pixels in zip(given[1:], odd, strict=True):
        Image.fromarray(pixels).save(path)
    (chunk,) = stream(given, feature, len)
    assert chunk.empty == said
    (chunk,) = stream([path.read_bytes() for path in given], feature, len)
    assert chunk.empty == said
    (chunk,) = stream([odd[0], noise], feature, len)
    assert chunk.empty == said[1:]
    (chunk,) = stream(noise[:, :, 0].astype(np.float32), features.make("pixels"), len)  # rows are no pictures
    assert chunk.empty == [None] * 60


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_arrays_that_hold_no_numbers_are_refused_as_everywhere(value: float, feature) -> None:
    with pytest.raises(DataError):
        list(stream([np.full((9, 9), value)], feature, len))


def test_bytes_and_arrays_have_no_names(files: list[Path], feature) -> None:
    pictures = [path.read_bytes() for path in files]
    chunks = list(stream(pictures, feature, lambda vectors: vectors))
    assert not any(chunk.names for chunk in chunks)
    np.testing.assert_array_equal(np.concatenate([c.answers for c in chunks]), feature.transform(pictures))
    arrays = np.random.default_rng(0).integers(0, 255, (70, 9, 7, 3), np.uint8)
    chunks = list(stream(arrays, feature, lambda vectors: vectors))
    np.testing.assert_array_equal(np.concatenate([c.answers for c in chunks]), feature.transform(arrays))


def test_no_images_have_no_chunks_and_one_is_no_list(feature) -> None:
    assert list(stream([], feature, len)) == []
    with pytest.raises(DataError, match=r"\[image\]"):
        list(stream("one.jpg", feature, len))
