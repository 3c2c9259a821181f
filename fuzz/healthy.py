"""Healthy galleries, classifiers and photographs that attacks begin from: small, and made from fixed seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fuzz.borrowed import from_tests
from kcrc.gallery import Gallery
from kcrc.images.features import make
from kcrc.images.features.base import Feature
from kcrc.images.features.joined import JoinedLooks

LABELS = ("wren", "robin", "owl")
DIM = 12


class Made:
    """A feature as far as a gallery stores it, with an array that it learned."""

    kind = "some"
    dim = DIM
    fingerprint = "some:1"

    def state(self) -> dict[str, Any]:
        return {"feature": "some", "options": {"size": [8, 8]}, "basis": np.arange(300.0)}

    def keep(self) -> None:
        """There is nothing to keep outside the gallery."""


def picture(seed: int) -> bytes:
    made: bytes = from_tests("support/photos.py").small_picture(seed)
    return made


def vectors_of(each: int, seed: int = 0) -> tuple[np.ndarray[Any, Any], list[str]]:
    """Vectors (3·each, DIM) of three classes that overlap a little, and their labels."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((len(LABELS), DIM)) * 1.5
    vectors = np.concatenate([centre + rng.standard_normal((each, DIM)) for centre in centres])
    return vectors.astype(np.float32), [label for label in LABELS for _ in range(each)]


def vector_gallery(path: Path, *, each: int = 6, tuned: bool = True) -> None:
    """A gallery of ready vectors with thumbnails, a removed example, a history, and what was tuned."""
    vectors, labels = vectors_of(each)
    with Gallery.create(path, feature=Made()) as gallery:
        n = len(labels)
        sources = [f"photos/{label}/{i}.jpg" for i, label in enumerate(labels)]
        gallery.add(labels, vectors, sources=sources, thumbnails=[picture(i) for i in range(n)])
        gallery.remove([2])
        gallery.relabel([4], "heron")
        gallery.undo()
        gallery.rename_class("owl", "barn owl")
        if tuned:
            gallery.set_parameters({"n_neighbors": 5})
            gallery.classifier()


FEATURES: dict[str, dict[str, Any]] = {
    "pixels": {"size": (8, 8)},
    "hog": {"size": (32, 32), "cell": 16},
    "lbp": {"size": (32, 32), "grid": (2, 2), "points": 4},
    "eigenfaces": {"n_components": 6, "size": (12, 12)},
    "random-faces": {"n_components": 10, "size": (12, 12)},
    "looks": {"names": ("outlines", "faces"), "weights": (0.7, 0.3)},
}  # small, so that tuning takes little


def photo_gallery(path: Path, photos: Path, *, feature: str = "pixels", each: int = 3) -> None:
    """A gallery of small made-up photographs, which stay in ``photos``."""
    from_tests("support/photos.py").folder(photos, each)
    Gallery.from_folder(photos, path, feature=_made(feature, photos)).close()


def _made(name: str, photos: Path) -> Feature:
    if name != "looks":
        return make(name, **FEATURES[name])
    members = tuple(make(one, **FEATURES[one]).fit(sorted(photos.glob("*/*"))) for one in ("hog", "eigenfaces"))
    return JoinedLooks(members=members, **FEATURES[name])
