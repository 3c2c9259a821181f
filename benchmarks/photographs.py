"""Photographs in, answers out: accuracy by feature, seconds for a thousand, seconds for a correction.

    python benchmarks/photographs.py [--data FOLDER] [--features embedding hog pyramid pixels] [--gallery 10000]

1. caltech101-20, by the command line and without options: the first 25 images of each class build a gallery, the other
   25 evaluate it. Accuracy, and seconds for both; what --reject and --set promise, and what they do.
2. A gallery of 10,000 (the same photographs' vectors with noise, so that none is a duplicate): one class of 5 images
   is added and a sixth image of it asked, everything included, in an open gallery and by the command line.
3. ``kcrc --help``: CPU seconds.

Times depend on the machine and on what else runs on it: the seconds of one matrix product are printed beside them.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from kcrc import Gallery
from kcrc.cli import main as kcrc
from kcrc.gallery.pictures import default_feature

PROGRAM = [sys.executable, "-c", "import sys; from kcrc.cli import main; sys.exit(main(sys.argv[1:]))"]


def halves(photographs: Path, into: Path) -> None:
    """Links to the first 25 images of each class under build/, to the others under test/."""
    for kind in sorted(p for p in photographs.iterdir() if p.is_dir()):
        for number, file in enumerate(sorted(kind.iterdir())):
            place = into / ("build" if number < 25 else "test") / kind.name
            place.mkdir(parents=True, exist_ok=True)
            os.symlink(file.resolve(), place / file.name)


def silently(*arguments: str) -> str:
    """What a command printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = kcrc(arguments)
    if code:
        raise SystemExit(f"kcrc {' '.join(arguments)} ended with {code}")
    return out.getvalue()


def accuracies(folder: Path, features: list[str]) -> None:
    for feature in features:
        begun = time.perf_counter()
        gallery = str(folder / f"{feature}.kcrc")
        chosen = [] if feature == default_feature() else ["-f", feature]
        silently("build", str(folder / "build"), "-o", gallery, *chosen)
        built = time.perf_counter()
        found = json.loads(silently("evaluate", gallery, str(folder / "test"), "--json"))
        done = time.perf_counter()
        name = f"{feature} ({' '.join(chosen) or 'no options'})"
        print(
            f"{name:28} {found['accuracy']:6.1%} of {found['images']}; build {built - begun:5.1f} s (of it "
            f"{choosing_seconds(gallery):4.1f} s choosing parameters), evaluate {done - built:5.1f} s, together "
            f"{done - begun:5.1f} s",
            flush=True,
        )
        print(f"{'':28} {promises(gallery, str(folder / 'test'))}", flush=True)


def promises(gallery: str, folder: str) -> str:
    """How many of the images are called unknown, and how often the true class is in the set, beside what was asked."""
    options = ["--json", "--reject", "0.05", "--set", "0.95"]
    rows = [json.loads(line) for line in silently("predict", gallery, folder, *options).splitlines()]
    truths = [Path(row["image"]).parent.name for row in rows]
    unknown = sum(row["unknown"] for row in rows) / len(rows)
    covered = sum(truth in row["set"] for truth, row in zip(truths, rows, strict=True)) / len(rows)
    size = sum(len(row["set"]) for row in rows) / len(rows)
    return (
        f"--reject 0.05 calls {unknown:.1%} unknown; --set 0.95 holds the true class of {covered:.1%}, size {size:.2f}"
    )


def choosing_seconds(path: str) -> float:
    """From the last examples that came in to the parameters that were stored, by the gallery's own history."""
    with Gallery.open(path, readonly=True) as gallery:
        acts = gallery.history()
    stored = max(act.at for act in acts if act.action.endswith("tune"))
    return (stored - max(act.at for act in acts if act.action == "add")).total_seconds()


def correction(folder: Path, size: int) -> None:
    """One class of 5 images more, in a gallery of ``size`` of the default feature."""
    classes = sorted((folder / "test").iterdir())
    source = Gallery.from_folder(folder / "build", folder / "source.kcrc")
    _, vectors, labels = source.vectors()
    known = labels != classes[0].name
    rng = np.random.default_rng(0)
    rows = rng.choice(np.flatnonzero(known), size)
    spread = vectors[known].std(axis=0)
    many = vectors[rows] + (0.7 * spread * rng.standard_normal((size, vectors.shape[1]))).astype(np.float32)
    path = folder / "large.kcrc"
    from kcrc.gallery import building

    with building(path, feature=source.answering.feature()) as gallery:
        gallery.add(labels[rows], many)
    source.close()
    new = sorted(classes[0].iterdir())
    with Gallery.open(path) as gallery:
        begun = time.perf_counter()
        gallery.classifier()
        print(f"\ngallery of {len(gallery):,}: parameters chosen in {time.perf_counter() - begun:.1f} s")
    with Gallery.open(path) as gallery:
        begun = time.perf_counter()
        gallery.predict([new[5]])
        opened = time.perf_counter()
        gallery.add_images(classes[0].name, new[:5])
        added = time.perf_counter()
        answer = gallery.predict([new[5]])[0]
        done = time.perf_counter()
        marked = gallery.predict([new[5]], reject=0.05)[0]
        chosen = gallery.predict_set([new[5]])[0]
        doubted = time.perf_counter()
    print(
        f"first answer after opening {opened - begun:.2f} s; adding 5 images of a new class {added - opened:.2f} s, "
        f"asking again {done - added:.2f} s, together {done - opened:.2f} s; answer {answer}, right: "
        f"{answer == classes[0].name}"
    )
    print(f"asked once more with reject and once for a set {doubted - done:.2f} s: {marked}, {set(chosen) or 'empty'}")
    with Gallery.open(path) as gallery:
        gallery.undo()
    times = []
    for arguments in (
        ["add", str(path), "--label", classes[0].name, *map(str, new[:5])],
        ["predict", str(path), str(new[5])],
    ):
        begun = time.perf_counter()
        subprocess.run([*PROGRAM, *arguments], check=True, capture_output=True)
        times.append(time.perf_counter() - begun)
    print(f"by the command line, programs started included: kcrc add {times[0]:.2f} s, kcrc predict {times[1]:.2f} s")


def help_seconds() -> None:
    used = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*PROGRAM, "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    print(f"\nkcrc --help: {min(used):.3f} s of CPU (the least of 5); promised below 0.3")


def product_seconds() -> float:
    """A product of two (2000, 2000) matrices: what the machine does at this moment."""
    a = np.ones((2000, 2000), np.float32)
    begun = time.perf_counter()
    a @ a
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = os.environ.get("KCRC_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--features", nargs="*", default=["embedding", "hog", "pyramid", "pixels"])
    parser.add_argument("--gallery", type=int, default=10_000)
    given = parser.parse_args()
    print(f"a (2000, 2000) matrix product takes {product_seconds():.3f} s at this moment\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        halves(given.data / "caltech101-20", folder)
        accuracies(folder, given.features)
        if given.gallery:
            correction(folder, given.gallery)
    help_seconds()


if __name__ == "__main__":
    main()
