"""Answers from a gallery: its examples in a classifier, images through its feature, evidence by example id."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kcrc.errors import DataError, ParameterError, StateError
from kcrc.evidence import Evidence
from kcrc.prepared import Array

if TYPE_CHECKING:
    from kcrc.classifier import KCRCClassifier
    from kcrc.features.base import Feature
    from kcrc.gallery.gallery import Gallery

# What a gallery uses until it is tuned. Lengths of feature vectors say little about the class: all are scaled to 1.
DEFAULTS: Mapping[str, Any] = {"metric": "unit"}


class Answering:
    """The classifier and the feature of one gallery, made when first needed and again after it changed."""

    def __init__(self, gallery: Gallery) -> None:
        self._gallery = gallery
        self._classifier: tuple[int, KCRCClassifier] | None = None
        self._feature: Feature | None = None

    def classifier(self, **parameters: Any) -> KCRCClassifier:
        """A classifier with the gallery's examples and parameters; evidence names examples by their ids."""
        from kcrc.classifier import KCRCClassifier

        gallery = self._gallery
        revision = gallery.settings.revision
        if not parameters and self._classifier is not None and self._classifier[0] == revision:
            return self._classifier[1]
        ids, vectors, labels = gallery.vectors()
        if not len(ids):
            raise StateError(f"The gallery '{gallery.path}' has no examples yet. Add some first.")
        chosen = {**DEFAULTS, **gallery.parameters, **parameters}
        try:
            made = KCRCClassifier(**chosen).fit(vectors, labels)
        except TypeError as problem:
            raise ParameterError(f"The gallery's parameters do not fit a classifier: {problem}.") from None
        made.model_ = replace(made.model_, ids=ids)
        made._next_row = int(ids[-1]) + 1
        if not parameters:
            self._classifier = (revision, made)
        return made

    def feature(self) -> Feature:
        """The feature that made the gallery's vectors, fitted as it was then."""
        if self._feature is None:
            from kcrc.features import restore

            gallery = self._gallery
            if gallery.settings.feature == "vectors":
                raise StateError(
                    f"The gallery '{gallery.path}' was made from ready vectors, so it cannot look at images. "
                    "Give vectors to gallery.classifier().predict."
                )
            made = restore(gallery.feature_state())
            if made.fingerprint != gallery.fingerprint:
                raise DataError(
                    f"The feature of '{gallery.path}' gives other vectors here ({made.fingerprint}) than those "
                    f"stored ({gallery.fingerprint}). Build the gallery again from the images."
                )
            self._feature = made
        return self._feature

    def explain(self, images: Sequence[Any]) -> Evidence:
        """The evidence for each image: files, bytes or arrays."""
        classifier = self.classifier()
        return classifier.explain(self.feature().transform(_as_list(images)))

    def predict(self, images: Sequence[Any]) -> Array:
        """The label of each image (n,)."""
        classifier = self.classifier()
        many = _as_list(images)
        if len(many) == 0:
            return np.zeros(0, classifier.classes_.dtype)
        return classifier.predict(self.feature().transform(many))


def _as_list(images: Any) -> Any:
    return [images] if isinstance(images, str | bytes | os.PathLike) else images
