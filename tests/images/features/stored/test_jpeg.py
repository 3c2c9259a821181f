from __future__ import annotations

import struct

import numpy as np
import pytest
from PIL import Image

from images.features import odd_files as odd
from kcrc.images.decoding.containers import Damaged, TooMuch, look
from kcrc.images.decoding.reading import ImageError, decode
from kcrc.images.decoding.resizing import View


def with_size(jpeg: bytes, width: int, height: int) -> bytes:
    frame = max(jpeg.find(b"\xff\xc0"), jpeg.find(b"\xff\xc2"))
    return jpeg[: frame + 5] + struct.pack(">HH", height, width) + jpeg[frame + 9 :]


@pytest.mark.parametrize(("sampling", "samples"), [(0, 3), (2, 1.5)])
def test_all_coefficients_of_a_progressive_picture_are_counted(sampling, samples):
    picture = odd.noise("RGB", (64, 64))
    progressive = odd.saved(picture, "JPEG", progressive=True, subsampling=sampling)
    assert look(with_size(progressive, 8000, 8000)).beside == 8000 * 8000 * samples * 2
    assert look(with_size(progressive, 1, 1)).beside == 128 * (3 if samples == 3 else 6)
    assert look(odd.saved(picture, "JPEG", subsampling=sampling)).beside == 0


def test_a_picture_in_several_plain_scans_is_counted_too():
    """Baseline, but a scan a layer: nothing can be shown before the last."""
    whole = odd.saved(odd.noise("RGB", (64, 64)), "JPEG", subsampling=0)
    scan = whole.index(b"\xff\xda")
    one_layer = whole[:scan] + b"\xff\xda\0\x08\x01\x01\0\0\x3f\0" + whole[scan + 14 :]
    assert look(one_layer).beside == 64 * 64 * 3 * 2


def test_scan_after_scan_in_a_few_bytes_is_refused():
    many = odd.many_scans(2000, 1500)
    assert len(many) < 400_000
    with pytest.raises(ImageError, match=r"goes over its 62500 blocks more than 60000000 times in all; no camera") as e:
        decode(many, View((224, 224)))
    assert e.value.kind == "too large"
    assert decode(odd.many_scans(200, 80), View((20, 20))).pixels.shape == (20, 20, 3)


@pytest.mark.parametrize("restart", [0, 1000])
@pytest.mark.parametrize("marker", [0x00, 0x01, 0x02, 0x50, 0xBF, 0xD0, 0xD7, 0xD8])
def test_scans_do_not_hide_behind_a_marker_that_has_no_length(marker, restart):
    """Where libjpeg looks for a restart it passes over FF 02 to FF BF too."""
    hidden = odd.hidden_scans(marker, 1000, restart=restart)
    with pytest.raises(TooMuch, match="goes over its 62500 blocks more than 60000000 times"):
        look(hidden)
    assert look(odd.hidden_scans(marker, 900, restart=restart)).beside == 62_500 * 128


@pytest.mark.parametrize("marker", [0xDC, 0xE0, 0xE1, 0xEF, 0xFE])
def test_what_stands_in_a_segment_between_scans_is_no_scan(marker):
    content = odd.hidden_scans(marker, 5000)
    assert look(content).beside == 62_500 * 128
    assert decode(content, View((20, 20))).pixels.shape == (20, 20, 3)


@pytest.mark.parametrize("options", [{}, {"progressive": True}])
def test_layers_of_one_number_are_all_counted(options):
    picture = odd.noise("RGB", (64, 64))
    whole = odd.saved(picture, "JPEG", subsampling=2, **options)
    frame = max(whole.find(b"\xff\xc0"), whole.find(b"\xff\xc2"))
    alike = bytearray(whole)
    for layer in range(3):
        alike[frame + 10 + 3 * layer] = 1
    assert look(bytes(alike)).beside == look(whole).beside


def test_segments_without_end_are_refused():
    plain = odd.saved(odd.noise("RGB", (9, 9)), "JPEG")
    with pytest.raises(TooMuch, match="100000 segments"):
        look(odd.with_segments(plain, odd.segment(0xE1, b"") * 110_000))
    with pytest.raises(Damaged):
        look(b"\xff\xd8" + b"\xff" * 3_000_000)
    with pytest.raises(Damaged):
        look(b"\xff\xd8\xff" + bytes(3_000_000))


def test_fill_bytes_and_rubbish_between_segments_are_passed_over():
    plain = odd.saved(odd.noise("RGB", (24, 16)), "JPEG")
    junk = plain[:2] + b"\xff\xff\xff\xe0\0\x04ab" + b"junk\xff\0\xff\xd0" + plain[2:]
    np.testing.assert_array_equal(decode(junk).pixels, decode(plain).pixels)


def test_two_frames_are_damage():
    plain = odd.saved(odd.noise("RGB", (24, 16)), "JPEG")
    frame = plain.index(b"\xff\xc0")
    with pytest.raises(Damaged):
        look(plain[:frame] + plain[frame : frame + 19] * 2 + plain[frame + 19 :])


def test_colours_stay_what_adobe_says_they_are():
    for options in ({"keep_rgb": True}, {}):
        content = odd.saved(Image.new("RGB", (16, 16), (200, 30, 60)), "JPEG", quality=95, **options)
        assert np.abs(decode(content).pixels.astype(int) - (200, 30, 60)).max() <= 3


def test_a_long_exif_is_put_together_from_its_segments():
    tags = ((0x0001, 7, 200_000, bytes(200_000)), odd.short(0x0112, 6))
    content = odd.jpeg_with_exif(odd.exif(*tags), odd.noise("RGB", (24, 16)))
    assert look(content).orientation == 6
    assert len(look(content).bare) < 10_000
