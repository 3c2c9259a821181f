"""Saved classifiers (.kcrcmodel) and exports of galleries, forged and damaged."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np

from fuzz.archives import hostile
from fuzz.area import Area, register
from fuzz.borrowed import TESTS
from fuzz.healthy import DIM, vector_gallery, vectors_of
from fuzz.place import Place
from kcrc import KCRCClassifier
from kcrc.classifier.saving import load
from kcrc.errors import KCRCError
from kcrc.gallery import Gallery, restore

_SETTINGS: tuple[dict[str, Any], ...] = (
    {}, {"n_neighbors": None, "kernel": "linear"}, {"kernel": "polynomial", "n_neighbors": 5},
    {"distance": "manhattan"},
    {"locality": "classes", "n_neighbors": 2}, {"coder": "lasso", "n_neighbors": 5}, {"distance": "cosine",
    "kernel": "exp"},
    {"form": "gram", "projection": "kpca", "n_neighbors": None}, {"scaling": "within"}, {"n_candidates": 9,
    "n_neighbors": 4},
)  # fmt: skip
OLDER = [path for path in TESTS.glob("golden/*/*.kcrcmodel") if path.stat().st_size < 200_000]


@register("saved", about="saved classifiers and exports", share=2500)
class Saved(Area):
    def prepare(self) -> None:
        X, y = vectors_of(6)
        for number, setting in enumerate(_SETTINGS):
            KCRCClassifier(**setting).fit(X, y).save(self.samples / f"{number}.kcrcmodel")
        vector_gallery(self.samples / "g.kcrc")
        with Gallery.open(self.samples / "g.kcrc") as gallery:
            gallery.export(self.samples / "g.npz")

    def load(self) -> None:
        self.models = [path.read_bytes() for path in sorted([*self.samples.glob("*.kcrcmodel"), *OLDER])]
        self.exported = (self.samples / "g.npz").read_bytes()
        self.gallery = (self.samples / "g.kcrc").read_bytes()
        self.X = vectors_of(2, seed=1)[0]

    def plant(self, place: Place, rng: random.Random) -> Any:
        if rng.random() < 0.7:
            place.name("m.kcrcmodel").write_bytes(hostile(rng.choice(self.models), rng))
            return None
        place.name("e.npz").write_bytes(hostile(self.exported, rng))
        place.name("g.kcrc").write_bytes(self.gallery)
        return rng.choice(["restore", "restore", "import"])

    def use(self, place: Place, planted: Any) -> None:
        os.environ["KCRC_GALLERY_CACHE"] = ""
        if planted is None:
            self._ask(load(place.folder / "m.kcrcmodel"))
        elif planted == "import":
            with Gallery.open(place.folder / "g.kcrc") as gallery:
                gallery.import_(place.folder / "e.npz")
                gallery.classifier().predict(gallery.vectors()[1])
        else:
            with restore(place.folder / "e.npz", place.folder / "e.npz.kcrc") as gallery:
                repr(gallery.settings)
                gallery.classifier().predict(gallery.vectors()[1])
                gallery.feature_state()

    def _ask(self, classifier: KCRCClassifier) -> None:
        width = classifier.n_features_in_ if isinstance(classifier.n_features_in_, int) else DIM
        X = self.X if width == DIM else np.ones((4, max(0, min(width, 10_000))), np.float32)
        for way in (
            lambda: classifier.predict(X),
            lambda: classifier.predict_proba(X),
            lambda: classifier.predict_set(X),
            lambda: repr(classifier.explain(X[:2])),
            lambda: classifier.unknown_score(X),
            lambda: classifier.audit(),
            lambda: classifier.partial_fit(X[:2], classifier.classes_[:2]).predict(X),
            lambda: repr(classifier),
            lambda: repr(classifier.tuning_),
        ):
            try:
                way()
            except KCRCError:
                continue
