"""The blocks of Python on a page, run one after the other, and what they take for granted."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from photos import COLOURS, folder
from problems import GIVEN
from sklearn.datasets import load_digits

import kcrc
from docs.pages import blocks

BIRDS = list(COLOURS)


def folders() -> None:
    """Photographs of three kinds of bird, in the current folder: photos/ and test/ by class, new/ without."""
    folder(Path("photos"), 7)
    folder(Path("test"), 2, first=50)
    Path("new").mkdir()
    for number, path in enumerate(sorted(Path("test").glob("*/*.jpg")), 1):
        shutil.copy(path, f"new/{number}.jpg")


def given() -> dict[str, Any]:
    """What the blocks of a page take for granted; the folders photos/, test/ and new/ are there too."""
    digits = load_digits()
    X, y = digits.data, digits.target
    gallery = kcrc.Gallery.create("given.kcrc", dim=64)
    gallery.add([str(label) for label in y[:120]], X[:120])
    paths = [str(path) for path in sorted(Path("photos").glob("*/*.jpg"))]
    return {
        "np": np,
        "kcrc": kcrc,
        "KCRCClassifier": kcrc.KCRCClassifier,
        "X": X[:120],
        "y": y[:120],
        "X_new": X[200:230],
        "X_more": X[230:240],
        "y_more": y[230:240],
        "images": digits.images[:120],
        "new_images": digits.images[200:205],
        "gallery": gallery,
        "paths": paths,
        "training_paths": paths,
        "names": ["1.jpg", "2.jpg"],
        "labels": ["wren", "robin"],
        "vectors": np.eye(2, 512),
        "my_function": lambda pictures: np.stack([np.ravel(p) for p in pictures]),
    }


def stored(address: str, known: dict[str, Any]) -> None:
    """A gallery of ``X`` and ``y`` at an address, whose dictionaries are the nearest examples: those can be found
    anywhere."""
    with kcrc.Gallery.create(address, dim=known["X"].shape[1]) as gallery:
        gallery.add([BIRDS[label % len(BIRDS)] for label in known["y"]], known["X"])
        gallery.tune(parameters=GIVEN | {"n_neighbors": 12, "mu": "auto"}, seconds=1)


def run(page: str, known: dict[str, Any], replaced: Mapping[str, str] | None = None) -> int:
    """Run the blocks of a page in the current folder, with other addresses in place of those that are the reader's;
    how many there were. An address that is on no block is an error: it may have changed."""
    found = [textwrap.dedent(block) for block in blocks(page, "python")]
    for old, new in (replaced or {}).items():
        assert any(old in block for block in found), f"{page} has no {old!r}"
        found = [block.replace(old, new) for block in found]
    for number, block in enumerate(found, 1):
        exec(compile(block, f"{page}, block {number}", "exec"), known)
    return len(found)
