"""The classifier of a gallery: fitted on its examples of now, with evidence by example id.

Images are classified through the gallery's feature, a chunk at a time. A blank image (one colour, or noise) is unknown.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.answerer import Answerer
from kcrc.confidence.answers import Answers
from kcrc.confidence.open_set import UNKNOWN
from kcrc.errors import FileError, KCRCError, ParameterError, StateError
from kcrc.gallery import acts, stored_choice
from kcrc.gallery.choose_looks import looks_of, restore_feature
from kcrc.gallery.contract import Snapshot, Store
from kcrc.gallery.examples import Contents, StoredExamples
from kcrc.gallery.stored_choice import Calibrated, CurrentAnswerer, Facts, GalleryState
from kcrc.images.nearness import Near, near_by
from kcrc.images.stream import Answered, stream
from kcrc.method.evidence import Evidence

if TYPE_CHECKING:
    from kcrc.classifier.estimator import KCRCClassifier
    from kcrc.images.decoding.reading import OnError
    from kcrc.images.features.base import Feature
    from kcrc.method.fitted_model import FittedModel
    from kcrc.scale.on_server import ServerAnswerer
    from kcrc.scale.sharded import ShardedAnswerer

EXAMPLES_LOOKED_AT = 5  # near a blank image


class GalleryClassifier:
    """Classifies by the examples of a gallery; made when first needed, and updated when the examples change."""

    def __init__(self, examples: StoredExamples) -> None:
        self._examples = examples
        self._feature: Feature | None = None
        self.model: str | os.PathLike[str] | None = None
        """The network file that the user named for this gallery."""
        self._ready: CurrentAnswerer | None = None
        self._making = threading.RLock()  # of ``_ready``
        self._calibrating = threading.RLock()  # which takes longer, and may wait for ``_making``

    # Images

    def feature(self) -> Feature:
        """Return the feature that made the gallery's vectors, fitted as it was then."""
        if self._feature is None:
            self._feature = restore_feature(self._examples, self.model)
        return self._feature

    @property
    def has_several_looks(self) -> bool:
        """Whether the gallery compares pictures by more than one look."""
        return len(looks_of(self._examples.settings)) > 1

    def near(self, vector: Array, ids: Sequence[int]) -> dict[int, Near]:
        """Return by which looks each of these examples is near to a query's ``vector`` (d,); empty if there is one
        look."""
        return near_by(self.feature(), self.answerer().model, vector, ids) if self.has_several_looks else {}

    def classify(
        self, images: Sequence[Any], answer: Callable[[Array], Answers], *, on_error: OnError = "raise"
    ) -> Iterator[Answered[Answers]]:
        """Yield the answers to images by ``answer`` (see ``answer_function``), a chunk at a time; a blank image is
        unknown, which every command, page and method decides here."""
        for chunk in stream(_as_list(images), self.feature(), answer, on_error=on_error):
            if chunk.answers is not None:
                chunk = replace(chunk, answers=self.mark_blank_images_unknown(chunk.answers, chunk.empty))
            yield chunk

    def answers(self, images: Sequence[Any], **options: Any) -> list[Answers]:
        """Return the answers of ``answer_function`` with these options, chunk by chunk."""
        chunks = self.classify(images, self.answer_function(**options))
        return [chunk.answers for chunk in chunks if chunk.answers is not None]

    def evidence(self, images: Sequence[Any]) -> Iterator[Evidence]:
        """Yield the evidence for the images, a chunk at a time."""
        for chunk in stream(_as_list(images), self.feature(), self.answerer().explain):
            if chunk.answers is not None:
                yield chunk.answers

    def vectors(self, images: Sequence[Any], *, on_error: OnError = "raise") -> Iterator[Answered[Array]]:
        """Yield the vectors of the images, a chunk at a time."""
        return stream(_as_list(images), self.feature(), lambda vectors: vectors, on_error=on_error)

    def answer_function(
        self,
        *,
        reject: float | None = None,
        unknown: str | None = None,
        coverage: float | None = None,
        explain: bool = False,
        answerer: Answerer | ShardedAnswerer | ServerAnswerer | None = None,
    ) -> Callable[[Array], Answers]:
        """Return a function from vectors of images to answers, by ``answerer`` if one is given. ``reject`` and
        ``coverage`` are as in ``predict`` and ``predict_set``; with ``explain`` the evidence is that of ``explain``.
        Without ``reject``, only meaningless answers are marked unknown, with a label that no class uses."""
        answerer = answerer or self.answerer()
        mark = UNKNOWN if unknown is None else unknown
        while unknown is None and reject is None and mark in answerer.classes:
            mark += "?"

        def answer(vectors: Array) -> Answers:
            try:
                answers = answerer.answer(vectors, reject=reject, unknown=mark, coverage=coverage, explain=explain)
                return unknown_where_meaningless(answers)
            except StateError:
                if reject is None and coverage is None:  # the calibration is not needed: a server may be away
                    raise
                raise StateError(
                    "reject and coverage need at least 8 examples when the parameters are chosen. Add more, then "
                    "choose again: gallery.tune(), kcrc tune."
                ) from None

        return answer

    def mark_blank_images_unknown(self, answers: Answers, empty: Sequence[str | None]) -> Answers:
        """Return the answers, with blank images unknown (``empty`` says why), unless the examples near them are blank
        too."""
        why: list[str | None] = [None] * len(answers)
        for i, reason in enumerate(empty):
            if reason is not None and reason not in self._emptiness_near(answers.evidence[i]):
                why[i] = f"it resembles no example: {reason}"
        return answers.but_unknown(why)

    def _emptiness_near(self, evidence: Evidence) -> set[str | None]:
        """Return why the examples nearest to one image are blank (None for those that are not), of any class and of the
        class answered, as far as they have a picture."""
        from kcrc.images.decoding.reading import decode
        from kcrc.images.emptiness import emptiness

        reasons: set[str | None] = set()
        order = np.argsort(evidence.distances[0], kind="stable")
        answered = order[evidence.neighbour_labels[0, order] == evidence.winner[0]]
        nearest = {*order[:EXAMPLES_LOOKED_AT].tolist(), *answered[:EXAMPLES_LOOKED_AT].tolist()}
        for place in nearest:
            example = int(evidence.rows[0, place])
            with contextlib.suppress(KCRCError):  # a damaged picture is no reason not to answer
                picture = self._examples.thumbnail(example) if example >= 0 else None
                if picture is not None:
                    reasons.add(emptiness(decode(picture).pixels))
        return reasons

    # The answerer

    def reset(self) -> None:
        """Drop what was made: it holds examples."""
        with self._making:
            self._ready = None

    def answerer(self) -> Answerer:
        """Return the answerer of the gallery's examples; evidence names them by their ids.

        The parameters are those stored. If there are none, or they were chosen on less than half of the examples, they
        are chosen, and stored if the gallery may be written.
        """
        return self.ready().answerer

    def ready(self, *, calibrated: bool = True) -> CurrentAnswerer:
        """Return the same with the examples it answers from. If ``calibrated`` is False, the calibration may still be
        that of the examples before the latest changes."""
        with self._making:
            ready = self._update()
        if not calibrated or ready.is_calibrated:
            return ready
        with self._calibrating:
            with self._making:
                ready = self._update()
            if not ready.is_calibrated:
                ready = self._calibrate(ready)
        return ready

    def _update(self) -> CurrentAnswerer:
        """Bring the answerer up to the examples of now."""
        ready = self._ready
        if ready is not None and ready.contents.revision == self._examples.settings.revision:
            return ready
        moment = self._moment()
        outgrown = moment.facts is not None and moment.facts.outgrown(moment.contents)
        made: CurrentAnswerer | None = None
        if len(moment.contents) and not outgrown:
            if ready is not None and ready.tuned == moment.tuned:
                made = self._follow(ready, moment)
            elif moment.facts is not None:
                made = self._restore(moment)
        if made is None:
            return self._choose(asked=False)
        self._ready = made
        return made

    def _follow(self, ready: CurrentAnswerer, moment: GalleryState) -> CurrentAnswerer:
        """Return ``ready`` with the examples of ``moment``; ``ready`` itself does not change."""
        now = moment.contents
        model = stored_choice.model_following(ready.answerer.model, now.ids, now.labels, moment.vectors)
        classifier = _with_model(ready.classifier, model)
        if classifier is not None and moment.facts is not None:
            classifier.growth_ = moment.facts.growth(now)
        return replace(
            ready,
            contents=now,
            facts=moment.facts,
            answerer=replace(ready.answerer, model=model),
            classifier=classifier,
        )

    def _restore(self, moment: GalleryState) -> CurrentAnswerer | None:
        """Restore what was stored; None, with a warning, if it cannot be read."""
        store, path, now = self._examples.store, self._examples.path, moment.contents

        def look(reading: Snapshot) -> CurrentAnswerer:
            header, arrays = stored_choice.read_state(reading, moment.tuned)
            then = stored_choice.calibrated_on(reading, arrays, moment.tuned, now, moment.vectors)
            if then is None:
                made = stored_choice.answerer_from(header, arrays, now.ids, now.labels, moment.vectors, path=path)
                calibrated = None
                if stored_choice.learned_at(reading, moment.tuned) in (
                    None,
                    now.revision,
                ):  # earlier versions kept no answers
                    calibrated = Calibrated(made.model, replace(made.confidence, left_out=None, strangers=None))
                return CurrentAnswerer(now, moment.tuned, moment.facts, made, calibrated)
            ids, labels, vectors, changed = then
            made = stored_choice.answerer_from(header, arrays, ids, labels, vectors, path=path)
            calibrated = Calibrated(made.model, made.confidence, *changed)
            model = stored_choice.model_following(made.model, now.ids, now.labels, moment.vectors)
            return CurrentAnswerer(now, moment.tuned, moment.facts, replace(made, model=model), calibrated)

        try:
            return store.read(look)
        except FileError as problem:
            stored_choice.warn_unreadable(problem)
            return None

    def _calibrate(self, ready: CurrentAnswerer) -> CurrentAnswerer:
        """Return ``ready`` calibrated on its examples, and store the calibration if the gallery may be written, so that
        the next program need not compute it again."""
        try:
            ready = self._recalibrate(ready) or self._relearn(ready)
        except FileError as problem:
            stored_choice.warn_unreadable(problem)
            return self._choose(asked=False)
        except KCRCError:  # the calibration from before stays in use
            return ready
        if not self._examples.store.readonly:
            with contextlib.suppress(KCRCError):
                ready = self._keep_calibration(self._examples.store, ready)
        with self._making:
            if self._ready is None or self._ready.contents.revision <= ready.contents.revision:
                self._ready = ready
        return ready

    def _recalibrate(self, ready: CurrentAnswerer) -> CurrentAnswerer | None:
        """Return ``ready`` with the answers computed again that the changes touch; None if all has to be learned
        again."""
        known, growth = ready.calibrated, None if ready.facts is None else ready.facts.growth(ready.contents)
        if known is None:
            return None
        made = known.following(ready.answerer.model, 0 if growth is None else growth.changed)
        if made is None:
            return None
        answerer = replace(ready.answerer, model=made.model, known=made.confidence)
        classifier = _with_model(ready.classifier, made.model)
        if classifier is not None:
            classifier.confidence_, classifier.growth_ = made.confidence, growth or classifier.growth_
        stored = ready.stored and made.confidence is known.confidence
        return replace(ready, answerer=answerer, calibrated=made, classifier=classifier, stored=stored)

    def _relearn(self, ready: CurrentAnswerer) -> CurrentAnswerer:
        """Return ``ready`` with everything learned again from its examples, by the same parameters."""
        from kcrc.classifier.incremental import relearn, with_model

        made = with_model(ready.classifier or self._wrap_as_classifier(ready), ready.answerer.model)
        if ready.facts is not None:
            made.growth_ = ready.facts.growth(ready.contents)
        relearn(made)
        _compact_scaling(made)
        calibrated = Calibrated(made.answerer_.model, made.confidence_)
        return replace(
            ready, answerer=made.answerer_, calibrated=calibrated, classifier=made, stored=False, learned_again=True
        )

    def _keep_calibration(self, store: Store, ready: CurrentAnswerer) -> CurrentAnswerer:
        """Store the calibration, unless the gallery was changed meanwhile."""
        if ready.stored or not ready.tuned or ready.facts is None or ready.calibrated is None:
            return ready
        if ready.learned_again and ready.classifier is not None:
            state = stored_choice.state_of(ready.classifier, ready.facts.next_id, ready.facts)
        else:
            state = stored_choice.calibration_state(ready.calibrated)
        act = acts.Recalibrate(ready.tuned, state, ready.contents.revision, everything=ready.learned_again)
        kept = store.write(act)
        return replace(ready, stored=kept, learned_again=ready.learned_again and not kept)

    def classifier(self, **parameters: Any) -> KCRCClassifier:
        """Return the same as a scikit-learn classifier; ``parameters`` given here are used in this classifier alone."""
        if parameters:
            return self._fit(parameters)[0]
        ready = self.ready()
        if ready.classifier is not None:
            return ready.classifier
        try:
            made = self._wrap_as_classifier(ready)
        except FileError as problem:
            stored_choice.warn_unreadable(problem)
            return self.tune(asked=False)
        with self._making:
            if self._ready is ready:
                self._ready = replace(ready, classifier=made)
        return made

    def _wrap_as_classifier(self, ready: CurrentAnswerer) -> KCRCClassifier:
        """Return the stored classifier around an answerer."""
        from kcrc.classifier.saving import wrap_as_estimator

        header, arrays = self._examples.store.read(lambda reading: stored_choice.read_state(reading, ready.tuned))
        made = wrap_as_estimator(header, arrays, ready.answerer, path=self._examples.path)
        if ready.facts is not None:
            made.growth_ = ready.facts.growth(ready.contents)
        return made

    # The choice of parameters

    def tune(
        self, *, asked: bool = True, parameters: Mapping[str, Any] | None = None, **this_time: Any
    ) -> KCRCClassifier:
        """Choose the parameters again and store them; if that was not ``asked`` for, failing to store is no error.

        ``parameters`` are fixed, in place of those fixed before.
        """
        made = self._choose(asked=asked, parameters=parameters, **this_time).classifier
        assert made is not None
        return made

    def _choose(self, *, asked: bool, parameters: Mapping[str, Any] | None = None, **this_time: Any) -> CurrentAnswerer:
        if asked and self._examples.store.readonly:
            raise StateError(f"'{self._examples.path}' was opened for reading only; tuning stores what it finds.")
        ready = self._ready_of(*self._fit(this_time, parameters))
        with contextlib.nullcontext() if asked else contextlib.suppress(KCRCError):
            ready = self._store_current(self._examples.store, ready, asked=asked, parameters=parameters)
        return ready

    def use_default_parameters(self) -> None:
        """Store the default parameters without choosing; ``tune`` can choose them later."""
        ready = self._ready_of(*self._fit(stored_choice.DEFAULT_PARAMETERS))
        self._store_current(self._examples.store, ready, chosen=stored_choice.NOT_CHOSEN)

    def _ready_of(self, made: KCRCClassifier, contents: Contents) -> CurrentAnswerer:
        """Return the answerer of a classifier that was just fitted."""
        _compact_scaling(made)
        answerer = made.answerer_
        calibrated = Calibrated(answerer.model, made.confidence_)
        ready = CurrentAnswerer(contents, 0, None, answerer, calibrated, made, stored=False)
        with self._making:
            self._ready = ready
        return ready

    @property
    def is_unstored(self) -> bool:
        """Whether a choice of parameters or a calibration made here is not in the file."""
        return self._ready is not None and not self._ready.stored

    @property
    def is_choice_unstored(self) -> bool:
        """Whether the parameters were chosen here and are not in the file."""
        return self._ready is not None and not self._ready.tuned

    def keep(self, store: Store) -> None:
        """Store what was chosen or calibrated here in ``store``: this one, or the same file opened for writing."""
        ready = self._ready
        if ready is None:
            raise StateError("Nothing has been chosen here that could be stored.")
        if ready.tuned:
            ready = self._keep_calibration(store, ready)
            with self._making:
                self._ready = ready
        else:
            self._store_current(store, ready)

    def store_choice(
        self,
        classifier: KCRCClassifier,
        *,
        next_id: int,
        asked: bool = True,
        parameters: Mapping[str, Any] | None = None,
        since: int | None = None,
        chosen: str | None = None,
        store: Store | None = None,
    ) -> int:
        """Store a classifier as ``Gallery.keep_tuned`` does, in this gallery's store or the one given; return the
        number of the act."""
        state = stored_choice.state_of(classifier, next_id, chosen=chosen)
        words = chosen or ("nothing to choose" if classifier.tuning_ is None else repr(classifier.tuning_))
        summary = f"tuned: {words.removeprefix('Tuning: ')}"
        return (store or self._examples.store).write(acts.Tune(summary, state, parameters, asked, since))

    def _store_current(
        self,
        store: Store,
        ready: CurrentAnswerer,
        *,
        asked: bool = False,
        parameters: Mapping[str, Any] | None = None,
        chosen: str | None = None,
    ) -> CurrentAnswerer:
        """Store ``ready`` and return it, at the revision that storing it made. ``chosen`` describes parameters that
        were not found by trying."""
        contents = ready.contents
        assert ready.classifier is not None
        act = self.store_choice(
            ready.classifier, next_id=int(contents.ids[-1]) + 1, asked=asked, parameters=parameters,
            since=contents.revision, chosen=chosen, store=store,
        )  # fmt: skip
        if act == contents.revision + 1:  # nothing else happened meanwhile
            facts = store.read(lambda reading: stored_choice.read_facts(reading, act))
            ready = replace(ready, contents=Contents(act, contents.rows), tuned=act, facts=facts, stored=True)
            with self._making:
                self._ready = ready
        return ready

    @property
    def why_choose(self) -> str | None:
        """Why the next question chooses the parameters, or None if it takes those that are stored."""
        moment = self._moment(vectors=False)
        if not moment.tuned:
            return "The settings have yet to be chosen from the examples"
        if moment.facts is not None and moment.facts.outgrown(moment.contents):
            return "The settings were chosen on less than half of the examples"
        return None

    def facts(self) -> Facts | None:
        """Return the facts of the stored choice; None if there is none."""
        return self._moment(vectors=False).facts

    @property
    def retune_due(self) -> str | None:
        """Why tuning again is due, or None."""
        moment = self._moment(vectors=False)
        return None if moment.facts is None else moment.facts.why_retune(moment.contents)

    def _moment(self, *, vectors: bool = True, facts: bool = True) -> GalleryState:
        examples = self._examples

        def look(reading: Snapshot) -> GalleryState:
            act = reading.settings().tuned
            chosen_on = None
            if act and facts:
                try:
                    chosen_on = stored_choice.read_facts(reading, act)
                except FileError as problem:
                    stored_choice.warn_unreadable(problem)
            contents = examples.contents
            array = examples.vectors() if vectors and len(contents) else np.empty((0, examples.settings.dim))
            return GalleryState(contents, array, act, chosen_on)

        return examples.store.read(look)

    def _fit(
        self, this_time: Mapping[str, Any], fixed: Mapping[str, Any] | None = None
    ) -> tuple[KCRCClassifier, Contents]:
        from kcrc.classifier.estimator import KCRCClassifier

        examples = self._examples
        moment = self._moment(facts=False)  # choosing again repairs what is damaged there
        now = moment.contents
        if not len(now):
            raise StateError(f"The gallery '{examples.path}' has no examples yet. Add some first.")
        if not np.isfinite(moment.vectors).all():
            raise FileError(f"A vector of '{examples.path}' holds NaN or infinity; the file is damaged.")
        try:
            made = KCRCClassifier(**{**(examples.settings.parameters if fixed is None else fixed), **this_time})
        except TypeError as problem:
            raise ParameterError(f"The gallery's parameters do not fit a classifier: {problem}.") from None
        return made.fit(moment.vectors, now.labels, rows=now.ids), now


def unknown_where_meaningless(answers: Answers) -> Answers:
    """Return the answers, unknown where any label would be meaningless: with one class, or nothing in common with any
    example."""
    return answers.but_unknown(answers.why)


def _with_model(classifier: KCRCClassifier | None, model: FittedModel) -> KCRCClassifier | None:
    """Return a copy of the classifier that answers from ``model``; None if there is none yet."""
    if classifier is None:
        return None
    from kcrc.classifier.incremental import with_model  # scikit-learn, which answering does without

    return with_model(classifier, model)


def _compact_scaling(classifier: KCRCClassifier) -> None:
    """Give a classifier the scaling as a gallery stores it, before anything is learned with it."""
    compact = stored_choice.compact_scaling(classifier.answerer_.model)
    if compact is not None:
        classifier.model_ = compact


def _as_list(images: Any) -> Any:
    return [images] if isinstance(images, str | bytes | os.PathLike) else images
