from __future__ import annotations

import io

import numpy as np
import pytest
from photos import small_picture
from PIL import Image
from telling_photos import KINDS, MARK, UPRIGHT, jpeg, pixels

from kcrc.images.decoding.reading import decode
from kcrc.images.features.metadata import has_no_metadata, strip_metadata


@pytest.mark.parametrize("kind", KINDS)
def test_the_photographs_of_this_test_tell_and_their_thumbnails_do_not(kind: str) -> None:
    told = KINDS[kind](1)
    assert MARK in told
    small = decode(told, thumbnail=128).thumbnail
    assert MARK not in small
    assert has_no_metadata(small)


@pytest.mark.parametrize("kind", ["jpg", "mpo.jpg", "png", "webp"])
def test_nothing_but_the_picture_is_left(kind: str) -> None:
    told = KINDS[kind](2)
    assert not has_no_metadata(told)
    left = strip_metadata(told)
    assert left is not None
    assert MARK not in left
    assert has_no_metadata(left)
    assert strip_metadata(left) is left
    shown = decode(left).pixels
    assert shown.shape == (*UPRIGHT, 3)
    difference = np.abs(shown.astype(int) - np.asarray(pixels(2)).astype(int))
    assert difference.mean() < 8


def test_the_picture_stands_upright_once_its_orientation_is_gone() -> None:
    left = strip_metadata(jpeg(3, orientation=6))
    assert left is not None
    with Image.open(io.BytesIO(left)) as image:
        assert not image.getexif()
        shown = np.asarray(image)
    assert shown.shape == (*UPRIGHT, 3)
    assert shown[:10].mean() < 90
    assert shown[-10:].mean() > 160


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"restart_marker_rows": 1}, {"optimize": True}])
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_plain_jpegs_are_left_as_they_are(mode: str, options: dict[str, object]) -> None:
    out = io.BytesIO()
    pixels(4).convert(mode).save(out, "JPEG", **options)
    assert strip_metadata(out.getvalue()) is not None
    assert has_no_metadata(out.getvalue())


@pytest.mark.parametrize("form", ["PNG", "WEBP"])
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P"])
def test_plain_pngs_and_webps_are_left_as_they_are(form: str, mode: str) -> None:
    out = io.BytesIO()
    pixels(5).convert(mode).save(out, form, lossless=True)
    assert has_no_metadata(out.getvalue())


def test_bytes_behind_the_end_and_cut_files() -> None:
    whole = small_picture()
    assert has_no_metadata(whole)
    behind = strip_metadata(whole + MARK)
    assert behind is not None
    assert MARK not in behind
    for end in range(len(whole)):
        assert not has_no_metadata(whole[:end])
    assert strip_metadata(whole[:100]) is None
    assert strip_metadata(b"\xff\xd8\xff" + MARK) is None
    assert strip_metadata(b"") is None
