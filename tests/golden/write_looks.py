"""Writes the golden files of pictures seen in several ways: `python tests/golden/write_looks.py FOLDER`.

A gallery that keeps two looks side by side, and a saved image classifier whose looks answer together; ``looks.json``
holds what they answered. A later classifier keeps how far outside the span of its examples a picture lies, and a join
of looks. Like those of ``write.py`` they are written once for a version, by the last that writes it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from photos import folder

from kcrc import Gallery, ImageClassifier, features
from kcrc.gallery.building import build_from_folder
from kcrc.images.decoding.reading import read
from kcrc.images.features.joined import JoinedLooks

GALLERY, CLASSIFIER, ANSWERS = "looks.kcrc", "image.kcrcmodel", "looks.json"
OUTSIDE, OUTSIDE_ANSWERS = "outside.kcrcmodel", "outside.json"


def pictures(where: Path, count: int, first: int = 0) -> tuple[list[Path], list[np.ndarray], list[str]]:
    """Made-up photographs: their files, their pixels, their classes."""
    paths = sorted(folder(where, count, first=first).rglob("*.jpg"))
    return paths, [read(path).pixels for path in paths], [path.parent.name for path in paths]


def answers(gallery: Gallery, classifier: ImageClassifier, where: Path) -> dict:
    """What is compared later, of pictures that neither has seen."""
    paths, pixels, _ = pictures(where, 2, first=30)
    found = gallery.explain([str(path) for path in paths])
    return {
        "gallery": {
            "labels": found.labels.tolist(),
            "rows": found.rows.tolist(),
            "residuals": found.residuals.tolist(),
        },
        "classifier": said(classifier, pixels),
    }


def said(classifier: ImageClassifier, pixels: list[np.ndarray]) -> dict:
    return {
        "labels": classifier.predict(pixels).tolist(),
        "probabilities": classifier.predict_proba(pixels).tolist(),
        "weights": classifier.choice_.weights,
    }


def write_outside(goal: Path) -> None:
    """The later classifier."""
    with tempfile.TemporaryDirectory() as place:
        _, pixels, labels = pictures(Path(place, "examples"), 6)
        _, asked, _ = pictures(Path(place, "asked"), 2, first=30)
    made = ImageClassifier(["pixels", "lbp"], tuning_seconds=5, verbose=False).fit(pixels, labels)
    made.save(goal / OUTSIDE)
    told = said(ImageClassifier.load(goal / OUTSIDE), asked)
    (goal / OUTSIDE_ANSWERS).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def main(target: str) -> None:
    goal = Path(target)
    goal.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        _, pixels, labels = pictures(Path(place, "examples"), 6)
        members = (features.make("pixels", size=(6, 6), colour=False), features.make("pixels", size=(4, 4)))
        seen = JoinedLooks(
            names=("shapes", "tints"), members=tuple(one.fit(pixels) for one in members), weights=(0.7, 0.3)
        )
        build_from_folder(Path(place, "examples"), goal / GALLERY, feature=seen)
        classifier = ImageClassifier(["pixels", "colour"], tuning_seconds=5, verbose=False).fit(pixels, labels)
        classifier.save(goal / CLASSIFIER)
        with Gallery.open(goal / GALLERY) as gallery:
            told = answers(gallery, ImageClassifier.load(goal / CLASSIFIER), Path(place, "asked"))
    (goal / ANSWERS).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    write_outside(goal)


if __name__ == "__main__":
    main(*sys.argv[1:])
