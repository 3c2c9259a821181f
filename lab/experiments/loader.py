"""The data of an experiment: sets loaded once, features made from training images, seeded splits.

The draws of one seed are nested: 10 a class are the first 10 of the 50 a class of the same seed, and the queries do not
depend on how many are drawn from the gallery. So methods and sizes are compared on the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.images import datasets
from lab import datasets as published

SYNTHETIC = "same-direction"


@dataclass(frozen=True, eq=False)
class Split:
    """A dictionary (n, d) with labels, and queries (m, d) with theirs. ``X`` keeps images where no feature is asked.

    ``drawn`` (m,) are the places of the queries in the order they were drawn: fewer of them are the first of more.
    """

    X: Array
    y: Array
    queries: Array
    truth: Array
    drawn: Array
    classes: tuple[str, ...]

    @cached_property
    def n_classes(self) -> int:
        return len(np.unique(self.y))


class Loader:
    """Loads what cells ask for and keeps the latest of it in memory."""

    def __init__(self, data: Path | None = None) -> None:
        self.data = data
        self.choices: dict[str, Any] = {}  # parameters that cells share, by what they were chosen for
        self.measured: dict[str, dict[str, Any]] = {}  # what cells that are shown in several places came to
        self._sets: dict[str, datasets.Dataset] = {}
        self._vectors: dict[tuple[str, str, int], Array] = {}

    def has(self, name: str) -> bool:
        return name in (SYNTHETIC, "digits") or published.locate(name, self.data) is not None

    def how_to_get(self, name: str) -> str:
        """Where the owners publish a missing set and where to put it."""
        try:
            self.dataset(name)
        except DataError as problem:
            return str(problem)
        return ""

    def dataset(self, name: str) -> datasets.Dataset:
        if name not in self._sets:
            loaded = published.load(name, self.data)
            if len(self._sets) >= 2:  # two at a time: a table of four sets need not hold all of them
                gone = next(iter(self._sets))
                del self._sets[gone]
                self._vectors = {key: v for key, v in self._vectors.items() if key[0] != gone}
            self._sets[name] = loaded
        return self._sets[name]

    def vectors(self, name: str, feature: str, seed: int) -> Array:
        """The vectors of all samples by a feature that learns nothing from them, or as they are ("none")."""
        key = (name, feature, seed)
        if key not in self._vectors:
            if len(self._vectors) > 3:
                self._vectors.pop(next(iter(self._vectors)))
            self._vectors[key] = _made(self.dataset(name), feature, seed)
        return self._vectors[key]

    def split(self, cell: dict[str, Any]) -> Split:
        """``per_class`` rows a class of the ``gallery`` a class, and up to ``queries`` of the rows outside it.

        ``seed`` draws both, and a random feature with them; ``per_class`` None takes the whole gallery.
        """
        found = self.dataset(cell["dataset"])
        seed, gallery = int(cell["seed"]), cell.get("gallery")
        train, test = _rows(found, cell.get("per_class") or gallery, gallery, seed)
        drawn = np.random.default_rng([seed, 1]).permutation(test)[: cell.get("queries")]
        test = np.sort(drawn)
        X = self.vectors(cell["dataset"], cell.get("feature", "none"), seed)
        places = np.searchsorted(test, drawn)
        return Split(X[train], found.labels[train], X[test], found.labels[test], places, found.classes)


def _rows(found: datasets.Dataset, per_class: int | None, gallery: int | None, seed: int) -> tuple[Array, Array]:
    labels = found.labels
    if found.split is not None and gallery is None:
        train = found.train
        return (train if per_class is None else train[datasets.subset_per_class(labels[train], per_class, seed)]), (
            found.test
        )
    if found.split is not None and found.name in ("mnist", "usps"):  # these two are always asked their own test rows
        assert per_class is not None
        return found.train[datasets.subset_per_class(labels[found.train], per_class, seed)], found.test
    if gallery is None or per_class is None:
        raise DataError(f"The set '{found.name}' has no split of its own: the protocol must say gallery and per_class.")
    train, _ = datasets.split_per_class(labels, per_class, seed)
    _, test = datasets.split_per_class(labels, gallery, seed)
    return train, test


def _made(found: datasets.Dataset, feature: str, seed: int) -> Array:
    if feature == "none":
        return found.vectors()
    if feature == "images":
        assert found.images is not None
        return np.asarray(found.images, np.float32) / (255.0 if found.images.dtype == np.uint8 else 1.0)
    from kcrc.images import features

    if found.paths is not None:
        from kcrc.images.features.extract import extract

        return extract(features.make(feature).fit([]), found.paths).vectors
    assert found.images is not None
    options = {"seed": seed} if feature == "random-faces" else {}
    made = features.make(feature, **options)
    return np.asarray(made.fit(found.images[:1]).transform(found.images))
