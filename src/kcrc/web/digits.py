"""Pictures to try the page with, from data that ship with scikit-learn: ``make page SAMPLE=digits``, or
``python -m kcrc.web.digits FOLDER``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SIDE = 64  # pixels of a picture; the digits have 8
LABELLED, UNLABELLED = 500, 300


def main(
    folder: str = "page-out",
    *,
    labelled: int = LABELLED,
    unlabelled: int = UNLABELLED,
    say: Callable[[str], None] = print,
) -> int:
    """Write handwritten digits as PNG files, some in class folders and some without a label, and build a gallery of the
    labelled; where it is there already, nothing is done."""
    from PIL import Image
    from sklearn.datasets import load_digits

    from kcrc.gallery import Gallery
    from kcrc.images.features import make

    place, path = Path(folder), Path(folder) / "digits.kcrc"
    if path.exists():
        return 0
    digits = load_digits()
    # They come writer by writer: in order, those without a label would be by people whom no example is from.
    order = np.random.default_rng(0).permutation(len(digits.target))[: labelled + unlabelled]
    for at, number in enumerate(order.tolist()):
        inside = Path("photos", NAMES[digits.target[number]]) if at < labelled else Path("unlabelled")
        (place / inside).mkdir(parents=True, exist_ok=True)
        pixels = np.rint(digits.images[number] * (255 / 16)).astype(np.uint8)
        picture = Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        picture.save(place / inside / f"{number:04d}.png")
    say(f"Building a gallery of {labelled} handwritten digits; the parameters are chosen, which takes some seconds.")
    with Gallery.from_folder(place / "photos", path, feature=make("pixels", size=(8, 8), colour=False)):
        pass
    return 0


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(prog="python -m kcrc.web.digits", description=main.__doc__)
    arguments.add_argument("folder", nargs="?", default="page-out", help="where they go (default: %(default)s)")
    sys.exit(main(arguments.parse_args().folder))
