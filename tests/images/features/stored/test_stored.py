"""What all formats share: the file that is handed to the decoder has the same picture and nothing else."""

from __future__ import annotations

import io
import random

import numpy as np
import pytest
from PIL import Image
from telling_photos import KINDS, MARK

from images.features import hostile_images as hostile
from images.features import odd_files as odd
from kcrc.images.decoding.containers import Damaged, TooMuch, begins_like, look
from kcrc.images.decoding.limits import FORMATS


@pytest.mark.parametrize("kind", FORMATS)
def test_the_picture_is_the_same(kind):
    assert hostile.MODES[kind]
    for mode in hostile.MODES[kind]:
        for size in ((24, 16), (1, 1), (333, 7)):
            content = odd.saved(odd.noise(mode, size), kind)
            stored = look(content)
            assert (stored.format, stored.width, stored.height) == (kind, *size)
            with Image.open(io.BytesIO(stored.bare)) as bare, Image.open(io.BytesIO(content)) as plain:
                assert bare.mode == plain.mode
                np.testing.assert_array_equal(np.asarray(bare), np.asarray(plain))


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_photograph_tells_is_not_handed_to_the_decoder(kind):
    content = KINDS[kind](1)
    bare = look(content).bare
    with Image.open(io.BytesIO(content)) as plain, Image.open(io.BytesIO(bare)) as image:
        assert not {"exif", "xmp", "icc_profile", "comment", "photoshop"} & set(image.info)
        assert not {0x010E, 0x0112, 0x013B} & set(image.getexif())  # description, orientation, artist
        assert plain.size == image.size
    if kind in ("png", "webp", "gif"):
        assert MARK not in bare


def test_anything_cut_or_flipped_is_followed_or_refused():
    rng = random.Random(2)
    followed, refused = 0, 0
    for _ in range(400):
        content = hostile.healthy(rng)
        for attack in hostile.ATTACKS:
            try:
                stored = look(attacked := attack(content, rng))
            except (Damaged, TooMuch):
                refused += 1
                continue
            followed += 1
            assert min(stored.width, stored.height) >= 1
            assert 1 <= stored.orientation <= 8
            assert len(stored.bare) <= len(attacked) + 8
    assert min(followed, refused) > 100


def test_the_beginning_says_the_format():
    assert begins_like(b"") is None
    assert begins_like(b"RIFF\0\0\0\0WAVE") is None
    assert begins_like(b"GIF90a") is None
    with pytest.raises(Damaged):
        look(b"")
