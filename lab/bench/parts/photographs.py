"""A correction of a large gallery of photographs, everything included, in units of one matrix product.

A gallery of 10,000 (the vectors of caltech101-20 with noise, so that none is a duplicate): one class of 5 images is
added and a sixth image of it asked, in an open gallery and by the command line; and the CPU time of ``kcrc --help``.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kcrc.gallery import Gallery, building
from kcrc.gallery.choose_looks import default_feature
from kcrc.images import datasets, features
from kcrc.images.features.extract import extract
from kcrc.report.tables import text_table
from lab import datasets as published
from lab.bench.parts import PartRun
from lab.bench.results import Requirement
from lab.bench.tables import short
from lab.bench.timing import race

PROGRAM = [sys.executable, "-c", "import sys; from kcrc.cli import main; sys.exit(main(sys.argv[1:]))"]
NEW = 5  # images of the class that is added
HELP_SECONDS = 0.3


def measure(run: PartRun) -> None:
    photos = published.load("caltech101-20", run.folder)
    with tempfile.TemporaryDirectory() as folder:
        measured(run, photos, Path(folder) / "large.kcrc", default_feature(), 500 if run.quick else 10_000)


def measured(run: PartRun, photos: datasets.Dataset, path: Path, feature: str, size: int) -> None:
    """A correction of a gallery at ``path`` of ``size`` vectors like those of ``photos`` by this feature."""
    assert photos.paths is not None
    name = photos.classes[0]
    new = [str(photos.paths[i]) for i in np.flatnonzero(photos.labels == 0)[: NEW + 1]]
    seconds = {"choosing parameters": large(photos, path, feature, size)}
    limit = product_seconds()
    answer = in_an_open_gallery(path, name, new, seconds)
    seconds |= by_the_command_line(path, name, new)
    lines = [[what, short(1e6 * spent), f"{spent / limit:.3g}"] for what, spent in seconds.items()]
    title = f"\nA gallery of {size:,} photographs ({feature}); a (2000, 2000) matrix product takes {limit:.3f} s"
    run.say(text_table(title, ["", "seconds", "matrix products"], lines))
    run.say(f"  the image of the new class is called {answer}, right: {answer == name}")
    run.results.accuracy[f"the image of the new class, {size:,}"] = float(answer == name)
    run.results.ratios |= {f"{what} / matrix product, {size:,}": spent / limit for what, spent in seconds.items()}
    text = "CPU seconds of kcrc --help"
    run.results.claims.append(Requirement(text, help_seconds(), HELP_SECONDS))


def large(photos: datasets.Dataset, path: Path, feature: str, size: int) -> float:
    """A gallery of all classes but the first; the seconds in which its parameters are chosen."""
    assert photos.paths is not None
    known = np.flatnonzero(photos.labels != 0)
    made = features.make(feature).fit([])
    vectors = extract(made, [photos.paths[i] for i in known]).vectors
    rng = np.random.default_rng(0)
    rows = rng.integers(len(known), size=size)
    noise = 0.7 * vectors.std(axis=0) * rng.standard_normal((size, vectors.shape[1]))
    with building(path, feature=made) as gallery:
        gallery.add(photos.named[known[rows]], vectors[rows] + noise.astype(np.float32))
    with Gallery.open(path) as gallery:
        begun = time.perf_counter()
        gallery.classifier()
        return time.perf_counter() - begun


def in_an_open_gallery(path: Path, name: str, new: list[str], spent: dict[str, float]) -> str:
    """Notes the seconds of each step in ``spent``; the answer once the class is known. It is taken back at the end."""
    answers: dict[str, Any] = {}
    with Gallery.open(path) as gallery:
        steps: dict[str, Callable[[], Any]] = {
            "first answer after opening": lambda: gallery.predict(new[NEW:]),
            f"adding {NEW} images of a new class": lambda: gallery.add_images(name, new[:NEW]),
            "asking again": lambda: gallery.predict(new[NEW:]),
            "asking with reject": lambda: gallery.predict(new[NEW:], reject=0.05),
            "asking for a set": lambda: gallery.predict_set(new[NEW:]),
        }
        for what, step in steps.items():
            begun = time.perf_counter()
            answers[what] = step()
            spent[what] = time.perf_counter() - begun
        gallery.undo()
    return str(answers["asking again"][0])


def by_the_command_line(path: Path, name: str, new: list[str]) -> dict[str, float]:
    """Seconds, the start of the programs included."""
    spent = {}
    for arguments in (["add", str(path), "--label", name, *new[:NEW]], ["predict", str(path), new[NEW]]):
        begun = time.perf_counter()
        subprocess.run([*PROGRAM, *arguments], check=True, capture_output=True)
        spent[f"kcrc {arguments[0]}"] = time.perf_counter() - begun
    return spent


def help_seconds() -> float:
    """CPU seconds of ``kcrc --help``, the least of five."""
    used = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*PROGRAM, "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(used)


def product_seconds() -> float:
    """A product of two (2000, 2000) matrices: what the machine does at this moment."""
    a = np.ones((2000, 2000), np.float32)
    return race({"product": lambda: a @ a}, rounds=3)["product"]
