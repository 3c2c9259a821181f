from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from images.features import odd_files as odd
from kcrc.images.decoding.containers import Damaged, TooMuch, look
from kcrc.images.decoding.reading import decode

STILL = odd.saved(odd.noise("RGB", (9, 7)), "WEBP", lossless=True)


def test_metadata_is_left_behind_with_its_flags():
    exif = Image.Exif()
    exif[0x0112] = 3
    content = odd.saved(
        odd.noise("RGBA", (9, 7)), "WEBP", lossless=True, exif=exif, xmp=b"said", icc_profile=bytes(200)
    )
    bare = look(content).bare
    assert look(content).orientation == 3
    assert bare[20] & 0x2C == 0
    assert not any(kind in bare for kind in (b"EXIF", b"XMP ", b"ICCP"))
    np.testing.assert_array_equal(decode(bare).pixels[::-1, ::-1], decode(content).pixels)


def test_only_the_first_frame_is_kept():
    frames = [odd.noise("RGB", (9, 7), seed) for seed in range(20)]
    content = odd.saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True)
    assert content.count(b"ANMF") == 20
    assert look(content).bare.count(b"ANMF") == 1
    np.testing.assert_array_equal(decode(content).pixels, np.asarray(frames[0]))


def test_bytes_behind_the_end_are_left_behind():
    assert look(STILL + b"behind").bare == STILL


def test_cut_files_and_odd_beginnings_are_damage():
    for content in (STILL[:-4], odd.riff(), odd.riff((b"EXIF", b"abc")), odd.riff((b"VP8L", b"\0" * 9)), STILL[:14]):
        with pytest.raises(Damaged):
            look(content)


def test_chunks_without_end_are_refused():
    with pytest.raises(TooMuch, match="100000 chunks"):
        look(odd.riff(*[(b"EXIF", b"")] * 110_000, (b"VP8L", b"\x2f" + bytes(20))))


def test_the_canvases_are_counted():
    assert look(odd.saved(odd.noise("RGB", (90, 70)), "WEBP")).beside == 12 * 90 * 70
