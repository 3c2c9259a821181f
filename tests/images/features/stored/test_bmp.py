from __future__ import annotations

import numpy as np
import pytest

from images.features import odd_files as odd
from kcrc.images.decoding.containers import Damaged, look
from kcrc.images.decoding.reading import ImageError, decode


def test_rows_from_the_top_and_from_the_bottom():
    rows = bytes([0, 0, 0, 0, 9, 9, 9, 0])  # two rows of three, padded
    up, down = decode(odd.bmp(3, 2, rows)), decode(odd.bmp(3, -2, rows))
    np.testing.assert_array_equal(up.pixels, down.pixels[::-1])


def test_runs_are_read_up_to_a_size():
    row = b"\x28\7\0\0"  # forty times the seventh colour
    content = odd.bmp(40, 20, row * 20 + b"\0\1", compression=1)
    assert (decode(content).pixels == decode(content).pixels[0, 0]).all()
    for large in (odd.bmp(20_000_000, 1, b"\0\0", compression=1), odd.bmp(9, 9, bytes(9_000_000), compression=2)):
        with pytest.raises(ImageError, match=r"in runs \(RLE\); no camera or program") as caught:
            decode(large)
        assert caught.value.kind == "too large"


def test_a_row_of_many_millions_is_not_put_together_from_small_pieces():
    """At once or never: copying all there is for each 64 kB more would take minutes."""
    from PIL import ImageFile

    reads = []

    class Counted(ImageFile.io.BytesIO):
        def read(self, n: int = -1) -> bytes:
            reads.append(n)
            return super().read(n)

    content = odd.bmp(40_000_000, 1, bytes(5_000_000), bits=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kcrc.images.decoding.decoder.io.BytesIO", Counted)
        decode(content)
    assert len(reads) < 40


def test_no_size_is_damage():
    for content in (odd.bmp(0, 5, b""), odd.bmp(5, 0, b""), b"BM", b"BM" + bytes(20)):
        with pytest.raises(Damaged):
            look(content)
