"""A gallery, a classifier or an image used in every way that reads what somebody else wrote."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kcrc.errors import KCRCError
from kcrc.gallery import Gallery, verify

Way = Callable[[Gallery], Any]


def _answers(gallery: Gallery) -> None:
    classifier = gallery.classifier()
    vectors = gallery.vectors()[1]
    classifier.predict(vectors)
    classifier.predict_proba(vectors)
    classifier.predict_set(vectors)
    classifier.predict(vectors, reject=0.05)
    repr(classifier.explain(vectors[:3]))


def _told(gallery: Gallery) -> None:
    repr(gallery)
    repr(gallery.settings)
    for entry in gallery.history():
        repr(entry)
    for example in gallery.contents.ids.tolist():
        gallery.example(example)
        gallery.thumbnail(example)


def _images(gallery: Gallery) -> None:
    image = np.random.default_rng(0).integers(0, 256, (16, 20, 3), np.uint8)
    gallery.predict([image])
    gallery.explain([image])


WAYS: dict[str, Way] = {
    "told": _told,
    "answers": _answers,
    "images": _images,
    "state": lambda gallery: gallery.feature_state(),
    "audit": lambda gallery: gallery.audit(),
    "export": lambda gallery: gallery.export(Path(gallery.path).with_name(f"{gallery.name}.npz")),
    "undo": lambda gallery: [gallery.undo() for _ in range(4)],
    "compact": lambda gallery: gallery.compact(),
    "erase": lambda gallery: gallery.erase(gallery.contents.ids[:1].tolist()),
    "add": lambda gallery: gallery.add("new", [[1.0] * gallery.dim]),
    "relabel": lambda gallery: gallery.relabel(gallery.contents.ids[:2].tolist(), "other"),
    "remove": lambda gallery: gallery.remove(gallery.contents.ids[-2:].tolist()),
    "parameters": lambda gallery: gallery.set_parameters({"mu": 0.1}),
    "retune": lambda gallery: gallery.retune_due,
}


def some_ways(rng: random.Random) -> list[str]:
    """A few of them, in some order, the questions among them most often."""
    questions = ["told", "answers", "state", "retune"]
    return [*questions[: rng.randrange(5)], *rng.sample(list(WAYS), rng.choice([1, 2, 3]))]


def use_gallery(path: Path, ways: list[str], *, readonly: bool = False) -> None:
    """Verify it, open it, and use it in these ways; an error of one way does not keep the others from being tried."""
    verify(path)
    with Gallery.open(path, readonly=readonly) as gallery:
        for way in ways:
            try:
                WAYS[way](gallery)
            except KCRCError:
                continue
