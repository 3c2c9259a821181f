from __future__ import annotations

import hashlib
import io

import numpy as np
import pytest
from PIL import Image

from kcrc.images.decoding.reading import ImageError
from kcrc.images.features import make
from kcrc.images.features.extract import extract, extract_chunks


@pytest.fixture
def files(pictures, tmp_path):
    paths = []
    for i, pixels in enumerate(pictures):
        paths.append(tmp_path / f"{i}.png")
        Image.fromarray(pixels).save(paths[-1])
    broken = tmp_path / "broken.png"
    broken.write_bytes(paths[0].read_bytes()[:200])
    return [*paths[:5], broken, *paths[5:]]


def test_vectors_hashes_and_thumbnails_belong_to_their_files(files):
    feature = make("hog", size=(32, 32), cell=8)
    found = extract(feature, files, on_error="skip", thumbnail=20)
    good = [p for i, p in enumerate(files) if i != 5]
    assert [files[row] for row in found.rows] == good
    np.testing.assert_array_equal(found.vectors, feature.transform(good))
    assert found.sha256 == [hashlib.sha256(p.read_bytes()).hexdigest() for p in good]
    assert {max(Image.open(io.BytesIO(t)).size) for t in found.thumbnails} == {20}
    assert found.summary == "12 images read, 1 skipped (1 broken)."


def test_chunks_come_as_they_are_ready(files):
    feature = make("pixels")
    chunks = list(extract_chunks(feature, files, on_error="skip", chunk=4))
    assert [len(c.rows) for c in chunks] == [4, 3, 4, 1]
    assert sum(len(c.problems) for c in chunks) == 1
    np.testing.assert_array_equal(
        np.concatenate([c.vectors for c in chunks]), extract(feature, files, on_error="skip").vectors
    )


def test_a_bad_file_ends_it_unless_skipped(files):
    with pytest.raises(ImageError, match=r"broken\.png"):
        extract(make("pixels"), files)


def test_no_files_and_no_good_files(files):
    assert extract(make("pixels"), []).vectors.shape == (0, 1024)
    assert extract(make("pixels"), [files[5]], on_error="skip").vectors.shape == (0, 1024)
