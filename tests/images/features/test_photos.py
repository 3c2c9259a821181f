"""HEIC and RAW photographs: read where the readers are installed, told of in one sentence where they are not."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from kcrc.images.decoding import decoder
from kcrc.images.decoding.reading import ImageError, Limits, decode
from kcrc.images.decoding.resizing import View

CORNERS = np.zeros((80, 120, 3), np.uint8)
CORNERS[:40, :60, 0] = CORNERS[:40, 60:, 1] = CORNERS[40:, :60, 2] = 255


def heic(orientation: int = 1) -> bytes:
    """CORNERS as a telephone would store them: what reads such files does not write them."""
    pytest.importorskip("pi_heif", reason="the extra 'photos' is not installed")
    return (Path(__file__).parent / "heic" / f"corners-{orientation}.heic").read_bytes()


def dng(side: int = 64) -> bytes:
    """A RAW file without a preview: the sensor saw green alone."""
    pytest.importorskip("rawpy", reason="the extra 'photos' is not installed")
    sensor = np.full((side, side), 200, "<u2")
    sensor[0::2, 1::2] = sensor[1::2, 0::2] = 40_000
    matrix = [1, 0, 0, 0, 1, 0, 0, 0, 1]
    said = {  # tag: (type, values); 1 bytes, 2 text, 3 short, 4 long, 5 and 10 ratios
        254: (4, [0]), 256: (4, [side]), 257: (4, [side]), 258: (3, [16]), 259: (3, [1]), 262: (3, [32803]),
        271: (2, b"Maker\0"), 272: (2, b"Camera\0"), 273: (4, [8]), 274: (3, [1]), 277: (3, [1]), 278: (4, [side]),
        279: (4, [sensor.nbytes]), 284: (3, [1]), 33421: (3, [2, 2]), 33422: (1, bytes([0, 1, 1, 2])),
        50706: (1, bytes([1, 4, 0, 0])), 50708: (2, b"Maker Camera\0"), 50717: (4, [65535]),
        50721: (10, [n for one in matrix for n in (one, 1)]), 50728: (5, [1, 1, 1, 1, 1, 1]), 50778: (3, [21]),
    }  # fmt: skip
    codes = {3: "H", 4: "I", 5: "I", 10: "i"}
    at = 8 + sensor.nbytes
    behind = at + 2 + 12 * len(said) + 4
    entries, more = b"", b""
    for tag, (kind, values) in sorted(said.items()):
        data = values if isinstance(values, bytes) else struct.pack(f"<{len(values)}{codes[kind]}", *values)
        count = len(values) // (2 if kind in (5, 10) else 1)
        place = data.ljust(4, b"\0") if len(data) <= 4 else struct.pack("<I", behind + len(more))
        more += data + b"\0" * (len(data) % 2) if len(data) > 4 else b""
        entries += struct.pack("<HHI", tag, kind, count) + place
    directory = struct.pack("<H", len(said)) + entries + struct.pack("<I", 0)
    return b"II*\0" + struct.pack("<I", at) + sensor.tobytes() + directory + more


def test_a_heic_photograph_is_read() -> None:
    content = heic()
    picture = decode(content, source="IMG_1.HEIC")
    assert (picture.format, picture.original_size, picture.note) == ("HEIC", (80, 120), "")
    assert np.abs(picture.pixels.astype(int) - CORNERS).mean() < 6
    small = decode(content, View(size=(32, 32)), source="IMG_1.HEIC", thumbnail=16)
    assert small.pixels.shape[:2] == (32, 32)
    assert small.thumbnail.startswith(b"\xff\xd8")
    assert decode(content, source="really.jpg").note == "really.jpg: is named JPEG but is HEIC, and read as that."


def test_a_heic_photograph_is_turned_upright() -> None:
    picture = decode(heic(orientation=6), source="IMG_1.heic")
    assert picture.original_size == (120, 80)
    assert np.abs(picture.pixels.astype(int) - np.rot90(CORNERS, -1)).mean() < 6


def test_a_raw_photograph_is_developed() -> None:
    picture = decode(dng(), source="IMG_1.dng")
    assert picture.format == "RAW"
    assert picture.pixels.shape == (32, 32, 3)
    middle = picture.pixels[8:24, 8:24].reshape(-1, 3).mean(axis=0)
    assert middle[1] > 100
    assert middle[1] > 3 * max(middle[0], middle[2])


@pytest.mark.parametrize("kind", ["heic", "dng"])
def test_the_same_limits_hold(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = heic() if kind == "heic" else dng()
    with pytest.raises(ImageError, match="bytes, more than the limit"):
        decode(content, source=f"x.{kind}", limits=Limits(max_bytes=100))
    with pytest.raises(ImageError, match="pixels, more than the limit"):
        decode(content, source=f"x.{kind}", limits=Limits(max_pixels=1000))


@pytest.mark.parametrize("kind", ["heic", "dng"])
def test_damage_is_an_error_of_ours(kind: str) -> None:
    content = heic() if kind == "heic" else dng()
    rng = np.random.default_rng(5)
    kinds = set()
    for _ in range(60):
        torn = bytearray(content)
        for place in rng.integers(4 if kind == "heic" else 8, len(content), 4):
            torn[place] = rng.integers(256)
        torn = torn[: rng.integers(1, len(torn) + 1)] if rng.random() < 0.5 else torn
        try:
            decode(bytes(torn), source=f"x.{kind}")
        except ImageError as problem:
            kinds.add(problem.kind)
    assert "broken" in kinds
    assert kinds <= {"broken", "too large", "not an image"}


def test_boxes_without_end_are_refused() -> None:
    pytest.importorskip("pi_heif", reason="the extra 'photos' is not installed")
    start = struct.pack(">I4s4sI", 16, b"ftyp", b"heic", 0)
    many = start + struct.pack(">I4s", 8, b"free") * 30_000
    lying = start + struct.pack(">I4sI", 200, b"meta", 0)
    for content in (start, many, lying, start + b"\0\0\0\x01mdat" + b"\xff" * 8):
        with pytest.raises(ImageError, match="begins like a HEIC but cannot be opened"):
            decode(content, source="x.heic")


def test_without_a_reader_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder, "find_spec", lambda name: None)
    heif = struct.pack(">I4s4sI", 16, b"ftyp", b"heic", 0)
    for name, content, kind in (("a.HEIC", heif, "HEIC"), ("b.cr2", b"II*\0\x10\0\0\0CR\2\0", "RAW")):
        with pytest.raises(ImageError) as caught:
            decode(content, source=name)
        assert caught.value.kind == "no reader"
        assert str(caught.value) == (
            f"{name}: is a {kind} photograph, and what reads those is not installed: pip install 'kcrc[photos]'."
        )


def test_what_only_has_the_name_of_one_is_read_as_what_it_is() -> None:
    out = io.BytesIO()
    Image.fromarray(CORNERS).save(out, "JPEG")
    assert decode(out.getvalue(), source="x.heic").format == "JPEG"
    assert decode(out.getvalue(), source="x.nef").format == "JPEG"
    out = io.BytesIO()
    Image.fromarray(CORNERS).save(out, "TIFF")
    assert decode(out.getvalue(), source="x.tif").format == "TIFF"
