from __future__ import annotations

import numpy as np
import pytest

from images.features import odd_files as odd
from kcrc.images.decoding.containers import Damaged, TooMuch, look
from kcrc.images.decoding.reading import decode


def test_comments_and_rubbish_before_the_picture_are_left_behind():
    plain = odd.gif(3, 1)
    said = b"!\xfe" + b"\xffx" + bytes([1] * 254) + b"\0"
    for blocks in ([said] * 3, [b"\xaa" * 3_000_000], [b"!\xff\x0bNETSCAPE2.0\3\1\0\0\0"], [b"!\xf9\4\0\0\0\0\0"]):
        assert look(odd.gif(3, 1, *blocks)).bare == look(plain).bare


def test_the_transparent_colour_is_kept_and_how_to_go_on_is_not():
    bare = look(odd.gif(3, 1, b"!\xf9\4\x0d\5\0\1\0")).bare
    assert b"!\xf9\4\x01\0\0\1\0" in bare


def test_blocks_without_end_are_refused():
    with pytest.raises(TooMuch, match="1000000 blocks"):
        look(odd.gif(3, 1, b"!\xfe" + b"\1a" * 1_100_000 + b"\0"))
    with pytest.raises(TooMuch, match="1000000 blocks"):
        look(odd.gif(3, 1, b"!\xfe\0" * 1_100_000))


def test_a_picture_larger_than_its_screen_counts_in_full():
    stored = look(odd.gif(60_000, 50_000, screen=(1, 1)))
    assert (stored.width, stored.height) == (60_000, 50_000)
    frames = [odd.noise("P", (9, 7), seed) for seed in range(3)]
    content = odd.saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    smaller = content[:6] + b"\2\0\2\0" + content[10:]
    np.testing.assert_array_equal(decode(smaller).pixels, decode(content).pixels)


def test_without_a_picture_it_is_damage():
    for content in (b"GIF89a", odd.gif(3, 1)[:19], odd.gif(3, 1)[:19] + b";", odd.gif(3, 1)[:24]):
        with pytest.raises(Damaged):
            look(content)
