"""Photographs in, answers out, by the command line: accuracy by feature, and what --reject and --set keep of promises.

caltech101-20, without options: the first 25 images of each class build a gallery, the other 25 evaluate it. Accuracy,
and seconds for both, which depend on the machine and on what else runs on it. ``python -m lab bench --part
photographs`` times corrections.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from kcrc.cli import main as kcrc
from kcrc.errors import StateError
from kcrc.gallery import Gallery
from kcrc.report.terminal import say
from lab import datasets as published
from lab.experiments.studies import command


def halves(photographs: Path, into: Path) -> None:
    """Links to the first half of each class's images under build/, to the others under test/."""
    for kind in sorted(p for p in photographs.iterdir() if p.is_dir()):
        files = sorted(kind.iterdir())
        for number, file in enumerate(files):
            place = into / ("build" if number < len(files) // 2 else "test") / kind.name
            place.mkdir(parents=True, exist_ok=True)
            os.symlink(file.resolve(), place / file.name)


def silently(*arguments: str) -> str:
    """What a command printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = kcrc(arguments)
    if code:
        raise StateError(f"kcrc {' '.join(arguments)} ended with {code}: {err.getvalue()}")
    return out.getvalue()


def accuracy(folder: Path, feature: str) -> None:
    begun = time.perf_counter()
    gallery = str(folder / f"{feature}.kcrc")
    chosen = [] if feature == "auto" else ["-f", feature]
    silently("build", str(folder / "build"), "-o", gallery, *chosen)
    built = time.perf_counter()
    found = json.loads(silently("evaluate", gallery, str(folder / "test"), "--json"))
    done = time.perf_counter()
    name = f"{feature} ({' '.join(chosen) or 'no options'})"
    say(
        f"{name:28} {found['accuracy']:6.1%} of {found['images']}; build {built - begun:5.1f} s (of it "
        f"{choosing_seconds(gallery):4.1f} s choosing parameters), evaluate {done - built:5.1f} s, together "
        f"{done - begun:5.1f} s"
    )
    say(f"{'':28} {promises(gallery, str(folder / 'test'))}")


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
    when = [(act.action, act.at) for act in acts if act.at is not None]
    stored = max(at for action, at in when if action.endswith("tune"))
    return (stored - max(at for action, at in when if action in ("add", "build"))).total_seconds()


def study(given: argparse.Namespace) -> None:
    photographs = given.folder or Path(published.load("caltech101-20", given.data).provenance.source)
    with tempfile.TemporaryDirectory() as name:
        halves(photographs, Path(name))
        for feature in given.features:
            accuracy(Path(name), feature)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command.options("photographs", __doc__)
    parser.add_argument("--folder", type=Path, help="any folder of class folders instead")
    parser.add_argument("--features", nargs="*", default=["auto", "embedding", "hog", "pyramid", "pixels"])
    return command.run(study, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
