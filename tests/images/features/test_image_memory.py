"""What decoding takes at most, measured in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from images.features import odd_files as odd
from kcrc.images.decoding.containers import look

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
MB = 10**6
SLACK = 40 * MB  # threads, modules that are imported on the way, what the allocator keeps


def measured(*asked, threads: int = 1, out: Path | None = None, room: int = 0, **environment: str) -> dict:
    """Of paths, or of paths with the size that is wanted."""
    child = Path(__file__).with_name("image_memory_child.py")
    pairs = [(str(each[0]), each[1]) if isinstance(each, tuple) else (str(each), (224, 224)) for each in asked]
    options = {"asked": pairs, "threads": threads, "out": out and str(out), "room": room}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    done = subprocess.run(
        [sys.executable, str(child), json.dumps(options)], capture_output=True, text=True, check=True, env=environment
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def deep(tmp_path_factory) -> Path:
    """64 million pixels of 16 bits, in 124 kB."""
    path = tmp_path_factory.mktemp("deep") / "deep.png"
    path.write_bytes(odd.flat_png(8000, 8000, depth=16, colours=0))
    assert path.stat().st_size < 200_000
    return path


def test_a_deep_picture_of_64_million_pixels(deep):
    told = measured(deep)
    assert told["found"] == [0.0]
    assert told["beyond"][0] < 300 * MB


def test_four_deep_pictures_on_four_threads_stay_within_the_budget(tmp_path):
    (tmp_path / "deep.png").write_bytes(odd.flat_png(4000, 4000, depth=16, colours=0))
    told = measured(*[tmp_path / "deep.png"] * 4, threads=4, KCRC_IMAGE_MEMORY="150M")
    assert told["found"] == [0.0] * 4
    assert sum(told["held"]) > 300 * MB
    assert told["beyond"][0] < 150 * MB + SLACK


@pytest.mark.slow
@pytest.mark.parametrize("budget", [400, 1500])
def test_four_deep_pictures_of_64_million_pixels(deep, budget):
    told = measured(*[deep] * 4, threads=4, KCRC_IMAGE_MEMORY=f"{budget}M")
    assert told["found"] == [0.0] * 4
    assert told["beyond"][0] < min(budget, 4 * 240) * MB + SLACK


def test_a_picture_beyond_the_budget_is_refused_before_it_is_decoded(deep):
    told = measured(deep, KCRC_IMAGE_MEMORY="100M")
    assert "8000×8000 pixels and takes" in told["found"][0]
    assert "limit of 100 MB. KCRC_IMAGE_MEMORY=" in told["found"][0]
    assert told["beyond"][0] < SLACK


def test_where_there_is_no_memory_the_file_is_not_to_blame(deep, tmp_path):
    (tmp_path / "deep.tif").write_bytes(odd.saved(Image.new("I;16", (8000, 8000)), "TIFF", compression="tiff_lzw"))
    for path in (deep, tmp_path / "deep.tif"):
        told = measured(path, room=120 * MB, MALLOC_ARENA_MAX="1")  # an arena reserves room it does not use
        assert "not enough memory; that says nothing about the file" in told["found"][0]


def panorama(side: int) -> np.ndarray:
    """Ten bands from top to bottom, each going from one colour to another."""
    across = np.linspace(0, 1, side)[:, None]
    rng = np.random.default_rng(0)
    bands = [(1 - across) * rng.integers(0, 256, 3) + across * rng.integers(0, 256, 3) for _ in range(10)]
    return np.repeat(np.rint(bands).astype(np.uint8), side // 10, axis=0)


def test_a_panorama_of_12000_by_12000_pixels_is_used(tmp_path):
    rows = panorama(12_000)[::1200]
    strips = [Image.fromarray(np.repeat(row[None], 16, axis=0)) for row in rows]
    content = odd.striped_jpeg(strips, 75)
    assert (look(content).width, look(content).height) == (12_000, 12_000)
    (tmp_path / "panorama.jpg").write_bytes(content)
    told = measured(tmp_path / "panorama.jpg", out=tmp_path / "seen.png")
    assert told["beyond"][0] < 100 * MB
    seen = np.asarray(Image.open(tmp_path / "seen.png")).astype(int)
    plain = np.asarray(Image.fromarray(panorama(1200)).resize((224, 224), Image.Resampling.BICUBIC))
    assert np.abs(seen - plain).mean() < 1.5


LARGE = {
    "rgb.png": lambda: odd.flat_png(4000, 4000),
    "rgba.png": lambda: odd.flat_png(4000, 4000, colours=6),
    "rgba16.png": lambda: odd.flat_png(4000, 4000, depth=16, colours=6),
    "palette.png": lambda: odd.flat_png(4000, 4000, depth=1, colours=3),
    "turned.jpg": lambda: odd.with_segments(
        odd.saved(Image.new("RGB", (4000, 4000)), "JPEG"),
        odd.segment(0xE1, b"Exif\0\0" + odd.exif(odd.short(0x0112, 6))),
    ),
    "progressive.jpg": lambda: odd.saved(Image.new("RGB", (4000, 4000)), "JPEG", progressive=True, subsampling=0),
    "cmyk.jpg": lambda: odd.saved(Image.new("CMYK", (4000, 4000)), "JPEG"),
    "picture.webp": lambda: odd.saved(Image.new("RGB", (3000, 3000)), "WEBP", lossless=True, method=0, quality=0),
    "picture.gif": lambda: odd.saved(Image.new("P", (4000, 4000)), "GIF", transparency=0),
    "picture.bmp": lambda: odd.bmp(4000, 4000, bytes(500 * 4000), bits=1),
    "runs.bmp": lambda: odd.bmp(4000, 4000, (b"\xff\7" * 15 + b"\xaf\7\0\0") * 4000 + b"\0\1", compression=1),
    "float.tif": lambda: odd.saved(Image.new("F", (4000, 4000)), "TIFF", compression="tiff_adobe_deflate"),
    "strip.tif": lambda: odd.saved(Image.new("RGB", (4000, 4000)), "TIFF", compression="tiff_lzw", strip_size=1 << 30),
}


def test_no_picture_takes_more_than_was_held_for_it(tmp_path):
    asked = [(tmp_path / name, (224, 224)) for name in LARGE]
    asked += [(tmp_path / "turned.jpg", None), (tmp_path / "turned.jpg", (3500, 900))]
    for name, made in LARGE.items():
        (tmp_path / name).write_bytes(made())
    told = measured(*asked)
    assert all(isinstance(found, float) for found in told["found"]), told
    took = zip(asked, told["beyond"], told["held"], strict=True)
    assert [(each, beyond, held) for each, beyond, held in took if beyond > held] == []
