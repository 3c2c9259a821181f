"""What answers in a gallery: its examples in a classifier, as they are now, with evidence by example id.

Images are classified through the gallery's feature, a chunk at a time. An image on which there is nothing to make out
is unknown.
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
from kcrc.gallery import acts, tuned
from kcrc.gallery.contract import Snapshot, Store
from kcrc.gallery.examples import Contents, StoredExamples
from kcrc.gallery.seeing import looks_of, own_feature
from kcrc.gallery.tuned import Calibrated, Facts, Moment, Ready
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

EXAMPLES_LOOKED_AT = 5  # near an image on which there is nothing to make out


class GalleryClassifier:
    """What answers from the examples of a gallery, made when first needed and brought up to date when they changed."""

    def __init__(self, examples: StoredExamples) -> None:
        self._examples = examples
        self._feature: Feature | None = None
        self.model: str | os.PathLike[str] | None = None
        """The network file that the user named for this gallery."""
        self._ready: Ready | None = None
        self._making = threading.RLock()  # what answers
        self._calibrating = threading.RLock()  # which takes longer, and may wait for ``_making``

    # Images

    def feature(self) -> Feature:
        """The feature that made the gallery's vectors, fitted as it was then."""
        if self._feature is None:
            self._feature = own_feature(self._examples, self.model)
        return self._feature

    @property
    def several_looks(self) -> bool:
        """Whether the gallery compares pictures by more than one look."""
        return len(looks_of(self._examples.settings)) > 1

    def near(self, vector: Array, ids: Sequence[int]) -> dict[int, Near]:
        """By which looks each of these examples is near to a query's ``vector`` (d,); nothing where there is one."""
        return near_by(self.feature(), self.answerer().model, vector, ids) if self.several_looks else {}

    def classify(
        self, images: Sequence[Any], answer: Callable[[Array], Answers], *, on_error: OnError = "raise"
    ) -> Iterator[Answered[Answers]]:
        """The answers to images by ``answer`` (see ``answer_function``), a chunk at a time; an image on which there is
        nothing to make out is unknown. This is where every command, page and method decides that."""
        for chunk in stream(_as_list(images), self.feature(), answer, on_error=on_error):
            if chunk.answers is not None:
                chunk = replace(chunk, answers=self.mark_blank_images_unknown(chunk.answers, chunk.empty))
            yield chunk

    def answers(self, images: Sequence[Any], **options: Any) -> list[Answers]:
        """All that ``answer_function`` with these options says of each image, a chunk after the other."""
        chunks = self.classify(images, self.answer_function(**options))
        return [chunk.answers for chunk in chunks if chunk.answers is not None]

    def evidence(self, images: Sequence[Any]) -> Iterator[Evidence]:
        """The evidence for the images, a chunk at a time."""
        for chunk in stream(_as_list(images), self.feature(), self.answerer().explain):
            if chunk.answers is not None:
                yield chunk.answers

    def vectors(self, images: Sequence[Any], *, on_error: OnError = "raise") -> Iterator[Answered[Array]]:
        """The vectors of the images, a chunk at a time."""
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
        """A function from vectors of images to answers, by ``answerer`` where one is given; ``reject`` and ``coverage``
        as in ``predict`` and ``predict_set``, with ``explain`` the evidence is that of ``explain``. What any answer
        would be meaningless for is unknown, also without ``reject``, under a mark that no class has."""
        answerer = answerer or self.answerer()
        mark = UNKNOWN if unknown is None else unknown
        while unknown is None and reject is None and mark in answerer.classes:
            mark += "?"

        def answer(vectors: Array) -> Answers:
            try:
                answers = answerer.answer(vectors, reject=reject, unknown=mark, coverage=coverage, explain=explain)
                return unknown_where_meaningless(answers)
            except StateError:
                if reject is None and coverage is None:  # then nothing was promised: a server may be away
                    raise
                raise StateError(
                    "How strange an image is, and which sets keep a promise, is learned from the examples when the "
                    "parameters are chosen, and 8 examples are the fewest. Add more, then choose again: "
                    "gallery.tune(), kcrc tune."
                ) from None

        return answer

    def mark_blank_images_unknown(self, answers: Answers, empty: Sequence[str | None]) -> Answers:
        """The answers, but unknown where there is nothing to make out on an image (``empty`` says why), unless such
        pictures are among the examples near it."""
        why: list[str | None] = [None] * len(answers)
        for i, reason in enumerate(empty):
            if reason is not None and reason not in self._emptiness_near(answers.evidence[i]):
                why[i] = f"it resembles no example: {reason}"
        return answers.but_unknown(why)

    def _emptiness_near(self, evidence: Evidence) -> set[str | None]:
        """Why there is nothing to make out on the examples nearest to one image (None where there is), of any class
        and of the class answered, as far as they have a picture."""
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

    # What answers

    def let_go(self) -> None:
        """Forget what was made: it holds the examples of its moment."""
        with self._making:
            self._ready = None

    def answerer(self) -> Answerer:
        """What answers from the gallery's examples; evidence names them by their ids.

        The parameters are those stored. If there are none, or they were chosen on less than half of the examples, they
        are chosen, and stored if the gallery may be written.
        """
        return self.ready().answerer

    def ready(self, *, calibrated: bool = True) -> Ready:
        """The same, with the examples it answers from. If ``calibrated`` is False, how sure the answers are may still
        be what was learned from the examples before the latest changes."""
        with self._making:
            ready = self._of_now()
        if not calibrated or ready.is_calibrated:
            return ready
        with self._calibrating:
            with self._making:
                ready = self._of_now()
            if not ready.is_calibrated:
                ready = self._calibrated(ready)
        return ready

    def _of_now(self) -> Ready:
        """What answers from the examples of now."""
        ready = self._ready
        if ready is not None and ready.contents.revision == self._examples.settings.revision:
            return ready
        moment = self._moment()
        outgrown = moment.facts is not None and moment.facts.outgrown(moment.contents)
        made: Ready | None = None
        if len(moment.contents) and not outgrown:
            if ready is not None and ready.tuned == moment.tuned:
                made = self._following(ready, moment)
            elif moment.facts is not None:
                made = self._restored(moment)
        if made is None:
            return self._chosen(asked=False)
        self._ready = made
        return made

    def _following(self, ready: Ready, moment: Moment) -> Ready:
        """What answers, with the examples of ``moment``; what was handed out before stays as it was."""
        now = moment.contents
        model = tuned.model_following(ready.answerer.model, now.ids, now.labels, moment.vectors)
        facing = _with_model(ready.classifier, model)
        if facing is not None and moment.facts is not None:
            facing.growth_ = moment.facts.growth(now)
        return replace(
            ready, contents=now, facts=moment.facts, answerer=replace(ready.answerer, model=model), classifier=facing
        )

    def _restored(self, moment: Moment) -> Ready | None:
        """What answers, as it was stored; None, with a warning, where that cannot be read: the examples can."""
        store, path, now = self._examples.store, self._examples.path, moment.contents

        def look(reading: Snapshot) -> Ready:
            header, arrays = tuned.read_state(reading, moment.tuned)
            then = tuned.calibrated_on(reading, arrays, moment.tuned, now, moment.vectors)
            if then is None:
                made = tuned.answerer_from(header, arrays, now.ids, now.labels, moment.vectors, path=path)
                calibrated = None
                if tuned.learned_at(reading, moment.tuned) in (None, now.revision):  # earlier versions kept no answers
                    calibrated = Calibrated(made.model, replace(made.confidence, left_out=None, strangers=None))
                return Ready(now, moment.tuned, moment.facts, made, calibrated)
            ids, labels, vectors, changed = then
            made = tuned.answerer_from(header, arrays, ids, labels, vectors, path=path)
            calibrated = Calibrated(made.model, made.confidence, *changed)
            model = tuned.model_following(made.model, now.ids, now.labels, moment.vectors)
            return Ready(now, moment.tuned, moment.facts, replace(made, model=model), calibrated)

        try:
            return store.read(look)
        except FileError as problem:
            tuned.warn_unreadable(problem)
            return None

    def _calibrated(self, ready: Ready) -> Ready:
        """The same, as sure of its answers as the examples of its moment say. That is kept in the file if it may be
        written: then the next program need not ask the examples again."""
        try:
            ready = self._followed_by_calibration(ready) or self._learned_again(ready)
        except FileError as problem:
            tuned.warn_unreadable(problem)
            return self._chosen(asked=False)
        except KCRCError:  # what was learned before stays in use
            return ready
        if not self._examples.store.readonly:
            with contextlib.suppress(KCRCError):
                ready = self._keep_calibration(self._examples.store, ready)
        with self._making:
            if self._ready is None or self._ready.contents.revision <= ready.contents.revision:
                self._ready = ready
        return ready

    def _followed_by_calibration(self, ready: Ready) -> Ready | None:
        """The same, with the answers asked again that the changes touch; None if everything has to be learned again."""
        known, growth = ready.calibrated, None if ready.facts is None else ready.facts.growth(ready.contents)
        if known is None:
            return None
        made = known.following(ready.answerer.model, 0 if growth is None else growth.changed)
        if made is None:
            return None
        answerer = replace(ready.answerer, model=made.model, known=made.confidence)
        facing = _with_model(ready.classifier, made.model)
        if facing is not None:
            facing.confidence_, facing.growth_ = made.confidence, growth or facing.growth_
        stored = ready.stored and made.confidence is known.confidence
        return replace(ready, answerer=answerer, calibrated=made, classifier=facing, stored=stored)

    def _learned_again(self, ready: Ready) -> Ready:
        """The same, with all that is learned from examples learned from those of its moment; the parameters stay."""
        from kcrc.classifier.incremental import relearn, with_model

        made = with_model(ready.classifier or self._facing(ready), ready.answerer.model)
        if ready.facts is not None:
            made.growth_ = ready.facts.growth(ready.contents)
        relearn(made)
        _compact_scaling(made)
        calibrated = Calibrated(made.answerer_.model, made.confidence_)
        return replace(
            ready, answerer=made.answerer_, calibrated=calibrated, classifier=made, stored=False, learned_again=True
        )

    def _keep_calibration(self, store: Store, ready: Ready) -> Ready:
        """The same, stored, unless the gallery was changed meanwhile."""
        if ready.stored or not ready.tuned or ready.facts is None or ready.calibrated is None:
            return ready
        if ready.learned_again and ready.classifier is not None:
            state = tuned.state_of(ready.classifier, ready.facts.next_id, ready.facts)
        else:
            state = tuned.calibration_state(ready.calibrated)
        act = acts.Recalibrate(ready.tuned, state, ready.contents.revision, everything=ready.learned_again)
        kept = store.write(act)
        return replace(ready, stored=kept, learned_again=ready.learned_again and not kept)

    def classifier(self, **parameters: Any) -> KCRCClassifier:
        """The same as a scikit-learn classifier; ``parameters`` given here are used in this classifier alone."""
        if parameters:
            return self._fitted(parameters)[0]
        ready = self.ready()
        if ready.classifier is not None:
            return ready.classifier
        try:
            made = self._facing(ready)
        except FileError as problem:
            tuned.warn_unreadable(problem)
            return self.tune(asked=False)
        with self._making:
            if self._ready is ready:
                self._ready = replace(ready, classifier=made)
        return made

    def _facing(self, ready: Ready) -> KCRCClassifier:
        """The stored classifier around what answers."""
        from kcrc.classifier.saving import wrap_as_estimator

        header, arrays = self._examples.store.read(lambda reading: tuned.read_state(reading, ready.tuned))
        made = wrap_as_estimator(header, arrays, ready.answerer, path=self._examples.path)
        if ready.facts is not None:
            made.growth_ = ready.facts.growth(ready.contents)
        return made

    # The choice of parameters

    def tune(
        self, *, asked: bool = True, parameters: Mapping[str, Any] | None = None, **this_time: Any
    ) -> KCRCClassifier:
        """Choose the parameters again and store them; if nobody ``asked`` for that, only where they can be stored.

        ``parameters`` are fixed, in place of those fixed before.
        """
        made = self._chosen(asked=asked, parameters=parameters, **this_time).classifier
        assert made is not None
        return made

    def _chosen(self, *, asked: bool, parameters: Mapping[str, Any] | None = None, **this_time: Any) -> Ready:
        if asked and self._examples.store.readonly:
            raise StateError(f"'{self._examples.path}' was opened for reading only; tuning stores what it finds.")
        ready = self._ready_of(*self._fitted(this_time, parameters))
        with contextlib.nullcontext() if asked else contextlib.suppress(KCRCError):
            ready = self._kept(self._examples.store, ready, asked=asked, parameters=parameters)
        return ready

    def take_usual_parameters(self) -> None:
        """Take the usual parameters without choosing, and store them; ``tune`` can choose them later."""
        ready = self._ready_of(*self._fitted(tuned.USUAL))
        self._kept(self._examples.store, ready, chosen=tuned.NOT_CHOSEN)

    def _ready_of(self, made: KCRCClassifier, contents: Contents) -> Ready:
        """What answers by a classifier that was just fitted."""
        _compact_scaling(made)
        answerer = made.answerer_
        calibrated = Calibrated(answerer.model, made.confidence_)
        ready = Ready(contents, 0, None, answerer, calibrated, made, stored=False)
        with self._making:
            self._ready = ready
        return ready

    @property
    def unstored(self) -> bool:
        """Whether parameters were chosen here, or how sure answers are was learned, that is not in the file."""
        return self._ready is not None and not self._ready.stored

    @property
    def chosen_here(self) -> bool:
        """Whether the parameters were chosen here and are not in the file."""
        return self._ready is not None and not self._ready.tuned

    def keep(self, store: Store) -> None:
        """Store what was chosen or learned here in ``store``: this one, or the same file opened for writing."""
        ready = self._ready
        if ready is None:
            raise StateError("Nothing has been chosen here that could be stored.")
        if ready.tuned:
            ready = self._keep_calibration(store, ready)
            with self._making:
                self._ready = ready
        else:
            self._kept(store, ready)

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
        """Store a classifier as ``Gallery.keep_tuned`` says, in this gallery's store or the one given; the number of
        the act."""
        state = tuned.state_of(classifier, next_id, chosen=chosen)
        words = chosen or ("nothing to choose" if classifier.tuning_ is None else repr(classifier.tuning_))
        summary = f"tuned: {words.removeprefix('Tuning: ')}"
        return (store or self._examples.store).write(acts.Tune(summary, state, parameters, asked, since))

    def _kept(
        self,
        store: Store,
        ready: Ready,
        *,
        asked: bool = False,
        parameters: Mapping[str, Any] | None = None,
        chosen: str | None = None,
    ) -> Ready:
        """What is ready once it is stored: as it was, or of the revision that storing it made. ``chosen`` says how the
        parameters came about, where nothing was tried."""
        contents = ready.contents
        assert ready.classifier is not None
        act = self.store_choice(
            ready.classifier, next_id=int(contents.ids[-1]) + 1, asked=asked, parameters=parameters,
            since=contents.revision, chosen=chosen, store=store,
        )  # fmt: skip
        if act == contents.revision + 1:  # nothing else happened meanwhile
            facts = store.read(lambda reading: tuned.read_facts(reading, act))
            ready = replace(ready, contents=Contents(act, contents.rows), tuned=act, facts=facts, stored=True)
            with self._making:
                self._ready = ready
        return ready

    @property
    def choice_due(self) -> str | None:
        """Why the next question chooses the parameters, or None where it takes those that are stored."""
        moment = self._moment(vectors=False)
        if not moment.tuned:
            return "The parameters have yet to be chosen from the examples"
        if moment.facts is not None and moment.facts.outgrown(moment.contents):
            return "The parameters were chosen on less than half of the examples"
        return None

    def facts(self) -> Facts | None:
        """On what the stored choice rests; None where there is none."""
        return self._moment(vectors=False).facts

    @property
    def retune_due(self) -> str | None:
        """Why tuning again is due, or None."""
        moment = self._moment(vectors=False)
        return None if moment.facts is None else moment.facts.due(moment.contents)

    def _moment(self, *, vectors: bool = True, facts: bool = True) -> Moment:
        examples = self._examples

        def look(reading: Snapshot) -> Moment:
            act = reading.settings().tuned
            chosen_on = None
            if act and facts:
                try:
                    chosen_on = tuned.read_facts(reading, act)
                except FileError as problem:
                    tuned.warn_unreadable(problem)
            contents = examples.contents
            array = examples.vectors() if vectors and len(contents) else np.empty((0, examples.settings.dim))
            return Moment(contents, array, act, chosen_on)

        return examples.store.read(look)

    def _fitted(
        self, this_time: Mapping[str, Any], fixed: Mapping[str, Any] | None = None
    ) -> tuple[KCRCClassifier, Contents]:
        from kcrc.classifier.estimator import KCRCClassifier

        examples = self._examples
        moment = self._moment(facts=False)  # choosing again mends what was damaged there
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
    """The answers, but unknown where any label would be meaningless: there is one class, or nothing in common with any
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
    compact = tuned.compact_scaling(classifier.answerer_.model)
    if compact is not None:
        classifier.model_ = compact


def _as_list(images: Any) -> Any:
    return [images] if isinstance(images, str | bytes | os.PathLike) else images
