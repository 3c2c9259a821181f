"""A few hundred hostile files: a picture or one of our own errors, in whatever process reads them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from images.features.hostile_images import case, hostile_image, hostile_images
from kcrc.errors import KCRCError
from kcrc.images.decoding.reading import decode, read_many
from kcrc.images.decoding.resizing import View
from kcrc.images.features.metadata import has_no_metadata, strip_metadata

VIEWS = (View((224, 224)), View((64, 64), False), View((100, 80), fit="crop"), View((50, 50), fit="inside"), View())


def test_the_same_seed_gives_the_same_files():
    assert list(hostile_images(3, 40)) == list(hostile_images(3, 40))
    assert list(hostile_images(3, 40))[7] == hostile_image(case(3, 7))
    assert list(hostile_images(3, 5)) != list(hostile_images(4, 5))


@pytest.mark.parametrize("seed", range(4))
def test_hostile_files_are_pictures_or_errors_of_ours(seed):
    became: Counter[str] = Counter()
    ended = 0
    for number, (name, content) in enumerate(hostile_images(seed, 100)):
        view = VIEWS[number % len(VIEWS)]
        try:
            picture = decode(content, view, source=name, thumbnail=64 * (number % 2))
            assert picture.pixels.dtype == np.uint8
            assert picture.pixels.ndim == (3 if view.colour else 2)
            became["a picture"] += 1
        except KCRCError as problem:
            became[problem.kind] += 1
            ended += "its worker was ended" in str(problem)
    assert min(became["a picture"], became["broken"], became["not an image"], became["too large"]) > 0
    assert ended == 0


def test_many_threads_among_hostile_files(tmp_path):
    paths = []
    for number, (name, content) in enumerate(hostile_images(9, 120)):
        paths.append(tmp_path / f"{number} {name}")
        paths[-1].write_bytes(content)
    batch = read_many(paths, View((32, 32)), on_error="skip", threads=6)
    assert len(batch.pictures) + len(batch.problems) == 120


def test_pictures_for_pages_are_bare_or_none():
    made = [strip_metadata(content) for _, content in hostile_images(11, 60)]
    assert 0 < len([one for one in made if one is not None]) < len(made)
    for one in made:
        assert one is None or has_no_metadata(one)
