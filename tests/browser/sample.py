"""Pictures to try the page with, drawn by a program: fruit in six classes, one filed under a wrong one, and some
without a label, of which one shows no fruit. ``make page``, or

PYTHONPATH=tests python -m browser.sample FOLDER [--digits]
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from browser.drawings import COLOURS, put
from kcrc.gallery import Gallery
from kcrc.images.features import make

EACH, ASKED = 16, range(100, 105)
WRONG = ("orange-5.jpg", "lemon")  # a picture, and the class that it is filed under


def mug(seed: int = 0) -> Image.Image:
    """A blue mug on a grey table."""
    rng = np.random.default_rng(seed)
    scene = Image.new("RGB", (352, 352), (214, 216, 220))
    pen = ImageDraw.Draw(scene)
    pen.rectangle((0, 230, 352, 352), fill=(150, 152, 158))
    pen.ellipse((220, 130, 310, 240), outline=(24, 62, 140), width=22)
    pen.rectangle((90, 100, 250, 270), fill=(38, 84, 176))
    pen.ellipse((90, 245, 250, 295), fill=(38, 84, 176))
    pen.ellipse((90, 75, 250, 125), fill=(70, 116, 204), outline=(24, 62, 140), width=4)
    pixels = np.asarray(scene.filter(ImageFilter.GaussianBlur(1.5)).resize((176, 176)), float)
    return Image.fromarray(np.clip(pixels + rng.normal(0, 4, (176, 176, 1)), 0, 255).astype(np.uint8))


def write(folder: Path) -> Path:
    """The gallery in the folder, made of drawings; where it is there already, it stays as it is."""
    path, unlabelled = folder / "fruit.kcrc", folder / "unlabelled"
    if path.exists():
        return path
    shutil.rmtree(folder / "photos", ignore_errors=True)
    unlabelled.mkdir(parents=True, exist_ok=True)
    for label in COLOURS:
        put(folder / "photos", label, range(EACH))
    drawn = [path for label in COLOURS for path in put(folder / "new", label, ASKED)]
    order = np.random.default_rng(0).permutation(len(drawn))
    for number, at in enumerate(order):  # names that say nothing, and where the test finds them
        drawn[at].rename(unlabelled / f"picture-{number:02d}.jpg")
    (folder / "shown.txt").write_text("\n".join([drawn[at].parent.name for at in order]), "utf-8")
    shutil.rmtree(folder / "new")
    mug().save(unlabelled / f"picture-{len(drawn):02d}.jpg", quality=90)
    picture, label = WRONG
    (folder / "photos" / picture.partition("-")[0] / picture).rename(folder / "photos" / label / picture)
    with Gallery.from_folder(folder / "photos", path, feature=make("colour")) as gallery:
        gallery.classifier()  # what is asked first would wait for it
    return path


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m browser.sample", description=__doc__)
    parser.add_argument("folder", type=Path, help="where they go")
    parser.add_argument("--digits", action="store_true", help="handwritten digits in place of drawn fruit")
    given = parser.parse_args(arguments)
    if given.digits:
        from kcrc.web import digits

        return digits.main(str(given.folder))
    if not (given.folder / "fruit.kcrc").exists():
        print("Drawing fruit and building a gallery of it, which takes half a minute.")
    write(given.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
