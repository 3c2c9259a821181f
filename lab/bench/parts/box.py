"""What the box costs: photographs decoded by its workers beside the same decoder in this process.

500 photographs (``caltech101-20`` where it is at hand, else made up) are read as ``kcrc build`` reads them, by a thread
for each core, in turn in the box and without it; the medians count. Then ``kcrc predict`` of three files is run in
both ways in turn, by a process of its own each time; the least time on the clock counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from kcrc.gallery import Gallery
from kcrc.images.decoding import decoder, reading
from kcrc.images.decoding.limits import Limits
from kcrc.images.decoding.reading import read_many
from kcrc.images.decoding.resizing import View
from kcrc.report.tables import text_table
from lab.bench.parts import PartRun
from lab.bench.results import Requirement

LEAST, MOST = 0.9, 0.1  # of the throughput without the box; seconds that predict may take longer
VIEW = View((224, 224))
PREDICT = """
import sys
from kcrc.cli import main
from lab.bench.parts import box
if {without}:
    box.without().__enter__()
sys.exit(main(["predict", *sys.argv[1:]]))
"""


def measure(run: PartRun) -> None:
    count, times = (20, 1) if run.quick else (500, 5)
    with tempfile.TemporaryDirectory() as folder:
        photos = photographs(run.folder, Path(folder), count)
        read_many(photos[:20], VIEW)  # workers are started, files are in memory
        spent: dict[str, list[float]] = {"box": [], "direct": []}
        for _ in range(times):
            spent["box"].append(seconds(photos))
            with without():
                spent["direct"].append(seconds(photos))
        rows = [[way, f"{len(photos) / median(of_way):.0f}"] for way, of_way in spent.items()]
        run.say(text_table(f"\n{len(photos)} photographs at {VIEW.size}", ["", "a second"], rows))
        ratio = median(spent["direct"]) / median(spent["box"])
        run.results.ratios["decoding in the box / direct"] = 1 / ratio
        run.results.claims.append(Requirement("throughput of decoding in the box over direct", ratio, LEAST, True))

        gallery = Path(folder) / "g.kcrc"
        Gallery.from_folder(classes(photos[: max(20, count // 5)], Path(folder)), gallery, feature="hog").close()
        asked = [str(gallery), *map(str, photos[:3])]
        pairs = [[seconds_of(PREDICT.format(without=way), asked) for way in (False, True)] for _ in range(2 * times)]
        boxed, direct = (min(column) for column in zip(*pairs, strict=True))
        run.say(f"kcrc predict of 3 files: {boxed:.2f} s, without the box {direct:.2f} s.")
        claim = Requirement("seconds that kcrc predict takes longer in the box", boxed - direct, MOST)
        run.results.claims.append(claim)


@contextmanager
def without() -> Iterator[None]:
    """Inside, pictures are decoded in this process, by the same code."""
    from kcrc.images.decoding import worker

    def direct(
        content: bytes, kind: str, view: View, source: str, thumbnail: int, limits: Limits
    ) -> tuple[dict[str, Any], bytearray]:
        head = {
            "kind": kind, "size": view.size, "colour": view.colour, "fit": view.fit, "resample": view.resample,
            "thumbnail": thumbnail, "max_pixels": limits.max_pixels, "memory": 10**9,
        }  # fmt: skip
        reply = worker.answer(head, bytearray(content))
        return reply.head, bytearray().join(map(bytes, reply.pieces))

    worker.prepare()
    boxed, start = decoder._reply, reading.warm
    decoder._reply, reading.warm = direct, lambda: None
    try:
        yield
    finally:
        decoder._reply, reading.warm = boxed, start


def photographs(data: Path | None, folder: Path, count: int) -> list[Path]:
    """``count`` photographs of the data set, evenly of all its classes, or made-up ones of about their size."""
    real = sorted((data / "caltech101-20").glob("*/*.jpg")) if data is not None else []
    if real:
        return [real[int(place)] for place in np.linspace(0, len(real) - 1, min(count, len(real)))]
    from PIL import Image

    rng, made = np.random.default_rng(0), []
    for number in range(count):
        rough = Image.fromarray(rng.integers(0, 256, (12, 16, 3), np.uint8))
        made.append(folder / f"{number}.jpg")
        rough.resize((320, 240), Image.Resampling.BICUBIC).save(made[-1], quality=85)
    return made


def classes(photos: list[Path], folder: Path) -> Path:
    """A folder of two class folders."""
    for number, photo in enumerate(photos):
        place = folder / "photos" / "ab"[number % 2] / f"{number}.jpg"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(photo.read_bytes())
    return folder / "photos"


def seconds(photos: list[Path]) -> float:
    begun = time.perf_counter()
    read_many(photos, VIEW, threads=os.cpu_count())
    return time.perf_counter() - begun


def seconds_of(program: str, arguments: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True)
    return time.perf_counter() - begun
