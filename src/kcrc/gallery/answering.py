"""Answers from a gallery: its examples in a classifier, images through its feature, evidence by example id."""

from __future__ import annotations

import contextlib
import copy
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kcrc.arrays import Array
from kcrc.errors import DataError, FileError, KCRCError, ParameterError, StateError, UnreadableTuning
from kcrc.evidence import Evidence
from kcrc.gallery import tuned
from kcrc.gallery.answers import Answers, answers_of
from kcrc.gallery.contract import Snapshot
from kcrc.gallery.examples import Contents
from kcrc.gallery.tuned import Facts

if TYPE_CHECKING:
    from kcrc.classifier import KCRCClassifier
    from kcrc.confidence.audit import Audit
    from kcrc.features.base import Feature
    from kcrc.gallery.gallery import Gallery
    from kcrc.tuning import Tuning


@dataclass(frozen=True, eq=False)
class _Moment:
    """The examples of one moment, their vectors (n, dim), the act that chose the parameters, and on what."""

    contents: Contents
    vectors: Array
    tuned: int
    facts: Facts | None


@dataclass(frozen=True, eq=False)
class _Ready:
    """A classifier for the examples of one moment, and the act that chose its parameters (0: not in the file)."""

    contents: Contents
    tuned: int
    classifier: KCRCClassifier


class Answering:
    """The classifier and the feature of one gallery, made when first needed and brought up to date when it changed."""

    def __init__(self, gallery: Gallery) -> None:
        self._gallery = gallery
        self._ready: _Ready | None = None
        self._feature: Feature | None = None
        self.model: str | os.PathLike[str] | None = None
        """The network file that the user named for this gallery."""

    def let_go(self) -> None:
        """Forget the classifier that was made: it holds the examples of its moment."""
        self._ready = None

    def classifier(self, **parameters: Any) -> KCRCClassifier:
        """A classifier with the gallery's examples; evidence names examples by their ids.

        The parameters are those stored; where none are (or those there are were chosen on less than half of the
        examples) they are chosen, and stored if the gallery may be written. ``parameters`` given here are used in this
        classifier alone.
        """
        if parameters:
            return self._fitted(parameters)[0]
        gallery, ready = self._gallery, self._ready
        if ready is not None and ready.contents.revision == gallery.settings.revision:
            return ready.classifier
        moment = self._moment()
        made = None if ready is None or ready.tuned != moment.tuned else _followed(ready, moment)
        if made is None and moment.facts is not None and not moment.facts.outgrown(moment.contents):
            made = self._restored(moment, moment.facts)
        if made is None:
            return self.tune(asked=False)
        self._ready = _Ready(moment.contents, moment.tuned, made)
        return made

    def _restored(self, moment: _Moment, facts: Facts) -> KCRCClassifier | None:
        """The classifier as it was tuned; None, with a warning, where that cannot be read: the examples can."""
        gallery = self._gallery
        try:
            header, arrays = gallery.tuned_state(moment.tuned)
            return tuned.classifier_from(header, arrays, facts, moment.contents, moment.vectors, path=gallery.path)
        except FileError as problem:
            _warn_unreadable(problem)
            return None

    def tune(
        self, *, asked: bool = True, parameters: Mapping[str, Any] | None = None, **this_time: Any
    ) -> KCRCClassifier:
        """Choose the parameters anew and store them; where nobody asked, only if that can be done.

        ``parameters`` are fixed, in place of those fixed before.
        """
        gallery = self._gallery
        if asked and gallery.readonly:
            raise StateError(f"'{gallery.path}' was opened for reading only; tuning stores what it finds.")
        made, contents = self._fitted(this_time, parameters)
        self._ready = _Ready(contents, 0, made)
        with contextlib.nullcontext() if asked else contextlib.suppress(KCRCError):
            self.keep(gallery, asked=asked, parameters=parameters)
        return made

    @property
    def unstored(self) -> bool:
        """Whether the parameters were chosen here and are not in the file."""
        return self._ready is not None and not self._ready.tuned

    def keep(self, gallery: Gallery, *, asked: bool = False, parameters: Mapping[str, Any] | None = None) -> None:
        """Store what was chosen here in ``gallery``: this one, or the same file opened for writing."""
        if self._ready is None:
            raise StateError("Nothing has been chosen yet that could be stored.")
        made, contents = self._ready.classifier, self._ready.contents
        act = gallery.keep_tuned(
            made, next_id=int(contents.ids[-1]) + 1, asked=asked, parameters=parameters, since=contents.revision
        )
        if act == contents.revision + 1:  # nothing else happened meanwhile
            self._ready = _Ready(Contents(act, contents.rows), act, made)

    @property
    def tuning(self) -> Tuning | None:
        """What was tried when the parameters were chosen; None where there was nothing to choose."""
        return self.classifier().tuning_

    def facts(self) -> Facts | None:
        """On what the stored choice rests; None where there is none."""
        return self._moment(vectors=False).facts

    @property
    def retune_due(self) -> str | None:
        """Why tuning again is due, or None."""
        moment = self._moment(vectors=False)
        return None if moment.facts is None else moment.facts.due(moment.contents)

    def _moment(self, *, vectors: bool = True, facts: bool = True) -> _Moment:
        gallery = self._gallery

        def look(reading: Snapshot) -> _Moment:
            act = gallery.settings.tuned
            chosen_on = None
            if act and facts:
                try:
                    chosen_on = tuned.read_facts(reading, act)
                except FileError as problem:
                    _warn_unreadable(problem)
            contents = gallery.contents
            array = gallery.vectors()[1] if vectors and len(contents) else np.empty((0, gallery.dim))
            return _Moment(contents, array, act, chosen_on)

        return gallery.read(look)

    def _fitted(
        self, this_time: Mapping[str, Any], fixed: Mapping[str, Any] | None = None
    ) -> tuple[KCRCClassifier, Contents]:
        from kcrc.classifier import KCRCClassifier

        gallery = self._gallery
        moment = self._moment(facts=False)  # choosing anew mends what was damaged there
        now = moment.contents
        if not len(now):
            raise StateError(f"The gallery '{gallery.path}' has no examples yet. Add some first.")
        if not np.isfinite(moment.vectors).all():
            raise FileError(f"A vector of '{gallery.path}' holds NaN or infinity; the file is damaged.")
        try:
            made = KCRCClassifier(**{**(gallery.parameters if fixed is None else fixed), **this_time})
        except TypeError as problem:
            raise ParameterError(f"The gallery's parameters do not fit a classifier: {problem}.") from None
        return made.fit(moment.vectors, now.labels, rows=now.ids), now

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
            made = restore(gallery.feature_state(), model=self.model)
            if made.dim != gallery.dim:
                raise DataError(
                    f"The feature of '{gallery.path}' gives vectors of {made.dim} numbers; those stored have "
                    f"{gallery.dim}. The file is damaged."
                )
            if made.fingerprint != gallery.fingerprint:
                raise DataError(
                    f"The feature of '{gallery.path}' gives other vectors here ({made.fingerprint}) than those "
                    f"stored ({gallery.fingerprint}). Build the gallery again from the images."
                )
            made.keep()  # a network file that was named is found the next time without
            self._feature = made
        return self._feature

    def explain(self, images: Sequence[Any]) -> Evidence:
        """The evidence for each image: files, bytes or arrays."""
        classifier = self.classifier()
        return classifier.explain(self.feature().transform(_as_list(images)))

    def predict(self, images: Sequence[Any], *, reject: float | None = None, unknown: str | None = None) -> Array:
        """The label of each image (n,); with ``reject`` the mark ``unknown`` where it resembles no class."""
        classifier = self.classifier()
        many = _as_list(images)
        if len(many) == 0:
            return np.zeros(0, classifier.classes_.dtype)
        if reject is None:
            return classifier.predict(self.feature().transform(many))
        return self.answers(many, reject=reject, unknown=unknown).labels

    def answers(self, images: Sequence[Any], **asked: Any) -> Answers:
        """All that ``answers_of`` can say of each image."""
        return answers_of(self.classifier(), self.explain(images), **asked)

    def audit(self, ids: Any = None) -> Audit:
        """The examples (or those with these ids) that deserve a second look."""
        return self.classifier().audit(ids)


def _warn_unreadable(problem: FileError) -> None:
    warnings.warn(
        f"What was tuned cannot be read ({problem}) The examples are whole; the parameters are chosen anew from them.",
        UnreadableTuning,
        stacklevel=2,
    )


def _followed(ready: _Ready, moment: _Moment) -> KCRCClassifier | None:
    """The classifier brought up to date where examples only came or went; None where it has to be made again.

    The one handed out before stays as it was: a copy is changed.
    """
    before, now = ready.contents, moment.contents
    if moment.facts is not None and moment.facts.outgrown(now):
        return None
    kept = np.isin(before.ids, now.ids)
    stay = int(kept.sum())
    new = now.ids[stay:]
    same = np.array_equal(before.ids[kept], now.ids[:stay]) and np.array_equal(before.labels[kept], now.labels[:stay])
    if not stay or not same or (len(new) and new[0] < ready.classifier.growth_.next_row):
        return None
    made = copy.copy(ready.classifier)
    if stay < len(before):
        made.forget(before.ids[~kept])
    if len(new):
        made.partial_fit(moment.vectors[stay:], now.labels[stay:], rows=new)
    return made


def _as_list(images: Any) -> Any:
    return [images] if isinstance(images, str | bytes | os.PathLike) else images
